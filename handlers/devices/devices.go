package devices

import (
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

// Room holds the dependencies of the endpoints for devices, agents and models.
type Room struct {
	Store   *store.Store
	Limits  core.ModelLimits // limits for uploads
	Uploads *web.Uploads

	keyed *keyedUploads
}

// Routes adds the endpoints.
func (r *Room) Routes(t *web.Table) {
	r.keyed = newKeyedUploads()
	r.deviceRoutes(t)
	r.agentRoutes(t)
	r.modelRoutes(t)
	r.shareRoutes(t)
}

// devicesAPI serves /api/devices, a user's own devices. It responds with 404 for another user's device.
type devicesAPI struct{ store *store.Store }

// deviceRoutes adds the routes for users' devices.
func (r *Room) deviceRoutes(t *web.Table) {
	d := devicesAPI{r.Store}
	t.Add("GET", "/api/devices", web.User(core.ScopeDevices), web.Device,
		web.List(d.list, func(d core.Device) string { return d.ID }), "List the caller's devices").Named("listDevices")
	t.Add("POST", "/api/devices", web.User(core.ScopeDevices), web.Device,
		web.JSON(d.create).Created().Fails(core.NotFound, core.Conflict), "Pair a device").Named("pairDevice").
		Requires("name").
		Example(web.Object{"name": "Printer"}).
		Refuses(
			web.Clashing("conflict", "representative", "There is already a primary device"),
			web.Clash("The limit is reached"),
			web.ThereIsOne,
		)
	t.Add("GET", "/api/devices/:id", web.User(core.ScopeDevices), web.Device, web.Path(d.show), "Show a device").
		Named("getDevice")
	t.Add("PATCH", "/api/devices/:id", web.User(core.ScopeDevices), web.Device,
		web.JSON(d.update).Find(d.find).Fails(core.Conflict), "Update a device; fields you leave out stay unchanged").
		Named("updateDevice").
		Example(web.Object{"name": "Printer upstairs"}).
		Refuses(web.Clashing("conflict", "representative", "There is already a primary device"))
	t.Add("DELETE", "/api/devices/:id", web.User(core.ScopeDevices), web.Device, web.Path(d.unpair), "Unpair a device").
		Named("unpairDevice")
	t.Add("POST", "/api/devices/:id/register", web.User(core.ScopeDevices), web.Device,
		web.Path(d.register).Fails(core.Conflict), "Register a device").Named("registerDevice").
		Refuses(
			web.Clashing("ALREADY_REGISTERED", "", "Whether the device is registered"),
			web.Clashing("REPRESENTATIVE_DEVICE", "", "The primary device can't be registered"),
		)
	t.Add("POST", "/api/devices/:id/unregister", web.User(core.ScopeDevices), web.Device,
		web.Path(d.unregister), "Unregister a device").Named("unregisterDevice")
}

func (a devicesAPI) find(c *web.Call) error {
	_, err := a.store.Device(c, c.ID(), c.Caller.UserID)
	return err
}

func (a devicesAPI) list(c *web.Call, _ struct{}, page core.Page) ([]core.Device, error) {
	return a.store.Devices(c, c.Caller.UserID, page)
}

func (a devicesAPI) create(c *web.Call, in core.DeviceInput) (core.Device, error) {
	d, err := core.NewDevice(c.Caller.UserID, in, c.Now)
	if err != nil {
		return d, err
	}
	return d, a.store.AddDevice(c, d)
}

func (a devicesAPI) show(c *web.Call, id string) (core.Device, error) {
	return a.store.Device(c, id, c.Caller.UserID)
}

func (a devicesAPI) update(c *web.Call, in core.DeviceInput) (core.Device, error) {
	return a.store.UpdateDevice(c, c.ID(), c.Caller.UserID, func(d *core.Device) error { return d.Change(in) })
}

func (a devicesAPI) unpair(c *web.Call, id string) (web.None, error) {
	return web.None{}, a.store.UnpairDevice(c, id, c.Caller.UserID, c.Now)
}

func (a devicesAPI) register(c *web.Call, id string) (core.Device, error) {
	return a.store.RegisterDevice(c, id, c.Caller.UserID, c.Now)
}

func (a devicesAPI) unregister(c *web.Call, id string) (core.Device, error) {
	return a.store.UnregisterDevice(c, id, c.Caller.UserID)
}
