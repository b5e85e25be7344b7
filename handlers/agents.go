package handlers

import (
	"newsletterd/core"
	"newsletterd/store"
)

// agents serves /api/agents: the programs of a user that run devices. Another's agent is missing.
type agents struct{ store *store.Store }

func (a agents) find(c *Call) error {
	_, err := a.store.Agent(c, c.ID(), c.Caller.UserID)
	return err
}

func (a agents) list(c *Call, _ struct{}, page core.Page) ([]core.Agent, error) {
	return a.store.Agents(c, c.Caller.UserID, page)
}

func (a agents) create(c *Call, in core.AgentInput) (core.Agent, error) {
	g, err := core.NewAgent(c.Caller.UserID, in, c.Now)
	if err != nil {
		return g, err
	}
	return g, a.store.AddAgent(c, g)
}

func (a agents) show(c *Call, id string) (core.Agent, error) {
	return a.store.Agent(c, id, c.Caller.UserID)
}

func (a agents) update(c *Call, in core.AgentInput) (core.Agent, error) {
	return a.store.UpdateAgent(c, c.ID(), c.Caller.UserID, func(g *core.Agent) error { return g.Change(in) })
}

func (a agents) remove(c *Call, id string) (None, error) {
	return None{}, a.store.DeleteAgent(c, id, c.Caller.UserID)
}
