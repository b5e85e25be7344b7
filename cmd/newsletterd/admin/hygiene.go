package admin

import (
	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

// monthsFlag returns the flag for how many months a subscriber must have been inactive.
func monthsFlag() cli.Flag {
	return &cli.IntFlag{Name: "months", Value: core.MaxSilence, Usage: "inactive for this many `MONTHS`, 3 to 12"}
}

// monthsOf returns the value of the flag from monthsFlag.
func monthsOf(c *cli.Context) (int, error) {
	n := c.Int("months")
	if n < core.MinSilence || n > core.MaxSilence {
		return 0, cli.UsageErrorf(c, "--months must be from %d to "+
			"%d", core.MinSilence, core.MaxSilence)
	}
	return n, nil
}

func (p commands) listHygieneCommands() []*cli.Command {
	look := p.Command("hygiene", "count bounced, unconfirmed and inactive subscribers",
		[]cli.Flag{cli.ID(people.NounList), monthsFlag()}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			months, err := monthsOf(c)
			if err != nil {
				return err
			}
			h, err := s.ListHygiene(c.Context, c.String("id"), months, now())
			if err != nil {
				return cli.Missing(err, "list", c.String("id"))
			}
			return p.Printer(c).Record(h)
		})
	look.Description = `A subscriber is inactive after at least three tracked emails in that time
without a known open or click. On a long list, only a sample is checked;
"looked" is the size of the sample.`
	ask := p.Command("ask-again", "email unconfirmed or inactive subscribers to ask if they want to stay", []cli.Flag{
		cli.ID(people.NounList), monthsFlag(),
		cli.String("who", "`GROUP` to ask: unconfirmed or silent (inactive)"),
	}, []string{"id", "who"}, p.askAgain)
	ask.Description = `Each person gets one email with a confirmation link, at ten emails a second.
No one is asked twice, and people who unsubscribed are never asked.

   newsletterd admin list ask-again --id $LIST --who silent`
	end := p.Command("unsubscribe-silent", "unsubscribe people who didn't answer the reminder within 14 days",
		[]cli.Flag{cli.ID(people.NounList)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			sum := int64(0)
			for more := true; more; {
				n, rest, err := s.UnsubscribeSilent(c.Context, c.String("id"), cli.Actor(), 0, now())
				if err != nil {
					return cli.Missing(err, "list", c.String("id"))
				}
				sum, more = sum+n, rest
			}
			return p.Done(c, "%d unsubscribed.", sum)
		})
	end.Description = "People with any activity since, such as a click in another email, stay subscribed. Webhooks " +
		"report each unsubscribe with the reason no_answer."
	remove := p.Command("remove-unconfirmed", "remove people who didn't confirm within 7 days",
		[]cli.Flag{cli.ID(people.NounList)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			sum := int64(0)
			for more := true; more; {
				n, rest, err := s.RemoveUnconfirmed(c.Context, c.String("id"), cli.Actor(), 0, now())
				if err != nil {
					return cli.Missing(err, "list", c.String("id"))
				}
				sum, more = sum+n, rest
			}
			return p.Done(c, "%d removed.", sum)
		})
	remove.Description = `Their confirmation links stop working. They can sign up again. People who
had unsubscribed before stay on record as unsubscribed.`
	return []*cli.Command{look, ask, end, remove}
}

func (p commands) askAgain(c *cli.Context, _ *config.Config, s *store.Store) error {
	a := people.AskAgain{ListID: c.String("id"), Who: c.String("who"), Actor: cli.Actor()}
	if a.Who != core.AskUnconfirmed && a.Who != core.AskSilent {
		return cli.UsageError(c, "--who must be unconfirmed or silent")
	}
	var err error
	if a.Months, err = monthsOf(c); err != nil {
		return err
	}
	sum := int64(0)
	for {
		n, next, err := s.AskAgain(c.Context, a, now())
		if err != nil {
			return cli.Missing(err, "list", a.ListID)
		}
		if sum += n; next == "" {
			return p.Done(c, "%d reminders queued.", sum)
		}
		a.After = next
	}
}
