package handlers

import (
	"reflect"
	"time"

	"newsletterd/core"
	"newsletterd/mail"
)

// table is every endpoint of the program, one line each:
//
//	method, path, who may call, form of errors, typed function, summary
//
// The same rows feed the router, the OpenAPI documents, `newsletterd routes`, the metrics labels and
// the tests. Each area has a function, so that none grows long.
func (h *Handler) table() []*Route {
	var t rows
	h.identityRoutes(&t)
	h.newsletterRoutes(&t)
	h.adminRoutes(&t)
	h.sendRoutes(&t)
	h.deviceRoutes(&t)
	h.modelRoutes(&t)
	h.operationRoutes(&t)
	return t
}

// maxWrite is the most, in bytes, that one request of the endpoints marked by NeedsRoom writes, files of models aside: each
// page that it changes stands in the -wal.
const maxWrite = 64 * KiB

// rows collects the lines of the table.
type rows []*Route

func (t *rows) add(method, path string, who Access, d Dialect, do Endpoint, summary string) {
	*t = append(*t, &Route{method, path, who, d, do, summary})
}

// resource is the five operations on one kind of admin record.
type resource struct {
	find                               func(*Call) error
	missing                            *core.Error
	list, create, show, update, remove Endpoint
}

// crud adds the five lines of a resource. Its records are found before a body is read, so that a foreign
// record is 404 whatever the body is.
func (t *rows) crud(path, one, many string, r resource) {
	item := path + "/:id"
	t.add("GET", path, admin(), member, r.list, "List "+many)
	t.add("POST", path, admin(), member, r.create.Created(), "Create "+one)
	t.add("GET", item, admin(), member, r.show.Find(r.find).Missing(r.missing), "Show "+one)
	t.add("PUT", item, admin(), member, r.update.Find(r.find).Missing(r.missing), "Change "+one+"; absent fields stay as they are")
	t.add("DELETE", item, admin(), member, r.remove.Find(r.find).Missing(r.missing), "Delete "+one)
}

// identityRoutes are for people with a login and for the programs that act for them.
func (h *Handler) identityRoutes(t *rows) {
	account, o := account{h.options.Auth}, oauthEdge{h.options.Auth}
	open := func(do Endpoint) Endpoint {
		return do.CORS(newProviderEdge(h.options.Auth).clientOrigin, "Authorization")
	}
	t.add("POST", "/api/auth/register", public(), member, JSON(account.register).NeedsRoom(maxWrite).PerAddress(20, time.Hour).Fails(core.Forbidden, core.Conflict), "Register a user; a mail to verify the address goes out")
	t.add("POST", "/api/auth/login", public(), oauth, Form(o.login).Fails(core.Unauthenticated, core.TooMany), "Sign in with a password")
	t.add("POST", "/api/auth/refresh", public(), oauth, Form(o.refresh).Fails(core.Unauthenticated), "Exchange a refresh token")
	t.add("POST", "/api/auth/logout", anyToken(), member, JSON(account.logout), "Revoke a refresh token and all that came of its sign-in")
	t.add("POST", "/api/auth/password/forgot", public(), member, JSON(account.forgot), "Ask for a mail with a link for a new password")
	t.add("POST", "/api/auth/password/reset", public(), member, JSON(account.reset), "Set a new password with the token of that mail")
	t.add("GET", "/api/auth/email/verify", public(), member, Query(account.verify).Changes(), "Verify an address with the token of the mail")
	t.add("GET", "/api/user/profile", profileToken(), member, Get(account.profile), "The user whose token it is")
	t.add("POST", "/api/oauth/token", public(), oauth, open(Form(o.token)).DescribesBody(tokenForms...).Fails(core.Unauthenticated), "Exchange a grant for tokens (RFC 6749)")
	h.providerRoutes(t)
	h.pageRoutes(t)
	t.add("GET", "/api/.well-known/jwks.json", public(), member, open(Get(o.jwks)), "The public keys that tokens are signed with")
}

