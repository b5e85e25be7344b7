package console

import (
	"cmp"
	"strconv"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// relayRoutes adds the routes for a tenant's relays. Server administrators set the relays, and the tenant's
// administrators test them.
func (o *Console) relayRoutes(t *web.Table) {
	o.get(t, "/settings/relay", core.ActionTenantSettings, o.relay, "The console: the mail servers of a tenant")
	o.post(t, "/settings/relay", core.ActionRelayManage, o.changeRelays, "The console: set the mail server of a tenant")
	o.post(t, "/settings/relay/test", core.ActionTenantSettings, o.testRelay, "The console: send a test email")
}

// relayPage holds the data for a tenant's relay page.
type relayPage struct {
	State  core.RelayState
	Relays core.Relays
	Choice []option // relays to choose from, if there are several
	Test   *relayResult
	Filled string // id of the relay whose submitted form is shown; "new": the form for a new one
}

// relayResult is the result of a test email, with its description.
type relayResult struct {
	core.RelayTest
	Text string
}

// relayState reads the mail server settings for tenants without their own relay.
func (p *Page) relayState() (s core.RelayState, err error) {
	_, err = p.Get("/api/admin/relay", nil, &s)
	return s, err
}

// RelayWords describes the result of a test email and what to do about it.
func (p *Page) RelayWords(t *core.RelayTest, to string) string {
	switch t.Outcome {
	case core.RelayAccepted:
		return p.T("The mail server accepted the email to {{to}}. Check that it arrives and doesn't land in spam.",
			"to", to)
	case core.RelayWritten:
		return p.T("The test email was saved to a folder and wasn't delivered to anyone. Set up a mail server first.")
	case core.RelayRefused:
		return p.T("The mail server works, but it rejected the email to {{to}}. See “Details” for its response.", "to", to)
	case core.RelayAuth:
		return p.T("The mail server rejected the username or password. Some providers require an app password: " +
			"a separate password for programs.")
	case core.RelayTLS:
		if p.Tenant.ID == "" { // only the server's own mail server may be on the same machine
			return p.T("Can't connect securely. Under “Encryption”, choose STARTTLS for port 587, SSL/TLS for port " +
				"465, or None if the mail server runs on this machine.")
		}
		return p.T("Can't connect securely. Under “Encryption”, choose STARTTLS for port 587 or SSL/TLS for port 465.")
	case core.RelayGreeting:
		return p.T("The mail server rejected the connection or the sender address. See “Details” for its response.")
	case core.RelayProtocol:
		return p.T("This server isn't a mail server. Check the host name and port.")
	case core.RelayDisk:
		return p.T("The email folder isn't writable. Check its permissions.")
	}
	return p.T("Can't connect to the mail server. Check the host name and port. Many hosting providers block port " +
		"25; try 587 or 465.")
}

func (o *Console) relay(p *Page) (web.HTML, error) { return p.showRelay(relayPage{}, filled{}, View{}) }

func (p *Page) showRelay(d relayPage, f filled, v View) (web.HTML, error) {
	var err error
	if d.State, err = p.relayState(); err != nil {
		return web.HTML{}, err
	}
	d.Relays = p.Tenant.Relays
	if len(d.Relays) > 1 {
		for _, r := range d.Relays {
			d.Choice = append(d.Choice, option{r.ID, r.Label()})
		}
	}
	if f.values == nil {
		f.values = map[string]string{"email": string(p.Who.User.Email)}
	}
	v.State = p.T("The mail server that delivers your emails")
	return p.showSettings("relay", "relay", v, f, d)
}

// RelayForm returns the form values for a relay, stored or submitted.
func (p *Page) RelayForm(d relayPage, f filled, r core.Relay) filled {
	if d.Filled == cmp.Or(r.ID, "new") {
		return f
	}
	port := ""
	if r.Port != 0 {
		port = strconv.Itoa(r.Port)
	}
	return filled{values: map[string]string{
		"host": r.Host, "port": port, "tls": cmp.Or(r.TLS, "starttls"), "username": r.Username, "name": r.Name,
	}}
}

// NewRelay returns the zero Relay, for an empty form.
func (p *Page) NewRelay() core.Relay { return core.Relay{} }

// TLSOptions returns options for the encryption of a connection to a relay.
func (p *Page) TLSOptions() []option {
	return []option{
		{"starttls", p.T("STARTTLS (port 587)")},
		{"implicit", p.T("SSL/TLS (port 465)")},
		{"none", p.T("None (only on the same machine)")},
	}
}

// TLSName returns the label of an encryption mode.
func (p *Page) TLSName(mode string) string {
	for _, o := range p.TLSOptions() {
		if o.Value == mode {
			return o.Text
		}
	}
	return mode
}

// changeRelays saves, adds or deletes a relay. A blank password keeps the stored one.
func (o *Console) changeRelays(p *Page) (web.HTML, error) {
	id := p.Form["id"]
	show := func(f filled, v View) (web.HTML, error) {
		return p.showRelay(relayPage{Filled: cmp.Or(id, "new")}, f, v)
	}
	port, err := strconv.Atoi(cmp.Or(p.Form["port"], "0"))
	if err != nil {
		port = -1
	}
	relays, found := core.Relays{}, false
	for _, r := range p.Tenant.Relays {
		if r.ID != id {
			relays = append(relays, r)
			continue
		}
		found = true
		if p.Form["act"] == "delete" {
			if p.Form["sure"] != "1" {
				show := func(_ filled, v View) (web.HTML, error) { return p.showRelay(relayPage{}, filled{}, v) }
				return p.notSure(show)
			}
			continue
		}
		r.Host, r.Port, r.TLS, r.Username, r.Name, r.Password = p.Form["host"], port, p.Form["tls"], p.Form["username"],
			p.Form["name"], p.Form["password"]
		relays = append(relays, r)
	}
	switch {
	case !found && id != "":
		return web.HTML{}, web.ErrNotFound
	case !found:
		relays = append(relays, core.Relay{
			Host: p.Form["host"], Port: port, TLS: p.Form["tls"], Username: p.Form["username"], Name: p.Form["name"],
			Password: p.Form["password"], DKIMSkip: core.Strings{},
		})
	}
	body := map[string]any{"relays": relays}
	if err := p.Do("PUT", "/api/admin/tenants/"+p.Tenant.ID, body, nil); err != nil {
		delete(p.Form, "password")
		return p.refused(err, func(f filled, v View) (web.HTML, error) {
			f.at = lastPart(f.at)
			return show(f, v)
		})
	}
	return p.Redirect(p.Path("settings", "relay"), "saved")
}

// lastPart returns the part of a field's path after the last dot.
func lastPart(field string) string {
	for i := len(field) - 1; i >= 0; i-- {
		if field[i] == '.' {
			return field[i+1:]
		}
	}
	return field
}

// testRelay sends a test email and shows the server's response.
func (o *Console) testRelay(p *Page) (web.HTML, error) {
	var t core.RelayTest
	body := map[string]string{"tenant_id": p.Tenant.ID, "relay_id": p.Form["relay_id"], "email": p.Form["email"]}
	if err := p.Do("POST", "/api/admin/relay/test", body, &t); err != nil {
		return p.refused(err, func(f filled, v View) (web.HTML, error) { return p.showRelay(relayPage{}, f, v) })
	}
	f := filled{values: map[string]string{"email": p.Form["email"], "relay_id": p.Form["relay_id"]}}
	return p.showRelay(relayPage{Test: &relayResult{t, p.RelayWords(&t, p.Form["email"])}}, f, View{})
}

// shownTest is the result of a test email, with the page that shows it.
type shownTest struct {
	Page *Page
	Test *relayResult
}

func newRelayTest(s shown, test *relayResult) shownTest { return shownTest{s.Page, test} }

// relayFields holds the inputs of a relay's form.
type relayFields struct {
	Host, Port, TLS, Username, Password, Name labelled

	Advanced string // title of the section that contains Name
}

// labelled is a field whose element id is unique on a page with several forms.
type labelled struct {
	field
	of string
}

// Open reports whether the field is visible without opening its section of the form.
func (l labelled) Open() bool { return l.Value != "" || l.Wrong != "" }

// ID returns the element's id.
func (l labelled) ID() string { return l.field.ID() + "-" + l.of }

// hostHelp says where to find the host name of a mail server.
func (p *Page) hostHelp() string {
	return p.T("Your provider's help page lists it as SMTP server or outgoing mail server.")
}

// newRelayFields returns the inputs for a relay's form. of distinguishes the forms on a page.
func newRelayFields(s shown, f filled, of string, hasPassword bool) relayFields {
	p := s.Page
	input := func(name, label string) field { return newField(name, label, f.Value(name)).Blame(f.Wrong(name)) }
	password := input("password", p.T("Password")).Kind("password").Fill("new-password")
	password.Value = ""
	if hasPassword {
		password = password.Help(p.T("Leave blank to keep the current password. Enter it again if you change the " +
			"server or username."))
	}
	port := input("port", p.T("Port")).Kind("number").Help(p.T("Leave blank to use 587, or 465 with SSL/TLS."))
	return relayFields{
		Advanced: p.T("Advanced"),
		Host:     labelled{input("host", p.T("Host name")).Must().Like("smtp.acme.example").Help(p.hostHelp()), of},
		Port:     labelled{port, of},
		TLS: labelled{
			newChoice("tls", p.T("Encryption"), f.Value("tls"), p.TLSOptions()).Blame(f.Wrong("tls")).
				Help(p.T("How the connection to the mail server is protected. If you aren't sure, choose STARTTLS.")),
			of,
		},
		Username: labelled{input("username", p.T("Username")).Fill("off"), of},
		Password: labelled{password, of},
		Name: labelled{
			input("name", p.T("Name in reports")).Limit(60).Help(p.T("Leave blank to use the host name.")),
			of,
		},
	}
}
