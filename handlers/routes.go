package handlers

import (
	"reflect"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/mail"
)

// table is every endpoint of the program, one line each:
//
//	method, path, who may call, form of errors, typed function, summary
//
// The same rows feed the router, the OpenAPI documents, `newsletterd routes`, the metrics labels and
// the tests. Each area has a function, so that none grows long.
func (h *Handler) table() []*web.Route {
	var t web.Table
	h.identityRoutes(&t)
	h.newsletterRoutes(&t)
	h.archiveRoutes(&t)
	h.adminRoutes(&t)
	h.teamRoutes(&t)
	h.peopleRoutes(&t)
	h.listRoutes(&t)
	h.importRoutes(&t)
	h.templateRoutes(&t)
	h.userRoutes(&t)
	h.webhookClientRoutes(&t)
	h.endpointRoutes(&t)
	h.senderDomainRoutes(&t)
	h.dkimRoutes(&t)
	h.relayRoutes(&t)
	h.themeRoutes(&t)
	h.mailProviderRoutes(&t)
	h.systemRoutes(&t)
	h.outboxRoutes(&t)
	h.campaignRoutes(&t)
	h.sendRoutes(&t)
	h.mediaRoutes(&t)
	h.deviceRoutes(&t)
	h.modelRoutes(&t)
	h.operationRoutes(&t)
	h.console().Routes(&t)
	return t
}

// maxWrite is the most, in bytes, that one request of the endpoints marked by NeedsRoom writes, files of models
// aside: each page that it changes stands in the -wal.
const maxWrite = 64 * web.KiB

// rights are what the operations on a kind of record ask the caller's roles for.
type rights struct{ read, create, change, remove core.Action }

// resource is the five operations on one kind of admin record.
type resource struct {
	find                               func(*web.Call) error
	missing                            *core.Error
	list, create, show, update, remove web.Endpoint
	may                                rights
}

// crud adds the five lines of a resource. Its records are found before a body is read, so that a foreign
// record is 404 whatever the body is.
func crud(t *web.Table, path, one, many string, r resource) {
	item := path + "/:id"
	t.Add("GET", path, admin(r.may.read), web.Member, r.list, "List "+many)
	t.Add("POST", path, admin(r.may.create), web.Member, r.create.Created(), "Create "+one)
	t.Add("GET", item, admin(r.may.read), web.Member, r.show.Find(r.find).Missing(r.missing), "Show "+one)
	t.Add("PUT", item, admin(r.may.change), web.Member,
		r.update.Find(r.find).Missing(r.missing), "Change "+one+"; absent fields stay as they are")
	t.Add("DELETE", item, admin(r.may.remove), web.Member, r.remove.Find(r.find).Missing(r.missing), "Delete "+one)
}

// identityRoutes are for people with a login and for the programs that act for them.
func (h *Handler) identityRoutes(t *web.Table) {
	account, o := account{h.options.Auth}, grants{h.options.Auth}
	open := func(do web.Endpoint) web.Endpoint {
		return do.CORS(newOpenID(h.options.Auth).clientOrigin, "Authorization")
	}
	t.Add("POST", "/api/auth/register", web.Public(), web.Member,
		web.JSON(account.register).NeedsRoom(maxWrite).Rated(h.registers).Fails(core.Forbidden, core.Conflict),
		"Register a user; a mail to verify the address goes out")
	t.Add("POST", "/api/auth/login", web.Public(), web.OAuth,
		web.Form(o.login).Fails(core.Unauthenticated, core.TooMany), "Sign in with a password")
	t.Add("POST", "/api/auth/refresh", web.Public(), web.OAuth,
		web.Form(o.refresh).Fails(core.Unauthenticated), "Exchange a refresh token")
	t.Add("POST", "/api/auth/logout", web.AnyToken(), web.Member,
		web.JSON(account.logout), "Revoke a refresh token and all that came of its sign-in")
	t.Add("POST", "/api/auth/password/forgot", web.Public(), web.Member,
		web.JSON(account.forgot), "Ask for a mail with a link for a new password")
	t.Add("POST", "/api/auth/password/reset", web.Public(), web.Member,
		web.JSON(account.reset), "Set a new password with the token of that mail")
	t.Add("GET", "/api/auth/email/verify", web.Public(), web.Member,
		web.Query(account.verify).Changes(), "Verify an address with the token of the mail")
	t.Add("GET", "/api/user/profile", profileToken(), web.Member,
		web.Get(account.profile), "The user whose token it is")
	t.Add("POST", "/api/oauth/token", web.Public(), web.OAuth,
		open(web.Form(o.token)).DescribesBody(tokenForms...).Fails(core.Unauthenticated),
		"Exchange a grant for tokens (RFC 6749)")
	h.providerRoutes(t)
	h.pageRoutes(t)
	t.Add("GET", "/api/.well-known/jwks.json", web.Public(), web.Member,
		open(web.Get(o.jwks)), "The public keys that tokens are signed with")
}

