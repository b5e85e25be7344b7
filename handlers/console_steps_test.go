package handlers

import (
	"net/http"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/store/campaigns"
)

// The checklist stays until all steps are done. A send that only wrote to a folder doesn't count. Each role sees the
// steps that it can do, and viewers see none.
func TestConsoleStepsStayUntilDone(t *testing.T) {
	const sent = `Send your first campaign</a><span class="hidden-visually"> (done)`
	for role, texts := range map[string][]string{
		core.RoleViewer:      {"-Get started"},
		core.RoleEditor:      {"-Get started"}, // a campaign exists
		core.RolePublisher:   {"Get started", "Send your first campaign", "-Set up the sender", "-Verify your domain"},
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
				if role == core.RoleTenantAdmin {
					e.shows("", http.StatusOK, "Get started", sent, "Set up the sender") // which is not done yet
					return
				}
				e.shows("", http.StatusOK, "-Get started")
			})
		})
	}
}
