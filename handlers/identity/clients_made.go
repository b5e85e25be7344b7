package identity

import (
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

type clientName struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	TenantID string `json:"tenant_id,omitempty" about:"Tenant of the client; absent: it belongs to the server"`
}

func clientNames(cs []core.Client) []clientName {
	return web.RowsOf(cs, func(c *core.Client) clientName { return clientName{c.ID, c.Name, c.TenantID} })
}

type endpointName struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	URL      string `json:"url" about:"URL that receives the events"`
	TenantID string `json:"tenant_id"`
}

func endpointNames(es []core.Endpoint) []endpointName {
	return web.RowsOf(es, func(e *core.Endpoint) endpointName { return endpointName{e.ID, e.Name, e.URL, e.TenantID} })
}

// madeClients holds the clients and webhook endpoints that a user created or changed. They still work after the user's
// sessions end, unless they are disabled, too.
type madeClients struct {
	Disabled          []clientName   `json:"disabled_clients" about:"API clients that this request disabled"`
	Active            []clientName   `json:"active_clients" about:"API clients that the user created or changed and that still work"`
	DisabledEndpoints []endpointName `json:"disabled_endpoints" about:"Webhook endpoints that this request disabled"`
	ActiveEndpoints   []endpointName `json:"active_endpoints" about:"Webhook endpoints that the user or their clients created or changed and that still work"`
}

func madeOf(disabled, active core.Made) madeClients {
	return madeClients{
		clientNames(disabled.Clients), clientNames(active.Clients), endpointNames(disabled.Endpoints),
		endpointNames(active.Endpoints),
	}
}

// endingSessions is the optional body of requests that end a user's sessions.
type endingSessions struct {
	DisableClients bool `json:"disable_clients"`
}

// endClients finds the clients and endpoints that a user created or changed, in one tenant or in all. If disable is
// set, it disables those that the caller may disable. It returns the disabled and the remaining ones.
func endClients(c *web.Call, s *store.Store, userID, tenantID string, disable bool) (madeClients, error) {
	if !disable {
		all, err := s.KeptBy(c, userID)
		return madeOf(core.Made{}, ofTenant(all, tenantID)), err
	}
	return disableClients(c, s, c.Caller, userID, tenantID)
}

func disableClients(c *web.Call, s *store.Store, caller core.Caller, userID, tenantID string) (madeClients, error) {
	disabled, active, err := s.DisableKeptBy(c, userID, web.ActorOf(caller), c.Now, func(client *core.Client) bool {
		return (tenantID == "" || client.TenantID == tenantID) && mayDisable(caller, client)
	}, func(e *core.Endpoint) bool {
		return (tenantID == "" || e.TenantID == tenantID) && caller.May(core.ActionEndpointManage, e.TenantID)
	})
	return madeOf(disabled, ofTenant(active, tenantID)), err
}

// mayDisable reports whether a caller may disable a client. Only server administrators may disable a first-party
// client.
func mayDisable(caller core.Caller, client *core.Client) bool {
	return caller.May(core.ActionClientManage, client.TenantID) &&
		(!client.FirstParty || caller.May(core.ActionTenantManage, core.TenantNone))
}

// ofTenant returns one tenant's clients and endpoints, or all if tenantID is empty.
func ofTenant(all core.Made, tenantID string) core.Made {
	of, _ := all.Only(func(c *core.Client) bool { return tenantID == "" || c.TenantID == tenantID },
		func(e *core.Endpoint) bool { return tenantID == "" || e.TenantID == tenantID })
	return of
}

// ownClients returns the names of the clients and endpoints that a user created or changed and may disable, or an empty
// string. The pages that end the user's sessions show the names.
func ownClients(c *web.Call, u core.User) (names string, err error) {
	all, err := c.Store().KeptBy(c, u.ID)
	caller := web.VisitorCaller(core.Visitor{User: u})
	own, _ := all.Only(func(client *core.Client) bool { return mayDisable(caller, client) },
		func(e *core.Endpoint) bool { return caller.May(core.ActionEndpointManage, e.TenantID) })
	return strings.Join(own.Names(), ", "), err
}

// endOwnClients disables the clients and endpoints that ownClients names if the form's checkbox is checked.
func endOwnClients(c *web.Call, u core.User, tick string) error {
	if tick != "1" {
		return nil
	}
	_, err := disableClients(c, c.Store(), web.VisitorCaller(core.Visitor{User: u}), u.ID, "")
	return err
}
