package store

import (
	"context"
	"errors"

	"newsletterd/core"
)

// deviceColumns are those of a device.
const deviceColumns = "id, owner_id, name, agent_id, representative, registered, registered_at, created_at, unpaired_at"

var insertDevice = insertInto("device", deviceColumns)

// Device reads one device of a user, unpaired or not; another's is core.ErrNotFound.
func (s *Store) Device(ctx context.Context, id, ownerID string) (d core.Device, err error) {
	err = s.get(ctx, &d, "SELECT "+deviceColumns+" FROM device WHERE id = ? AND owner_id = ?", id, ownerID)
	return d, err
}

func (tx *Tx) device(id, ownerID string) (d core.Device, err error) {
	err = tx.get(&d, "SELECT "+deviceColumns+" FROM device WHERE id = ? AND owner_id = ?", id, ownerID)
	return d, err
}

// OwnerOfDevice tells whose a device is: for the command line, which acts for everyone. It returns core.ErrNotFound
// where there is no such device.
func (s *Store) OwnerOfDevice(ctx context.Context, id string) (ownerID string, err error) {
	err = s.get(ctx, &ownerID, "SELECT owner_id FROM device WHERE id = ?", id)
	return ownerID, err
}

// Devices reads a page of a user's paired devices, by id. Its only error is core.ErrStorage.
func (s *Store) Devices(ctx context.Context, ownerID string, page core.Page) (ds []core.Device, err error) {
	err = s.all(ctx, &ds,
		"SELECT "+deviceColumns+" FROM device WHERE owner_id = ? AND unpaired_at = 0 AND id > ? ORDER BY id LIMIT +?",
		ownerID, page.After, page.Limit)
	return ds, err
}

// owner fails with core.ErrNotFound unless there is such a user: one may be erased while a request of theirs runs.
func (tx *Tx) owner(id string) error {
	var one int
	return tx.get(&one, "SELECT 1 FROM user WHERE id = ?", id)
}

// room fails with a conflict where an owner has as many rows as allowed. query counts them, with the owner as its
// argument.
func (tx *Tx) room(query, ownerID string, limit int, what string) error {
	var n int
	if err := tx.get(&n, query, ownerID); err != nil {
		return err
	}
	if n >= limit {
		return core.Conflictf("conflict", "There may be %d %s at most.", limit, what)
	}
	return nil
}

// AddDevice keeps a new device. core.ErrNotFound on agent_id means that the agent is not the owner's; a second
// representative device is core.ErrSecondLeader, one device too many a conflict.
func (s *Store) AddDevice(ctx context.Context, d core.Device) error {
	return s.update(ctx, func(tx *Tx) error {
		if err := tx.owner(d.OwnerID); err != nil {
			return err
		}
		if err := tx.room("SELECT count(*) FROM device WHERE owner_id = ? AND unpaired_at = 0", d.OwnerID,
			core.MaxDevices, "devices of one owner"); err != nil {
			return err
		}
		if err := tx.agentOf(d); err != nil {
			return err
		}
		_, err := tx.exec(insertDevice,
			d.ID, d.OwnerID, d.Name, d.AgentID, d.Representative, d.Registered, d.RegisteredAt, d.CreatedAt,
			d.UnpairedAt)
		return secondLeader(err)
	})
}

// secondLeader names what the unique index on representative devices says.
func secondLeader(err error) error {
	if errors.Is(err, core.ErrConflict) {
		return core.ErrSecondLeader.With(err)
	}
	return err
}

func (tx *Tx) agentOf(d core.Device) error {
	if d.AgentID == "" {
		return nil
	}
	_, err := tx.agent(d.AgentID, d.OwnerID)
	if errors.Is(err, core.ErrNotFound) {
		return errNoAgent
	}
	return err
}

var errNoAgent = &core.Error{
	Kind: core.NotFound, Code: "not_found", Message: "There is no such agent.",
	Field: "agent_id",
}

// UpdateDevice changes name, agent and the representative mark of a device by a rule, which runs inside the
// transaction, and returns it as it is then. It returns core.ErrNotFound where the
// owner has no such device or agent, core.ErrSecondLeader, or an error of the rule.
func (s *Store) UpdateDevice(ctx context.Context, id, ownerID string, rule func(*core.Device) error) (d core.Device,
	err error,
) {
	err = s.update(ctx, func(tx *Tx) error {
		if d, err = tx.device(id, ownerID); err != nil {
			return err
		}
		if err := rule(&d); err != nil {
			return err
		}
		if err := tx.agentOf(d); err != nil {
			return err
		}
		return secondLeader(tx.one("UPDATE device SET name = ?, agent_id = ?, representative = ? WHERE id = ?",
			d.Name, d.AgentID, d.Representative, id))
	})
	return d, err
}

// UnpairDevice takes a device out of its owner's list. The row stays until housekeeping takes it. It returns
// core.ErrNotFound where the owner has no such device, or it is unpaired.
func (s *Store) UnpairDevice(ctx context.Context, id, ownerID string, now core.Instant) error {
	return s.update(ctx, func(tx *Tx) error {
		d, err := tx.device(id, ownerID)
		if err != nil {
			return err
		}
		if err := d.Unpair(now); err != nil {
			return err
		}
		return tx.one("UPDATE device SET unpaired_at = ? WHERE id = ? AND unpaired_at = 0", d.UnpairedAt, id)
	})
}

// RegisterDevice registers a device of a user: core.ErrNotFound, core.ErrRepresentative, core.ErrRegistered, in this
// order. One conditional UPDATE decides, so of many at once one succeeds; the rule then says why the others did not.
func (s *Store) RegisterDevice(ctx context.Context, id, ownerID string, now core.Instant) (d core.Device, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		n, err := tx.exec("UPDATE device SET registered = 1, registered_at = ? WHERE id = ? AND owner_id = ? AND "+
			"representative = 0 AND registered = 0",
			now, id, ownerID)
		if err != nil {
			return err
		}
		if d, err = tx.device(id, ownerID); err != nil || n == 1 {
			return err
		}
		return d.Register(now)
	})
	return d, err
}

// UnregisterDevice clears the registered state of a device of a user; there may be none to clear. It returns
// core.ErrNotFound where the owner has no such device.
func (s *Store) UnregisterDevice(ctx context.Context, id, ownerID string) (d core.Device, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		_, err := tx.exec("UPDATE device SET registered = 0, registered_at = 0 WHERE id = ? AND owner_id = ? AND "+
			"registered = 1", id, ownerID)
		if err != nil {
			return err
		}
		d, err = tx.device(id, ownerID)
		return err
	})
	return d, err
}