// providerRoutes are what relying parties use of the OpenID provider.
func (h *Handler) providerRoutes(t *web.Table) {
	e, a, l := newOpenID(h.options.Auth), authorizations{h.options.Auth}, logouts{h.options.Auth}
	open := func(do web.Endpoint) web.Endpoint { return do.CORS(e.clientOrigin, "Authorization") }
	t.Add("GET", "/api/oauth/authorize", web.Public(), web.Page,
		web.Query(web.Visited(a.authorize)).Changes().DescribesQuery(reflect.TypeFor[authorizeQuery]()).DescribesStatus(302).
			Fails(core.Invalid),
		"Ask for an authorization code (RFC 6749 section 4.1.1)")
	t.Add("POST", "/api/oauth/authorize", web.Public(), web.Page,
		web.Raw(a.authorizePost).MaxBody(web.MaxForm).Fails(core.Invalid), "The same by POST; sent on to GET")
	t.Add("GET", "/api/oauth/userinfo", web.Bearer(core.ScopeOpenID), web.Member,
		open(web.Get(e.userinfo)), "Claims about the user (OpenID Connect Core section 5.3)")
	t.Add("POST", "/api/oauth/userinfo", web.Bearer(core.ScopeOpenID).InForm(), web.Member,
		open(web.Get(e.userinfo)).MaxBody(web.MaxForm).Fails(core.Invalid),
		"The same by POST; the token may stand in a form")
	t.Add("POST", "/api/oauth/revoke", web.Public(), web.OAuth,
		open(web.Form(e.revoke)).Fails(core.Unauthenticated), "Revoke a token and all of its sign-in (RFC 7009)")
	t.Add("POST", "/api/oauth/introspect", web.Public(), web.OAuth,
		web.Form(e.introspect).Fails(core.Unauthenticated), "Tell what a token is good for (RFC 7662)")
	t.Add("GET", "/api/oauth/logout", web.Public(), web.Page,
		web.Query(web.Visited(l.relyingParty)).Changes().DescribesQuery(reflect.TypeFor[logoutQuery]()).
			Fails(core.Invalid),
		"Sign a user out for a relying party (RP-Initiated Logout)")
	t.Add("POST", "/api/oauth/logout", web.Public(), web.Page,
		web.Raw(l.relyingPartyPost).MaxBody(web.MaxForm).Fails(core.Invalid), "The same by POST; sent on to GET")
	for _, path := range []string{
		"/api/.well-known/openid-configuration", "/.well-known/openid-configuration",
		"/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/api",
	} {
		t.Add("GET", path, web.Public(), web.Member, open(web.Get(e.describe)), "Metadata of the provider")
	}
}

