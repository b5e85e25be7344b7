package devices

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
)

// DeviceColumns lists the columns of the table device.
const DeviceColumns = "id, owner_id, name, agent_id, representative, registered, registered_at, created_at, unpaired_at"

var insertDevice = db.InsertInto("device", DeviceColumns)

// Device returns a device of a user, even if it is unpaired. If the user has no such device, it returns
// core.ErrNotFound.
func (s *Store) Device(ctx context.Context, id, ownerID string) (d core.Device, err error) {
	err = s.Get(ctx, &d, "SELECT "+DeviceColumns+" FROM device WHERE id = ? AND owner_id = ?", id, ownerID)
	return d, err
}

func device(tx *db.Tx, id, ownerID string) (d core.Device, err error) {
	err = tx.Get(&d, "SELECT "+DeviceColumns+" FROM device WHERE id = ? AND owner_id = ?", id, ownerID)
	return d, err
}

// OwnerOfDevice returns the owner of a device, for the command line, which acts on behalf of every user. If no such
// device exists, it returns core.ErrNotFound.
func (s *Store) OwnerOfDevice(ctx context.Context, id string) (ownerID string, err error) {
	err = s.Get(ctx, &ownerID, "SELECT owner_id FROM device WHERE id = ?", id)
	return ownerID, err
}

// Devices returns a page of a user's paired devices, sorted by id. The only error is core.ErrStorage.
func (s *Store) Devices(ctx context.Context, ownerID string, page core.Page) (ds []core.Device, err error) {
	err = s.All(ctx, &ds,
		"SELECT "+DeviceColumns+" FROM device WHERE owner_id = ? AND unpaired_at = 0 AND id > ? ORDER BY id LIMIT +?",
		ownerID, page.After, page.Limit)
	return ds, err
}

// owner returns core.ErrNotFound if the user doesn't exist. Users may be erased while one of their requests runs.
func owner(tx *db.Tx, id string) error {
	var one int
	return tx.Get(&one, "SELECT 1 FROM user WHERE id = ?", id)
}

// room returns a Conflict error if an owner has limit rows of some kind. query counts the rows and gets the owner as
// its argument. what names the kind in the error.
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

// AddDevice adds a device. If the agent doesn't belong to the owner, it returns core.ErrNotFound with the field
// agent_id. For a second representative device it returns core.ErrSecondLeader. If the owner has the maximum number of
// devices, it returns a Conflict error.
func (s *Store) AddDevice(ctx context.Context, d core.Device) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := owner(tx, d.OwnerID); err != nil {
			return err
		}
		if err := room(tx, "SELECT count(*) FROM device WHERE owner_id = ? AND unpaired_at = 0", d.OwnerID,
			core.MaxDevices, "devices per owner"); err != nil {
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

// secondLeader converts a conflict on the unique index of representative devices into core.ErrSecondLeader.
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

// UpdateDevice changes the name, the agent and the representative mark of a device with rule, which runs inside the
// transaction. It returns the changed device. If the owner has no such device or agent, it returns core.ErrNotFound.
// It also returns core.ErrSecondLeader and the errors of rule.
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

// UnpairDevice unpairs a device from its owner. The row stays until housekeeping removes it. If the owner has no such
// device, or it is already unpaired, UnpairDevice returns core.ErrNotFound.
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

// RegisterDevice registers a device of a user. It returns core.ErrNotFound, core.ErrRepresentative or
// core.ErrRegistered, checked in this order. A single conditional UPDATE decides, so only one of several concurrent
// calls succeeds. For the others, core.Device.Register determines the error.
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

// UnregisterDevice clears the registered state of a device, if it is set. If the owner has no such device, it returns
// core.ErrNotFound.
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
