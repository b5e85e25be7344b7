package handlers

import (
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

// clientName names a client.
type clientName struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	TenantID string `json:"tenant_id,omitempty"`
}

func clientNames(cs []core.Client) []clientName {
	return rowsOf(cs, func(c *core.Client) clientName { return clientName{c.ID, c.Name, c.TenantID} })
}

// madeClients are the clients that a user created, once the user's sessions have ended. They outlive the sessions,
// unless they are disabled, too.
type madeClients struct {
	Disabled []clientName `json:"disabled_clients"` // by this request
	Active   []clientName `json:"active_clients"`
}

// endingSessions is an optional body of what ends the sessions of a user.
type endingSessions struct {
	DisableClients bool `json:"disable_clients"` // also disable the OAuth clients that the user created
}

// endClients disables the clients that a user created, in one tenant or in all, if that is asked for and as far as the
// caller may. It names them, and those that stay.
func endClients(c *web.Call, s *store.Store, userID, tenantID string, disable bool) (madeClients, error) {
	if !disable {
		all, err := s.ClientsOf(c, userID)
		return madeClients{[]clientName{}, clientNames(ofTenant(all, tenantID))}, err
	}
	return disableClients(c, s, c.Caller, userID, tenantID)
}

func disableClients(c *web.Call, s *store.Store, caller core.Caller, userID, tenantID string) (madeClients, error) {
	disabled, active, err := s.DisableClientsOf(c, userID, actorOf(caller), c.Now, func(client *core.Client) bool {
		return (tenantID == "" || client.TenantID == tenantID) && mayDisable(caller, client)
	})
	return madeClients{clientNames(disabled), clientNames(ofTenant(active, tenantID))}, err
}

// mayDisable reports whether a caller may disable a client. A first-party client is an operator's to change.
func mayDisable(caller core.Caller, client *core.Client) bool {
	return caller.May(core.ActionClientManage, client.TenantID) &&
		(!client.FirstParty || caller.May(core.ActionTenantManage, core.TenantNone))
}

// ofTenant returns the clients of one tenant; all for none.
func ofTenant(cs []core.Client, tenantID string) (of []core.Client) {
	for i := range cs {
		if tenantID == "" || cs[i].TenantID == tenantID {
			of = append(of, cs[i])
		}
	}
	return of
}

// ownClients names the clients that a user created and may disable, for the pages that end the user's sessions; empty:
// there are none.
func ownClients(c *web.Call, u core.User) (names string, err error) {
	all, err := c.Store().ClientsOf(c, u.ID)
	var own []string
	for i := range all {
		if mayDisable(visitorCaller(core.Visitor{User: u}), &all[i]) {
			own = append(own, all[i].Name)
		}
	}
	return strings.Join(own, ", "), err
}

// endOwnClients disables these clients, if the form says so.
func endOwnClients(c *web.Call, u core.User, tick string) error {
	if tick != "1" {
		return nil
	}
	_, err := disableClients(c, c.Store(), visitorCaller(core.Visitor{User: u}), u.ID, "")
	return err
}
