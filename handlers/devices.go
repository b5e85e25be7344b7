package handlers

import (
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

// devices serves /api/devices: a user's own machines. Another's device is missing.
type devices struct{ store *store.Store }

func (a devices) find(c *web.Call) error {
	_, err := a.store.Device(c, c.ID(), c.Caller.UserID)
	return err
}

func (a devices) list(c *web.Call, _ struct{}, page core.Page) ([]core.Device, error) {
	return a.store.Devices(c, c.Caller.UserID, page)
}

func (a devices) create(c *web.Call, in core.DeviceInput) (core.Device, error) {
	d, err := core.NewDevice(c.Caller.UserID, in, c.Now)
	if err != nil {
		return d, err
	}
	return d, a.store.AddDevice(c, d)
}

func (a devices) show(c *web.Call, id string) (core.Device, error) {
	return a.store.Device(c, id, c.Caller.UserID)
}

func (a devices) update(c *web.Call, in core.DeviceInput) (core.Device, error) {
	return a.store.UpdateDevice(c, c.ID(), c.Caller.UserID, func(d *core.Device) error { return d.Change(in) })
}

func (a devices) unpair(c *web.Call, id string) (web.None, error) {
	return web.None{}, a.store.UnpairDevice(c, id, c.Caller.UserID, c.Now)
}

func (a devices) register(c *web.Call, id string) (core.Device, error) {
	return a.store.RegisterDevice(c, id, c.Caller.UserID, c.Now)
}

func (a devices) unregister(c *web.Call, id string) (core.Device, error) {
	return a.store.UnregisterDevice(c, id, c.Caller.UserID)
}