// pageRoutes are for people in browsers.
func (h *Handler) pageRoutes(t *web.Table) {
	p := h.options.Auth
	a, l, m, own := authorizations{p}, logouts{p}, mailedLinks{p}, accountPages{p}
	t.Add("GET", "/style.css", web.Public(), web.Page, web.Query(style), "The stylesheet of all pages")
	t.Add("GET", "/login", web.Public(), web.Page, web.Query(web.Visited(a.loginPage)), "Sign in: the page")
	t.Add("POST", "/login", web.Public(), web.Page,
		web.Form(web.Visited(a.login)).Fails(core.Forbidden, core.TooMany), "Sign in")
	first := setupPages{p}
	t.Add("GET", setupPath, web.Public(), web.Page, web.Query(web.Visited(first.page)).Fails(core.Invalid),
		"Make the account of the first operator: the page")
	t.Add("POST", setupPath, web.Public(), web.Page, web.Form(web.Visited(first.make)).Rated(h.registers),
		"Make the account of the first operator")
	t.Add("GET", codePath, web.Public(), web.Page,
		web.Query(web.Visited(a.codePage)), "Sign in: the second step")
	t.Add("POST", codePath, web.Public(), web.Page,
		web.Form(web.Visited(a.code)).Fails(core.Forbidden, core.TooMany), "Sign in by a code")
	t.Add("GET", "/passkey.js", web.Public(), web.Page, web.Query(passkeyScript.serve), "The script of passkeys")
	t.Add("POST", "/login/passkey", web.Public(), web.Page,
		web.Form(web.Visited(a.passkey)).Fails(core.Forbidden, core.TooMany), "Sign in by a passkey")
	t.Add("GET", proofPath, web.Public(), web.Page,
		web.Query(web.Visited(own.provePage)), "Confirm who you are: the page")
	t.Add("POST", proofPath, web.Public(), web.Page,
		web.Form(web.Visited(own.prove)).Fails(core.Forbidden, core.TooMany), "Confirm who you are")
	t.Add("GET", passkeysPath, web.Public(), web.Page,
		web.Query(proved(h.options.Auth, own.passkeysPage)), "A user's passkeys: the page")
	t.Add("POST", passkeysPath, web.Public(), web.Page,
		web.Form(proved(h.options.Auth, own.changePasskeys)).Fails(core.Forbidden), "Add, rename or remove one")
	t.Add("POST", "/consent", web.Public(), web.Page,
		web.Form(web.Visited(a.consent)).Fails(core.Forbidden), "Allow a client access, or not")
	t.Add("GET", "/logout", web.Public(), web.Page, web.Query(web.Visited(l.page)), "Sign out: the page")
	t.Add("POST", "/logout", web.Public(), web.Page,
		web.Form(web.Visited(l.confirmed)).Fails(core.Forbidden), "Sign out")
	t.Add("GET", "/register", web.Public(), web.Page,
		web.Query(web.Visited(m.registerPage)).Fails(core.Forbidden), "Create an account: the page")
	t.Add("POST", "/register", web.Public(), web.Page,
		web.Form(web.Visited(m.register)).Rated(h.registers).Fails(core.Forbidden, core.Conflict),
		"Create an account; a mail to verify the address goes out")
	t.Add("GET", "/password/forgot", web.Public(), web.Page,
		web.Query(web.Visited(m.forgotPage)), "Ask for a new password: the page")
	t.Add("POST", "/password/forgot", web.Public(), web.Page,
		web.Form(web.Visited(m.forgot)).Fails(core.Forbidden), "Ask for a new password")
	t.Add("GET", "/password/reset", web.Public(), web.Page,
		web.Query(web.Visited(m.resetPage)), "Set a new password: the page")
	t.Add("POST", "/password/reset", web.Public(), web.Page,
		web.Form(web.Visited(m.reset)).Fails(core.Forbidden), "Set a new password")
	t.Add("GET", "/verify", web.Public(), web.Page, web.Query(web.Visited(m.verifyPage)), "Verify an address: the page")
	t.Add("POST", "/verify", web.Public(), web.Page,
		web.Form(web.Visited(m.verify)).Fails(core.Forbidden), "Verify an address")
	t.Add("GET", "/account", web.Public(), web.Page, web.Query(web.Visited(own.page)), "A user's own page")
	t.Add("POST", "/account", web.Public(), web.Page,
		web.Form(web.Visited(own.change)).Fails(core.Forbidden), "Change something on it")
	reviews := reviewPages{campaigns{h.options.Store, h.sealer, h.options.Checks}, p, h.console()}
	t.Add("GET", reviewPath, web.Public(), web.Page, web.Query(web.Visited(reviews.page)).Fails(core.NotFound),
		"Approve a campaign or send it back: the page")
	t.Add("POST", reviewPath, web.Public(), web.Page,
		web.Form(proved(p, reviews.decide)).Fails(core.Forbidden, core.NotFound, core.Conflict,
			core.PreconditionFailed),
		"Approve a campaign or send it back")
	t.Add("GET", twoStepPath, web.Public(), web.Page,
		web.Query(proved(h.options.Auth, own.twoStepPage)), "A user's second factor: the page")
	t.Add("POST", twoStepPath, web.Public(), web.Page,
		web.Form(proved(h.options.Auth, own.changeTwoStep)).Fails(core.Forbidden), "Change it")
}

