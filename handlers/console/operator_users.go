package console

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// RoleTitle returns a role's name, also for server administrators.
func (p *Page) RoleTitle(role string) string {
	switch role {
	case core.RoleOperator:
		return p.T("Server administrator")
	case core.RoleTenantAdmin:
		return p.T("Administrator")
	case core.RolePublisher:
		return p.T("Publisher")
	case core.RoleEditor:
		return p.T("Editor")
	case core.RoleViewer:
		return p.T("Viewer")
	}
	return role
}

func (p *Page) roleOptions() (out []option) {
	for _, role := range core.Roles {
		out = append(out, option{role, p.RoleTitle(role)})
	}
	return out
}

// tenantOptions returns the options for a role's tenant, and the tenants' names by id. The operator role belongs to no
// tenant.
func (p *Page) tenantOptions() ([]option, map[string]string, error) {
	var tenants []core.Tenant
	_, err := p.Get("/api/admin/tenants", url.Values{"limit": {"200"}}, &tenants)
	names, out := map[string]string{}, []option{{"", p.T("No tenant")}}
	for i := range tenants {
		names[tenants[i].ID] = tenants[i].Name
		out = append(out, option{tenants[i].ID, tenants[i].Name})
	}
	return out, names, err
}

// users lists all accounts, or finds the account with a given address.
func (o *Console) users(p *Page) (web.HTML, error) {
	var d struct {
		Users []core.User
		Names map[string]string // names of tenants
		Email string
		Pager pager
	}
	d.Email = strings.TrimSpace(p.Query("email"))
	q := url.Values{"limit": {"30"}}
	if d.Email != "" {
		q.Set("email", d.Email)
	}
	if cursor := p.Query("cursor"); cursor != "" {
		q.Set("cursor", cursor)
	}
	next, err := p.Get("/api/admin/users", q, &d.Users)
	if err != nil {
		return web.HTML{}, err
	}
	if d.Names, err = p.tenantNames(); err != nil {
		return web.HTML{}, err
	}
	d.Pager = p.Pager(next)
	return p.Show("users", View{Title: p.T("Users"), State: p.T("All accounts on this server"), Data: &d})
}

// newUser emails a person an invitation to take on a role.
func (o *Console) newUser(p *Page) (web.HTML, error) {
	v := View{Title: p.T("Invite person"), Within: []Link{{p.T("Users"), operatorPath("users")}}}
	v.State = p.T("Sends an email with a link to create an account")
	if p.IsForm() {
		err := p.sendInvitation(map[string]string{
			"email": p.Form["email"], "role": p.Form["role"], "tenant_id": p.Form["tenant_id"],
		})
		if err == nil {
			return p.Redirect(operatorPath("users"), "invited")
		}
		ok := false
		if v.Fault, v.Status, ok = p.FaultOf(err); !ok {
			return web.HTML{}, err
		}
	}
	tenants, _, err := p.tenantOptions()
	v.Data = map[string]any{
		"Tenants": tenants, "Roles": p.roleOptions(), "Email": p.Form["email"], "Role": p.Form["role"],
		"Tenant": p.Form["tenant_id"], "Language": cmp.Or(p.Form["language"], p.InvitationLanguage()),
	}
	if err != nil {
		return web.HTML{}, err
	}
	return p.Show("new-user", v)
}

// userData holds the data for templates/user.html.
type userData struct {
	User     core.User
	Sessions struct {
		Browsers []core.Browser
		Clients  []core.ClientSignIn
		Created  []core.Client `json:"created_clients"`

		CreatedEndpoints []core.Endpoint `json:"created_endpoints"`
	}
	Passkeys       []core.Passkey
	Roles, Tenants []option
	Names          map[string]string // names of tenants
	Own            bool              // whether this is the visitor's own account
}

func (o *Console) user(p *Page) (web.HTML, error) { return p.showUser(nil) }

