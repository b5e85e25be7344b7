package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"newsletterd/core"
	"newsletterd/store"
)

// disableClients is the flag of commands that end the sessions of a user: clients outlive them.
func disableClients() cli.Flag {
	return boolFlag("disable-clients", "also disable the OAuth clients that the user created")
}

// endClients disables the clients that a user created in a tenant, or anywhere, if the flag says so, and names those
// that stay active.
func (p *program) endClients(c *cli.Context, s *store.Store, u core.User, tenantID string) error {
	in := func(client *core.Client) bool { return tenantID == "" || client.TenantID == tenantID }
	var disabled []core.Client
	active, err := s.ClientsOf(c.Context, u.ID)
	if c.Bool("disable-clients") {
		disabled, active, err = s.DisableClientsOf(c.Context, u.ID, actor(), now(), in)
	}
	if err != nil {
		return err
	}
	p.nameClients("Disabled OAuth clients that %s created: %s\n", u, disabled)
	p.nameClients("These OAuth clients that %s created are still active: %s\n"+
		"Disable them with --disable-clients or newsletterd admin client update --disabled.\n", u, active)
	return nil
}

func (p *program) nameClients(format string, u core.User, cs []core.Client) {
	if len(cs) == 0 {
		return
	}
	names := make([]string, len(cs))
	for i := range cs {
		names[i] = cs[i].Name + " (" + cs[i].ID + ")"
	}
	fmt.Fprintf(p.err, format, u.Email, strings.Join(names, ", "))
}
