package admin

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/handlers/drafts"
	"newsletterd/store"
	"newsletterd/store/people"
)

func (p commands) checkCampaignCommand() *cli.Command {
	check := p.Command("check", "check a campaign for errors and warnings", []cli.Flag{
		cli.ID(people.NounCampaign), cli.Bool("links", "also check that the links respond"),
	}, []string{"id"}, func(c *cli.Context, cfg *config.Config, s *store.Store) error {
		d, err := draftsOf(c, cfg, s)
		if err != nil {
			return err
		}
		found, err := s.Campaign(c.Context, c.String("id"))
		if err != nil {
			return cli.Missing(err, "campaign", c.String("id"))
		}
		checked, err := d.Check(c.Context, &found, 0, c.Bool("links"), now())
		if err != nil {
			return err
		}
		if err := p.printCheck(c, &checked); err != nil {
			return err
		}
		if checked.Errors > 0 {
			return fmt.Errorf("%s: the campaign can't be approved or sent", cli.Counted(checked.Errors, "error"))
		}
		return nil
	})
	check.Description = `Also checks the DNS records of the sender domain. Exits with 1 if errors
prevent sending, otherwise with 0. Warnings don't count.

   newsletterd admin campaign check --id ID --links`
	return check
}

func (p commands) printCheck(c *cli.Context, checked *drafts.Checked) error {
	if out := p.Printer(c); out.JSON {
		return out.Value(checked)
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, f := range checked.Findings {
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.Severity, f.Code, cli.Printable(f.String()))
		if f.Hint != "" {
			fmt.Fprintf(t, "\t\t→ %s\n", cli.Printable(f.Hint))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if l := checked.Links; l != nil {
		fmt.Fprintf(&b, "%s checked, %d skipped.\n", cli.Counted(l.Asked, "link"), l.Skipped)
	}
	if len(checked.Findings) == 0 {
		b.WriteString("No problems found.\n")
	}
	_, err := p.Out.Write([]byte(b.String()))
	return err
}