func (p *Page) showUser(fault error) (web.HTML, error) {
	d := userData{Roles: p.roleOptions(), Own: p.ID() == p.Who.User.ID}
	item := "/api/admin/users/" + p.ID()
	for path, out := range map[string]any{"": &d.User, "/sessions": &d.Sessions, "/passkeys": &d.Passkeys} {
		if _, err := p.Get(item+path, nil, out); err != nil {
			return web.HTML{}, err
		}
	}
	var err error
	if d.Tenants, d.Names, err = p.tenantOptions(); err != nil {
		return web.HTML{}, err
	}
	v := View{Title: string(d.User.Email), Within: []Link{{p.T("Users"), operatorPath("users")}}, Data: &d}
	if d.User.DisabledAt != 0 {
		v.Badge = Badge{p.T("Disabled"), "bad"}
	}
	v.State = p.T("Account created on {{day}}", "day", p.Date(d.User.CreatedAt))
	if fault != nil {
		ok := false
		if v.Fault, v.Status, ok = p.FaultOf(fault); !ok {
			return web.HTML{}, fault
		}
	}
	return p.Show("user", v)
}

// userAct is an action on an account.
type userAct struct {
	method, path, title, text, button string // if title is set, the action needs confirmation
	body                              any
	ends                              bool // whether it ends the user's sessions and can disable the user's clients
}

// actOnUser performs an action on an account.
func (o *Console) actOnUser(p *Page) (web.HTML, error) {
	role := map[string]string{"role": p.Form["role"], "tenant_id": p.Form["tenant_id"]}
	a, ok := map[string]userAct{
		"grant":  {method: http.MethodPost, path: "/roles", body: role},
		"revoke": {method: http.MethodPost, path: "/roles/revoke", body: role},
		"enable": {method: http.MethodPut, body: map[string]any{"disabled": false}},
		"disable": {
			http.MethodPut, "", p.T("Disable this account?"), p.T("This person is signed out and can't sign in until " +
				"you enable the account again."),
			p.T("Disable account"),
			map[string]any{"disabled": true},
			true,
		},
		"logout": {
			http.MethodPost, "/logout-everywhere", p.T("Sign this person out everywhere?"),
			p.T("All sessions and tokens of this person end immediately."), p.T("Sign out everywhere"),
			map[string]any{},
			true,
		},
		"reset": {
			http.MethodPost, "/reset-second-factor", p.T("Remove two-factor authentication?"),
			p.T("Only do this if you're sure that this person asked for it. They'll be notified by email."),
			p.T("Remove 2FA"), nil, false,
		},
		"passkey": {
			http.MethodDelete, "/passkeys/" + url.PathEscape(p.Form["id"]), p.T("Remove this passkey?"),
			p.T("This person won't be able to sign in with this passkey. They'll be notified by email."),
			p.T("Remove passkey"), nil, false,
		},
		"erase": {
			http.MethodPost, "/erase", p.T("Delete this account and its data?"),
			p.T("This permanently deletes the account and the person's data on all lists. You can't undo this."),
			p.T("Delete account and data"),
			map[string]any{},
			true,
		},
	}[p.Form["act"]]
	if !ok {
		return web.HTML{}, core.Invalidf("act", "Unknown action. Reload the page and try again.")
	}
	var u core.User
	item, here := "/api/admin/users/"+p.ID(), operatorPath("users", p.ID())
	if _, err := p.Get(item, nil, &u); err != nil {
		return web.HTML{}, err
	}
	if a.title != "" && !p.sure() {
		tick, err := p.createdClients(a.ends, item)
		if err != nil {
			return web.HTML{}, err
		}
		return p.askSure(a.title, secondStep{Text: a.text, Button: a.button, Back: here, Tick: tick},
			Link{p.T("Users"), operatorPath("users")}, Link{string(u.Email), here})
	}
	if body, ok := a.body.(map[string]any); ok && a.ends {
		body["disable_clients"] = p.Form["disable_clients"] == "1"
	}
	if err := p.Do(a.method, item+a.path, a.body, nil); err != nil {
		return p.showUser(err)
	}
	if p.Form["act"] == "erase" {
		return p.Redirect(operatorPath("users"), "deleted")
	}
	return p.Redirect(here, "saved")
}

// createdClients returns the label of the checkbox for disabling the clients that a user created, or an empty string if
// there are none.
func (p *Page) createdClients(asked bool, user string) (string, error) {
	if !asked {
		return "", nil
	}
	var s struct {
		Created   []core.Client   `json:"created_clients"`
		Endpoints []core.Endpoint `json:"created_endpoints"`
	}
	if _, err := p.Get(user+"/sessions", nil, &s); err != nil {
		return "", err
	}
	return p.disableLabel(core.Made{Clients: s.Created, Endpoints: s.Endpoints}), nil
}

