package console

import (
	"net/http"
	"net/url"
	"slices"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// domainRoutes are the pages of sender domains.
func (o *Console) domainRoutes(t *web.Table) {
	const may = core.ActionDomainPropose
	o.get(t, "/settings/domains", may, o.domains, "The console: sender domains")
	o.post(t, "/settings/domains", may, o.domains, "The console: propose a sender domain")
	o.post(t, "/settings/domains/:id/check", may, o.domainCheck, "The console: look at a domain's record now")
	o.post(t, "/settings/domains/:id/delete", may, o.domainDelete, "The console: delete a sender domain")
}

const apiDomains = "/api/admin/sender-domains"

// domainRow is a sender domain with its records.
type domainRow struct {
	core.SenderDomainView
	Records []recordRow
	Badge   Badge
}

// recordRow is a record of the DNS, with its name as providers ask for it: within their zone, or whole.
type recordRow struct {
	core.DNSRecord
	Short, What string
	Badge       Badge
	ID          string // of the elements that are copied
}

// signingKey is a key that signs mails, as the API shows it.
type signingKey struct {
	Domain string `json:"domain"`
	Record struct {
		Name  string `json:"name"`
		Type  string `json:"type"`
		Value string `json:"value"`
		State string `json:"state"`
	} `json:"record"`
}

// domains shows the sender domains and their records, and takes another one.
func (o *Console) domains(p *Page) (web.HTML, error) {
	if !p.isGet() {
		return o.proposeDomain(p)
	}
	if target, ok := p.Partial(); ok && target == "domains" {
		rows, err := p.domainRows()
		if err != nil {
			return web.HTML{}, err
		}
		return p.ShowPart("domains", "domain-rows", View{Data: settingsPage{More: rows}})
	}
	return p.showDomains(filled{}, View{})
}

func (p *Page) showDomains(f filled, v View) (web.HTML, error) {
	rows, err := p.domainRows()
	if err != nil {
		return web.HTML{}, err
	}
	v.State = p.T("Mail programs trust a sender whose domain says so. Each needs some records where the domain is kept.")
	return p.showSettings("domains", "domains", v, f, rows)
}

// maxDomains is how many sender domains and keys a page shows.
const maxDomains = 200

func (p *Page) domainRows() (rows []domainRow, err error) {
	found, err := all[core.SenderDomainView](p, apiDomains, p.ofTenant("limit", "100"), maxDomains)
	if err != nil {
		return nil, err
	}
	var keys []signingKey
	if p.May(core.ActionDKIMRead) {
		keys, err = all[signingKey](p, "/api/admin/dkim-keys", p.ofTenant("limit", "100"), maxDomains)
	}
	for i := range found {
		rows = append(rows, p.domainRow(&found[i], keys))
	}
	return rows, err
}

func (p *Page) domainRow(d *core.SenderDomainView, keys []signingKey) domainRow {
	row := domainRow{SenderDomainView: *d, Badge: Badge{p.T("to be proved"), "warn"}}
	proof := Badge{p.T("not found yet"), "warn"}
	if d.Verified() {
		row.Badge, proof = Badge{p.T("proved"), "good"}, Badge{}
	}
	if d.Check == core.DomainFound {
		proof = Badge{p.T("found"), "good"}
	}
	add := func(record core.DNSRecord, what string, b Badge) {
		row.Records = append(row.Records, recordRow{
			record, core.RecordLabel(record.Name, d.Domain), what, b, "r" + d.ID + "-" + string(rune('a'+len(row.Records))),
		})
	}
	add(d.Record, p.T("Proves that the domain is yours"), proof)
	for _, k := range keys {
		if k.Domain != d.Domain {
			continue
		}
		badge := Badge{p.T("not found yet"), "warn"}
		switch k.Record.State {
		case "published":
			badge = Badge{p.T("found"), "good"}
		case "other":
			badge = Badge{p.T("another value"), "bad"}
		case "unknown":
			badge = Badge{p.T("not known"), ""}
		}
		add(core.DNSRecord{Type: k.Record.Type, Name: k.Record.Name, Value: k.Record.Value}, p.T("Signs your mails (DKIM)"), badge)
	}
	add(core.DNSRecord{Type: "TXT", Name: "_dmarc." + d.Domain, Value: "v=DMARC1; p=none"},
		p.T("Says what to do with forged mails (DMARC); if there is one already, it stays"), Badge{})
	return row
}

func (o *Console) proposeDomain(p *Page) (web.HTML, error) {
	body := map[string]string{"tenant_id": p.Tenant.ID, "domain": domainOf(p.Form["domain"])}
	if err := p.Do("POST", apiDomains, body, nil); err != nil {
		return p.refused(err, p.showDomains)
	}
	return p.Redirect(p.Path("settings", "domains"), "created")
}

// domainCheck has the record of a domain looked at. What was found stands on the page then; a refusal is shown there.
func (o *Console) domainCheck(p *Page) (web.HTML, error) {
	if err := p.Do("POST", apiDomains+"/"+url.PathEscape(p.Param("id"))+"/check", nil, nil); err != nil {
		return p.refused(err, func(f filled, v View) (web.HTML, error) { return p.showDomains(filled{}, v) })
	}
	return p.Redirect(p.Path("settings", "domains"), "checked")
}

func (o *Console) domainDelete(p *Page) (web.HTML, error) {
	return p.deleteFrom(apiDomains, p.Path("settings", "domains"), func(f filled, v View) (web.HTML, error) {
		return p.showDomains(filled{}, v)
	})
}

// deleteFrom deletes the record of the path after a second step, and leads to another page.
func (p *Page) deleteFrom(api, to string, show func(filled, View) (web.HTML, error)) (web.HTML, error) {
	if p.Form["sure"] != "1" {
		return p.notSure(show)
	}
	err := p.Do("DELETE", api+"/"+url.PathEscape(p.Param("id")), nil, nil)
	if err != nil {
		return p.refused(err, show)
	}
	return p.Redirect(to, "deleted")
}

// notSure shows a page again whose form lacks the box that says that it is meant.
func (p *Page) notSure(show func(filled, View) (web.HTML, error)) (web.HTML, error) {
	return show(filled{}, View{Fault: p.T("Tick the box to say that you mean it."), Status: http.StatusBadRequest})
}

// Pending reports whether the page shows a domain that is not proved yet: then it is looked at again and again.
func (s settingsPage) Pending() bool {
	rows, _ := s.More.([]domainRow)
	return slices.ContainsFunc(rows, func(r domainRow) bool { return !r.Verified() })
}

// DomainMessage says what is to be done next with a domain.
func (p *Page) DomainMessage(d core.SenderDomainView) string {
	switch {
	case d.Verified():
		return p.T("You can write from this domain.")
	case d.Check == core.DomainMissing:
		return p.T("There is no such record yet. A new one may take up to an hour to be seen.")
	case d.Check == core.DomainOtherValue:
		return p.T("The record that proves the domain has another value.")
	case d.Check == core.DomainMisplaced && d.FoundAt == d.Domain:
		return p.T("The record stands at the domain itself; its name must be {{name}}.", "name", d.Record.Name)
	case d.Check == core.DomainMisplaced:
		return p.T("The record stands at {{name}}: this provider adds the domain to names, so enter the short name.", "name", d.FoundAt)
	case d.Check == core.DomainFault:
		return p.T("The name servers of the domain answer with a fault. Try again later, or ask who keeps the domain.")
	case d.Check == core.DomainTimeout:
		return p.T("No name server has answered in time. Try again later.")
	case d.Check == core.DomainTaken:
		return p.T("The record is there, but the domain belongs to another tenant here. The operator decides.")
	}
	return p.T("Make these records where the domain is kept, then have it checked.")
}