// newsletterRoutes are the member service's subscriptions.
func (h *Handler) newsletterRoutes(t *web.Table) {
	news := newsletter{h.options.Store, h.sealer, h.options.Newsletter, h.subscribes}
	open := func(e web.Endpoint) web.Endpoint { return e.CORS(news.tenantOrigin) }
	t.Add("POST", "/api/newsletter/subscribe", web.Optional(), web.Member,
		open(web.JSON(news.subscribe)).NeedsRoom(maxWrite).Fails(core.NotFound, core.TooMany),
		"Ask for a subscription; a mail to confirm it goes out")
	t.Add("GET", "/api/newsletter/confirm", web.Public(), web.Member,
		open(web.Query(news.confirm)).Changes().Fails(core.NotFound), "Confirm a subscription")
	t.Add("POST", "/api/newsletter/unsubscribe", web.Public(), web.Member,
		open(oneClick(web.JSON(news.unsubscribe), news.leave)),
		"End a subscription, by a token in the body or, as RFC 8058 has it, in the query")
	t.Add("POST", "/api/newsletter/unsubscribe-token", web.Optional(), web.Member,
		web.JSON(news.unsubscribeToken).Fails(core.NotFound, core.TooMany), "Ask for a token that ends a subscription")
	t.Add("GET", "/api/newsletter/preferences", subscription(core.ScopeListRead), web.Member,
		web.Query(news.preferences).Fails(core.NotFound), "Show the subscription of an address to a list")
	t.Add("POST", "/api/newsletter/preferences", subscription(core.ScopeEventsWrite), web.Member,
		web.JSON(news.setPreferences).Fails(core.NotFound), "Replace the preferences of a subscription")
	t.Add("GET", "/api/newsletter/subscriptions", web.Bearer(core.ScopeListRead), web.Member,
		web.List(news.subscriptions, func(s core.Subscription) string { return s.ID }).Fails(core.NotFound),
		"List the subscriptions of a list")
	for _, path := range []string{"/api/subscriptions/disable", "/api/api/subscriptions/disable"} {
		t.Add("POST", path, web.Bearer(core.ScopeEventsWrite), web.Member,
			web.JSON(news.disable), "Switch an address off and end its subscriptions")
	}
	t.Add("POST", "/api/admin/newsletter-lists/:id/full-sync", admin(core.ActionListSettings), web.Member,
		web.JSON(news.fullSync).BodyOptional().Accepted().Find(lists{store: h.options.Store}.find).
			Missing(core.ErrListNotFound).Fails(core.Conflict),
		"Copy a list to the send service as a whole")
	h.newsletterPageRoutes(t, newsletterPages{news})
}