// disableLabel returns the label of a checkbox that disables clients and webhooks, or an empty string if there are
// none.
func (p *Page) disableLabel(made core.Made) string {
	names := made.Names()
	if len(names) == 0 {
		return ""
	}
	return p.T("Also disable API clients and webhooks this person created or changed: {{clients}}", "clients",
		strings.Join(names, ", "))
}

// allTenants lists the tenants.
func (o *Console) allTenants(p *Page) (web.HTML, error) {
	var d struct {
		Tenants []core.Tenant
		Pager   pager
		Deleted []core.Deleted
	}
	q := url.Values{"limit": {"30"}}
	if cursor := p.Query("cursor"); cursor != "" {
		q.Set("cursor", cursor)
	}
	next, err := p.Get("/api/admin/tenants", q, &d.Tenants)
	if err != nil {
		return web.HTML{}, err
	}
	d.Pager = p.Pager(next)
	if d.Deleted, err = p.deletedTenants(); err != nil {
		return web.HTML{}, err
	}
	return p.Show("tenants", View{
		Title: p.T("Tenants"), Data: &d,
		State: p.T("A tenant is a newsletter with its own lists, subscribers and team"),
	})
}

// tenantData holds the data for templates/tenant.html.
type tenantData struct {
	Of                        core.Tenant
	Second, Period, Each, Day string // limits as they were entered
}

func (o *Console) oneTenant(p *Page) (web.HTML, error) { return p.showTenant(nil) }

func (p *Page) showTenant(fault error) (web.HTML, error) {
	var d tenantData
	if _, err := p.Get("/api/admin/tenants/"+p.ID(), nil, &d.Of); err != nil {
		return web.HTML{}, err
	}
	l := d.Of.SendLimits
	typed := func(name string, n int) string {
		if s, ok := p.Form[name]; ok {
			return s
		}
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	d.Second, d.Day = typed("per_second", l.PerSecond), typed("per_day", l.PerDay)
	d.Period, d.Each = typed("per_period", l.PerPeriod), typed("period_seconds", l.PeriodSeconds)
	v := View{Title: d.Of.Name, Within: []Link{{p.T("Tenants"), operatorPath("tenants")}}, Data: &d}
	v.Badge = Badge{p.T("Active"), "good"}
	if !d.Of.Active() {
		v.Badge = Badge{p.T("Suspended"), "warn"}
	}
	if fault != nil {
		ok := false
		if v.Fault, v.Status, ok = p.FaultOf(fault); !ok {
			return web.HTML{}, fault
		}
	}
	return p.Show("tenant", v)
}

// actOnTenant suspends or reactivates a tenant, or changes its limits.
func (o *Console) actOnTenant(p *Page) (web.HTML, error) {
	item, here := "/api/admin/tenants/"+p.ID(), operatorPath("tenants", p.ID())
	var body map[string]any
	switch p.Form["act"] {
	case "suspend":
		if !p.sure() {
			return p.askSure(p.T("Suspend this tenant?"), secondStep{
				Text:   p.T("Sending and signups stop until you reactivate the tenant."),
				Button: p.T("Suspend tenant"), Back: here,
			}, Link{p.T("Tenants"), operatorPath("tenants")})
		}
		body = map[string]any{"status": "suspended"}
	case "activate":
		body = map[string]any{"status": core.TenantActive}
	case "limits":
		limits, err := typedLimits(p.Form)
		if err != nil {
			return p.showTenant(err)
		}
		body = map[string]any{"send_limits": limits}
	default:
		return web.HTML{}, core.Invalidf("act", "Unknown action. Reload the page and try again.")
	}
	if err := p.Do(http.MethodPut, item, body, nil); err != nil {
		return p.showTenant(err)
	}
	return p.Redirect(here, "saved")
}

// typedLimits parses a tenant's limits from the form. Errors name the input.
func typedLimits(form map[string]string) (map[string]int, error) {
	limits := map[string]int{}
	for _, name := range []string{"per_second", "per_period", "period_seconds", "per_day"} {
		text := strings.TrimSpace(form[name])
		n, err := strconv.Atoi(text)
		if err != nil && text != "" {
			return nil, core.Invalidf("send_limits."+name,
				"Enter a whole number without separators, for example 20000. Leave blank for no limit.")
		}
		limits[name] = n
	}
	return limits, nil
}
