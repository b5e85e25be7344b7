package devices

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
)

// AgentColumns lists the columns of the table agent.
const AgentColumns = "id, owner_id, name, version, created_at"

// Agent returns an agent of a user. If the user has no such agent, it returns core.ErrNotFound.
func (s *Store) Agent(ctx context.Context, id, ownerID string) (a core.Agent, err error) {
	err = s.Get(ctx, &a, "SELECT "+AgentColumns+" FROM agent WHERE id = ? AND owner_id = ?", id, ownerID)
	return a, err
}

func agent(tx *db.Tx, id, ownerID string) (a core.Agent, err error) {
	err = tx.Get(&a, "SELECT "+AgentColumns+" FROM agent WHERE id = ? AND owner_id = ?", id, ownerID)
	return a, err
}

// OwnerOfAgent returns the owner of an agent, for the command line, which acts on behalf of every user. If no such
// agent exists, it returns core.ErrNotFound.
func (s *Store) OwnerOfAgent(ctx context.Context, id string) (ownerID string, err error) {
	err = s.Get(ctx, &ownerID, "SELECT owner_id FROM agent WHERE id = ?", id)
	return ownerID, err
}

// Agents returns a page of a user's agents, sorted by id. The only error is core.ErrStorage.
func (s *Store) Agents(ctx context.Context, ownerID string, page core.Page) (as []core.Agent, err error) {
	err = s.All(ctx, &as, "SELECT "+AgentColumns+" FROM agent WHERE owner_id = ? AND id > ? ORDER BY id LIMIT +?",
		ownerID, page.After, page.Limit)
	return as, err
}

// AddAgent adds an agent. If the owner no longer exists, it returns core.ErrNotFound. If the owner has core.MaxAgents
// agents, it returns core.ErrConflict.
func (s *Store) AddAgent(ctx context.Context, a core.Agent) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := owner(tx, a.OwnerID); err != nil {
			return err
		}
		if err := room(tx, "SELECT count(*) FROM agent WHERE owner_id = ?", a.OwnerID, core.MaxAgents,
			"agents per owner"); err != nil {
			return err
		}
		_, err := tx.Exec("INSERT INTO agent ("+AgentColumns+") VALUES (?, ?, ?, ?, ?)", a.ID, a.OwnerID, a.Name,
			a.Version, a.CreatedAt)
		return err
	})
}

// UpdateAgent changes an agent with rule, which runs inside the transaction, and returns the changed agent. If the
// owner has no such agent, it returns core.ErrNotFound. It also returns the errors of rule.
func (s *Store) UpdateAgent(ctx context.Context, id, ownerID string, rule func(*core.Agent) error) (a core.Agent,
	err error,
) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if a, err = agent(tx, id, ownerID); err != nil {
			return err
		}
		if err := rule(&a); err != nil {
			return err
		}
		return tx.One("UPDATE agent SET name = ?, version = ? WHERE id = ?", a.Name, a.Version, id)
	})
	return a, err
}

// DeleteAgent deletes an agent. Its devices stay, but have no agent. If the owner has no such agent, it returns
// core.ErrNotFound.
func (s *Store) DeleteAgent(ctx context.Context, id, ownerID string) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.One("DELETE FROM agent WHERE id = ? AND owner_id = ?", id, ownerID); err != nil {
			return err
		}
		_, err := tx.Exec("UPDATE device SET agent_id = '' WHERE agent_id = ? AND agent_id <> ''", id)
		return err
	})
}
