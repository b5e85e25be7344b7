package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// The audit log names the person who was invited, before and after the invitation was accepted, but not once the person
// has left the team. The log itself holds no addresses.
func TestConsoleAuditNamesTheInvited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		page := e.path("settings", "audit")
		_, token := e.invite(e.tenant.ID, "eve@user.example", core.UserActor(e.ann.ID))
		const invited = "invited eve@user.example."
		holds := func(text string, want bool) {
			t.Helper()
			if s := textOf(e.shows(page)); strings.Contains(s, text) != want {
				t.Errorf("%q: not %v in %s", text, want, s)
			}
		}
		holds(invited, true)
		anns := e.cookies
		e.cookies = map[string]string{}
		if status := e.join(token); status != http.StatusSeeOther {
			t.Fatalf("joining: %d", status)
		}
		e.cookies = anns
		holds(invited, true)
		holds("accepted an invitation", true)
		eve, err := e.store.UserByEmail(t.Context(), "eve@user.example")
		e.must(err)
		e.sends(e.path("settings", "team", eve.ID, "remove"), url.Values{"sure": {"1"}})
		holds(invited, false)
		holds("invited someone.", true)
	})
}

// The details of a change have the labels of the pages, in the visitor's language.
func TestConsoleAuditInGerman(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		e.seed.ChangeTenant(e.tenant.ID, core.TenantInput{
			Approval: new(core.ApprovalSecondPerson), FirstFew: new(true),
		})
		e.lang = "de"
		e.sends(e.path("new-person"), url.Values{
			"list": {e.list.ID}, "email": {"new@reader.example"}, "agreed": {"no"},
		})
		html := e.shows(e.path("settings", "audit"), "<ins>Unbestätigt</ins>",
			"<dt>Freigabe</dt><dd><del>Nicht nötig</del> → <ins>Durch eine zweite Person</ins>",
			"<dt>Zuerst an 500 Empfänger senden</dt><dd><del>aus</del> → <ins>an</ins>")
		for _, code := range []string{"second_person", "first_few", "tenant.update"} {
			if strings.Contains(html, code) {
				t.Errorf("%s in %s", code, textOf(html))
			}
		}
	})
}
