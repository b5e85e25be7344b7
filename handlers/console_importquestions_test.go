package handlers

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// TestConsoleImportsAskWhoUnsubscribed checks that the wizard shows a column that may say who unsubscribed, with its
// cells. Unless the user decides otherwise, it uses the column for that, and doesn't ask again.
func TestConsoleImportsAskWhoUnsubscribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		status := func(email core.Email) string {
			sub, err := e.store.Subscription(t.Context(), e.list.ID, email)
			if core.KindOf(err) == core.NotFound {
				return ""
			}
			e.must(err)
			return sub.Status
		}
		const file = "email;Bemerkung\nstays@reader.example;mag Tee\nleft@reader.example;Abgemeldet\n"
		at := e.uploads(e.list.ID, "a.csv", file)
		e.shows(at, http.StatusOK, "This column marks people who unsubscribed: “Abgemeldet” in 1 row.",
			`value="status" selected>Subscription status<`)
		form, _ := e.choices(at)
		form.Set("do", "run")
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		e.shows(at, http.StatusOK, "imported as unsubscribed", "-This column marks")
		if got := status("left@reader.example"); got != core.SubscriptionUnsubscribed {
			t.Errorf("left: %q", got)
		}

		at = e.uploads(e.list.ID, "b.csv", "email;Bemerkung\nnew@reader.example;gesperrt\nleft@reader.example;\n")
		form, _ = e.choices(at)
		form.Set("column.1", "")
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		e.shows(at, http.StatusOK, "Dry run result", "Nothing is imported yet.", "-This column marks")
		form, _ = e.choices(at)
		form.Set("do", "run")
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		if a, b := status("new@reader.example"), status("left@reader.example"); a != "active" || b != "unsubscribed" {
			t.Errorf("%q, %q", a, b)
		}

		at = e.uploads(e.list.ID, "c.csv", "email\nno@reader.example\n")
		e.sends(at, http.StatusSeeOther, url.Values{"agreed": {"suppress"}, "do": {"run"}})
		e.runImports()
		e.shows(at, http.StatusOK, "blocked: added to the suppression list")
		if got := status("no@reader.example"); got != "" {
			t.Errorf("no: %q", got)
		}
		e.sends(at+"/undo", http.StatusSeeOther, url.Values{})
		e.runImports()
		e.shows(at, http.StatusOK, "no longer on the suppression list")
	})
}

// TestConsoleImportsLeaveNamesAlone checks that the wizard doesn't take a column of first names for the status because
// of one name, and that it proposes nothing for a column of remarks in which a few cells mean that a person
// unsubscribed.
func TestConsoleImportsLeaveNamesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		file := "email;First Name;Remarks\ngone@reader.example;Gone;\nleft@reader.example;Lee;abgemeldet\n"
		for i := range 40 {
			file += fmt.Sprintf("a%[1]d@reader.example;Ann %[1]d;likes tea %[1]d\n", i)
		}
		at := e.uploads(e.list.ID, "a.csv", file)
		e.shows(at, http.StatusOK, `data-asks="f-column.2-asks"`, "-f-column.1-asks", "-This column marks",
			"Choose what this column contains. “abgemeldet” in 1 row may mean that the person unsubscribed.")
		form, offered := e.choices(at)
		if form.Get("column.1") != "first_name" || form.Get("column.2") != "?" ||
			offered["column.2"][0] != "? Choose…" {
			t.Errorf("%v, %q", form, offered["column.2"])
		}
		e.sends(at, http.StatusBadRequest, form, `id="f-column.2-wrong">Choose what this column contains.<`,
			`value="?" selected`)
		form.Del("agreed")
		form.Set("column.2", "")
		e.sends(at, http.StatusBadRequest, form, "Choose whether these people gave their consent",
			"-It may mark")
		form.Set("agreed", "active")
		form.Set("do", "run")
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		s := e.found("gone@reader.example")
		if s.Status != core.SubscriptionActive || s.Preferences.Values()["first_name"] == nil {
			t.Errorf("%+v", s)
		}
	})
}

// TestConsoleImportsOfPublishersAddLeavers checks that a publisher's file adds only unsubscribed people who are new,
// and that the page shows how many rows were left out.
func TestConsoleImportsOfPublishersAddLeavers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		at := e.uploads(e.list.ID, "a.csv", "email;status\nnew@reader.example;unsubscribed\ncid@reader.example;bounced\n")
		e.shows(at, http.StatusOK, "-No, never email these people")
		form, _ := e.choices(at)
		form.Set("do", "run")
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		e.shows(at, http.StatusOK, "<strong>1</strong> imported as unsubscribed",
			"<strong>1</strong> skipped: only administrators can block or unsubscribe people through an import")
		e.sends(at, http.StatusForbidden, url.Values{"agreed": {"suppress"}, "do": {"run"}})
		barred, err := e.store.SuppressedAddresses(t.Context(), e.list.TenantID, core.Suppressed{}, 10)
		if err != nil || len(barred) > 0 {
			t.Errorf("%+v, %v", barred, err)
		}
	})
}
