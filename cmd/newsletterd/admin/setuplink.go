package admin

import (
	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/store"
)

// setupLinkCommand returns the command that prints the setup link for the first server administrator.
func (p commands) setupLinkCommand() *cli.Command {
	cmd := p.Command("setup-link", "print a link to create the first server administrator's account",
		nil, nil,
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			link, err := parts.SetupLink(c.Context, cfg, s, now())
			if err != nil {
				return err
			}
			if out := p.Printer(c); out.JSON {
				return out.Value(map[string]string{"setup_link": link})
			}
			return p.Done(c, "%s", link)
		})
	cmd.Description = "The link works once, within an hour, and only while there is no server administrator. After " +
		"that, invite people instead."
	return cmd
}
