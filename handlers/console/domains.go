package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// recordsPath is the path of the page that shows a domain's records to anyone with the link.
const recordsPath = "/records"

// domainRoutes adds the routes for sender domains.
func (o *Console) domainRoutes(t *web.Table) {
	const may, keys = core.ActionDomainPropose, core.ActionDKIMManage
	const one = "/settings/domains/:id"
	o.get(t, "/settings/domains", may, o.domains, "The console: sender domains")
	o.post(t, "/settings/domains", may, o.proposeDomain, "The console: add a sender domain")
	o.get(t, one, may, o.domain, "The console: a sender domain with its records")
	o.post(t, one+"/check", may, o.domainCheck, "The console: check the DNS records of a domain")
	o.post(t, one+"/forward", may, o.domainForward, "The console: create a link to the DNS records of a domain")
	o.post(t, one+"/links", core.ActionTenantSettings, o.domainLinks,
		"The console: set the host of links in emails")
	o.post(t, one+"/keys", keys, o.domainKeys, "The console: create, activate or delete a DKIM key")
	o.post(t, one+"/delete", may, o.domainDelete, "The console: delete a sender domain")
	t.Add("GET", recordsPath, web.Public(), web.Console, web.Query(o.forwarded),
		"The records of a sender domain, by a link")
}

const apiDomains = "/api/admin/sender-domains"

// domainRow is a sender domain in the list of domains.
type domainRow struct {
	core.SenderDomainView
	Badge Badge
}

// domains lists the sender domains.
func (o *Console) domains(p *Page) (web.HTML, error) { return p.showDomains(filled{}, View{}) }

func (p *Page) showDomains(f filled, v View) (web.HTML, error) {
	found, err := all[core.SenderDomainView](p, apiDomains, p.ofTenant("limit", "100"), maxDomains)
	if err != nil {
		return web.HTML{}, err
	}
	var rows []domainRow
	for i := range found {
		badge := p.domainBadge(found[i].Verified(), true)
		if onTrust(&found[i]) {
			badge = p.domainBadge(true, false)
		}
		rows = append(rows, domainRow{found[i], badge})
	}
	v.State = p.T("Verify each domain so your emails don't land in spam")
	return p.showSettings("domains", "domains", v, f, rows)
}

// onTrust reports whether a domain is verified by a server administrator but not by a DNS record.
func onTrust(d *core.SenderDomainView) bool {
	return d.Verified() && d.VerifiedBy != core.VerifiedByDNS && d.Check != core.DomainFound
}

// maxDomains is the maximum number of sender domains on the page.
const maxDomains = 200

// domainBadge returns the badge for the state of a domain.
func (p *Page) domainBadge(verified, complete bool) Badge {
	switch {
	case !verified:
		return Badge{p.T("Not verified"), "warn"}
	case !complete:
		return Badge{p.T("Records missing"), "warn"}
	}
	return Badge{p.T("Verified"), "good"}
}

func (o *Console) proposeDomain(p *Page) (web.HTML, error) {
	var made core.SenderDomainView
	body := map[string]string{"tenant_id": p.Tenant.ID, "domain": domainOf(p.Form["domain"])}
	if err := p.Do("POST", apiDomains, body, &made); err != nil {
		return p.refused(err, p.showDomains)
	}
	if p.May(core.ActionDKIMManage) {
		// Create the key now so that all records can be published together. If that fails, the visitor can use the
		// button on the domain's page.
		if err := p.makeKey(&made); err != nil {
			p.LogError(err)
		}
	}
	return p.Redirect(p.domainPath(made.ID), "domain-added")
}

func (p *Page) domainPath(id string) string { return p.Path("settings", "domains", id) }

// recordRow is a DNS record with its description.
type recordRow struct {
	core.DomainRecord
	What, Why string // its name, and its purpose in plain words
	Note      string // what to do in its current state
	Badge     Badge
	ID        string // prefix of the ids of elements whose text can be copied
	// whether the visitor can activate, deactivate and delete the key
	Starts, Rests, Deletes bool
}

// domainPage holds the data for a domain's pages.
type domainPage struct {
	core.DomainRecords
	ID      string
	Message string
	Badge   Badge
	Rows    []recordRow
	Link    string       // link for forwarding; empty: no link was created
	Until   core.Instant // expiry of Link
	// LinkHost is the host that can be used for links in emails. Used is the current host if it belongs to the domain.
	LinkHost, Used string
	Keys           int  // number of keys
	Signs          bool // whether one of the keys signs emails
	Trusted        bool // whether no DNS record verifies the domain yet
	Start          bool // whether all records are published and a key is ready to sign
}

