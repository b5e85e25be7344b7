package main

import (
	"github.com/urfave/cli/v2"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/handlers"
	"newsletterd/store"
)

// setupLinkCommand prints the link by which the first operator makes an account in a browser.
func (p *program) setupLinkCommand() *cli.Command {
	cmd := p.command("setup-link", "print the link by which the first operator makes an account, while there is none", nil, nil,
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			link, err := setupLink(c, cfg, s)
			if err != nil {
				return err
			}
			if out := p.printer(c); out.json {
				return out.value(map[string]string{"setup_link": link})
			}
			return p.done(c, "%s", link)
		})
	cmd.Description = "It is good for an hour, and for one account: once there is an operator, others are invited."
	return cmd
}

func setupLink(c *cli.Context, cfg *config.Config, s *store.Store) (string, error) {
	token, err := auth.SetupToken(c.Context, s, now())
	return cfg.Origin() + handlers.SetupPath(token), err
}
