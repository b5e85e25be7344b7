package console

import (
	"cmp"
	"hash/fnv"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// startRoutes adds the routes for creating the first tenants.
func (o *Console) startRoutes(t *web.Table) {
	o.open(t, Path+"/new-tenant", o.newTenant, "The console: create a tenant")
	o.openPost(t, Path+"/new-tenant", o.addTenant, "The console: create a tenant")
}

// newTenantData holds the data for templates/newtenant.html.
type newTenantData struct {
	Name, Domain, MailFrom, PostalAddress, Language, TimeZone string

	Languages []option
	First     bool // whether there is no tenant yet
	InTeam    bool // whether the creator becomes one of its administrators
}

func (o *Console) newTenant(p *Page) (web.HTML, error) { return p.showNewTenant(newTenantData{}, nil) }

func (p *Page) showNewTenant(d newTenantData, fault error) (web.HTML, error) {
	if !p.caller.May(core.ActionTenantManage, core.TenantNone) {
		return web.HTML{}, core.Lacking(core.ActionTenantManage)
	}
	var some []core.Tenant
	if _, err := p.Get("/api/admin/tenants", url.Values{"limit": {"1"}}, &some); err != nil {
		return web.HTML{}, err
	}
	if d.First = len(some) == 0; d.First && fault == nil {
		state, err := p.relayState()
		if err != nil {
			return web.HTML{}, err
		}
		if from := serverFrom(&state); !core.IsFreeMail(core.Email(from).Domain()) {
			d.MailFrom = from
		}
	}
	d.Languages = p.Languages()
	if d.Language == "" {
		d.Language = p.Lang
	}
	if d.TimeZone == "" {
		d.TimeZone = p.browserZone()
	}
	v := View{
		Title: p.T("New newsletter"), Data: &d,
		State: p.T("An organization with its own lists, subscribers and design"),
	}
	if d.First {
		v.Title, v.State = p.T("Welcome"), p.T("Set up your newsletter with its lists, design and "+
			"team. Each email you send with it is a campaign. You can change everything later.")
	}
	if err := p.blame(&v, fault); err != nil {
		return web.HTML{}, err
	}
	return p.Show("newtenant", v)
}

// domainOf returns the domain in a pasted URL or email address.
func domainOf(pasted string) string {
	s := strings.ToLower(strings.TrimSpace(pasted))
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		s = s[i+1:]
	}
	s, _, _ = strings.Cut(s, "/")
	s, _, _ = strings.Cut(s, ":")
	return strings.TrimSuffix(strings.TrimPrefix(s, "www."), ".")
}

func (o *Console) addTenant(p *Page) (web.HTML, error) {
	d := newTenantData{
		Name: p.Form["name"], Domain: p.Form["domain"], MailFrom: strings.TrimSpace(p.Form["mail_from"]),
		PostalAddress: p.Form["postal_address"], Language: p.Form["language"],
		TimeZone: strings.TrimSpace(p.Form["time_zone"]), InTeam: p.Form["in_team"] != "",
	}
	if d.InTeam { // check this before creating the tenant, so that it isn't created twice
		if err := p.fresh(); err != nil {
			return web.HTML{}, err
		}
	}
	body := map[string]any{
		"name": d.Name, "language": d.Language, "postal_address": strings.ReplaceAll(d.PostalAddress, "\r\n", "\n"),
	}
	if zone := cmp.Or(d.TimeZone, p.browserZone()); zone != "" {
		body["time_zone"] = zone
	}
	domain := domainOf(d.Domain)
	if domain == "" && d.MailFrom != "" {
		domain = domainOf(d.MailFrom)
	}
	if domain != "" {
		body["domains"] = []string{domain}
	}
	if d.MailFrom != "" {
		body["mail_from"], body["mail_from_name"] = d.MailFrom, d.Name
	}
	var made core.Tenant
	if err := p.Do(http.MethodPost, "/api/admin/tenants", body, &made); err != nil {
		return p.showNewTenant(d, err)
	}
	if d.InTeam { // server administrators have all rights, but only the team is asked for approval
		role := map[string]string{"role": core.RoleTenantAdmin, "tenant_id": made.ID}
		if err := p.Do(http.MethodPost, "/api/admin/users/"+p.caller.UserID+"/roles", role, nil); err != nil {
			return web.HTML{}, err
		}
	}
	return p.Redirect(Path+"/"+made.ID, "")
}

