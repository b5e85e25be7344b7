package core

// Agent is a program that runs devices for a user.
type Agent struct {
	ID        string  `json:"id" db:"id"`
	OwnerID   string  `json:"owner_id" db:"owner_id"`
	Name      string  `json:"name" db:"name"`
	Version   string  `json:"version" db:"version" about:"Version of the agent, as it reports it"`
	CreatedAt Instant `json:"created_at" db:"created_at"`
}

// AgentInput holds the fields of an agent that a caller sets. A nil field is left unchanged.
type AgentInput struct {
	Name    *string `json:"name" like:"name" max:"200"`
	Version *string `json:"version" like:"line" max:"100" about:"Version of the agent, as it reports it"`
}

// JudgeKeys returns an error for a request with unknown keys. It ignores read-only keys of an agent.
func (in *AgentInput) JudgeKeys(unknown []string) error {
	return JudgeChange[AgentInput, Agent](unknown)
}

const maxVersion = 100 // characters

// NewAgent returns a new agent with the fields of in for the user ownerID.
func NewAgent(ownerID string, in AgentInput, now Instant) (Agent, error) {
	a := Agent{ID: NewID(), OwnerID: ownerID, CreatedAt: now}
	err := a.Change(in)
	return a, err
}

// Change sets the agent's fields from in.
func (a *Agent) Change(in AgentInput) error {
	take(&a.Name, in.Name)
	take(&a.Version, in.Version)
	if err := checkName(&a.Name, "name"); err != nil {
		return err
	}
	return checkText(&a.Version, "version", maxVersion, false)
}
