package handlers

import (
	"newsletterd/core"
	"newsletterd/store"
)

// devices serves /api/devices: a user's own machines. Another's device is missing.
type devices struct{ store *store.Store }

func (a devices) find(c *Call) error {
	_, err := a.store.Device(c, c.ID(), c.Caller.UserID)
	return err
}

func (a devices) list(c *Call, _ struct{}, page core.Page) ([]core.Device, error) {
	return a.store.Devices(c, c.Caller.UserID, page)
}

func (a devices) create(c *Call, in core.DeviceInput) (core.Device, error) {
	d, err := core.NewDevice(c.Caller.UserID, in, c.Now)
	if err != nil {
		return d, err
	}
	return d, a.store.AddDevice(c, d)
}

func (a devices) show(c *Call, id string) (core.Device, error) {
	return a.store.Device(c, id, c.Caller.UserID)
}

func (a devices) update(c *Call, in core.DeviceInput) (core.Device, error) {
	return a.store.UpdateDevice(c, c.ID(), c.Caller.UserID, func(d *core.Device) error { return d.Change(in) })
}

func (a devices) unpair(c *Call, id string) (None, error) {
	return None{}, a.store.UnpairDevice(c, id, c.Caller.UserID, c.Now)
}

func (a devices) register(c *Call, id string) (core.Device, error) {
	return a.store.RegisterDevice(c, id, c.Caller.UserID, c.Now)
}

func (a devices) unregister(c *Call, id string) (core.Device, error) {
	return a.store.UnregisterDevice(c, id, c.Caller.UserID)
}
