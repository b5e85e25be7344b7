package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"newsletterd/core"
	"newsletterd/store"
)

// disableClients is the flag of commands that end the sessions of a user: clients and webhook endpoints outlive them.
func disableClients() cli.Flag {
	return boolFlag("disable-clients", "also disable OAuth clients and webhook endpoints that the user created or "+
		"changed")
}

// endClients disables the clients and endpoints that a user keeps in a tenant, or anywhere, if the flag says so, and
// names those that stay active.
func (p *program) endClients(c *cli.Context, s *store.Store, u core.User, tenantID string) error {
	client := func(client *core.Client) bool { return tenantID == "" || client.TenantID == tenantID }
	endpoint := func(e *core.Endpoint) bool { return tenantID == "" || e.TenantID == tenantID }
	var disabled core.Made
	active, err := s.KeptBy(c.Context, u.ID)
	if c.Bool("disable-clients") {
		disabled, active, err = s.DisableKeptBy(c.Context, u.ID, actor(), now(), client, endpoint)
	}
	if err != nil {
		return err
	}
	p.nameMade("Disabled %s that %s created or changed: %s\n", u, disabled)
	p.nameMade("Still active: %s that %s created or changed: %s\nTo disable them, pass --disable-clients.\n", u,
		active)
	return nil
}

func (p *program) nameMade(format string, u core.User, made core.Made) {
	names := map[string][]string{}
	for _, c := range made.Clients {
		names[madeClients] = append(names[madeClients], c.Name+" ("+c.ID+")")
	}
	for _, e := range made.Endpoints {
		names[madeEndpoints] = append(names[madeEndpoints], cmp.Or(e.Name, e.URL)+" ("+e.ID+")")
	}
	for _, what := range []string{madeClients, madeEndpoints} {
		if len(names[what]) > 0 {
			fmt.Fprintf(p.err, format, what, u.Email, strings.Join(names[what], ", "))
		}
	}
}

const (
	madeClients   = "manage OAuth clients (apps that people sign in to, and API clients)"
	madeEndpoints = "webhook endpoints"
)
