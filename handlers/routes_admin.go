package handlers

import (
	"cmp"
	"strconv"

	"golang.org/x/sync/singleflight"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// peopleRoutes are the subscribers of lists, for those who keep the lists.
func (h *Handler) peopleRoutes(t *web.Table) {
	s := subscribers{h.options.Store}
	const all, item = "/api/admin/subscribers", "/api/admin/subscribers/:id"
	one := func(e web.Endpoint) web.Endpoint { return e.Find(s.find).Missing(core.ErrSubscriptionNotFound) }
	t.Add("GET", all, admin(core.ActionPeopleMasked), web.Member, web.Search(s.list).Fails(core.NotFound),
		"List subscribers; a page may be short and have a next one")
	t.Add("POST", all, admin(core.ActionPeopleAdd), web.Member,
		web.JSON(s.create).Created().Fails(core.NotFound, core.Conflict).
			DescribesFailure(200, "The address is on the list already: nothing is changed"),
		"Add an address to a list; unless it has agreed, it is mailed a link to confirm")
	t.Add("GET", all+"/export", admin(core.ActionPeopleExport), web.Member, web.Write(s.export).Fails(core.NotFound),
		"Write the subscriptions of a list as CSV")
	t.Add("GET", item, admin(core.ActionPeopleMasked), web.Member,
		one(web.Path(s.show)), "Show a subscriber, with the record of consents")
	t.Add("PUT", item, admin(core.ActionPeopleChange), web.Member,
		one(web.JSON(s.update)).Fails(core.Conflict), "Change a subscriber; absent fields stay as they are")
	t.Add("POST", item+"/unsubscribe", admin(core.ActionPeopleChange), web.Member,
		one(web.Path(s.unsubscribe)), "End a subscription")
	t.Add("POST", all+"/unsubscribe", admin(core.ActionPeopleChange), web.Member, web.JSON(s.unsubscribeAll),
		"End every subscription of an address on the lists of a tenant")
	t.Add("POST", item+"/erase", admin(core.ActionPeopleErase), web.Member,
		one(web.Path(s.erase)), "Remove all that the lists of the tenant hold about the address")
	t.Add("GET", item+"/export", admin(core.ActionPeopleExport), web.Member, one(web.Write(s.exportPerson)),
		"Write all that the tenant holds about the address, as JSON")
	t.Add("GET", item+"/history", admin(core.ActionPeopleRead), web.Member,
		one(web.List(s.history, mailed.key)), "What the tenant has sent to the address, the newest first")
	p := suppressions{h.options.Store}
	const off = "/api/admin/suppressions"
	may := admin(core.ActionSuppressionManage)
	t.Add("GET", off, may, web.Member, web.Search(p.list), "List the addresses that no list of a tenant mails, and why")
	t.Add("POST", off, may, web.Member, web.JSON(p.create).Created().Fails(core.NotFound),
		"Keep an address from being mailed, at once")
	t.Add("PUT", off, may, web.Member, web.JSON(p.update).Fails(core.NotFound),
		"Change the reason why an address is not mailed")
	t.Add("POST", off+"/lift", may, web.Member, web.JSON(p.lift).Fails(core.NotFound), "Let an address be mailed again")
}

// listRoutes are what is asked about a list in addition to its record.
func (h *Handler) listRoutes(t *web.Table) {
	l := listExtras{
		h.options.Store, cmp.Or(h.options.Newsletter.MemberURL, h.publicURL), h.ledgers, h.options.Newsletter.SendElsewhere,
	}
	const item = "/api/admin/newsletter-lists/:id"
	read := admin(core.ActionListRead)
	one := func(e web.Endpoint) web.Endpoint {
		return e.Find(lists{store: h.options.Store}.find).Missing(core.ErrListNotFound)
	}
	t.Add("GET", item+"/reasons", read, web.Member, one(web.Path(l.reasons)), "Count the reasons that leavers gave")
	t.Add("GET", item+"/growth", read, web.Member, one(web.Query(l.growth)),
		"Show the counts of a list at the end of each of the last days, the oldest first")
	change := admin(core.ActionPeopleChange)
	t.Add("GET", item+"/hygiene", read, web.Member, one(web.Query(l.hygiene)),
		"Count who on a list is not reached, has not confirmed, or was silent for some months")
	t.Add("POST", item+"/ask-again", change, web.Member, one(web.JSON(l.askAgain)).Fails(core.Conflict),
		"Ask those who have not confirmed, or were silent, once more whether they want the mails of a list")
	t.Add("POST", item+"/unsubscribe-silent", change, web.Member, one(web.Path(l.unsubscribeSilent)),
		"End the subscriptions of those who were asked once more and have not answered in 14 days")
	t.Add("POST", item+"/remove-unconfirmed", change, web.Member, one(web.Path(l.removeUnconfirmed)),
		"Remove those who have never confirmed, and were asked more than 7 days ago")
	t.Add("GET", item+"/form", read, web.Member, one(web.Path(l.form)), "Show a subscribe form for a website")
	t.Add("GET", item+"/drift", admin(core.ActionListSettings), web.Member, one(web.Query(l.drift)).Fails(core.Conflict),
		"Compare what the member and the send side have of a list, and change nothing")
	y := syncs{h.options.Store}
	t.Add("GET", "/api/admin/syncs", read, web.Member, web.List(y.list, syncState.key),
		"List the full syncs of lists, the newest first")
	t.Add("GET", "/api/admin/syncs/:id", read, web.Member, web.Path(y.show).Find(y.find).Missing(web.ErrNotFound),
		"Show a full sync: how far it is")
}

// templateRoutes are the templates and layouts of tenants.
func (h *Handler) templateRoutes(t *web.Table) {
	a := templates{h.options.Store}
	const all = "/api/admin/templates"
	read, write := core.ActionTemplateRead, core.ActionTemplateWrite
	crud(t, all, "a template", "templates, without their bodies", resource{
		a.find, web.ErrNotFound, web.List(a.list, templateHead.key),
		web.JSON(a.create).MaxBody(maxSendJob).Fails(core.NotFound, core.Conflict), web.Path(a.show),
		web.JSON(a.update).MaxBody(maxSendJob).Fails(core.Conflict), web.Query(a.remove).Fails(core.Conflict),
		rights{read, write, write, write},
	})
	t.Add("GET", all+"/:id/uses", admin(read), web.Member, web.Path(a.uses).Find(a.find).Missing(web.ErrNotFound),
		"List what uses a template, and would lack it")
	t.Add("POST", "/api/admin/template-preview", admin(read), web.Member,
		web.JSON(a.try).MaxBody(maxSendJob).Fails(core.NotFound, core.Conflict),
		"Render a template that is not kept, with its layout")
	t.Add("POST", all+"/:id/preview", admin(read), web.Member,
		web.Path(a.preview).Find(a.find).Missing(web.ErrNotFound).Fails(core.Conflict),
		"Render a template with its layout")
}

// systemRoutes are what happens in the daemon, and by whom.
func (h *Handler) systemRoutes(t *web.Table) {
	trail := audit{h.options.Store}
	t.Add("GET", "/api/admin/audit", admin(core.ActionAuditRead), web.Member, web.Search(trail.list),
		"List who has changed what, the newest first; a page may be short and have a next one")
	s := system{h.options.Store, h.options.Snapshot, h.options.Doctor, h.options.Versions, h.queues}
	t.Add("GET", "/api/admin/status", admin(core.ActionSystemRead), web.Member, web.Get(s.status),
		"Show jobs, queues, disk and snapshot at a glance")
	t.Add("GET", "/api/admin/doctor", admin(core.ActionSystemRead), web.Member, web.Query(s.examine),
		"Look for what is wrong or rarely meant, and say what to do")
	keys := signingKeys{h.options.Store}
	may := admin(core.ActionKeyManage)
	t.Add("GET", "/api/admin/signing-keys", may, web.Member, web.Get(keys.list),
		"List the keys that tokens are signed with, the oldest first")
	t.Add("POST", "/api/admin/signing-keys/rotate", may, web.Member, web.Get(keys.rotate).Created().Fails(core.Conflict),
		"Make the next signing keys; they sign from tomorrow on")
}

// outboxRoutes are the events and mails on their way, for operators.
func (h *Handler) outboxRoutes(t *web.Table) {
	o := outbox{h.options.Store}
	const events, item, mails = "/api/admin/outbox", "/api/admin/outbox/:id", "/api/admin/mails"
	may := admin(core.ActionOutboxManage)
	one := func(e web.Endpoint) web.Endpoint { return e.Find(o.find).Missing(web.ErrNotFound) }
	t.Add("GET", events, may, web.Member, web.List(o.list, outboxEvent.key),
		"List the events that wait, and the dead letters, the oldest first")
	t.Add("GET", item, may, web.Member, one(web.Query(o.show)),
		"Show an event with what is posted, once for each receiver that it waits for")
	t.Add("POST", item+"/retry", may, web.Member, one(web.JSON(o.retry).BodyOptional()).Fails(core.Conflict),
		"Deliver an event again now")
	t.Add("POST", events+"/retry", may, web.Member, web.JSON(o.retryAll).BodyOptional(),
		"Deliver dead letters again, 10,000 at most")
	t.Add("GET", mails, may, web.Member,
		web.List(o.mails, func(m core.QueuedMail) string { return strconv.FormatInt(m.ID, 10) }),
		"List the mails to one person that wait or were refused for good, the oldest first")
	t.Add("POST", mails+"/retry", may, web.Member,
		web.JSON(o.retryMails).BodyOptional().Fails(core.NotFound, core.Conflict),
		"Send a mail, or those that were refused, again, 10,000 at most")
}

// userRoutes are the accounts of people, for operators.
func (h *Handler) userRoutes(t *web.Table) {
	u := users{h.options.Store}
	const all, item = "/api/admin/users", "/api/admin/users/:id"
	may := admin(core.ActionUserManage)
	one := func(e web.Endpoint) web.Endpoint { return e.Find(u.find).Missing(web.ErrNotFound) }
	crud(t, all, "a user", "users", resource{
		u.find, web.ErrNotFound, web.List(u.list, func(u core.User) string { return u.ID }),
		web.JSON(u.create).Fails(core.NotFound, core.Conflict), web.Path(u.show), web.JSON(u.update).Fails(core.Conflict),
		web.Query(u.remove).Fails(core.Conflict),
		rights{core.ActionUserManage, core.ActionUserManage, core.ActionUserManage, core.ActionUserManage},
	})
	t.Add("POST", item+"/roles", may, web.Member, one(web.JSON(u.grant)), "Give a user a role")
	t.Add("POST", item+"/roles/revoke", may, web.Member,
		one(web.JSON(u.revoke).Fails(core.Conflict)), "Take a role from a user")
	t.Add("GET", item+"/sessions", may, web.Member, one(web.Path(u.sessions)), "Show where a user is signed in")
	t.Add("POST", item+"/logout-everywhere", may, web.Member,
		one(web.JSON(u.logout).BodyOptional()), "End every session and token of a user; the answer names the clients that stay")
	t.Add("POST", item+"/reset-second-factor", may, web.Member,
		one(web.Path(u.resetFactor).Fails(core.Conflict)), "Remove the second factor of a user")
	t.Add("GET", item+"/passkeys", may, web.Member, one(web.Path(u.passkeys)), "List the passkeys of a user")
	t.Add("DELETE", item+"/passkeys/:passkey_id", may, web.Member, one(web.Query(u.removePasskey)),
		"Remove a passkey of a user, who is told by mail; sessions stay")
	k := tokens{h.options.Store}
	t.Add("DELETE", "/api/admin/tokens/:id", may, web.Member, web.Path(k.remove).Find(k.find).Missing(web.ErrNotFound),
		"End an access token and all that came of the same sign-in")
	t.Add("GET", item+"/export", may.Exports(), web.Member,
		one(web.Path(u.export)), "Show everything that is known about a person")
	t.Add("POST", item+"/erase", may, web.Member,
		one(web.JSON(u.erase).BodyOptional().Fails(core.Conflict)), "Remove everything that is known about a person")
}

// clientSecretRoutes are the secrets of OAuth clients.
func (h *Handler) clientSecretRoutes(t *web.Table) {
	a := clients{h.options.Store}
	const item = "/api/admin/oauth-clients/:id"
	one := func(e web.Endpoint) web.Endpoint { return e.Find(a.find).Missing(web.ErrNotFound) }
	t.Add("POST", item+"/rotate-secret", admin(core.ActionClientSecret), web.Member,
		one(web.JSON(a.rotate).BodyOptional()).Fails(core.Conflict),
		"Give an OAuth client another secret; the one before ends, or stays good for a while")
	t.Add("POST", item+"/end-old-secret", admin(core.ActionClientSecret), web.Member, one(web.Path(a.endOld)).Fails(core.Conflict),
		"End the secret before the newest of an OAuth client")
}

// webhookClientRoutes are the senders of signed webhooks.
func (h *Handler) webhookClientRoutes(t *web.Table) {
	w := webhookClients{h.options.Store}
	const all, item = "/api/admin/webhook-clients", "/api/admin/webhook-clients/:id"
	may := core.ActionWebhookManage
	crud(t, all, "a sender of signed webhooks", "senders of signed webhooks", resource{
		w.find, web.ErrNotFound, web.List(w.list, webhookClient.key), web.JSON(w.create).Fails(core.NotFound, core.Conflict),
		web.Path(w.show), web.JSON(w.update), web.Path(w.remove),
		rights{may, may, may, may},
	})
	t.Add("POST", item+"/rotate-secret", admin(may), web.Member,
		web.Path(w.rotate).Find(w.find).Missing(web.ErrNotFound).Fails(core.Conflict),
		"Give a sender another secret; the one before stays good until it is ended, and there is no third")
	t.Add("POST", item+"/end-old-secret", admin(may), web.Member,
		web.Path(w.endOld).Find(w.find).Missing(web.ErrNotFound), "End the secret before the newest of a sender")
}

// mailProviderRoutes are the mail providers that report what became of mails.
func (h *Handler) mailProviderRoutes(t *web.Table) {
	p := providers{h.options.Store, h.options.Providers, h.publicURL}
	const all, item = "/api/admin/mail-providers", "/api/admin/mail-providers/:provider"
	may := admin(core.ActionProviderManage)
	one := func(e web.Endpoint) web.Endpoint { return e.Find(p.find).Missing(web.ErrNotFound) }
	t.Add("GET", all, may, web.Member, web.List(p.list, provider.key), "List mail providers")
	t.Add("POST", all, may, web.Member, web.JSON(p.create).Created().Fails(core.NotFound, core.Conflict),
		"Create a mail provider")
	t.Add("GET", item, may, web.Member, one(web.Query(p.show)), "Show a mail provider")
	t.Add("PUT", item, may, web.Member, one(web.JSON(p.update)).Fails(core.Conflict),
		"Change a mail provider; absent fields stay as they are")
	t.Add("DELETE", item, may, web.Member, one(web.Query(p.remove)).Fails(core.Conflict), "Delete a mail provider")
	t.Add("POST", item+"/rotate-secret", may, web.Member, one(web.JSON(p.rotate).BodyOptional()).Fails(core.Conflict),
		"Give a mail provider another secret; the one before stays good until it is ended, and there is no third")
	t.Add("POST", item+"/end-old-secret", may, web.Member, one(web.Query(p.endOld)).Fails(core.Conflict),
		"End the secret before the newest of a mail provider")
}

// senderDomainRoutes are the domains that tenants mail from.
func (h *Handler) senderDomainRoutes(t *web.Table) {
	r := &domainRecords{
		store: h.options.Store, sealer: h.sealer, txt: h.options.LookupTXT, dns: h.options.DNS, origin: h.publicURL,
	}
	d := senderDomains{h.options.Store, h.options.LookupTXT, new(singleflight.Group), r}
	const all, item = "/api/admin/sender-domains", "/api/admin/sender-domains/:id"
	may := admin(core.ActionDomainPropose)
	one := func(e web.Endpoint) web.Endpoint { return e.Find(d.find).Missing(web.ErrNotFound) }
	t.Add("GET", all, may, web.Member, web.List(d.list, senderDomainKey), "List sender domains, proposed and verified")
	t.Add("POST", all, may, web.Member, web.JSON(d.create).Created().Fails(core.NotFound, core.Conflict),
		"Propose a sender domain; the answer has the TXT record that proves it")
	t.Add("GET", item, may, web.Member, one(web.Path(d.show)), "Show a sender domain")
	t.Add("DELETE", item, may, web.Member, one(web.Path(d.remove).Fails(core.Conflict)), "Delete a sender domain")
	t.Add("POST", item+"/check", may, web.Member, one(web.Path(d.check).Fails(core.Conflict, core.TooMany)),
		"Look at the TXT record now; a proposed domain that has it is verified")
	t.Add("GET", item+"/records", may, web.Member, one(web.Path(r.show)),
		"Look at every record that a sender domain needs, and at what stands in its place")
	t.Add("POST", item+"/records-link", may, web.Member, one(web.Path(r.link)).Created(),
		"Make the address of a page that shows these records for a week, for who keeps the domain")
	t.Add("GET", "/api/sender-domain-records", web.Public(), web.Member, web.Query(r.forwarded),
		"Look at the records of a sender domain by such an address")
	t.Add("POST", item+"/verify", admin(core.ActionDomainVerify), web.Member,
		one(web.Path(d.verify).Fails(core.Conflict)), "Verify a sender domain by an operator's word")
}
