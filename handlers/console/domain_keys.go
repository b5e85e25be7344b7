package console

import (
	"net/url"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// startFirstKey starts signing with a domain's first key if the key's record is published and no other key signs. If
// that fails, the visitor can use the button on the domain's page.
func (p *Page) startFirstKey(d *core.SenderDomainView) {
	var set core.DomainRecords
	if !p.May(core.ActionDKIMManage) {
		return
	}
	_, err := p.Get(apiDomains+"/"+d.ID+"/records", nil, &set)
	if err != nil || set.Status != core.DomainVerified ||
		slices.ContainsFunc(set.Records, func(r core.DomainRecord) bool { return r.Purpose == core.RecordDKIM && r.Active }) {
		return
	}
	for _, r := range set.Records {
		if r.Purpose != core.RecordDKIM || r.State != core.RecordFound {
			continue
		}
		var k core.DKIMKey
		address := "/api/admin/dkim-keys/" + url.PathEscape(r.KeyID)
		if _, err = p.Get(address, nil, &k); err == nil && k.UpdatedAt == k.CreatedAt {
			err = p.Do("PUT", address, map[string]string{"status": core.DKIMActive}, nil)
		}
		if err != nil {
			p.LogError(err)
		}
		return
	}
}

// domainKeys creates, activates, deactivates and deletes the keys that sign a domain's emails.
func (o *Console) domainKeys(p *Page) (web.HTML, error) {
	d, err := p.theDomain()
	if err != nil {
		return web.HTML{}, err
	}
	const keys = "/api/admin/dkim-keys"
	key, notice := keys+"/"+url.PathEscape(p.Form["key"]), "saved"
	switch p.Form["act"] {
	case "make":
		err, notice = p.makeKey(&d), "key-created"
	case "start":
		err = p.startKey(&d)
	case "rest":
		err = p.Do("PUT", key, map[string]string{"status": core.DKIMInactive}, nil)
	case "delete":
		if p.Form["sure"] != "1" {
			return p.notSure(p.domainAgain)
		}
		err, notice = p.Do("DELETE", key, nil, nil), "deleted"
	default:
		err = core.Invalidf("act", "Unknown action. Reload the page and try again.")
	}
	if err != nil {
		return p.refused(err, p.domainAgain)
	}
	return p.Redirect(p.domainPath(d.ID), notice)
}

// makeKey creates a key, which stays inactive until its record is published. The key's name contains the date, so that
// keys can be replaced. For an unverified domain, the API chooses the name.
func (p *Page) makeKey(d *core.SenderDomainView) (err error) {
	if !d.Verified() {
		body := map[string]string{"tenant_id": p.Tenant.ID, "domain": d.Domain, "status": core.DKIMInactive}
		return p.Do("POST", "/api/admin/dkim-keys", body, nil)
	}
	name := "n" + p.Now.Time().UTC().Format("20060102")
	for _, more := range []string{"", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		err = p.Do("POST", "/api/admin/dkim-keys", map[string]string{
			"tenant_id": p.Tenant.ID, "domain": d.Domain, "selector": name + more, "status": core.DKIMInactive,
		}, nil)
		if core.KindOf(err) != core.Conflict {
			return err
		}
	}
	return err
}

// startKey activates a key for signing and deactivates the previous ones.
func (p *Page) startKey(d *core.SenderDomainView) error {
	var set core.DomainRecords
	if _, err := p.Get(apiDomains+"/"+d.ID+"/records", nil, &set); err != nil {
		return err
	}
	const keys = "/api/admin/dkim-keys/"
	active := map[string]string{"status": core.DKIMActive}
	if err := p.Do("PUT", keys+url.PathEscape(p.Form["key"]), active, nil); err != nil {
		return err
	}
	for _, r := range set.Records {
		if r.Purpose != core.RecordDKIM || !r.Active || r.KeyID == p.Form["key"] ||
			strings.HasPrefix(r.Value, "v=DKIM1; k=ed25519") {
			continue
		}
		if err := p.Do("PUT", keys+r.KeyID, map[string]string{"status": core.DKIMInactive}, nil); err != nil {
			return err
		}
	}
	return nil
}
