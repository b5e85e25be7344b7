package handlers

import (
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/campaigns"
	"newsletterd/handlers/devices"
	"newsletterd/handlers/identity"
	"newsletterd/handlers/members"
	"newsletterd/handlers/page"
	"newsletterd/handlers/segments"
	"newsletterd/handlers/tenants"
	"newsletterd/handlers/web"
)

// table returns all endpoints, one row each:
//
//	method, path, who may call, form of errors, typed function, summary
//
// For API operations, a row continues with the name, an example of the body, and refusals that the schemas don't
// express. The same rows feed the router, the OpenAPI documents, `newsletterd routes`, the metrics labels and the
// tests. The rows of each area are in the area's own file, above the functions that they call.
func (h *Handler) table() []*web.Route {
	var t web.Table
	o := &h.options
	sends := &campaigns.Room{
		Store: o.Store, Log: h.log, Sealer: h.sealer, Ident: h.ident, Origin: h.publicURL,
		MemberURL: o.Newsletter.MemberURL, Checks: o.Checks, Relay: &o.Relay, DuplicateGuard: o.DuplicateGuard,
		Engage: o.Engage, Providers: o.Providers, SNS: o.SNS, Uploads: h.uploads, MediaLimits: o.MediaLimits,
		Pictures: o.PictureMemory, Videos: o.Videos,
	}
	pages := h.console(sends)
	sends.ShowReview, sends.ShowDecision = pages.ShowReview, pages.ShowDecision
	if o.Store != nil {
		h.inside, h.moved = sends.Inside, sends.Moved
	}
	(&identity.Room{
		Store: o.Store, Auth: o.Auth, Forgets: h.forgets, ShowAccount: pages.ShowAccount, ZoneOf: pages.ZoneOf,
	}).Routes(&t)
	(&tenants.Room{
		Store: o.Store, Sealer: h.sealer, Origin: h.publicURL, ConfirmToken: o.Newsletter.ConfirmToken,
		LookupTXT: o.LookupTXT, DNS: o.DNS, Relay: &o.Relay, Providers: o.Providers,
		MayPost: o.MayPost, TestEndpoint: o.TestEndpoint,
	}).Routes(&t)
	h.pageRoutes(&t)
	rules := &segments.Room{Store: o.Store}
	(&members.Room{
		Store: o.Store, Sealer: h.sealer, Options: o.Newsletter, Origin: h.publicURL, Subscribes: h.subscribes,
		Leaves: h.leaves, Uploads: h.uploads, ImportBytes: o.ImportBytes, Rules: rules,
	}).Routes(&t)
	h.systemRoutes(&t)
	sends.Routes(&t)
	h.reviewRoutes(&t, sends.Reviews())
	(&devices.Room{Store: h.options.Store, Limits: h.options.ModelLimits, Uploads: h.uploads}).Routes(&t)
	rules.Routes(&t)
	h.operationRoutes(&t)
	pages.Routes(&t)
	sends.Taken = firstFolders(t)
	if o.Checks != nil {
		o.Checks.Pages = sends.Taken
	}
	return t
}

// firstFolders returns the first segments of a table's paths.
func firstFolders(t web.Table) map[string]bool {
	all := map[string]bool{}
	for _, r := range t {
		first, _, _ := strings.Cut(strings.TrimPrefix(r.Path, "/"), "/")
		all[first] = true
	}
	return all
}

// reviewRoutes adds the page for approving a campaign. A decision requires a recent sign-in.
func (h *Handler) reviewRoutes(t *web.Table, reviews campaigns.ReviewPages) {
	t.Add("GET", page.ReviewPath, web.Public(), web.Page, web.Query(web.Visited(reviews.Page)).Fails(core.NotFound),
		"Show the approval page of a campaign")
	t.Add("POST", page.ReviewPath, web.Public(), web.Page,
		web.Form(identity.Proved(h.options.Auth, reviews.Decide)).Fails(core.Forbidden, core.NotFound, core.Conflict,
			core.PreconditionFailed),
		"Approve a campaign or request changes")
}