// newsletterPageRoutes are the pages that the mails of subscriptions lead to, and the forms of lists.
func (h *Handler) newsletterPageRoutes(t *web.Table, mailed newsletterPages) {
	t.Add("GET", "/confirm", web.Public(), web.Page,
		web.Query(mailed.askConfirm), "Page with the button that confirms a subscription")
	t.Add("POST", "/confirm", web.Public(), web.Page,
		web.Form(mailed.confirm).Fails(core.Forbidden), "Confirm a subscription")
	t.Add("GET", "/unsubscribe", web.Public(), web.Page,
		web.Query(mailed.askUnsubscribe), "Page with the button that ends a subscription")
	t.Add("GET", "/l/:id", web.Public(), web.Page,
		web.Path(mailed.askSubscribe).Missing(core.ErrListNotFound).Fails(core.Invalid),
		"Page with the subscribe form of a list")
	t.Add("POST", "/l/:id", web.Public(), web.Page,
		web.Values(mailed.subscribe).NeedsRoom(maxWrite).Missing(core.ErrListNotFound).
			Fails(core.NotFound, core.TooMany),
		"Ask for a subscription by a form, that of the page or one on any site")
	t.Add("GET", "/preferences", web.Public(), web.Page,
		web.Query(mailed.askPreferences).Fails(core.NotFound),
		"A subscriber's own page; without a token, the form that asks for one")
	t.Add("POST", "/preferences", web.Public(), web.Page,
		web.Values(mailed.changePreferences).
			Fails(core.Forbidden, core.NotFound, core.TooMany).PerAddress(60, time.Hour),
		"Change something on it")
	t.Add("POST", "/preferences/export", web.Public(), web.Page,
		web.Form(mailed.export).Fails(core.Forbidden, core.NotFound), "Download what a tenant holds about a subscriber")
	t.Add("POST", "/preferences/erase", web.Public(), web.Page,
		web.Form(mailed.erase).Fails(core.Forbidden, core.NotFound), "Erase what a tenant holds about a subscriber")
	t.Add("POST", "/unsubscribe", web.Public(), web.Page,
		web.Form(mailed.unsubscribe).Fails(core.Forbidden), "End a subscription")
	t.Add("GET", "/undo", web.Public(), web.Page,
		web.Query(mailed.askUndo).Fails(core.NotFound), "Page with the button that takes an unsubscribing back")
	t.Add("POST", "/undo", web.Public(), web.Page,
		web.Form(mailed.undo).Fails(core.Forbidden, core.NotFound), "Take an unsubscribing back")
	t.Add("GET", "/api/newsletter/unsubscribe", web.Public(), web.Page,
		web.Query(mailed.askUnsubscribe), "The same page, where a mail program opens List-Unsubscribe in a browser")
}

// adminRoutes are the records that operators and administrators of a tenant keep.
func (h *Handler) adminRoutes(t *web.Table) {
	tenants, lists, clients := tenants{h.options.Store}, lists{h.options.Store, h.options.Newsletter.ConfirmToken},
		clients{h.options.Store}
	crud(t, "/api/admin/tenants", "a tenant", "tenants", resource{
		tenants.find, web.ErrNotFound, web.List(tenants.list, func(t core.Tenant) string { return t.ID }),
		web.JSON(tenants.create).Fails(core.Conflict), web.Path(tenants.show), web.JSON(tenants.update).Fails(core.Conflict),
		web.Path(tenants.remove),
		rights{core.ActionTenantRead, core.ActionTenantManage, core.ActionTenantSettings, core.ActionTenantManage},
	})
	crud(t, "/api/admin/newsletter-lists", "a list", "lists", resource{
		lists.find, core.ErrListNotFound, web.List(lists.list, countedList),
		web.JSON(lists.create).Fails(core.NotFound), web.Path(lists.show), web.JSON(lists.update), web.Path(lists.remove),
		rights{core.ActionListRead, core.ActionListSettings, core.ActionListSettings, core.ActionListSettings},
	})
	crud(t, "/api/admin/oauth-clients", "an OAuth client", "OAuth clients", resource{
		clients.find, web.ErrNotFound, web.List(clients.list, func(c core.Client) string { return c.ID }),
		web.JSON(clients.create).Fails(core.NotFound), web.Path(clients.show), web.JSON(clients.update),
		web.Path(clients.remove),
		rights{core.ActionClientManage, core.ActionClientManage, core.ActionClientManage, core.ActionClientManage},
	})
	h.clientSecretRoutes(t)
}

