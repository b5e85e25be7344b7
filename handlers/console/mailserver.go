package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// mailServerPath is the path of the page for the server's own mail server, without OperatorPath.
const mailServerPath = "/mail-server"

// mailServerRoutes adds the routes for the page where server administrators set the server's own mail server.
func (o *Console) mailServerRoutes(t *web.Table) {
	o.operatorGet(t, mailServerPath, o.mailServer, "The console: the mail server")
	o.operatorPost(t, mailServerPath, o.setMailServer, "The console: set the mail server")
}

// ownServer is the ID of the preset for any other server.
const ownServer = "own"

// preset holds the default form values for an email provider. docs/mail-server.md has the sources.
type preset struct {
	ID, Name       string
	Host           string
	Port           int
	TLS            string
	Username       string // user name, if all customers share it
	PerDay         int    // the provider's daily limit; 0: depends on the plan
	User, Password string // the provider's terms for the user name and the password
	Note           string // warning about common mistakes
}

// presets returns the providers that the page offers, in page order.
func (p *Page) presets() []preset {
	smtp := func(id, name, host string) preset {
		return preset{ID: id, Name: name, Host: host, Port: 587, TLS: "starttls"}
	}
	ses := smtp("ses", "Amazon SES", "email-smtp.eu-central-1.amazonaws.com")
	ses.User, ses.Password = p.T("SMTP username"), p.T("SMTP password")
	ses.Note = p.T("Change the region in the host name to yours. Create SMTP credentials in the SES console; access keys " +
		"don't work. A new account is in the sandbox: it only sends to verified addresses, 200 a day.")
	postmark := smtp("postmark", "Postmark", "smtp-broadcasts.postmarkapp.com")
	postmark.User, postmark.Password = p.T("Access key"), p.T("Secret key")
	postmark.Note = p.T("Create an SMTP token for a broadcast stream. Postmark doesn't allow newsletters on a " +
		"transactional stream.")
	mailgun := smtp("mailgun", "Mailgun", "smtp.mailgun.org")
	mailgun.Note = p.T("For a domain in the EU, use smtp.eu.mailgun.org. A sandbox domain only sends to authorized " +
		"recipients.")
	sendgrid := smtp("sendgrid", "SendGrid", "smtp.sendgrid.net")
	sendgrid.Username, sendgrid.Password = "apikey", p.T("API key")
	sendgrid.Note = p.T("The username is the word “apikey”. Turn off SendGrid's own open and click tracking.")
	brevo := smtp("brevo", "Brevo", "smtp-relay.brevo.com")
	brevo.User, brevo.Password = p.T("SMTP login"), p.T("SMTP key")
	brevo.Note = p.T("Use an SMTP key, not an API key. The free plan sends 300 emails a day.")
	fastmail := preset{ID: "fastmail", Name: "Fastmail", Host: "smtp.fastmail.com", Port: 465, TLS: "implicit"}
	fastmail.Password = p.T("App password")
	fastmail.Note = p.T("Create an app password. Fastmail is for personal email: it limits how much you send and doesn't " +
		"allow large newsletters.")
	gmail := smtp("gmail", "Gmail / Google Workspace", "smtp.gmail.com")
	gmail.Password, gmail.PerDay = p.T("App password"), 500
	gmail.Note = p.T("Create an app password; this requires 2-Step Verification. Gmail replaces any From address " +
		"that isn't your account's address or one of its aliases. Limits: 500 emails a day with Gmail, 2,000 with " +
		"Workspace.")
	microsoft := smtp("microsoft", "Microsoft 365", "smtp.office365.com")
	microsoft.Note = p.T("Microsoft is phasing out password sign-in for SMTP. From the end of 2026, it is off by " +
		"default. Before you choose Microsoft, ask your administrator whether SMTP AUTH is on for this mailbox.")
	return []preset{
		ses, postmark, mailgun, sendgrid, brevo, fastmail, gmail, microsoft,
		{
			ID: ownServer, Name: p.T("Other server"), Port: 587, TLS: "starttls",
			Note: p.T("Enter the settings you got from your provider or administrator."),
		},
	}
}

