package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

const apiProviders = "/api/admin/mail-providers"

// providerRoutes adds the routes for email providers that report delivery events. They are for server administrators.
func (o *Console) providerRoutes(t *web.Table) {
	o.operatorGet(t, "/providers", o.providers, "The console: mail providers")
	o.operatorPost(t, "/providers", o.addProvider, "The console: create a mail provider")
	o.operatorGet(t, "/providers/:provider", o.provider, "The console: a mail provider")
	o.operatorPost(t, "/providers/:provider", o.actOnProvider, "The console: change a mail provider")
}

// mailProvider is an email provider as returned by the API.
type mailProvider struct {
	Name       string          `json:"name"`
	Kind       string          `json:"kind"`
	TenantID   string          `json:"tenant_id"`
	Topics     []string        `json:"topics"`
	Source     string          `json:"source"`
	URL        string          `json:"url"`
	DisabledAt core.Instant    `json:"disabled_at"`
	Secret     string          `json:"secret"`
	LastEvent  *core.LastEvent `json:"last_event"`
}

// Kept reports whether the provider is stored in the database, not set in the configuration.
func (m *mailProvider) Kept() bool { return m.Source == "database" }

// BuiltIn reports whether newsletterd created the provider on its first start.
func (m *mailProvider) BuiltIn() bool { return m.Kept() && m.Name == core.DefaultProvider }

// unused reports whether newsletterd created the provider and nothing has used it.
func (m *mailProvider) unused() bool { return m.BuiltIn() && m.LastEvent == nil && m.DisabledAt == 0 }

// HookURL returns the URL to enter at the provider, including the secret if the provider expects it there.
func (m *mailProvider) HookURL() string {
	if user, password, ok := strings.Cut(m.Secret, ":"); ok && (m.Kind == "postmark" || m.Kind == "mailjet") {
		u, err := url.Parse(m.URL)
		if err == nil {
			u.User = url.UserPassword(user, password)
			return u.String()
		}
	}
	return m.URL
}

// ProviderBadge returns the badge for the state of a provider.
func (p *Page) ProviderBadge(m *mailProvider) Badge {
	switch {
	case m.DisabledAt != 0:
		return Badge{p.T("Disabled"), ""}
	case m.unused():
		return Badge{p.T("Not in use"), ""}
	case m.LastEvent == nil:
		return Badge{p.T("No recent events"), "warn"}
	}
	return Badge{p.T("Active"), "good"}
}

// ProviderKinds returns options for the kinds of provider, sorted by name.
func (p *Page) ProviderKinds() []option {
	return []option{
		{"ses", "Amazon SES"},
		{"mailgun", "Mailgun"},
		{"mailjet", "Mailjet"},
		{"postmark", "Postmark"},
		{"resend", "Resend"},
		{"sendgrid", "SendGrid"},
		{"generic", p.T("Custom")},
	}
}

// KindName returns the display name of a kind of provider.
func (p *Page) KindName(kind string) string {
	for _, k := range p.ProviderKinds() {
		if k.Value == kind {
			return k.Text
		}
	}
	return kind
}

// KindAdvice describes what to set up at a provider of the given kind.
func (p *Page) KindAdvice(kind string) string {
	switch kind {
	case "ses":
		return p.T("In SNS, subscribe this URL (HTTPS) to the topic that gets bounces, complaints and deliveries " +
			"from SES. newsletterd confirms the subscription automatically.")
	case "postmark":
		return p.T("In Postmark, add a webhook with this URL to the message stream. Select delivery, bounce, spam " +
			"complaint, open and click.")
	case "mailjet":
		return p.T("In Mailjet, enter this URL under event notifications. Select all events, and turn on grouping.")
	case "mailgun":
		return p.T("In Mailgun, add a webhook with this URL for each event type. Use the webhook signing key as the " +
			"secret.")
	case "sendgrid":
		return p.T("In SendGrid, turn on the signed event webhook with this URL. Use its verification key as the " +
			"secret.")
	case "resend":
		return p.T("In Resend, add a webhook with this URL. Use its signing secret as the secret.")
	}
	return p.T("For a service or script of your own: make it send signed events to this URL.")
}

// providersData holds the data for the provider pages.
type providersData struct {
	All     []mailProvider
	One     mailProvider
	Tenants []option
	Form    filled
}

func (o *Console) providers(p *Page) (web.HTML, error) { return p.showProviders(filled{}, View{}) }

