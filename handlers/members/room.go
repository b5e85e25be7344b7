package members

import (
	"newsletterd/auth"
	"newsletterd/handlers/segments"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

// Options holds the defaults from the [newsletter] section. An empty field means the first value listed.
type Options struct {
	ConfirmToken         string // live, receipt or trusted; applies to lists without their own setting
	UnsubscribeTokenAuth string // none, bearer
	DisableScope         string // global, tenant
	SubscribePerAddress  int    // requests per hour and origin address; 0: no limit
	SendElsewhere        bool   // another service sends the emails
	MemberURL            string // URL that serves lists, signup forms and preference pages; empty: this server
}

// Room holds the dependencies of the endpoints and pages.
type Room struct {
	Store   *store.Store
	Sealer  *auth.Sealer // seals unsubscribe tokens
	Options Options
	Origin  string // public URL for tenants without their own

	Subscribes *web.OriginLimits // limits signups
	Leaves     *web.OriginLimits // limits requests for unsubscribe tokens

	Uploads     *web.Uploads
	ImportBytes int64 // maximum size of an import file; 0: the default

	Rules *segments.Room // evaluates rules in searches for subscribers
}

// Routes adds the endpoints and pages.
func (r *Room) Routes(t *web.Table) {
	r.newsletterRoutes(t)
	r.newsletterPageRoutes(t)
	r.subscriberRoutes(t)
	r.suppressionRoutes(t)
	r.listRoutes(t)
	r.syncRoutes(t)
	r.importRoutes(t)
	r.importedIssueRoutes(t)
}
