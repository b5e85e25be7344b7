package console

import (
	"net/http"
	"net/url"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
)

// OwnPath is the root path of the pages that every user has, even without a role: models, the library and devices.
const OwnPath = page.OwnPath

// ownAreas holds the navigation entries for a user's own data.
var ownAreas = []struct{ text, path, icon string }{
	{"Your models", "models", "box"},
	{"Library", "library", "library"},
	{"Devices", "devices", "monitor-smartphone"},
}

// ownRoutes adds the routes for a user's own data.
func (o *Console) ownRoutes(t *web.Table) {
	o.open(t, OwnPath, o.own, "The console: the start page of one's account")
	o.open(t, OwnPath+"/devices", o.devices, "The console: a user's devices")
	o.openPost(t, OwnPath+"/devices", o.addDevice, "The console: add a device")
	o.open(t, OwnPath+"/devices/:id", o.device, "The console: a device")
	o.openPost(t, OwnPath+"/devices/:id", o.changeDevice, "The console: change, register or remove a device")
	o.open(t, OwnPath+"/agents", o.agents, "The console: a user's agents")
	o.openPost(t, OwnPath+"/agents", o.addAgent, "The console: add an agent")
	o.open(t, OwnPath+"/agents/:id", o.agent, "The console: an agent")
	o.openPost(t, OwnPath+"/agents/:id", o.changeAgent, "The console: change or delete an agent")
	o.modelRoutes(t)
}