// teamRoutes are how people come to work for a tenant.
func (h *Handler) teamRoutes(t *web.Table) {
	i := invitations{h.options.Store, h.options.Auth}
	const path, item = "/api/admin/invitations", "/api/admin/invitations/:id"
	t.Add("GET", path, admin(core.ActionTeamRead), web.Member,
		web.List(i.list, func(i core.Invitation) string { return i.ID }), "List open invitations")
	t.Add("POST", path, admin(core.ActionTeamManage), web.Member,
		web.JSON(i.create).Created().Fails(core.NotFound, core.TooMany), "Invite a person by mail to have a role")
	t.Add("GET", item, admin(core.ActionTeamRead), web.Member, web.Path(i.show).Find(i.find), "Show an open invitation")
	t.Add("DELETE", item, admin(core.ActionTeamManage), web.Member,
		web.Path(i.remove).Find(i.find), "Take an invitation back")
	m := team{h.options.Store}
	const all, one = "/api/admin/team", "/api/admin/team/:id"
	t.Add("GET", all, admin(core.ActionTeamRead), web.Member,
		web.List(m.list, func(m core.Teammate) string { return m.ID }), "List who has a role in a tenant")
	t.Add("PUT", one, admin(core.ActionTeamManage), web.Member,
		web.JSON(m.update).Find(m.find).Missing(web.ErrNotFound).Fails(core.Conflict),
		"Change the role of a person in a tenant")
	t.Add("DELETE", one, admin(core.ActionTeamManage), web.Member,
		web.Query(m.remove).Find(m.find).Missing(web.ErrNotFound).Fails(core.Conflict),
		"Take the roles in a tenant from a person")
	t.Add("GET", invitationPath, web.Public(), web.Page, web.Query(web.Visited(i.page)),
		"Accept an invitation: the page")
	t.Add("POST", invitationPath, web.Public(), web.Page,
		web.Form(web.Visited(i.accept)).Fails(core.Forbidden), "Accept an invitation")
}

