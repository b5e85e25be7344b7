package console

import (
	"cmp"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// settingsRoutes adds the routes for a tenant's settings.
func (o *Console) settingsRoutes(t *web.Table) {
	const change = core.ActionTenantSettings
	o.get(t, "/settings", change, o.settings, "The console: the design and sender of a tenant")
	o.post(t, "/settings", change, o.settings, "The console: change the design and sender of a tenant")
	o.get(t, "/settings/mails", change, o.settingsMails, "The console: the texts of a tenant's emails")
	o.post(t, "/settings/mails", change, o.settingsMails, "The console: change the texts of a tenant's emails")
	o.logoRoutes(t)
	o.domainRoutes(t)
	o.relayRoutes(t)
	o.teamRoutes(t)
	o.endpointRoutes(t)
	o.clientRoutes(t)
	o.get(t, "/settings/audit", core.ActionAuditRead, o.auditTrail, "The console: the audit log")
}

// settingsPage holds the data for the settings pages.
type settingsPage struct {
	Tabs []tab
	Form filled
	More any
}

// showSettings shows a settings page. name is the template, more its data, and first the path of its tab.
func (p *Page) showSettings(name, first string, v View, form filled, more any) (web.HTML, error) {
	areas := []struct {
		text, path string
		action     core.Action
	}{
		{p.T("Brand and sender"), "", core.ActionTenantSettings},
		{p.T("Emails"), "mails", core.ActionTenantSettings},
		{p.T("Sender domains"), "domains", core.ActionDomainPropose},
		{p.T("Mail server"), "relay", core.ActionTenantSettings},
		{p.T("Team"), "team", core.ActionTeamRead},
		{p.T("Webhooks"), "endpoints", core.ActionEndpointManage},
		{p.T("API clients"), "clients", core.ActionClientManage},
		{p.T("Audit log"), "audit", core.ActionAuditRead},
	}
	var tabs []tab
	for _, a := range areas {
		if !p.May(a.action) {
			continue
		}
		to := p.Path("settings")
		if a.path != "" {
			to = p.Path("settings", a.path)
		}
		tabs = append(tabs, tab{Link{a.text, to}, a.path == first})
	}
	v.Title = cmp.Or(v.Title, p.T("Settings"))
	v.Data = settingsPage{tabs, form, more}
	return p.Show(name, v)
}

// Form values for open and click tracking.
const (
	measureEach    = "each"
	measureConsent = "consent"
	measureTotals  = "totals"
	measureNothing = "nothing"
)

// measureOf returns the highest level of tracking that the settings allow.
func measureOf(t *core.Tenant) string {
	switch {
	case t.NoTracking:
		return measureNothing
	case t.TotalsOnly:
		return measureTotals
	case t.TrackingConsent:
		return measureConsent
	}
	return measureEach
}

// MeasureOptions returns the tracking options.
func (p *Page) MeasureOptions() []option {
	return []option{
		{measureEach, p.T("Opens and clicks per subscriber")},
		{measureConsent, p.T("Per subscriber with consent, otherwise totals only")},
		{measureTotals, p.T("Totals only")},
		{measureNothing, p.T("Off")},
	}
}

// trackingOf returns the highest level of tracking that the settings allow for a campaign.
func trackingOf(t *core.Tenant) string {
	switch measureOf(t) {
	case measureNothing:
		return core.TrackingOff
	case measureTotals:
		return core.TrackingTotals
	}
	return core.TrackingPersons
}

// TrackingDefault describes what new campaigns track.
func (p *Page) TrackingDefault() string {
	switch measureOf(&p.Tenant) {
	case measureNothing:
		return p.T("Default from Settings: off.")
	case measureTotals:
		return p.T("Default from Settings: totals only.")
	case measureConsent:
		return p.T("Default from Settings: per subscriber with consent, otherwise totals only.")
	}
	return p.T("Default from Settings: per subscriber.")
}

// measured returns a campaign's effective tracking: its own choice, limited by the settings.
func measured(t *core.Tenant, tracking string) string {
	switch {
	case tracking == core.TrackingOff || t.NoTracking:
		return measureNothing
	case tracking == core.TrackingTotals || t.TotalsOnly:
		return measureTotals
	}
	return measureOf(t)
}

// Measured describes a campaign's effective tracking, worded as in MeasureOptions.
func (p *Page) Measured(tracking string) string {
	is := measured(&p.Tenant, tracking)
	for _, o := range p.MeasureOptions() {
		if o.Value == is {
			return o.Text
		}
	}
	return ""
}

// trackings returns the tracking options for a campaign, worded as in MeasureOptions, highest level first. An option
// beyond the settings is included only if the campaign already uses it.
func (p *Page) trackings(chosen string) (all []option) {
	most := slices.Index(core.Trackings, trackingOf(&p.Tenant))
	for i, tracking := range slices.Backward(core.Trackings) {
		switch {
		case i <= most:
			all = append(all, option{tracking, p.Measured(tracking)})
		case tracking == chosen:
			all = append(all, option{tracking, p.T("{{what}} (limited by Settings)", "what",
				p.Measured(tracking))})
		}
	}
	return all
}

// settings shows and saves the settings for design and sender.
func (o *Console) settings(p *Page) (web.HTML, error) {
	show := func(f filled, v View) (web.HTML, error) {
		v.State = p.T("Branding and sender of your emails and pages")
		return p.showSettings("settings", "", v, f, nil)
	}
	t := &p.Tenant
	if p.isGet() {
		values := recordValues(t)
		values["test_addresses"], values["measure"] = strings.Join(t.TestAddresses, "\n"), measureOf(t)
		values["second_person"] = tickWord(t.Approval == core.ApprovalSecondPerson)
		return show(filled{values: values}, View{})
	}
	body := sentTexts[core.TenantInput](p)
	p.sentAddresses(body, "brand_logo_url", "privacy_url", "public_url")
	measure := p.Form["measure"]
	body["no_tracking"] = measure == measureNothing
	body["totals_only"] = measure == measureTotals
	body["tracking_consent"] = measure == measureConsent
	body["first_few"] = p.Form["first_few"] == "1"
	body["approval"] = core.ApprovalNone
	if p.Form["second_person"] == "1" {
		body["approval"] = core.ApprovalSecondPerson
	}
	if p.May(core.ActionTestSend) {
		body["test_addresses"] = strings.FieldsFunc(p.Form["test_addresses"], func(r rune) bool {
			return strings.ContainsRune("\r\n,; \t", r)
		})
	}
	if err := p.Do("PUT", "/api/admin/tenants/"+t.ID, body, nil); err != nil {
		return p.refused(err, func(f filled, v View) (web.HTML, error) {
			f.at, _, _ = strings.Cut(f.at, "[")
			return show(f, v)
		})
	}
	switch section := p.Form["then"]; section {
	case "logo": // the logo has a separate page; save first, so that no input is lost
		return p.Redirect(p.Path("settings", "logo"), "saved")
	case "sender", "legal", "sending":
		return p.Redirect(p.Path("settings")+"#"+section, "saved")
	}
	return p.Redirect(p.Path("settings"), "saved")
}

// settingsMails shows and saves the default texts of emails to subscribers. Lists without custom texts use them.
func (o *Console) settingsMails(p *Page) (web.HTML, error) {
	w := p.wordingsOfTenant()
	if name := p.mailPreviewed(); name != "" {
		return p.previewMail(&w, name)
	}
	show := func(f filled, v View) (web.HTML, error) {
		v.State = p.T("Automatic emails for all lists. Each list can have its own texts.")
		v.Frames, v.Script = true, editorScript
		return p.showSettings("settings-mails", "mails", v, f, p.mailKindsOf(&w))
	}
	if p.isGet() {
		return show(filled{values: p.mailTextValues(&w)}, View{})
	}
	body := map[string]any{"mail_texts": p.sentMailTexts(&w)}
	if err := p.Do("PUT", "/api/admin/tenants/"+p.Tenant.ID, body, nil); err != nil {
		return p.refused(err, show)
	}
	return p.Redirect(p.Path("settings", "mails"), p.savedTexts())
}