// mailServerPage holds the data for the mail server page.
type mailServerPage struct {
	State   core.RelayState
	Presets []preset
	Chosen  preset
	Current bool // whether Chosen is the current server's provider, not one from the query
	Saved   bool // whether the server has just been saved
	Secret  bool // whether a password is saved or was submitted
	Test    *relayResult

	Provider *mailProvider // provider that reports Chosen's bounces; nil: not set up
}

// HasWebhook reports whether the chosen provider can report bounces through a webhook.
func (d *mailServerPage) HasWebhook() bool {
	return slices.Contains([]string{"ses", "postmark", "mailgun", "sendgrid"}, d.Chosen.ID)
}

// Folder reports whether emails are only saved to a folder.
func (d *mailServerPage) Folder() bool { return d.State.Transport == "directory" }

// InFile reports whether the configuration file sets the server.
func (d *mailServerPage) InFile() bool { return d.State.Source == core.RelayFile }

func (o *Console) mailServer(p *Page) (web.HTML, error) {
	return p.showMailServer(mailServerPage{}, filled{}, View{})
}

func (p *Page) showMailServer(d mailServerPage, f filled, v View) (web.HTML, error) {
	var err error
	if d.State, err = p.relayState(); err != nil {
		return web.HTML{}, err
	}
	d.Presets, d.Secret = p.presets(), d.Secret || d.State.HasPassword
	chosen := cmp.Or(p.Form["provider"], p.Query("provider"))
	for _, one := range d.Presets {
		if one.ID == chosen {
			d.Chosen = one
		}
	}
	if d.Chosen.ID == "" && !d.Folder() {
		d.Chosen, d.Current = presetOf(d.Presets, d.State.Host), true
	}
	if d.Provider, err = p.providerOf(d.Chosen.ID); err != nil {
		return web.HTML{}, err
	}
	d.Saved = !d.Folder() && p.Query("done") == "mail-server"
	if f.values == nil {
		if f.values, err = p.mailServerValues(&d); err != nil {
			return web.HTML{}, err
		}
	}
	v.Title, v.Data = p.T("Mail server"), &struct {
		mailServerPage
		Form filled
	}{d, f}
	v.State = p.T("How this server sends email")
	return p.Show("mail-server", v)
}

// providerOf returns an enabled mail provider of the given kind, or nil if there is none.
func (p *Page) providerOf(kind string) (*mailProvider, error) {
	found, err := all[mailProvider](p, apiProviders, url.Values{"limit": {"100"}}, 300)
	i := slices.IndexFunc(found, func(m mailProvider) bool { return m.Kind == kind && m.DisabledAt == 0 })
	if err != nil || i < 0 {
		return nil, err
	}
	return &found[i], nil
}

// presetOf returns the provider to whose domain a host belongs, because a provider's hosts differ by region. For an
// unknown host, it returns the last entry, for other servers.
func presetOf(all []preset, host string) preset {
	for _, one := range all {
		labels := strings.Split(one.Host, ".")
		if n := len(labels); n > 2 && strings.HasSuffix(host, "."+strings.Join(labels[n-2:], ".")) {
			return one
		}
	}
	return all[len(all)-1]
}

