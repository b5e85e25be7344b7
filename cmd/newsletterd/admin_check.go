package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/handlers/drafts"
	"newsletterd/netguard"
	"newsletterd/store"
	"newsletterd/store/people"
)

// campaignChecks is what campaigns are checked with. Links are asked through the guard of webhooks.
func campaignChecks(cfg *config.Config) *drafts.Checks {
	return &drafts.Checks{
		LookupTXT: resolverOf(cfg.Mail.DNSServer).LookupTXT,
		Client:    (&netguard.Guard{Allow: cfg.Webhooks.Allow}).Client(), NotPublic: netguard.ErrNotPublic,
		Sender: cfg.Mail.From, Kept: cfg.ServerInDatabase(), BounceDomain: cfg.Mail.BounceDomain,
	}
}

func (p *program) checkCampaignCommand() *cli.Command {
	check := p.command("check", "check a campaign for errors and warnings", []cli.Flag{
		idFlag(people.NounCampaign), boolFlag("links", "also check that the links respond"),
	}, []string{"id"}, func(c *cli.Context, cfg *config.Config, s *store.Store) error {
		d, err := draftsOf(c, cfg, s)
		if err != nil {
			return err
		}
		found, err := s.Campaign(c.Context, c.String("id"))
		if err != nil {
			return missing(err, "campaign", c.String("id"))
		}
		checked, err := d.Check(c.Context, &found, 0, c.Bool("links"), now())
		if err != nil {
			return err
		}
		if err := p.printCheck(c, &checked); err != nil {
			return err
		}
		if checked.Errors > 0 {
			return fmt.Errorf("%s: the campaign can't be approved or sent", counted(checked.Errors, "error"))
		}
		return nil
	})
	check.Description = `Also checks the DNS records of the sender domain. Exits with 1 if an error
keeps the campaign from being sent, and with 0 if there are only warnings.

   newsletterd admin campaign check ID --links`
	return check
}

func (p *program) printCheck(c *cli.Context, checked *drafts.Checked) error {
	if out := p.printer(c); out.json {
		return out.value(checked)
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, f := range checked.Findings {
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.Severity, f.Code, printable(f.String()))
		if f.Hint != "" {
			fmt.Fprintf(t, "\t\t→ %s\n", printable(f.Hint))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if l := checked.Links; l != nil {
		fmt.Fprintf(&b, "%s checked, %d skipped.\n", counted(l.Asked, "link"), l.Skipped)
	}
	if len(checked.Findings) == 0 {
		b.WriteString("No problems found.\n")
	}
	_, err := p.out.Write([]byte(b.String()))
	return err
}
