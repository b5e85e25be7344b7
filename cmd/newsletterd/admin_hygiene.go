package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

// monthsFlag is how long a silence is meant.
func monthsFlag() cli.Flag {
	return &cli.IntFlag{Name: "months", Value: core.MaxSilence, Usage: "of `MONTHS` of silence, 3 to 12"}
}

// monthsOf reads that flag.
func monthsOf(c *cli.Context) (int, error) {
	n := c.Int("months")
	if n < core.MinSilence || n > core.MaxSilence {
		return 0, usageError{c.Command.HelpName, fmt.Sprintf("--months is %d to %d", core.MinSilence, core.MaxSilence)}
	}
	return n, nil
}

func (p *program) listHygieneCommands() []*cli.Command {
	look := p.command("hygiene", "count who is not reached, has not confirmed, or was silent",
		[]cli.Flag{idFlag(people.NounList), monthsFlag()}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			months, err := monthsOf(c)
			if err != nil {
				return err
			}
			h, err := s.ListHygiene(c.Context, c.String("id"), months, now())
			if err != nil {
				return missing(err, "list", c.String("id"))
			}
			return p.printer(c).record(h)
		})
	look.Description = "Silent is who was sent three measured mails at least in that time, and of whom no opening and no " +
		"click is known. Of a\n" +
		"long list a part is looked at, and \"looked\" says how many."
	ask := p.command("ask-again", "ask once more who has not confirmed, or was silent", []cli.Flag{
		idFlag(people.NounList), monthsFlag(),
		&cli.StringFlag{Name: "who", Usage: "`WHO` is asked: unconfirmed or silent"},
	}, []string{"id", "who"}, p.askAgain)
	ask.Description = "Each gets one mail with a link to confirm; ten go out a second. No one is asked twice, " +
		"and none who has left:\n\n" +
		"  newsletterd admin list ask-again --id $LIST --who silent"
	end := p.command("unsubscribe-silent", "unsubscribe who was asked once more and has not answered in 14 days",
		[]cli.Flag{idFlag(people.NounList)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			sum := int64(0)
			for more := true; more; {
				n, rest, err := s.UnsubscribeSilent(c.Context, c.String("id"), actor(), 0, now())
				if err != nil {
					return missing(err, "list", c.String("id"))
				}
				sum, more = sum+n, rest
			}
			return p.done(c, "%d unsubscribed.", sum)
		})
	end.Description = "Who has been heard of since, by a click in another mail say, stays. The event goes out, " +
		"and the reason is no_answer."
	remove := p.command("remove-unconfirmed", "remove who has never confirmed, and was asked more than 7 days ago",
		[]cli.Flag{idFlag(people.NounList)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			sum := int64(0)
			for more := true; more; {
				n, rest, err := s.RemoveUnconfirmed(c.Context, c.String("id"), actor(), 0, now())
				if err != nil {
					return missing(err, "list", c.String("id"))
				}
				sum, more = sum+n, rest
			}
			return p.done(c, "%d removed.", sum)
		})
	remove.Description = "Their links to confirm are not valid any more. They may subscribe again, and who has left the " +
		"list before\nstays on record as having left."
	return []*cli.Command{look, ask, end, remove}
}

func (p *program) askAgain(c *cli.Context, _ *config.Config, s *store.Store) error {
	a := people.AskAgain{ListID: c.String("id"), Who: c.String("who"), Actor: actor()}
	if a.Who != core.AskUnconfirmed && a.Who != core.AskSilent {
		return usageError{c.Command.HelpName, "--who is unconfirmed or silent"}
	}
	var err error
	if a.Months, err = monthsOf(c); err != nil {
		return err
	}
	sum := int64(0)
	for {
		n, next, err := s.AskAgain(c.Context, a, now())
		if err != nil {
			return missing(err, "list", a.ListID)
		}
		if sum += n; next == "" {
			return p.done(c, "%d asked.", sum)
		}
		a.After = next
	}
}