// mailServerValues returns the initial values of the form: the chosen provider's, or else the current server's.
// Without a From address, it proposes the sender address of the only tenant.
func (p *Page) mailServerValues(d *mailServerPage) (map[string]string, error) {
	s, c := &d.State, &d.Chosen
	values := map[string]string{"test_to": string(p.Who.User.Email), "from": s.From, "tls": "starttls"}
	if d.Folder() {
		values["from"] = serverFrom(s)
	}
	if values["from"] == "" {
		var some []core.Tenant
		if _, err := p.Get("/api/admin/tenants", url.Values{"limit": {"2"}}, &some); err != nil {
			return nil, err
		}
		if len(some) == 1 {
			values["from"] = some[0].MailFrom
		}
	}
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	switch {
	case c.ID != "" && !d.Current:
		values["host"], values["port"], values["tls"] = c.Host, number(c.Port), c.TLS
		values["username"], values["per_day"] = c.Username, number(c.PerDay)
	case !d.Folder():
		values["host"], values["port"], values["tls"], values["username"] = s.Host, number(s.Port), s.TLS, s.Username
		values["per_day"], values["per_second"] = number(s.Limits.PerDay), number(s.Limits.PerSecond)
	}
	return values, nil
}

// serverFrom returns the server's From address, or an empty string if no one has set one.
func serverFrom(s *core.RelayState) string {
	if strings.HasSuffix(s.From, "@localhost") {
		return ""
	}
	return s.From
}

// setMailServer sends a test email through the submitted server and saves the server if it accepts the email.
func (o *Console) setMailServer(p *Page) (web.HTML, error) {
	if p.Form["act"] == "remove" {
		show := func(_ filled, v View) (web.HTML, error) { return p.showMailServer(mailServerPage{}, filled{}, v) }
		if p.Form["sure"] != "1" {
			return p.notSure(show)
		}
		if err := p.Do(http.MethodDelete, "/api/admin/relay", nil, nil); err != nil {
			return p.refused(err, show)
		}
		return p.Redirect(OperatorPath+mailServerPath, "removed")
	}
	whole := func(name string) int {
		n, err := strconv.Atoi(cmp.Or(strings.TrimSpace(p.Form[name]), "0"))
		if err != nil {
			return -1
		}
		return n
	}
	body := map[string]any{
		"relay": core.Relay{
			Host: strings.TrimSpace(p.Form["host"]), Port: whole("port"), TLS: p.Form["tls"],
			Username: p.Form["username"],
			Password: p.Form["password"], DKIMSkip: core.Strings{},
			Limits: core.SendLimits{PerDay: whole("per_day"), PerSecond: whole("per_second")},
		},
		"from": p.Form["from"], "test_to": p.Form["test_to"],
	}
	err := p.Do(http.MethodPut, "/api/admin/relay", body, nil)
	if err == nil {
		return p.Redirect(OperatorPath+mailServerPath, "mail-server")
	}
	d := mailServerPage{Secret: p.Form["password"] != ""}
	if delete(p.Form, "password"); d.Secret {
		p.Form[passwordAgain] = "1"
	}
	e, _ := errors.AsType[*core.Error](err)
	if e != nil {
		if outcome, found := strings.CutPrefix(e.Code, "mail_server_"); found && core.RelayOutcome(outcome) {
			t := core.RelayTest{Outcome: outcome}
			if args := e.Sentence().Args; len(args) == 2 { // the server and its response
				t.Relay, t.Answer = fmt.Sprint(args[0]), fmt.Sprint(args[1])
			}
			d.Test = &relayResult{t, p.RelayWords(&t, p.Form["test_to"])}
			return p.showMailServer(d, filled{values: p.Form}, View{Status: http.StatusConflict})
		}
	}
	return p.refused(err, func(f filled, v View) (web.HTML, error) {
		f.at = lastPart(f.at)
		return p.showMailServer(d, f, v)
	})
}

// passwordAgain is the key that marks the values of a form whose password was submitted. Pages never contain passwords,
// so visitors must enter the password again.
const passwordAgain = "password_again"

// mailServerFields holds the inputs of the form.
type mailServerFields struct {
	Host, Port, TLS, Username, Password, From, PerDay, PerSecond, TestTo field

	Own      bool // whether the server isn't in the list, so that port and encryption aren't advanced inputs
	Advanced string
	Open     bool // whether the advanced inputs are shown, because the form was submitted
}