// providerRoutes are what relying parties use of the OpenID provider.
func (h *Handler) providerRoutes(t *rows) {
	e, a, l := newProviderEdge(h.options.Auth), authorizeEdge{h.options.Auth}, logoutEdge{h.options.Auth}
	open := func(do Endpoint) Endpoint { return do.CORS(e.clientOrigin, "Authorization") }
	t.add("GET", "/api/oauth/authorize", public(), page, Query(Visited(a.authorize)).Changes().DescribesQuery(reflect.TypeFor[authorizeQuery]()).DescribesStatus(302).Fails(core.Invalid), "Ask for an authorization code (RFC 6749 section 4.1.1)")
	t.add("POST", "/api/oauth/authorize", public(), page, Raw(a.authorizePost).MaxBody(MaxForm).Fails(core.Invalid), "The same by POST; sent on to GET")
	t.add("GET", "/api/oauth/userinfo", bearer(core.ScopeOpenID), member, open(Get(e.userinfo)), "Claims about the user (OpenID Connect Core section 5.3)")
	t.add("POST", "/api/oauth/userinfo", bearer(core.ScopeOpenID).InForm(), member, open(Get(e.userinfo)).MaxBody(MaxForm).Fails(core.Invalid), "The same by POST; the token may stand in a form")
	t.add("POST", "/api/oauth/revoke", public(), oauth, open(Form(e.revoke)).Fails(core.Unauthenticated), "Revoke a token and all of its sign-in (RFC 7009)")
	t.add("POST", "/api/oauth/introspect", public(), oauth, Form(e.introspect).Fails(core.Unauthenticated), "Tell what a token is good for (RFC 7662)")
	t.add("GET", "/api/oauth/logout", public(), page, Query(Visited(l.relyingParty)).Changes().Fails(core.Invalid), "Sign a user out for a relying party (RP-Initiated Logout)")
	t.add("POST", "/api/oauth/logout", public(), page, Raw(l.relyingPartyPost).MaxBody(MaxForm).Fails(core.Invalid), "The same by POST; sent on to GET")
	for _, path := range []string{
		"/api/.well-known/openid-configuration", "/.well-known/openid-configuration",
		"/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/api",
	} {
		t.add("GET", path, public(), member, open(Get(e.describe)), "Metadata of the provider")
	}
}

// pageRoutes are for people in browsers.
func (h *Handler) pageRoutes(t *rows) {
	p := h.options.Auth
	a, l, m, own := authorizeEdge{p}, logoutEdge{p}, mailedEdge{p}, accountEdge{p}
	t.add("GET", "/style.css", public(), page, Query(style), "The stylesheet of all pages")
	t.add("GET", "/login", public(), page, Query(Visited(a.loginPage)), "Sign in: the page")
	t.add("POST", "/login", public(), page, Form(Visited(a.login)).Fails(core.Forbidden, core.TooMany), "Sign in")
	t.add("POST", "/consent", public(), page, Form(Visited(a.consent)).Fails(core.Forbidden), "Allow a client access, or not")
	t.add("GET", "/logout", public(), page, Query(Visited(l.page)), "Sign out: the page")
	t.add("POST", "/logout", public(), page, Form(Visited(l.confirmed)).Fails(core.Forbidden), "Sign out")
	t.add("GET", "/register", public(), page, Query(Visited(m.registerPage)).Fails(core.Forbidden), "Create an account: the page")
	t.add("POST", "/register", public(), page, Form(Visited(m.register)).PerAddress(20, time.Hour).Fails(core.Forbidden, core.Conflict), "Create an account; a mail to verify the address goes out")
	t.add("GET", "/password/forgot", public(), page, Query(Visited(m.forgotPage)), "Ask for a new password: the page")
	t.add("POST", "/password/forgot", public(), page, Form(Visited(m.forgot)).Fails(core.Forbidden), "Ask for a new password")
	t.add("GET", "/password/reset", public(), page, Query(Visited(m.resetPage)), "Set a new password: the page")
	t.add("POST", "/password/reset", public(), page, Form(Visited(m.reset)).Fails(core.Forbidden), "Set a new password")
	t.add("GET", "/verify", public(), page, Query(Visited(m.verifyPage)), "Verify an address: the page")
	t.add("POST", "/verify", public(), page, Form(Visited(m.verify)).Fails(core.Forbidden), "Verify an address")
	t.add("GET", "/account", public(), page, Query(Visited(own.page)), "A user's own page")
	t.add("POST", "/account", public(), page, Form(Visited(own.change)).Fails(core.Forbidden), "Change something on it")
}