// step is a task on the way to sending the first newsletter.
type step struct {
	Title, Text, To string
	Done            bool

	may      bool // whether the visitor has permission to do it
	optional bool
}

// stepsHidden is how long a browser hides dismissed steps.
const stepsHidden = 365 * 24 * time.Hour

// stepsCookie returns the name of the cookie with the dismissed steps.
func (p *Page) stepsCookie() string { return "newsletterd-steps-" + p.Tenant.ID }

// stepIDs returns the steps' ids, so that a new step appears even if others were dismissed.
func stepIDs(all []step) []string {
	ids := make([]string, len(all))
	for i := range all {
		h := fnv.New32a()
		_, _ = io.WriteString(h, all[i].To)
		ids[i] = strconv.FormatUint(uint64(h.Sum32()), 36)
	}
	return ids
}

// dismissSteps hides the form's steps in the visitor's browser.
func (*Console) dismissSteps(p *Page) (web.HTML, error) {
	if ids := p.Form["steps"]; len(ids) <= 100 {
		p.SetCookie(p.stepsCookie(), ids, p.Now.Time().Add(stepsHidden))
	}
	return p.Redirect(p.Path(), "")
}

// steps returns a tenant's steps in order until all are done. After the first delivered newsletter, only the remaining
// required steps are left, and none if the visitor has dismissed them. Visitors see only the steps that they may do,
// and none after these are done.
func (p *Page) steps(d *overviewData) (all []step, err error) {
	if !p.May(core.ActionCampaignWrite) {
		return nil, nil
	}
	written := len(d.Next) > 0 || len(d.Last) > 0 || len(d.Planned) > 0 || len(d.Running) > 0
	delivered := slices.ContainsFunc(d.Last, func(j jobRow) bool { return j.Transport == "" && j.Stats.Sent > 0 })
	sender, server, err := p.senderSteps(delivered)
	if err != nil {
		return nil, err
	}
	list := p.Path("new-list")
	if d.Lists > 0 {
		list = p.Path("lists")
	}
	write, send := p.Path("new-campaign"), p.Path("campaigns")
	if len(d.Next) > 0 {
		write, send = p.Path("campaigns", d.Next[0].ID), p.Path("campaigns", d.Next[0].ID, "send")
	}
	all = []step{
		{
			Title: p.T("Set up the sender"), Text: p.T("Choose the name and email address your newsletters come from."),
			To: p.Path("settings"), Done: p.Tenant.MailFrom != "", may: p.May(core.ActionTenantSettings),
		},
		sender,
		server,
		{
			Title: p.T("Create list"), Text: p.T("People subscribe to a list."), To: list, Done: d.Lists > 0,
			may: p.May(core.ActionListSettings),
		},
		{
			Title: p.T("Add subscribers"),
			Text:  p.T("Add people yourself, import a file, or use a signup form on your site."),
			To:    p.Path("people"),
			Done:  d.Counts.Active+d.Counts.Pending > 0, may: p.May(core.ActionPeopleAdd),
		},
		{
			Title: p.T("Add your logo (optional)"),
			Text:  p.T("Shown at the top of your emails instead of the list's name."),
			To:    p.Path("settings", "logo"), Done: p.Tenant.BrandLogoURL != "", may: p.May(core.ActionTenantSettings),
			optional: true,
		},
		{
			Title: p.T("Write your first campaign"),
			Text:  p.T("A campaign is an email to your subscribers. Nothing is sent until you confirm."),
			To:    write, Done: written,
			may: true,
		},
		{
			Title: p.T("Send your first campaign"), Text: p.T("Review your campaign, then send it now or choose a " +
				"time."),
			To:   send,
			Done: delivered, may: p.May(core.ActionCampaignSend),
		},
	}
	all = slices.DeleteFunc(all, func(s step) bool { return !s.may })
	d.Rest = delivered
	if !slices.ContainsFunc(all, func(s step) bool { return !s.Done && !s.optional }) {
		return nil, nil
	}
	if delivered {
		all = slices.DeleteFunc(all, func(s step) bool { return s.Done || s.optional })
		ids, dismissed := stepIDs(all), strings.Split(p.Cookie(p.stepsCookie()), ".")
		if !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(dismissed, id) }) {
			return nil, nil
		}
		d.StepIDs = strings.Join(ids, ".")
	}
	return all, nil
}

