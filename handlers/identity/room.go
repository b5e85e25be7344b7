package identity

import (
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

// Room holds the dependencies of the endpoints and pages for accounts and sign-in.
type Room struct {
	Store   *store.Store
	Auth    *auth.Provider
	Forgets *web.OriginLimits // limits password reset emails, through API and page
	// ShowAccount renders the account page in the console's layout.
	ShowAccount func(c *web.Call, who core.Visitor, status int, v *page.View) (web.HTML, error)
	// ZoneOf returns the time zone for a user's account page. It is never nil without an error.
	ZoneOf func(c *web.Call, who core.Visitor) (*time.Location, error)

	registers *web.Rate // limits new accounts, through API and page
}

// Routes adds the endpoints and pages.
func (r *Room) Routes(t *web.Table) {
	r.registers = web.NewRate(20, time.Hour)
	r.accountRoutes(t)
	r.grantRoutes(t)
	r.authorizeRoutes(t)
	r.logoutRoutes(t)
	r.providerRoutes(t)
	r.loginRoutes(t)
	r.setupRoutes(t)
	r.twoStepRoutes(t)
	r.passkeyRoutes(t)
	r.proofRoutes(t)
	r.registerRoutes(t)
	r.mailedRoutes(t)
	r.accountPageRoutes(t)
	r.clientRoutes(t)
	r.clientSecretRoutes(t)
	r.invitationRoutes(t)
	r.teamRoutes(t)
	r.userRoutes(t)
	r.keyRoutes(t)
}