// newsletterRoutes are the member service's subscriptions, and the pages that its mails lead to.
func (h *Handler) newsletterRoutes(t *rows) {
	news := newsletter{h.options.Store, h.sealer, h.options.Newsletter, h.subscribes}
	open := func(e Endpoint) Endpoint { return e.CORS(news.tenantOrigin) }
	t.add("POST", "/api/newsletter/subscribe", optional(), member, open(JSON(news.subscribe)).NeedsRoom(maxWrite).Fails(core.NotFound, core.TooMany), "Ask for a subscription; a mail to confirm it goes out")
	t.add("GET", "/api/newsletter/confirm", public(), member, open(Query(news.confirm)).Changes().Fails(core.NotFound), "Confirm a subscription")
	t.add("POST", "/api/newsletter/unsubscribe", public(), member, open(oneClick(JSON(news.unsubscribe), news.leave)), "End a subscription, by a token in the body or, as RFC 8058 has it, in the query")
	t.add("POST", "/api/newsletter/unsubscribe-token", optional(), member, JSON(news.unsubscribeToken).Fails(core.NotFound, core.TooMany), "Ask for a token that ends a subscription")
	t.add("GET", "/api/newsletter/preferences", subscription(core.ScopeListRead), member, Query(news.preferences).Fails(core.NotFound), "Show the subscription of an address to a list")
	t.add("POST", "/api/newsletter/preferences", subscription(core.ScopeEventsWrite), member, JSON(news.setPreferences).Fails(core.NotFound), "Replace the preferences of a subscription")
	t.add("GET", "/api/newsletter/subscriptions", bearer(core.ScopeListRead), member, List(news.subscriptions, func(s core.Subscription) string { return s.ID }).Fails(core.NotFound), "List the subscriptions of a list")
	for _, path := range []string{"/api/subscriptions/disable", "/api/api/subscriptions/disable"} {
		t.add("POST", path, bearer(core.ScopeEventsWrite), member, JSON(news.disable), "Switch an address off and end its subscriptions")
	}
	t.add("POST", "/api/admin/newsletter-lists/:id/full-sync", admin(), member,
		Path(news.fullSync).Accepted().Find(lists{store: h.options.Store}.find).Missing(core.ErrListNotFound).Fails(core.Conflict), "Copy a list to the send service as a whole")
	mailed := newsletterPages{news}
	t.add("GET", "/confirm", public(), page, Query(mailed.askConfirm), "Page with the button that confirms a subscription")
	t.add("POST", "/confirm", public(), page, Form(mailed.confirm).Fails(core.Forbidden), "Confirm a subscription")
	t.add("GET", "/unsubscribe", public(), page, Query(mailed.askUnsubscribe), "Page with the button that ends a subscription")
	t.add("GET", "/l/:id", public(), page, Path(mailed.askSubscribe).Missing(core.ErrListNotFound).Fails(core.Invalid), "Page with the subscribe form of a list")
	t.add("POST", "/l/:id", public(), page, Values(mailed.subscribe).NeedsRoom(maxWrite).Missing(core.ErrListNotFound).Fails(core.NotFound, core.TooMany), "Ask for a subscription by a form, that of the page or one on any site")
	t.add("GET", "/preferences", public(), page, Query(mailed.askPreferences).Fails(core.NotFound), "A subscriber's own page; without a token, the form that asks for one")
	t.add("POST", "/preferences", public(), page, Values(mailed.changePreferences).Fails(core.Forbidden, core.NotFound, core.TooMany).PerAddress(60, time.Hour), "Change something on it")
	t.add("POST", "/preferences/export", public(), page, Form(mailed.export).Fails(core.Forbidden, core.NotFound), "Download what a tenant holds about a subscriber")
	t.add("POST", "/preferences/erase", public(), page, Form(mailed.erase).Fails(core.Forbidden, core.NotFound), "Erase what a tenant holds about a subscriber")
	t.add("POST", "/unsubscribe", public(), page, Form(mailed.unsubscribe).Fails(core.Forbidden), "End a subscription")
	t.add("GET", "/undo", public(), page, Query(mailed.askUndo).Fails(core.NotFound), "Page with the button that takes an unsubscribing back")
	t.add("POST", "/undo", public(), page, Form(mailed.undo).Fails(core.Forbidden, core.NotFound), "Take an unsubscribing back")
	t.add("GET", "/api/newsletter/unsubscribe", public(), page, Query(mailed.askUnsubscribe), "The same page, where a mail program opens List-Unsubscribe in a browser")
}