// senderSteps returns the steps for the sender domain and the mail server. After the first delivered newsletter, the
// server step is done. The domain step then says that it isn't needed if the mail server signs emails.
func (p *Page) senderSteps(delivered bool) (domain, server step, err error) {
	sender, err := p.senderDomain()
	if err != nil {
		return domain, server, err
	}
	domain = p.proofStep(sender)
	domain.may = p.May(core.ActionDomainPropose)
	if delivered {
		domain.Text = p.T("Keep your emails out of spam. You can dismiss this step if your email provider has " +
			"already set up your domain.")
	}
	if p.folder() && p.IsOperator() {
		return domain, step{
			Title: p.T("Set up mail server"), Text: p.T("Until then, no one receives your emails."),
			To: operatorPath("mail-server"), may: true,
		}, nil
	}
	server = step{
		Title: p.T("Test your mail server"), Text: p.T("Check that your emails arrive in the inbox."),
		To: p.Path("settings", "relay"), Done: delivered,
		may: p.May(core.ActionTenantSettings) && p.May(core.ActionAuditRead),
	}
	if server.may && !delivered {
		server.Done, err = p.relayTested()
	}
	if err == nil && !server.Done && p.IsOperator() { // a mail server is saved only after it has accepted a test email
		var state core.RelayState
		state, err = p.relayState()
		server.Done = state.Source == core.RelayConsole
	}
	return domain, server, err
}

// relayTests is the number of the tenant's latest test emails that are checked.
const relayTests = 20

// relayTested reports whether a mail server accepted one of the tenant's test emails. It reads the audit log.
func (p *Page) relayTested() (bool, error) {
	if !p.May(core.ActionAuditRead) {
		return false, nil
	}
	var found []core.AuditEntry
	_, err := p.Get("/api/admin/audit", p.ofTenant("action", "relay.test", "limit", strconv.Itoa(relayTests)), &found)
	return slices.ContainsFunc(found, func(e core.AuditEntry) bool {
		return strings.Contains(string(e.Changes), `"`+core.RelayAccepted+`"`)
	}), err
}

// proofStep returns the step for the sender domain. It is done if the domain is verified and a key signs its emails.
func (p *Page) proofStep(d *core.SenderDomainView) step {
	s := step{
		Title: p.T("Add DNS records for your domain"), Text: p.T("Keep your emails out of spam."),
		To: p.Path("settings", "domains"),
	}
	if d == nil {
		return s
	}
	s.To = p.domainPath(d.ID)
	switch {
	case !d.Verified():
	case !d.Signed:
		s.Text = p.T("Verified. Next, turn on DKIM signing, which proves that your emails come from you.")
	default:
		s.Done = true
	}
	return s
}

// senderDomain returns the tenant's sender domain that best matches its sender address. If there is none or the visitor
// may not see it, it returns nil.
func (p *Page) senderDomain() (nearest *core.SenderDomainView, err error) {
	if !p.May(core.ActionDomainPropose) || p.Tenant.MailFrom == "" {
		return nil, nil
	}
	from := domainOf(p.Tenant.MailFrom)
	found, err := all[core.SenderDomainView](p, apiDomains, p.ofTenant("limit", "100"), maxDomains)
	for i := range found {
		d := &found[i]
		if (d.Domain == from || strings.HasSuffix(from, "."+d.Domain)) &&
			(nearest == nil || len(d.Domain) > len(nearest.Domain)) {
			nearest = d
		}
	}
	return nearest, err
}
