package devices

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
)

// DeviceColumns are those of a device.
const DeviceColumns = "id, owner_id, name, agent_id, representative, registered, registered_at, created_at, unpaired_at"

var insertDevice = db.InsertInto("device", DeviceColumns)

// Device reads one device of a user, unpaired or not; another's is core.ErrNotFound.
func (s *Store) Device(ctx context.Context, id, ownerID string) (d core.Device, err error) {
	err = s.Get(ctx, &d, "SELECT "+DeviceColumns+" FROM device WHERE id = ? AND owner_id = ?", id, ownerID)
	return d, err
}

func device(tx *db.Tx, id, ownerID string) (d core.Device, err error) {
	err = tx.Get(&d, "SELECT "+DeviceColumns+" FROM device WHERE id = ? AND owner_id = ?", id, ownerID)
	return d, err
}

// OwnerOfDevice tells whose a device is: for the command line, which acts for everyone. It returns core.ErrNotFound
// where there is no such device.
func (s *Store) OwnerOfDevice(ctx context.Context, id string) (ownerID string, err error) {
	err = s.Get(ctx, &ownerID, "SELECT owner_id FROM device WHERE id = ?", id)
	return ownerID, err
}

// Devices reads a page of a user's paired devices, by id. Its only error is core.ErrStorage.
func (s *Store) Devices(ctx context.Context, ownerID string, page core.Page) (ds []core.Device, err error) {
	err = s.All(ctx, &ds,
		"SELECT "+DeviceColumns+" FROM device WHERE owner_id = ? AND unpaired_at = 0 AND id > ? ORDER BY id LIMIT +?",
		ownerID, page.After, page.Limit)
	return ds, err
}

// owner fails with core.ErrNotFound unless there is such a user: one may be erased while a request of theirs runs.
func owner(tx *db.Tx, id string) error {
	var one int
	return tx.Get(&one, "SELECT 1 FROM user WHERE id = ?", id)
}

// room fails with a conflict where an owner has as many rows as allowed. query counts them, with the owner as its
// argument.
func room(tx *db.Tx, query, ownerID string, limit int, what string) error {
	var n int
	if err := tx.Get(&n, query, ownerID); err != nil {
		return err
	}
	if n >= limit {
		return core.Conflictf("conflict", "At most %d %s are allowed. Delete one first.", limit, what)
	}
	return nil
}

// AddDevice keeps a new device. core.ErrNotFound on agent_id means that the agent is not the owner's; a second
// representative device is core.ErrSecondLeader, one device too many a conflict.
func (s *Store) AddDevice(ctx context.Context, d core.Device) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := owner(tx, d.OwnerID); err != nil {
			return err
		}
		if err := room(tx, "SELECT count(*) FROM device WHERE owner_id = ? AND unpaired_at = 0", d.OwnerID,
			core.MaxDevices, "devices of one owner"); err != nil {
			return err
		}
		if err := agentOf(tx, d); err != nil {
			return err
		}
		_, err := tx.Exec(insertDevice,
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

func agentOf(tx *db.Tx, d core.Device) error {
	if d.AgentID == "" {
		return nil
	}
	_, err := agent(tx, d.AgentID, d.OwnerID)
	if errors.Is(err, core.ErrNotFound) {
		return errNoAgent
	}
	return err
}

var errNoAgent = &core.Error{
	Kind: core.NotFound, Code: "not_found",
	Message: "Agent not found. It may have been deleted, or you don't have access.",
	Field:   "agent_id",
}

// UpdateDevice changes name, agent and the representative mark of a device by a rule, which runs inside the
// transaction, and returns it as it is then. It returns core.ErrNotFound where the
// owner has no such device or agent, core.ErrSecondLeader, or an error of the rule.
func (s *Store) UpdateDevice(ctx context.Context, id, ownerID string, rule func(*core.Device) error) (d core.Device,
	err error,
) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if d, err = device(tx, id, ownerID); err != nil {
			return err
		}
		if err := rule(&d); err != nil {
			return err
		}
		if err := agentOf(tx, d); err != nil {
			return err
		}
		return secondLeader(tx.One("UPDATE device SET name = ?, agent_id = ?, representative = ? WHERE id = ?",
			d.Name, d.AgentID, d.Representative, id))
	})
	return d, err
}

// UnpairDevice takes a device out of its owner's list. The row stays until housekeeping takes it. It returns
// core.ErrNotFound where the owner has no such device, or it is unpaired.
func (s *Store) UnpairDevice(ctx context.Context, id, ownerID string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		d, err := device(tx, id, ownerID)
		if err != nil {
			return err
		}
		if err := d.Unpair(now); err != nil {
			return err
		}
		return tx.One("UPDATE device SET unpaired_at = ? WHERE id = ? AND unpaired_at = 0", d.UnpairedAt, id)
	})
}

// RegisterDevice registers a device of a user: core.ErrNotFound, core.ErrRepresentative, core.ErrRegistered, in this
// order. One conditional UPDATE decides, so of many at once one succeeds; the rule then says why the others did not.
func (s *Store) RegisterDevice(ctx context.Context, id, ownerID string, now core.Instant) (d core.Device, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		n, err := tx.Exec("UPDATE device SET registered = 1, registered_at = ? WHERE id = ? AND owner_id = ? AND "+
			"representative = 0 AND registered = 0",
			now, id, ownerID)
		if err != nil {
			return err
		}
		if d, err = device(tx, id, ownerID); err != nil || n == 1 {
			return err
		}
		return d.Register(now)
	})
	return d, err
}

// UnregisterDevice clears the registered state of a device of a user; there may be none to clear. It returns
// core.ErrNotFound where the owner has no such device.
func (s *Store) UnregisterDevice(ctx context.Context, id, ownerID string) (d core.Device, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE device SET registered = 0, registered_at = 0 WHERE id = ? AND owner_id = ? AND "+
			"registered = 1", id, ownerID)
		if err != nil {
			return err
		}
		d, err = device(tx, id, ownerID)
		return err
	})
	return d, err
}
