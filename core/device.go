package core

// Device is a user's machine. Registered and UnpairedAt are independent of each other.
type Device struct {
	ID             string  `json:"id" db:"id"`
	OwnerID        string  `json:"owner_id" db:"owner_id"`
	Name           string  `json:"name" db:"name"`
	AgentID        string  `json:"agent_id,omitempty" db:"agent_id" about:"Agent that runs the device; absent: none"`
	Representative bool    `json:"representative" db:"representative"`
	Registered     bool    `json:"registered" db:"registered"`
	RegisteredAt   Instant `json:"registered_at" db:"registered_at" is:"nullable" about:"Time of the registration; null: not registered"`
	CreatedAt      Instant `json:"created_at" db:"created_at"`
	UnpairedAt     Instant `json:"unpaired_at" db:"unpaired_at" is:"nullable" about:"Time when the device was unpaired; null: paired"`
}

// The maximum numbers of devices and agents per user. Unpaired devices don't count.
const (
	MaxDevices = 1000
	MaxAgents  = 1000
)

// Errors about devices.
var (
	ErrRegistered     = Conflictf("ALREADY_REGISTERED", "The device is already registered.")
	ErrRepresentative = Conflictf("REPRESENTATIVE_DEVICE", "The primary device can't be registered. Register "+
		"another device.")
	ErrSecondLeader = Conflictf("conflict", "Another device is already the primary device. Set its "+
		"representative field to false first.").On("representative")
)

// DeviceInput holds the fields of a device that a caller sets. A nil field is left unchanged.
type DeviceInput struct {
	Name           *string `json:"name" like:"name" max:"200"`
	AgentID        *string `json:"agent_id" like:"uuid" about:"Agent that runs the device; must have the same owner; empty: none"`
	Representative *bool   `json:"representative"`
}

// JudgeKeys returns an error for a request with unknown keys. It ignores read-only keys of a device.
func (in *DeviceInput) JudgeKeys(unknown []string) error {
	return JudgeChange[DeviceInput, Device](unknown)
}

// NewDevice returns a new device that belongs to the user ownerID. It is paired, but not registered.
func NewDevice(ownerID string, in DeviceInput, now Instant) (Device, error) {
	d := Device{ID: NewID(), OwnerID: ownerID, CreatedAt: now}
	err := d.Change(in)
	return d, err
}

// Change sets the device's fields from in. If the device is unpaired, it returns ErrNotFound. The store checks that the
// agent belongs to the same owner.
func (d *Device) Change(in DeviceInput) error {
	if d.UnpairedAt != 0 {
		return ErrNotFound
	}
	take(&d.Name, in.Name)
	if in.AgentID != nil {
		id, ok := ParseID(*in.AgentID)
		if !ok && *in.AgentID != "" {
			return Invalidf("agent_id", "agent_id must be a UUID or empty.")
		}
		d.AgentID = id
	}
	if in.Representative != nil {
		d.Representative = *in.Representative
	}
	return checkName(&d.Name, "name")
}

// Register marks the device as registered. If it is the owner's representative device, Register returns
// ErrRepresentative. If it is already registered, Register returns ErrRegistered. The caller must check the owner
// first.
func (d *Device) Register(now Instant) error {
	switch {
	case d.Representative:
		return ErrRepresentative
	case d.Registered:
		return ErrRegistered
	}
	d.Registered, d.RegisteredAt = true, now
	return nil
}

// Unregister clears the registration and reports whether the device was registered.
func (d *Device) Unregister() bool {
	was := d.Registered
	d.Registered, d.RegisteredAt = false, 0
	return was
}

// Unpair removes the device from its owner's list. If it is already unpaired, it returns ErrNotFound.
func (d *Device) Unpair(now Instant) error {
	if d.UnpairedAt != 0 {
		return ErrNotFound
	}
	d.UnpairedAt = now
	return nil
}