func (p *Page) showProviders(f filled, v View) (web.HTML, error) {
	d := providersData{Form: f}
	var err error
	if d.All, err = all[mailProvider](p, apiProviders, url.Values{"limit": {"100"}}, 300); err != nil {
		return web.HTML{}, err
	}
	if d.Tenants, _, err = p.tenantOptions(); err != nil {
		return web.HTML{}, err
	}
	d.Tenants[0].Text = p.T("All tenants")
	d.All = slices.DeleteFunc(d.All, func(m mailProvider) bool { return m.unused() })
	if f.values == nil {
		d.Form.values = map[string]string{"kind": p.Query("kind")}
	}
	v.Title = p.T("Mail providers")
	v.State = p.T("Webhooks through which mail providers report bounces, spam complaints and opens")
	v.Data = &d
	return p.Show("providers", v)
}

// addProvider creates a provider. If the server generated the secret, it shows the secret once.
func (o *Console) addProvider(p *Page) (web.HTML, error) {
	body := p.sent("name", "kind")
	for _, name := range []string{"tenant_id", "secret"} {
		if p.Form[name] != "" {
			body[name] = p.Form[name]
		}
	}
	if topics := strings.Fields(p.Form["topics"]); len(topics) > 0 {
		body["topics"] = topics
	}
	var made mailProvider
	if err := p.Do(http.MethodPost, apiProviders, body, &made); err != nil {
		return p.refused(err, p.showProviders)
	}
	if made.Secret == "" {
		return p.Redirect(operatorPath("providers", made.Name), "provider-added")
	}
	return p.showProvider(made, filled{}, View{Status: http.StatusCreated, Done: p.T("Provider added")})
}

// theProvider reads the provider in the path.
func (p *Page) theProvider() (m mailProvider, err error) {
	_, err = p.Get(apiProviders+"/"+url.PathEscape(p.Param("provider")), nil, &m)
	return m, err
}

func (o *Console) provider(p *Page) (web.HTML, error) {
	m, err := p.theProvider()
	if err != nil {
		return web.HTML{}, err
	}
	return p.showProvider(m, filled{}, View{})
}

func (p *Page) showProvider(m mailProvider, f filled, v View) (web.HTML, error) {
	v.Title, v.Within = m.Name, []Link{{p.T("Mail providers"), operatorPath("providers")}}
	v.State, v.Badge = p.KindName(m.Kind), p.ProviderBadge(&m)
	v.Data = &providersData{One: m, Form: f}
	return p.Show("provider", v)
}

// actOnProvider enables or disables a provider, replaces its secret, revokes the older one, or deletes the provider.
func (o *Console) actOnProvider(p *Page) (web.HTML, error) {
	m, err := p.theProvider()
	if err != nil {
		return web.HTML{}, err
	}
	again := func(f filled, v View) (web.HTML, error) { return p.showProvider(m, f, v) }
	item := apiProviders + "/" + url.PathEscape(m.Name)
	var made mailProvider
	switch p.Form["act"] {
	case "on", "off":
		err = p.Do(http.MethodPut, item, map[string]any{"disabled": p.Form["act"] == "off"}, nil)
	case "end":
		err = p.Do(http.MethodPost, item+"/end-old-secret", nil, nil)
	case "rotate":
		body := map[string]any{}
		if p.Form["secret"] != "" {
			body["secret"] = p.Form["secret"]
		}
		if err = p.Do(http.MethodPost, item+"/rotate-secret", body, &made); err == nil && made.Secret != "" {
			return p.showProvider(made, filled{}, View{Status: http.StatusCreated, Done: p.T("Changes saved")})
		}
	case "delete":
		if !p.sure() {
			return p.askSure(p.T("Delete this mail provider?"), secondStep{
				Text: p.T("newsletterd will reject events from this provider."), Button: p.T("Delete"),
				Back: operatorPath("providers", m.Name),
			}, Link{p.T("Mail providers"), operatorPath("providers")})
		}
		if err = p.Do(http.MethodDelete, item, nil, nil); err == nil {
			return p.Redirect(operatorPath("providers"), "deleted")
		}
	default:
		err = core.Invalidf("act", "Unknown action. Reload the page and try again.")
	}
	if err != nil {
		return p.refused(err, again)
	}
	return p.Redirect(operatorPath("providers", m.Name), "saved")
}
