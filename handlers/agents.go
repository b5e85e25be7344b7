package handlers

import (
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

// agents serves /api/agents: the programs of a user that run devices. Another's agent is missing.
type agents struct{ store *store.Store }

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