// SignsSoon reports whether signing starts when the record of the domain's key is published.
func (d domainPage) SignsSoon() bool {
	return !d.Signs && !slices.ContainsFunc(d.Rows, func(row recordRow) bool { return row.Starts })
}

// domain shows a domain.
func (o *Console) domain(p *Page) (web.HTML, error) { return p.showDomain(filled{}, View{}) }

func (p *Page) theDomain() (d core.SenderDomainView, err error) {
	_, err = p.Get(apiDomains+"/"+url.PathEscape(p.Param("id")), nil, &d)
	if err == nil && d.TenantID != p.Tenant.ID {
		err = web.ErrNotFound
	}
	return d, err
}

// domainPage reads the records of a domain.
func (p *Page) domainPage(d *core.SenderDomainView) (out domainPage, err error) {
	if _, err = p.Get(apiDomains+"/"+d.ID+"/records", nil, &out.DomainRecords); err != nil {
		return out, err
	}
	out.Trusted = onTrust(d)
	p.describe(&out, d.ID)
	out.Message = p.DomainMessage(*d)
	if u, err := url.Parse(p.Tenant.PublicURL); err == nil {
		if host := u.Hostname(); host == d.Domain || strings.HasSuffix(host, "."+d.Domain) {
			out.Used = host
		}
	}
	if p.Tenant.PublicURL == "" && d.Verified() {
		out.LinkHost = "links." + d.Domain
	}
	return out, nil
}

// describe adds the descriptions of a domain's records.
func (p *Page) describe(d *domainPage, id string) {
	d.ID, d.Badge = id, p.domainBadge(d.Status == core.DomainVerified, d.Complete)
	if d.Refusal != "" {
		d.Badge = Badge{p.T("Don't send yet"), "bad"}
	}
	if d.Complete {
		d.Badge = Badge{p.T("Ready"), "good"}
	}
	for i, r := range d.Records {
		row := recordRow{DomainRecord: r, ID: "r" + strconv.Itoa(i), Badge: p.recordBadge(r.State)}
		row.What, row.Why = p.recordPurpose(r.Purpose)
		row.Note = p.recordNote(&r)
		if r.Purpose == core.RecordProof && d.Trusted && r.State != core.RecordFound {
			trust := p.T("You can send from this domain without this record.")
			row.Note = p.joinedSentences(trust, row.Note)
			if r.State == core.RecordMissing {
				row.Badge = Badge{p.T("Optional"), ""}
			}
		}
		if r.Purpose == core.RecordDMARC && d.Refusal != "" {
			row.Badge = Badge{p.T("Don't send yet"), "bad"}
			row.Note = p.T("Your policy asks receiving servers to reject emails without a signature or treat them " +
				"as spam. Turn on DKIM signing before you send.")
		}
		if r.Purpose == core.RecordDKIM {
			d.Keys++
			d.Signs = d.Signs || r.Active
			row.Rests, row.Deletes = r.Active, !r.Active
			row.Starts = !r.Active && r.State == core.RecordFound && d.Status == core.DomainVerified
		}
		d.Rows = append(d.Rows, row)
	}
	d.Start = d.Status == core.DomainVerified && !d.Signs && d.Keys > 0 &&
		!slices.ContainsFunc(d.Records, func(r core.DomainRecord) bool {
			return r.Purpose != core.RecordProof && r.State != core.RecordFound
		})
	if d.Start {
		d.Badge = Badge{p.T("1 step left"), "warn"}
	}
}

// HasSPF reports whether the page mentions the SPF record.
func (d domainPage) HasSPF() bool {
	return slices.ContainsFunc(d.Records, func(r core.DomainRecord) bool { return r.Purpose == core.RecordSPF })
}