// OwnPath returns a path below the constant OwnPath, for templates.
func (p *Page) OwnPath(parts ...string) string {
	path := OwnPath
	for _, part := range parts {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// inOwn reports whether the page is below OwnPath.
func (p *Page) inOwn() bool { return strings.HasPrefix(p.Request.URL.Path+"/", OwnPath+"/") }

// ownNavigation returns the navigation entries for a user's own data. Another user's model belongs to the library.
func (p *Page) ownNavigation(v *View) (items []navItem) {
	path := p.Request.URL.Path + "/"
	if len(v.Within) > 0 {
		path = v.Within[0].To + "/"
	}
	if strings.HasPrefix(path, OwnPath+"/agents/") {
		path = OwnPath + "/devices/"
	}
	for _, a := range ownAreas {
		to := OwnPath + "/" + a.path
		here := strings.HasPrefix(path, to+"/")
		items = append(items, navItem{Text: p.T(a.text), To: to, Icon: a.icon, Here: here, Tab: true})
	}
	return items
}

// own redirects to the user's models.
func (o *Console) own(p *Page) (web.HTML, error) { return p.Redirect(OwnPath+"/models", "") }

// DeviceTabs returns the tabs of the devices page.
func (p *Page) DeviceTabs() []tab {
	return p.tabsOf(Link{p.T("Devices"), OwnPath + "/devices"}, Link{p.T("Agents"), OwnPath + "/agents"})
}

// DeviceBadge returns the badge for the state of a device.
func (p *Page) DeviceBadge(d core.Device) Badge {
	switch {
	case d.Registered:
		return Badge{p.T("Registered"), "good"}
	case d.Representative:
		return Badge{p.T("Primary device"), "live"}
	}
	return Badge{p.T("Not registered"), ""}
}

// maxAgentChoices is the maximum number of agents that a form offers.
const maxAgentChoices = core.MaxAgents

// agentChoices returns options for a user's agents, and the agents' names by id.
func (p *Page) agentChoices() (choices []option, names map[string]string, err error) {
	found, err := all[core.Agent](p, "/api/agents", url.Values{"limit": {"200"}}, maxAgentChoices)
	choices, names = []option{{"", p.T("No agent")}}, map[string]string{}
	for _, a := range found {
		choices, names[a.ID] = append(choices, option{a.ID, a.Name}), a.Name
	}
	return choices, names, err
}

// devicesData holds the data for templates/devices.html.
type devicesData struct {
	Devices []core.Device
	Names   map[string]string // names of agents by id
	Agents  []option
	Pager   pager
	Form    filled
}

func (o *Console) devices(p *Page) (web.HTML, error) { return p.showDevices(filled{}, View{}) }

func (p *Page) showDevices(f filled, v View) (web.HTML, error) {
	d := devicesData{Form: f}
	next, err := p.Get("/api/devices", p.listQuery("50"), &d.Devices)
	if err != nil {
		return web.HTML{}, err
	}
	if d.Agents, d.Names, err = p.agentChoices(); err != nil {
		return web.HTML{}, err
	}
	d.Pager = p.Pager(next)
	v.Title, v.Data = p.T("Devices"), &d
	v.State = p.T("Devices paired with your account. Most pair automatically.")
	return p.Show("devices", v)
}

// listQuery returns the API query for the requested page of a list.
func (p *Page) listQuery(limit string) url.Values {
	q := url.Values{"limit": {limit}}
	if cursor := p.Query("cursor"); cursor != "" {
		q.Set("cursor", cursor)
	}
	return q
}

// deviceBody returns the API request body for a submitted device form.
func (p *Page) deviceBody() map[string]any {
	body := p.sent("name", "agent_id")
	body["representative"] = p.Form["representative"] != ""
	return body
}

func (o *Console) addDevice(p *Page) (web.HTML, error) {
	if err := p.Do(http.MethodPost, "/api/devices", p.deviceBody(), nil); err != nil {
		return p.refused(err, p.showDevices)
	}
	return p.Redirect(OwnPath+"/devices", "added")
}

// deviceData holds the data for templates/device.html.
type deviceData struct {
	core.Device
	Agents []option
	Form   filled
}

func (o *Console) device(p *Page) (web.HTML, error) { return p.showDevice(filled{}, View{}) }

func (p *Page) showDevice(f filled, v View) (web.HTML, error) {
	d := deviceData{Form: f}
	if _, err := p.Get("/api/devices/"+p.ID(), nil, &d.Device); err != nil {
		return web.HTML{}, err
	}
	if d.UnpairedAt != 0 {
		return web.HTML{}, web.ErrNotFound // the device is no longer on the list
	}
	if p.Form["do"] != "" || d.Form.values == nil {
		d.Form.values = map[string]string{
			"name": d.Name, "agent_id": d.AgentID, "representative": tickWord(d.Representative),
		}
	}
	var err error
	if d.Agents, _, err = p.agentChoices(); err != nil {
		return web.HTML{}, err
	}
	v.Title, v.Data, v.Badge = d.Name, &d, p.DeviceBadge(d.Device)
	v.Within = []Link{{p.T("Devices"), OwnPath + "/devices"}}
	v.State = p.T("Paired {{when}}.", "when", p.When(d.CreatedAt))
	if d.Registered {
		v.State += " " + p.T("Registered {{when}}.", "when", p.When(d.RegisteredAt))
	}
	return p.Show("device", v)
}

// changeDevice saves a device's name, registers the device, or removes it from the list.
func (o *Console) changeDevice(p *Page) (web.HTML, error) {
	path, here := "/api/devices/"+p.ID(), p.OwnPath("devices", p.ID())
	var err error
	switch do := p.Form["do"]; do {
	case "register", "unregister":
		err = p.Do(http.MethodPost, path+"/"+do, nil, nil)
	case "remove":
		if err = p.Do(http.MethodDelete, path, nil, nil); err == nil {
			return p.Redirect(OwnPath+"/devices", "removed")
		}
	default:
		err = p.Do(http.MethodPatch, path, p.deviceBody(), nil)
	}
	if err != nil {
		return p.refused(err, p.showDevice)
	}
	return p.Redirect(here, "saved")
}

// agentsData holds the data for templates/agents.html.
type agentsData struct {
	Agents []core.Agent
	Pager  pager
	Form   filled
}

func (o *Console) agents(p *Page) (web.HTML, error) { return p.showAgents(filled{}, View{}) }

func (p *Page) showAgents(f filled, v View) (web.HTML, error) {
	d := agentsData{Form: f}
	next, err := p.Get("/api/agents", p.listQuery("50"), &d.Agents)
	if err != nil {
		return web.HTML{}, err
	}
	d.Pager = p.Pager(next)
	v.Title, v.Data = p.T("Devices"), &d
	v.State = p.T("Agents manage your devices. Most register automatically.")
	return p.Show("agents", v)
}

func (o *Console) addAgent(p *Page) (web.HTML, error) {
	if err := p.Do(http.MethodPost, "/api/agents", p.sent("name", "version"), nil); err != nil {
		return p.refused(err, p.showAgents)
	}
	return p.Redirect(OwnPath+"/agents", "added")
}

// agentData holds the data for templates/agent.html.
type agentData struct {
	core.Agent
	Form filled
}

func (o *Console) agent(p *Page) (web.HTML, error) { return p.showAgent(filled{}, View{}) }

func (p *Page) showAgent(f filled, v View) (web.HTML, error) {
	d := agentData{Form: f}
	if _, err := p.Get("/api/agents/"+p.ID(), nil, &d.Agent); err != nil {
		return web.HTML{}, err
	}
	if d.Form.values == nil {
		d.Form.values = map[string]string{"name": d.Name, "version": d.Version}
	}
	v.Title, v.Data = d.Name, &d
	v.Within = []Link{{p.T("Devices"), OwnPath + "/devices"}, {p.T("Agents"), OwnPath + "/agents"}}
	v.State = p.T("Added {{when}}", "when", p.When(d.CreatedAt)) + "."
	return p.Show("agent", v)
}

// changeAgent saves an agent's name, or deletes the agent.
func (o *Console) changeAgent(p *Page) (web.HTML, error) {
	path := "/api/agents/" + p.ID()
	if p.Form["do"] == "delete" {
		if err := p.Do(http.MethodDelete, path, nil, nil); err != nil {
			return p.refused(err, p.showAgent)
		}
		return p.Redirect(OwnPath+"/agents", "deleted")
	}
	if err := p.Do(http.MethodPatch, path, p.sent("name", "version"), nil); err != nil {
		return p.refused(err, p.showAgent)
	}
	return p.Redirect(p.OwnPath("agents", p.ID()), "saved")
}
