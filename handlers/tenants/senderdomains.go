package tenants

import (
	"context"

	"golang.org/x/sync/singleflight"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

// senderDomains serves /api/admin/sender-domains.
type senderDomains struct {
	store  *store.Store
	lookup auth.LookupTXT
	looks  *singleflight.Group // running checks of TXT records, by domain id

	records *domainRecords
}

// look is the result of looking up a domain's TXT record.
type look struct{ result, foundAt string }

// senderDomainRoutes adds the routes for sender domains.
func (r *Room) senderDomainRoutes(t *web.Table) {
	records := &domainRecords{store: r.Store, sealer: r.Sealer, txt: r.LookupTXT, dns: r.DNS, origin: r.Origin}
	d := senderDomains{r.Store, r.LookupTXT, new(singleflight.Group), records}
	const all, item = "/api/admin/sender-domains", "/api/admin/sender-domains/:id"
	may := web.Admin(core.ActionDomainPropose)
	one := func(e web.Endpoint) web.Endpoint { return e.Find(d.find).Missing(web.ErrNotFound) }
	t.Add("GET", all, may, web.Member, web.List(d.list, senderDomainKey), "List sender domains, verified or not").
		Named("listSenderDomains")
	t.Add("POST", all, may, web.Member, web.JSON(d.create).Created().Fails(core.NotFound, core.Conflict),
		"Add a sender domain; the response has the TXT record that verifies it").Named("proposeSenderDomain").
		Example(web.Object{"tenant_id": web.ExampleID, "domain": "news.acme.example"}).
		Refuses(
			web.TenantNamed,
			web.Refused("domain", "Not a domain name, a public suffix, or too long"),
			web.ThereIsOne,
			web.Clash("The tenant has reached its limit for domains"),
			web.Clashing("domain_taken", "", "The domain or its parent is verified for another tenant"),
			web.Clashing("domain_taken", "domain", "The domain or its parent is verified for another tenant"),
		)
	t.Add("GET", item, may, web.Member, one(web.Path(d.show)), "Show a sender domain").Named("getSenderDomain")
	t.Add("DELETE", item, may, web.Member, one(web.Path(d.remove).Fails(core.Conflict)), "Delete a sender domain").
		Named("deleteSenderDomain").
		Refuses(web.Clashing("domain_in_use", "", "mail_from or an unfinished send job uses the domain"))
	t.Add("POST", item+"/check", may, web.Member, one(web.Path(d.check).Fails(core.Conflict, core.TooMany)),
		"Check the TXT record now and verify the domain if it is found").Named("checkSenderDomain").
		Refuses(
			web.Clash("The tenant has reached its limit for domains"),
			web.Clashing("domain_taken", "", "The domain or its parent is verified for another tenant"),
		)
	t.Add("GET", item+"/records", may, web.Member, one(web.Path(records.show)),
		"Check every DNS record that a sender domain needs").
		Named("getSenderDomainRecords")
	t.Add("POST", item+"/records-link", may, web.Member, one(web.Path(records.link)).Created(),
		"Create a link to these DNS records for the domain's owner, valid for a week").
		Named("linkSenderDomainRecords")
	t.Add("GET", "/api/sender-domain-records", web.Public(), web.Member, web.Query(records.forwarded),
		"Show a sender domain's DNS records through a records link").Named("getLinkedDomainRecords").
		Refuses(web.Refused("token", "The token is unknown or no longer valid"))
	t.Add("POST", item+"/verify", web.Admin(core.ActionDomainVerify), web.Member,
		one(web.Path(d.verify).Fails(core.Conflict)), "Verify a sender domain without checking DNS").
		Named("verifySenderDomain").
		Refuses(
			web.Clash("The tenant has reached its limit for domains"),
			web.Clashing("domain_taken", "", "The domain or its parent is verified for another tenant"),
		)
}

func (a senderDomains) find(c *web.Call) error {
	d, err := a.store.SenderDomain(c, c.ID())
	return web.OwnRecord(c, d.TenantID, core.ActionDomainPropose, err, web.ErrNotFound)
}

func senderDomainKey(d core.SenderDomainView) string { return d.ID }

func (a senderDomains) list(c *web.Call, in web.TenantFilter, page core.Page) ([]core.SenderDomainView, error) {
	found, err := web.PageFor(c, in, page, a.store.SenderDomains)
	if err != nil {
		return nil, err
	}
	return a.store.SenderDomainViews(c, found...)
}

// view converts a sender domain to the response format.
func (a senderDomains) view(c *web.Call, d core.SenderDomain, err error) (core.SenderDomainView, error) {
	if err != nil {
		return core.SenderDomainView{}, err
	}
	out, err := a.store.SenderDomainViews(c, d)
	return out[0], err
}

// newSenderDomain is the body of POST /api/admin/sender-domains.
type newSenderDomain struct {
	TenantID string `json:"tenant_id" like:"tenant"`
	Domain   string `json:"domain" is:"required" min:"1" about:"Domain to send from, such as example.org"`
}

func (a senderDomains) create(c *web.Call, in newSenderDomain) (out core.SenderDomainView, err error) {
	tenant, err := web.TheTenant(c, in.TenantID)
	if err != nil {
		return out, err
	}
	if tenant == core.TenantNone {
		return out, core.Invalidf("tenant_id", "tenant_id is missing.")
	}
	d, err := core.ProposeDomain(tenant, in.Domain, c.Now)
	if err != nil {
		return out, err
	}
	return d.View(), web.UnknownTenant(a.store.ProposeSenderDomain(c, d, web.Actor(c)))
}

func (a senderDomains) show(c *web.Call, id string) (core.SenderDomainView, error) {
	d, err := a.store.SenderDomain(c, id)
	return a.view(c, d, err)
}

// check looks up a domain's TXT record. If another tenant has the domain, check returns a conflict and stores it as the
// domain's state.
func (a senderDomains) check(c *web.Call, id string) (out core.SenderDomainView, err error) {
	d, err := a.store.BeginDomainCheck(c, id, c.Now)
	if err != nil {
		return out, err
	}
	found, _, _ := a.looks.Do(id, func() (any, error) { // concurrent requests share one check
		result, foundAt := auth.CheckDomain(context.WithoutCancel(c), a.lookup, d)
		return look{result, foundAt}, nil
	})
	l := found.(look)
	a.records.forget(d.Domain)
	if d, err = a.store.EndDomainCheck(c, id, l.result, l.foundAt, web.Actor(c), c.Now); err != nil {
		return out, err
	}
	if d.Check == core.DomainTaken {
		return out, core.ErrDomainTaken
	}
	return a.view(c, d, nil)
}

func (a senderDomains) verify(c *web.Call, id string) (core.SenderDomainView, error) {
	d, err := a.store.VerifySenderDomain(c, id, web.Actor(c), c.Now)
	return a.view(c, d, err)
}

func (a senderDomains) remove(c *web.Call, id string) (web.None, error) {
	return web.None{}, a.store.DeleteSenderDomain(c, id, web.Actor(c), c.Now)
}
