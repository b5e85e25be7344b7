package handlers

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/store/campaigns"
)

// The checklist stays until all steps are done. A send that only wrote to a folder doesn't count. After the first send,
// the list only has the required steps that are left, until someone hides it. Each role sees the steps that it can do,
// and viewers see none.
func TestConsoleStepsStayUntilDone(t *testing.T) {
	const sent = `Send your first campaign</a><span class="hidden-visually"> (done)`
	for role, texts := range map[string][]string{
		core.RoleViewer: {"-Get started"},
		core.RoleEditor: {"-Get started"}, // a campaign exists
		core.RolePublisher: {
			"Get started", "Send your first campaign", "-Set up the sender", "-Add DNS records for your domain",
		},
		core.RoleTenantAdmin: {"Get started", "Send your first campaign", "Set up the sender", "-" + sent},
	} {
		t.Run(role, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newCampaignEnv(t, role)
				e.shows("", http.StatusOK, texts...)
				j := e.mailing()
				j = e.seed.Finish(j)
				e.must(campaigns.SetJobTransport(e.Context(), e.store.DB, j.No, core.TransportFolder))
				e.shows("", http.StatusOK, texts...)
				e.must(campaigns.SetJobTransport(e.Context(), e.store.DB, j.No, ""))
				if role != core.RoleTenantAdmin {
					e.shows("", http.StatusOK, "-Get started", "-steps left")
					return
				}
				e.shows("", http.StatusOK, "2 steps left", "Set up the sender", "-Send your first campaign",
					"-Add your logo")
				_, err := e.store.UpdateTenant(e.Context(), e.tenant.ID, "", func(t *core.Tenant) error {
					t.Domains, t.MailFrom = core.Strings{"acme.example"}, "news@acme.example"
					return nil
				})
				e.must(err)
				e.shows("", http.StatusOK, "1 step left", "Add DNS records for your domain", "-Set up the sender")
				k, err := core.NewDKIMKey(core.DKIMKey{
					TenantID: e.tenant.ID, Domain: "acme.example", Selector: "s", Status: core.DKIMActive,
					Public: "cHVi",
				}, e.seed.Time())
				e.must(err)
				e.must(e.store.AddDKIMKey(e.Context(), k, []byte("private"), "command"))
				e.shows("", http.StatusOK, "-Add DNS records for your domain") // one of them is optional
				e.must(e.store.DeleteDKIMKey(e.Context(), k.ID, "command", e.seed.Time()))
				_, page := e.page("GET", e.at(""), nil)
				shown := regexp.MustCompile(`name="steps" value="([^"]+)"`).FindStringSubmatch(page)
				if len(shown) != 2 {
					t.Fatal("no button to dismiss the step")
				}
				e.ask("POST", e.at(""), url.Values{"steps": {shown[1]}})
				e.shows("", http.StatusOK, "-step left")
				_, err = e.store.UpdateTenant(e.Context(), e.tenant.ID, "", func(t *core.Tenant) error {
					t.MailFrom = ""
					return nil
				})
				e.must(err)
				e.shows("", http.StatusOK, "2 steps left")
			})
		})
	}
}
