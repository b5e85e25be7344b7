package core

// Device is a machine of a user. Registered and UnpairedAt are independent: neither operation on the one looks at
// the other.
type Device struct {
	ID             string  `json:"id" db:"id"`
	OwnerID        string  `json:"owner_id" db:"owner_id"`
	Name           string  `json:"name" db:"name"`
	AgentID        string  `json:"agent_id,omitempty" db:"agent_id"` // empty: none
	Representative bool    `json:"representative" db:"representative"`
	Registered     bool    `json:"registered" db:"registered"`
	RegisteredAt   Instant `json:"registered_at" db:"registered_at" is:"nullable"` // 0: not registered
	CreatedAt      Instant `json:"created_at" db:"created_at"`
	UnpairedAt     Instant `json:"unpaired_at" db:"unpaired_at" is:"nullable"` // 0: paired
}

// The numbers of devices and agents that one user may have, unpaired ones left out.
const (
	MaxDevices = 1000
	MaxAgents  = 1000
)

// Errors of devices.
var (
	ErrRegistered     = Conflictf("ALREADY_REGISTERED", "The device is already registered.")
	ErrRepresentative = Conflictf("REPRESENTATIVE_DEVICE", "The representative device can't be registered.")
	ErrSecondLeader   = Conflictf("conflict", "Another device is already the representative "+
		"device.").On("representative")
)

// DeviceInput is what a caller wants a device to be; nil leaves a field as it is.
type DeviceInput struct {
	Name           *string `json:"name" like:"name" max:"200"`
	AgentID        *string `json:"agent_id" like:"uuid"` // of the owner; empty: none
	Representative *bool   `json:"representative"`
}

// JudgeKeys refuses the keys of a body that no device has.
func (in *DeviceInput) JudgeKeys(unknown []string) error {
	return JudgeChange[DeviceInput, Device](unknown)
}

// NewDevice makes a device of a user: paired, not registered.
func NewDevice(ownerID string, in DeviceInput, now Instant) (Device, error) {
	d := Device{ID: NewID(), OwnerID: ownerID, CreatedAt: now}
	err := d.Change(in)
	return d, err
}

// Change takes over what the input holds. An unpaired device is core.ErrNotFound. That the agent is the owner's is
// the store's to see.
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

// Register marks the device as registered. The representative device can't be, whatever its state; only then is it
// asked whether it is registered already. Whether the caller is the owner was asked before both.
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

// Unregister clears the registered state and reports whether there was anything to clear.
func (d *Device) Unregister() bool {
	was := d.Registered
	d.Registered, d.RegisteredAt = false, 0
	return was
}

// Unpair takes the device out of its owner's list. A second time is core.ErrNotFound.
func (d *Device) Unpair(now Instant) error {
	if d.UnpairedAt != 0 {
		return ErrNotFound
	}
	d.UnpairedAt = now
	return nil
}