// adminRoutes are the records that operators and administrators of a tenant keep.
func (h *Handler) adminRoutes(t *rows) {
	tenants, lists, clients := tenants{h.options.Store}, lists{h.options.Store, h.options.Newsletter.ConfirmToken}, clients{h.options.Store}
	t.crud("/api/admin/tenants", "a tenant", "tenants", resource{
		tenants.find, ErrNotFound, List(tenants.list, func(t core.Tenant) string { return t.ID }),
		JSON(tenants.create), Path(tenants.show), JSON(tenants.update), Path(tenants.remove),
	})
	t.crud("/api/admin/newsletter-lists", "a list", "lists", resource{
		lists.find, core.ErrListNotFound, List(lists.list, countedList),
		JSON(lists.create).Fails(core.NotFound), Path(lists.show), JSON(lists.update), Path(lists.remove),
	})
	t.crud("/api/admin/oauth-clients", "an OAuth client", "OAuth clients", resource{
		clients.find, ErrNotFound, List(clients.list, func(c core.Client) string { return c.ID }),
		JSON(clients.create).Fails(core.NotFound), Path(clients.show), JSON(clients.update), Path(clients.remove),
	})
}

// sendRoutes are the send service: jobs, and the webhooks that tell it of subscribers.
func (h *Handler) sendRoutes(t *rows) {
	jobs, hooks := sendjobs{h.options.Store, h.sealer, h.options.DuplicateGuard}, webhooks{h.options.Store}
	one := func(e Endpoint) Endpoint { return e.Find(jobs.find).Missing(core.ErrJobNotFound) }
	t.add("POST", "/api/send-jobs", bearer(core.ScopeSend), send, JSON(jobs.create).MaxBody(maxSendJob).Fails(core.Forbidden, core.Conflict), "Create a send job")
	t.add("GET", "/api/send-jobs", bearer(core.ScopeSend), send, List(jobs.list, sendJob.key), "List send jobs, the newest first")
	t.add("GET", "/api/send-jobs/:id", bearer(core.ScopeSend), send, one(Path(jobs.show)), "Show a send job")
	t.add("POST", "/api/send-jobs/:id/cancel", bearer(core.ScopeSend), send, one(Path(jobs.cancel)), "Cancel a send job")
	t.add("GET", "/api/send-jobs/:id/stats", bearer(core.ScopeSend), send, one(Path(jobs.stats)), "Counters of a send job")
	t.add("GET", "/api/send-jobs/:id/recipients", bearer(core.ScopeSend), send, one(List(jobs.recipients, recipient.key)), "What happened to each recipient of a send job")
	t.add("GET", "/api/send-jobs/:id/links", bearer(core.ScopeSend), send, one(Path(jobs.links)), "Tracked links of a send job, with how many have followed each")
	t.add("GET", "/api/send-jobs/history", bearer(core.ScopeSend), send, List(jobs.history, mailed.key).Fails(core.Forbidden), "What was ever sent to an address, the newest first")
	t.add("POST", "/api/send-jobs/:id/preview", bearer(core.ScopeSend), send, one(JSON(jobs.preview).BodyOptional()), "Render the mail of a send job")
	t.add("POST", "/api/send-jobs/:id/test", bearer(core.ScopeSend), send, one(JSON(jobs.test)).Fails(core.TooMany), "Send the mail of a send job to one address")
	t.add("POST", "/webhooks/subscriptions", signed(), send, JSON(hooks.subscription).Fails(core.Conflict), "Take a subscription event")
	seen := tracked{h.options.Store, h.ident, h.sealer, h.options.Engage, h.publicURL}
	t.add("GET", mail.PixelPath+":file", public(), page, Query(seen.pixel).NeedsRoom(maxEngagement), "The image that tells that a mail was opened")
	t.add("GET", mail.ClickPath+":token", public(), page, Query(seen.follow).Fails(core.NotFound), "A link of a mail, on its way to where it leads")
	t.add("GET", "/v/:token", public(), page, Query(seen.show).Fails(core.NotFound), "A mail of a send job in the browser")
	events := mailProviders{h.options.Store, h.ident, h.log}
	t.add("POST", "/webhooks/:provider", h.mailProvider(), send, Raw(events.take).DescribesJSON(reflect.TypeFor[providerEvent]()), "Take the events of a mail provider; the body is that of the provider's kind, of kind generic a ProviderEvent")
	t.add("POST", "/webhooks/lists/full-sync", signed(), send, JSON(hooks.fullSync).MaxBody(maxFullSync).Fails(core.Conflict), "Take a batch of a full list sync")
}