func newMailServerFields(s shown, f filled, c preset, keepsPassword, inBackups bool) mailServerFields {
	p := s.Page
	input := func(name, label string) field { return newField(name, label, f.Value(name)).Blame(f.Wrong(name)) }
	password := input("password", cmp.Or(c.Password, p.T("Password"))).Kind("password").Fill("new-password")
	password.Value = ""
	switch {
	case p.Form[passwordAgain] != "":
		password = password.Help(p.T("Enter the password again. Pages never show it."))
	case keepsPassword:
		password = password.Help(p.T("Leave blank to keep the current password."))
	case inBackups:
		password = password.Help(p.T("Backups of this server will contain the password."))
	}
	own := c.ID == ownServer || c.ID == ""
	host := input("host", p.T("Host name")).Must().Like("smtp.acme.example")
	if own {
		host = host.Help(p.hostHelp())
	}
	return mailServerFields{
		Host: host,
		Port: input("port", p.T("Port")).Kind("number").Help(p.T("Leave blank to use 587, or 465 with SSL/TLS.")),
		TLS: newChoice("tls", p.T("Encryption"), f.Value("tls"), p.TLSOptions()).Blame(f.Wrong("tls")).
			Help(p.T("How the connection to the mail server is protected. If you aren't sure, choose STARTTLS.")),
		Username: input("username", cmp.Or(c.User, p.T("Username"))).Fill("off"),
		Password: password,
		From: input("from", p.T("From address")).Kind("email").Must().Like("news@acme.example").Help(p.T("Enter only " +
			"the address, without a name. Used for account emails and for newsletters without their own sender address.")),
		PerDay: input("per_day", p.T("Daily limit")).Kind("number").Help(p.T("Leave blank for no limit.")),
		PerSecond: input("per_second", p.T("Limit per second")).Kind("number").Help(p.T("Leave blank for no " +
			"limit.")),
		TestTo:   input("test_to", p.T("Send a test email to")).Kind("email").Must(),
		Own:      own,
		Advanced: p.T("Advanced"),
		Open:     p.Form["host"] != "",
	}
}

// PresetPath returns the URL of the page with the given provider's settings.
func (p *Page) PresetPath(id string) string {
	return OperatorPath + mailServerPath + "?" + url.Values{"provider": {id}}.Encode() + "#server"
}

// folder reports whether emails from the page's tenant, or from the server if there is none, are only saved to a
// folder.
func (p *Page) folder() bool {
	if p.console.options.Folder == nil {
		return false
	}
	folder, err := p.console.options.Folder(p, &p.Tenant)
	if err != nil {
		p.LogError(err)
	}
	return folder
}

// localAdvice describes how to make links work on other computers. If the visitor can't change the setting, it says
// whom to ask.
func (p *Page) localAdvice() (advice string, mend Link) {
	switch own := p.Tenant.PublicURL != ""; {
	case own && p.May(core.ActionTenantSettings):
		return p.T("Change the base URL for links."), Link{p.T("Settings"), p.Path("settings") + "#f-public_url"}
	case own:
		return p.T("Ask an administrator of this newsletter to change its base URL for links."), mend
	case p.IsOperator():
		advice = p.T("Under “Base URL for links”, enter the public address of this server, for example {{url}}. If "+
			"you don't know it, ask the person who set up the server.", "url", "https://news.example.com")
		return advice, Link{p.T("Settings"), p.Path("settings") + "#f-public_url"}
	}
	return p.T("Ask the server administrator to enter the public address of this server in the newsletter's settings."),
		mend
}

// LocalAdvice is like localAdvice, for templates.
func (p *Page) LocalAdvice() matter {
	advice, mend := p.localAdvice()
	return matter{Advice: advice, Mend: mend}
}

// LocalLinks reports whether links in the tenant's emails and pages work only on the server's machine.
func (p *Page) LocalLinks() bool { return core.IsLocalURL(p.Tenant.Origin(p.PublicURL())) }