// joinedSentences joins the non-empty sentences.
func (p *Page) joinedSentences(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

// recordBadge returns the badge for the state of a record.
func (p *Page) recordBadge(state string) Badge {
	switch state {
	case core.RecordFound:
		return Badge{p.T("Found"), "good"}
	case core.RecordMissing:
		return Badge{p.T("Missing"), "warn"}
	case core.RecordOther:
		return Badge{p.T("Wrong value"), "bad"}
	case core.RecordChange:
		return Badge{p.T("Needs a change"), "warn"}
	case core.RecordSeveral:
		return Badge{p.T("Several records"), "bad"}
	case core.RecordMisplaced:
		return Badge{p.T("Wrong name"), "bad"}
	}
	return Badge{p.T("Unknown"), ""}
}

// recordPurpose returns the name and the purpose of a record.
func (p *Page) recordPurpose(purpose string) (what, why string) {
	switch purpose {
	case core.RecordProof:
		return p.T("Domain verification"), p.T("Proves that the domain is yours.")
	case core.RecordDKIM:
		return p.T("DKIM signing"), p.T("Lets receiving servers verify your signature, so they know that emails come " +
			"from you.")
	case core.RecordSPF:
		return p.T("Authorized servers (SPF)"), p.T("Lists the servers that may send emails from your domain.")
	case core.RecordDMARC:
		return p.T("DMARC policy"), p.T("Sets what receiving servers do with emails that someone else sends in your " +
			"name. Gmail and Yahoo require it.")
	case core.RecordLink:
		return p.T("Link domain"), p.T("Lets links in your emails use your own domain.")
	}
	return "", ""
}

// recordNote returns what to do about a record in its current state.
func (p *Page) recordNote(r *core.DomainRecord) (note string) {
	switch {
	case r.State == core.RecordMisplaced && r.FoundAt == r.Name[strings.IndexByte(r.Name, '.')+1:]:
		note = p.T("The record was found at the domain itself. Change its name to {{name}}.", "name", r.Name)
	case r.State == core.RecordMisplaced:
		note = p.T("Found at {{name}}, because your provider added the domain a second time. Enter the short name "+
			"instead.",
			"name", r.FoundAt)
	case r.State == core.RecordChange:
		note = p.T("You already have a record for other senders. Change it to this value. Don't add a second one, " +
			"or both become invalid.")
	case r.State == core.RecordSeveral && r.Purpose == core.RecordSPF:
		note = p.T("Several records found, so none of them is valid. Change one to this value and delete the others.")
	case r.State == core.RecordSeveral:
		note = p.T("Several records found, so none of them is valid. Keep one and delete the others.")
	case r.State == core.RecordOther && r.Purpose == core.RecordLink:
		note = p.T("This name points to another server.")
	case r.State == core.RecordOther:
		note = p.T("A record with this name has a different value. Change it to the value shown.")
	case r.State == core.RecordUnknown:
		note = p.T("This record couldn't be looked up. newsletterd retries automatically.")
	case r.Purpose == core.RecordDKIM && r.State == core.RecordFound && !r.Active:
		note = p.T("The record is published, but the key isn't active yet.")
	case r.Purpose == core.RecordDKIM && r.State != core.RecordFound && r.Active:
		note = p.T("Your emails are signed, but the record is missing. Until you publish it, they look forged.")
	}
	return note
}

// showDomain shows the domain in the path with its records. For a script, it renders only the part that changes.
func (p *Page) showDomain(f filled, v View) (web.HTML, error) {
	d, err := p.theDomain()
	if err != nil {
		return web.HTML{}, err
	}
	data, err := p.domainPage(&d)
	if err != nil {
		return web.HTML{}, err
	}
	v.Title, v.Badge, v.State = d.Domain, data.Badge, p.domainState(&data)
	v.Within = []Link{{p.T("Settings"), p.Path("settings")}, {p.T("Sender domains"), p.Path("settings", "domains")}}
	if target, ok := p.Partial(); ok && target == "records" {
		v.Data = settingsPage{Form: f, More: data}
		return p.ShowPart("domain", "records", v)
	}
	return p.showSettings("domain", "domains", v, f, data)
}

// domainState describes what a domain can be used for.
func (p *Page) domainState(d *domainPage) string {
	switch {
	case d.Complete:
		return p.T("Setup complete. Emails from this domain are signed with DKIM.")
	case d.Refusal != "":
		return p.T("Don't send yet. Your domain's DMARC policy asks receiving servers to reject emails without a " +
			"signature or treat them as spam.")
	case d.Start:
		return p.T("All records found. To finish, choose “Activate key” next to the DKIM record.")
	case d.Trusted, d.Status == core.DomainVerified && d.Signs:
		return p.T("You can send from this domain. Add the missing records so fewer emails land in spam.")
	case d.Status == core.DomainVerified:
		return p.T("You can send from this domain. Next, turn on DKIM signing: Gmail and Yahoo require it.")
	}
	return p.T("You can't send from this domain until it's verified. You can already use everything else.")
}

// domainCheck checks a domain's records. If there were too many checks, it shows the last result.
func (o *Console) domainCheck(p *Page) (web.HTML, error) {
	d, err := p.theDomain()
	if err != nil {
		return web.HTML{}, err
	}
	err = p.Do("POST", apiDomains+"/"+d.ID+"/check", nil, nil)
	if err == nil {
		p.startFirstKey(&d)
	}
	if _, part := p.Partial(); part {
		if kind := core.KindOf(err); err != nil && kind != core.TooMany && kind != core.Conflict {
			return web.HTML{}, err
		}
		return p.showDomain(filled{}, View{})
	}
	if err != nil {
		return p.refused(err, p.domainAgain)
	}
	return p.Redirect(p.domainPath(d.ID), "checked")
}

// domainAgain shows a domain's page after a failed action.
func (p *Page) domainAgain(f filled, v View) (web.HTML, error) { return p.showDomain(f, v) }

// domainForward shows a link to the records that the visitor can forward to the person who manages the domain.
func (o *Console) domainForward(p *Page) (web.HTML, error) {
	d, err := p.theDomain()
	if err != nil {
		return web.HTML{}, err
	}
	data, err := p.domainPage(&d)
	if err != nil {
		return web.HTML{}, err
	}
	var link struct {
		URL       string       `json:"url"`
		ExpiresAt core.Instant `json:"expires_at"`
	}
	if err := p.Do("POST", apiDomains+"/"+d.ID+"/records-link", nil, &link); err != nil {
		return web.HTML{}, err
	}
	data.Link, data.Until = link.URL, link.ExpiresAt
	return p.showSettings("domain", "domains", View{
		Title: d.Domain, Badge: data.Badge, State: p.domainState(&data), Status: http.StatusCreated,
		Within: []Link{{p.T("Settings"), p.Path("settings")}, {p.T("Sender domains"), p.Path("settings", "domains")}},
	}, filled{}, data)
}

// domainLinks sets or clears the host for links in emails.
func (o *Console) domainLinks(p *Page) (web.HTML, error) {
	if _, err := p.theDomain(); err != nil {
		return web.HTML{}, err
	}
	to := ""
	if host := domainOf(p.Form["host"]); host != "" {
		to = "https://" + host
	}
	if err := p.Do("PUT", "/api/admin/tenants/"+p.Tenant.ID, map[string]string{"public_url": to},
		&p.Tenant); err != nil {
		return p.refused(err, p.domainAgain)
	}
	return p.Redirect(p.domainPath(p.Param("id")), "saved")
}

func (o *Console) domainDelete(p *Page) (web.HTML, error) {
	return p.deleteFrom(apiDomains, p.Path("settings", "domains"), p.domainAgain)
}

// deleteFrom deletes a record after confirmation, and redirects to another page. api is the record's API path.
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

// notSure shows a page again, because the confirmation checkbox is not checked.
func (p *Page) notSure(show func(filled, View) (web.HTML, error)) (web.HTML, error) {
	return show(filled{}, View{Fault: p.T("Check the box to confirm."), Status: http.StatusBadRequest})
}

// forwardedQuery is the query of the records page.
type forwardedQuery struct {
	Token string `query:"token"`
}

// forwarded shows a domain's records to anyone with the link. It shows neither a user nor any other data.
func (o *Console) forwarded(c *web.Call, in forwardedQuery) (web.HTML, error) {
	p := &Page{Call: c, console: o, Lang: languageOf(c), Zone: zoneOf(c)}
	var d domainPage
	_, err := p.Get("/api/sender-domain-records", url.Values{"token": {in.Token}}, &d.DomainRecords)
	if core.KindOf(err) == core.Invalid {
		return p.Show("message", View{
			Title:  p.T("Link expired"),
			State:  p.T("This link has expired. Ask the person who sent it for a new one."),
			Status: http.StatusBadRequest, Plain: true,
		})
	}
	if err != nil {
		return web.HTML{}, err
	}
	p.describe(&d, "")
	for i := range d.Rows {
		d.Rows[i].Starts, d.Rows[i].Rests, d.Rows[i].Deletes = false, false, false
	}
	d.Link = c.Request.URL.RequestURI()
	v := View{
		Title: d.Domain, Badge: d.Badge, Plain: true, Data: settingsPage{More: d},
		State: p.T("To send newsletters from this domain, add these records at its DNS provider."),
	}
	if target, ok := p.Partial(); ok && target == "records" {
		return p.ShowPart("forwarded", "records", v)
	}
	return p.Show("forwarded", v)
}

// DomainMessage describes the next step for a domain.
func (p *Page) DomainMessage(d core.SenderDomainView) string {
	switch {
	case d.Verified():
		return ""
	case d.Check == core.DomainFault:
		return p.T("Looking up the domain failed. Try again later. If it keeps failing, contact your domain's " +
			"provider.")
	case d.Check == core.DomainTimeout:
		return p.T("The domain's DNS records couldn't be read. Try again later.")
	case d.Check == core.DomainTaken:
		return p.T("Record found, but another newsletter on this server uses the domain. Contact the server " +
			"administrator.")
	case d.Check == core.DomainMissing:
		return p.T("Record not found. New records can take up to an hour to appear.")
	}
	return ""
}
