package devices

import (
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

// agents serves /api/agents, a user's own programs that run devices. It responds with 404 for another user's agent.
type agents struct{ store *store.Store }

// agentRoutes adds the routes for users' agents.
func (r *Room) agentRoutes(t *web.Table) {
	g := agents{r.Store}
	t.Add("GET", "/api/agents", web.User(core.ScopeDevices), web.Device,
		web.List(g.list, func(g core.Agent) string { return g.ID }), "List the caller's agents").Named("listAgents")
	t.Add("POST", "/api/agents", web.User(core.ScopeDevices), web.Device,
		web.JSON(g.create).Created().Fails(core.Conflict), "Create an agent").Named("createAgent").
		Requires("name").
		Example(web.Object{"name": "Gateway", "version": "1.0"}).
		Refuses(web.Clash("The limit is reached"), web.ThereIsOne)
	t.Add("GET", "/api/agents/:id", web.User(core.ScopeDevices), web.Device, web.Path(g.show), "Show an agent").
		Named("getAgent")
	t.Add("PATCH", "/api/agents/:id", web.User(core.ScopeDevices), web.Device,
		web.JSON(g.update).Find(g.find), "Update an agent; fields you leave out stay unchanged").Named("updateAgent").
		Example(web.Object{"version": "1.1"})
	t.Add("DELETE", "/api/agents/:id", web.User(core.ScopeDevices), web.Device, web.Path(g.remove), "Delete an agent").
		Named("deleteAgent")
}

func (a agents) find(c *web.Call) error {
	_, err := a.store.Agent(c, c.ID(), c.Caller.UserID)
	return err
}

func (a agents) list(c *web.Call, _ struct{}, page core.Page) ([]core.Agent, error) {
	return a.store.Agents(c, c.Caller.UserID, page)
}

func (a agents) create(c *web.Call, in core.AgentInput) (core.Agent, error) {
	g, err := core.NewAgent(c.Caller.UserID, in, c.Now)
	if err != nil {
		return g, err
	}
	return g, a.store.AddAgent(c, g)
}

func (a agents) show(c *web.Call, id string) (core.Agent, error) {
	return a.store.Agent(c, id, c.Caller.UserID)
}

func (a agents) update(c *web.Call, in core.AgentInput) (core.Agent, error) {
	return a.store.UpdateAgent(c, c.ID(), c.Caller.UserID, func(g *core.Agent) error { return g.Change(in) })
}

func (a agents) remove(c *web.Call, id string) (web.None, error) {
	return web.None{}, a.store.DeleteAgent(c, id, c.Caller.UserID)
}