// sendRoutes are the send service: jobs, and the webhooks about subscribers.
func (h *Handler) sendRoutes(t *web.Table) {
	jobs, hooks := sendjobs{h.options.Store, h.sealer, h.options.DuplicateGuard}, webhooks{h.options.Store}
	one := func(e web.Endpoint) web.Endpoint { return e.Find(jobs.find).Missing(core.ErrJobNotFound) }
	t.Add("POST", "/api/send-jobs", sending(core.ActionCampaignSend), web.Send,
		web.JSON(jobs.create).MaxBody(maxSendJob).Fails(core.Forbidden, core.Conflict), "Create a send job")
	t.Add("GET", "/api/send-jobs", sent(core.ActionFiguresRead), web.Send,
		web.List(jobs.list, sendJob.key), "List send jobs, the newest first")
	t.Add("GET", "/api/send-jobs/:id", sent(core.ActionFiguresRead), web.Send,
		one(web.Path(jobs.show)), "Show a send job")
	t.Add("POST", "/api/send-jobs/:id/cancel", sending(core.ActionCampaignSend), web.Send,
		one(web.Path(jobs.cancel)), "Cancel a send job")
	t.Add("GET", "/api/send-jobs/:id/stats", sent(core.ActionFiguresRead), web.Send,
		one(web.Path(jobs.stats)), "Counters of a send job")
	t.Add("GET", "/api/send-jobs/:id/failures", sent(core.ActionFiguresRead), web.Send,
		one(web.Path(jobs.failures)), "Why mails of a send job did not arrive, or have not yet, and to how many")
	t.Add("GET", "/api/send-jobs/:id/recipients", sent(core.ActionPeopleRead), web.Send,
		one(web.Search(jobs.recipients)), "What happened to each recipient of a send job")
	t.Add("GET", "/api/send-jobs/:id/recipients/export", sent(core.ActionPeopleExport).Fresh(), web.Send,
		one(web.Write(jobs.exportRecipients)), "Write what happened to each recipient of a send job as CSV")
	t.Add("GET", "/api/send-jobs/:id/links", sent(core.ActionFiguresRead), web.Send,
		one(web.Path(jobs.links)), "Tracked links of a send job, with how many have followed each")
	t.Add("GET", "/api/send-jobs/history", sent(core.ActionPeopleRead), web.Send,
		web.List(jobs.history, mailed.key).Fails(core.Forbidden), "What was ever sent to an address, the newest first")
	t.Add("POST", "/api/send-jobs/:id/preview", sent(core.ActionCampaignRead), web.Send,
		one(web.JSON(jobs.preview).BodyOptional()), "Render the mail of a send job")
	t.Add("POST", "/api/send-jobs/:id/test", sent(core.ActionTestSend), web.Send,
		one(web.JSON(jobs.test)).Fails(core.TooMany), "Send the mail of a send job to one address; editors to the team's")
	t.Add("POST", "/api/send-jobs/:id/pause", sending(core.ActionCampaignSend), web.Send,
		one(web.Path(jobs.pause)).Fails(core.Conflict), "Hold a send job up; what is in flight is finished")
	t.Add("POST", "/api/send-jobs/:id/resume", sending(core.ActionCampaignSend).Fresh(), web.Send,
		one(web.Path(jobs.resume)).Fails(core.Conflict), "Let a paused send job go on")
	t.Add("POST", "/api/send-jobs/:id/retry-failed", sending(core.ActionCampaignSend).Fresh(), web.Send,
		one(web.Path(jobs.retry)).Created().Fails(core.Conflict),
		"Make a send job for whom an ended one has not reached")
	t.Add("POST", "/webhooks/subscriptions", web.Signed(), web.Send,
		web.JSON(hooks.subscription).Fails(core.Conflict), "Take a subscription event")
	seen := tracked{h.options.Store, h.ident, h.sealer, h.options.Engage, h.publicURL}
	t.Add("GET", mail.PixelPath+":file", web.Public(), web.Page,
		web.Query(seen.pixel).NeedsRoom(maxEngagement), "The image that tells that a mail was opened")
	t.Add("GET", mail.ClickPath+":token", web.Public(), web.Page,
		web.Query(seen.follow).Fails(core.Invalid, core.NotFound), "A link of a mail, on its way to where it leads")
	t.Add("GET", "/v/:token", web.Public(), web.Page,
		web.Query(seen.show).Fails(core.Invalid, core.NotFound, core.PreconditionFailed),
		"A mail of a send job in the browser")
	events := mailProviders{h.options.Store, h.ident, h.log}
	t.Add("POST", "/webhooks/:provider", h.mailProvider(), web.Send,
		web.Raw(events.take).DescribesJSON(reflect.TypeFor[providerEvent]()),
		"Take the events of a mail provider; the body is that of the provider's kind, of kind generic a ProviderEvent")
	t.Add("POST", "/webhooks/lists/full-sync", web.Signed(), web.Send,
		web.JSON(hooks.fullSync).MaxBody(maxFullSync).Fails(core.Conflict), "Take a batch of a full list sync")
}

// deviceRoutes are the devices, agents and models of users.
func (h *Handler) deviceRoutes(t *web.Table) {
	d, g := devices{h.options.Store}, agents{h.options.Store}
	t.Add("GET", "/api/devices", web.User(core.ScopeDevices), web.Device,
		web.List(d.list, func(d core.Device) string { return d.ID }), "List the caller's devices")
	t.Add("POST", "/api/devices", web.User(core.ScopeDevices), web.Device,
		web.JSON(d.create).Created().Fails(core.NotFound, core.Conflict), "Pair a device")
	t.Add("GET", "/api/devices/:id", web.User(core.ScopeDevices), web.Device, web.Path(d.show), "Show a device")
	t.Add("PATCH", "/api/devices/:id", web.User(core.ScopeDevices), web.Device,
		web.JSON(d.update).Find(d.find).Fails(core.Conflict), "Change a device; absent fields stay as they are")
	t.Add("DELETE", "/api/devices/:id", web.User(core.ScopeDevices), web.Device, web.Path(d.unpair), "Unpair a device")
	t.Add("POST", "/api/devices/:id/register", web.User(core.ScopeDevices), web.Device,
		web.Path(d.register).Fails(core.Conflict), "Register a device")
	t.Add("POST", "/api/devices/:id/unregister", web.User(core.ScopeDevices), web.Device,
		web.Path(d.unregister), "Unregister a device")
	t.Add("GET", "/api/agents", web.User(core.ScopeDevices), web.Device,
		web.List(g.list, func(g core.Agent) string { return g.ID }), "List the caller's agents")
	t.Add("POST", "/api/agents", web.User(core.ScopeDevices), web.Device,
		web.JSON(g.create).Created().Fails(core.Conflict), "Create an agent")
	t.Add("GET", "/api/agents/:id", web.User(core.ScopeDevices), web.Device, web.Path(g.show), "Show an agent")
	t.Add("PATCH", "/api/agents/:id", web.User(core.ScopeDevices), web.Device,
		web.JSON(g.update).Find(g.find), "Change an agent; absent fields stay as they are")
	t.Add("DELETE", "/api/agents/:id", web.User(core.ScopeDevices), web.Device, web.Path(g.remove), "Delete an agent")
}

