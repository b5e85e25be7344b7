package main

import (
	"strconv"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
)

func (p *program) campaignLinksCommand() *cli.Command {
	return p.command("links", "list the links of a campaign that was sent, with how many have followed each",
		[]cli.Flag{idFlag(store.NounCampaign)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			found, err := s.Campaign(c.Context, c.String("id"))
			if err != nil {
				return missing(err, "campaign", c.String("id"))
			}
			links, err := s.CampaignLinks(c.Context, found.ID)
			if err != nil {
				return err
			}
			return list(p.printer(c), links, "no", "clicked", "url", "target", "mended_at")
		})
}

func (p *program) mendLinkCommand() *cli.Command {
	return p.command("mend", "let a link of the mails that are out lead elsewhere, for those who follow it from now on",
		[]cli.Flag{
			idFlag(store.NounCampaign), stringFlag("link", "its `NUMBER`, as links prints it"),
			stringFlag("target", "the `ADDRESS` that it leads to; empty: the one as it was written"),
			forceFlag(),
		}, []string{"id", "link", "target"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			no, err := strconv.ParseInt(c.String("link"), 10, 64)
			if err != nil {
				return core.ErrLinkNotFound
			}
			if target := c.String("target"); target != "" {
				if err := core.CheckTarget(target); err != nil {
					return err
				}
			}
			mended, err := s.MendLink(c.Context, campaignEdit(c), no, c.String("target"), c.Bool("force"))
			if err != nil {
				return missing(err, "campaign", c.String("id"))
			}
			return p.printer(c).record(mended)
		})
}
