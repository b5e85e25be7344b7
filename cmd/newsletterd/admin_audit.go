package main

import (
	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/store"
)

func (p *program) auditCommands() *cli.Command {
	const most = 100000
	all := p.command("list", "list who changed which record, by the API or a command", []cli.Flag{
		tenantFlag("only records of the tenant `ID` or name"),
		&cli.IntFlag{Name: "limit", Usage: "only the newest `N`", Value: 100},
	}, nil, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		n := c.Int("limit")
		if n < 1 || n > most {
			return usageError{c.Command.HelpName, "--limit must be from 1 to 100000"}
		}
		if _, _, err := tenantOf(c, s); err != nil {
			return err
		}
		rows, err := s.Audit(c.Context, c.String("tenant"), n)
		if err != nil {
			return err
		}
		return list(p.printer(c), rows, "at", "actor", "action", "object", "tenant_id")
	})
	all.Description = `The newest last. The actor is a user or client by its id, or the account that ran a command.

   newsletterd admin audit list --limit 20`
	return &cli.Command{Name: "audit", Usage: "who changed what", Subcommands: []*cli.Command{all}}
}
