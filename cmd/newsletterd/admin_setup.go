package main

import (
	"context"

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

// firstSteps says where the first operator makes an account; empty where there is one.
func firstSteps(ctx context.Context, cfg *config.Config, s *store.Store) string {
	token, err := auth.SetupToken(ctx, s, now())
	if err != nil {
		return ""
	}
	return "There is no operator yet. Make the account in a browser, within an hour:\n\n   " +
		cfg.Origin() + handlers.SetupPath(token) + "\n\n"
}

func setupLink(c *cli.Context, cfg *config.Config, s *store.Store) (string, error) {
	token, err := auth.SetupToken(c.Context, s, now())
	return cfg.Origin() + handlers.SetupPath(token), err
}