// modelRoutes are the models of users.
func (h *Handler) modelRoutes(t *web.Table) {
	m := models{h.options.Store}
	s := shares{m}
	const item, sharing, share = "/api/models/:id", "/api/models/:id/shares", "/api/models/:id/shares/:share_id"
	t.Add("GET", "/api/models", web.User(core.ScopeModelsRead), web.Device,
		web.List(m.list, modelKey), "List the caller's own models")
	t.Add("POST", "/api/models", web.User(core.ScopeModelsWrite), web.Device,
		web.Stream(h.upload).NeedsRoom(maxWrite).Created().
			Fails(core.Forbidden, core.Conflict, core.TooLarge, core.TooMany),
		"Upload a model: the body is the file, or multipart/form-data with a part named file")
	t.Add("GET", "/api/models/upload", web.User(core.ScopeModelsRead), web.Device,
		web.Query(h.uploadState), "Tell how much of an upload that broke off is kept")
	t.Add("GET", "/api/models/library", web.User(core.ScopeModelsRead), web.Device,
		web.Query(m.library), "List the models that the caller may view, newest first")
	t.Add("PATCH", item, web.User(core.ScopeModelsWrite), web.Device,
		web.JSON(m.update).Find(m.owned), "Change what a model is called; absent fields stay as they are")
	t.Add("DELETE", item, web.User(core.ScopeModelsWrite), web.Device, web.Path(m.remove), "Delete a model")
	t.Add("GET", item+"/profile", web.User(core.ScopeModelsRead), web.Device, web.Path(m.profile), "Show a model")
	t.Add("GET", item+"/download", web.User(core.ScopeModelsRead), web.Device,
		web.Serve(m.download), "Download the file of a model")
	t.Add("PATCH", item+"/visibility", web.User(core.ScopeModelsWrite), web.Device,
		web.JSON(m.setVisibility).Find(m.owned), "Change who may view a model")
	t.Add("GET", sharing, web.User(core.ScopeModelsRead), web.Device,
		web.List(s.list, func(s core.Share) string { return s.ID }).Find(m.owned), "List the shares of a model")
	t.Add("POST", sharing, web.User(core.ScopeModelsWrite), web.Device,
		web.JSON(s.create).NeedsRoom(maxWrite).Created().Find(m.owned).Fails(core.Conflict), "Share a model")
	t.Add("GET", share, web.User(core.ScopeModelsRead), web.Device, web.Query(s.show).Find(s.find), "Show a share")
	t.Add("PUT", share, web.User(core.ScopeModelsWrite), web.Device, web.JSON(s.update).Find(s.find), "Change a share")
	t.Add("DELETE", share, web.User(core.ScopeModelsWrite), web.Device, web.Query(s.remove).Find(s.find), "End a share")
}

// operationRoutes are for those who run the daemon.
func (h *Handler) operationRoutes(t *web.Table) {
	t.Add("GET", "/healthz", web.Public(), web.Send,
		web.Get(h.health).Quiet().DescribesFailure(503, "A part of the daemon does not work"), "Health of the daemon")
	t.Add("GET", "/openapi", web.Public(), web.Page, web.Query(h.reference), "Every operation, to read")
	for _, d := range documents {
		t.Add("GET", d.Path, web.Public(), web.Member, web.Get(h.openAPI(d.Name)), "OpenAPI document: "+d.Title)
	}
}
