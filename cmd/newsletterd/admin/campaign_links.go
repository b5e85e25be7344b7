package admin

import (
	"os"
	"strconv"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/store"
	"newsletterd/store/people"
)

func (p commands) campaignLinksCommand() *cli.Command {
	return p.Command("links", "list a sent campaign's links with click counts",
		[]cli.Flag{cli.ID(people.NounCampaign)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			found, err := s.Campaign(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "campaign", c.String("id"))
			}
			links, err := s.CampaignLinks(c.Context, found.ID)
			if err != nil {
				return err
			}
			return cli.List(p.Printer(c), links, "no", "clicked", "url", "target", "mended_at")
		})
}

func (p commands) correctCommand() *cli.Command {
	return p.Command("correct", "correct the web version of a sent campaign", []cli.Flag{
		cli.ID(people.NounCampaign),
		cli.String("file", "`FILE` with the new content, in the format of the sent version"),
		cli.String("subject", "new `SUBJECT`"), cli.Bool("undo", "remove the correction and show the sent version "+
			"again"), forceFlag(),
	}, []string{"id"}, func(c *cli.Context, cfg *config.Config, s *store.Store) error {
		found, err := s.Campaign(c.Context, c.String("id"))
		if err != nil {
			return cli.Missing(err, "campaign", c.String("id"))
		}
		d, err := draftsOf(c, cfg, s)
		if err != nil {
			return err
		}
		r, err := d.Correction(c.Context, &found, func(f *core.CampaignFields) error {
			if c.IsSet("subject") {
				f.Subject = c.String("subject")
			}
			if c.IsSet("file") {
				text, err := os.ReadFile(c.String("file"))
				if err != nil {
					return err
				}
				f.Content.Source = string(text)
			}
			if err := f.Check(); err != nil {
				return err
			}
			return f.Complete()
		}, cli.Actor(), now())
		if err != nil {
			return err
		}
		if r.Force = c.Bool("force"); c.Bool("undo") {
			r.Copy = nil
		}
		made, err := s.CorrectCampaign(c.Context, r)
		switch {
		case err != nil:
			return err
		case r.Copy == nil:
			return p.Done(c, "Correction removed. Pages show the sent version.")
		}
		return p.Printer(c).Record(made)
	})
}

func (p commands) mendLinkCommand() *cli.Command {
	return p.Command("mend", "fix a link in emails that were already sent",
		[]cli.Flag{
			cli.ID(people.NounCampaign), cli.String("link", "`NUMBER` of the link, as listed by \"links\""),
			cli.String("target", "new target `URL` (empty: the original one)"),
			forceFlag(),
		}, []string{"id", "link", "target"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			no, err := strconv.ParseInt(c.String("link"), 10, 64)
			if err != nil {
				return core.ErrLinkNotFound
			}
			of, err := s.Campaign(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "campaign", c.String("id"))
			}
			target, err := drafts.MendedTarget(c.Context, s, &of, c.String("target"))
			if err != nil {
				return err
			}
			mended, err := s.MendLink(c.Context, campaignEdit(c), no, target, c.Bool("force"))
			if err != nil {
				return cli.Missing(err, "campaign", c.String("id"))
			}
			return p.Printer(c).Record(mended)
		})
}