// deviceRoutes are the devices, agents and models of users.
func (h *Handler) deviceRoutes(t *rows) {
	d, g := devices{h.options.Store}, agents{h.options.Store}
	t.add("GET", "/api/devices", user(core.ScopeDevices), device, List(d.list, func(d core.Device) string { return d.ID }), "List the caller's devices")
	t.add("POST", "/api/devices", user(core.ScopeDevices), device, JSON(d.create).Created().Fails(core.NotFound, core.Conflict), "Pair a device")
	t.add("GET", "/api/devices/:id", user(core.ScopeDevices), device, Path(d.show), "Show a device")
	t.add("PATCH", "/api/devices/:id", user(core.ScopeDevices), device, JSON(d.update).Find(d.find).Fails(core.Conflict), "Change a device; absent fields stay as they are")
	t.add("DELETE", "/api/devices/:id", user(core.ScopeDevices), device, Path(d.unpair), "Unpair a device")
	t.add("POST", "/api/devices/:id/register", user(core.ScopeDevices), device, Path(d.register).Fails(core.Conflict), "Register a device")
	t.add("POST", "/api/devices/:id/unregister", user(core.ScopeDevices), device, Path(d.unregister), "Unregister a device")
	t.add("GET", "/api/agents", user(core.ScopeDevices), device, List(g.list, func(g core.Agent) string { return g.ID }), "List the caller's agents")
	t.add("POST", "/api/agents", user(core.ScopeDevices), device, JSON(g.create).Created().Fails(core.Conflict), "Create an agent")
	t.add("GET", "/api/agents/:id", user(core.ScopeDevices), device, Path(g.show), "Show an agent")
	t.add("PATCH", "/api/agents/:id", user(core.ScopeDevices), device, JSON(g.update).Find(g.find), "Change an agent; absent fields stay as they are")
	t.add("DELETE", "/api/agents/:id", user(core.ScopeDevices), device, Path(g.remove), "Delete an agent")
}

// modelRoutes are the models of users.
func (h *Handler) modelRoutes(t *rows) {
	m := models{h.options.Store}
	s := shares{m}
	const item, sharing, share = "/api/models/:id", "/api/models/:id/shares", "/api/models/:id/shares/:share_id"
	t.add("GET", "/api/models", user(core.ScopeModelsRead), device, List(m.list, modelKey), "List the caller's own models")
	t.add("POST", "/api/models", user(core.ScopeModelsWrite), device, Stream(h.upload).NeedsRoom(maxWrite).Created().Fails(core.Forbidden, core.Conflict, core.TooLarge, core.TooMany), "Upload a model: the body is the file, or multipart/form-data with a part named file")
	t.add("GET", "/api/models/library", user(core.ScopeModelsRead), device, Query(m.library), "List the models that the caller may view, newest first")
	t.add("DELETE", item, user(core.ScopeModelsWrite), device, Path(m.remove), "Delete a model")
	t.add("GET", item+"/profile", user(core.ScopeModelsRead), device, Path(m.profile), "Show a model")
	t.add("GET", item+"/download", user(core.ScopeModelsRead), device, Serve(m.download), "Download the file of a model")
	t.add("PATCH", item+"/visibility", user(core.ScopeModelsWrite), device, JSON(m.setVisibility).Find(m.owned), "Change who may view a model")
	t.add("GET", sharing, user(core.ScopeModelsRead), device, List(s.list, func(s core.Share) string { return s.ID }).Find(m.owned), "List the shares of a model")
	t.add("POST", sharing, user(core.ScopeModelsWrite), device, JSON(s.create).NeedsRoom(maxWrite).Created().Find(m.owned).Fails(core.Conflict), "Share a model")
	t.add("GET", share, user(core.ScopeModelsRead), device, Query(s.show).Find(s.find), "Show a share")
	t.add("PUT", share, user(core.ScopeModelsWrite), device, JSON(s.update).Find(s.find), "Change a share")
	t.add("DELETE", share, user(core.ScopeModelsWrite), device, Query(s.remove).Find(s.find), "End a share")
}

// operationRoutes are for those who run the daemon.
func (h *Handler) operationRoutes(t *rows) {
	t.add("GET", "/healthz", public(), send, Get(h.health).Quiet().DescribesFailure(503, "A part of the daemon does not work"), "Health of the daemon")
	t.add("GET", "/openapi", public(), page, Query(h.reference), "Every operation, to read")
	for _, d := range documents {
		t.add("GET", d.Path, public(), member, Get(h.openAPI(d.Name)), "OpenAPI document: "+d.Title)
	}
}
