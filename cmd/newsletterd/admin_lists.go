package main

import (
	"cmp"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/handlers"
	"newsletterd/store"
	"newsletterd/store/people"
)

func (p *program) listFormCommand() *cli.Command {
	c := p.command("form", "print a subscribe form for a website of your own", []cli.Flag{idFlag(people.NounList)},
		[]string{"id"}, func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			l, err := s.ListWithTenant(c.Context, c.String("id"))
			if err != nil {
				return missing(err, "list", c.String("id"))
			}
			return handlers.WriteForm(p.out, l, cmp.Or(cfg.Send.MemberURL, cfg.Origin()))
		})
	c.Description = "The form has the fields that the list asks for, in its language, and may stand on any site: paste " +
		"it where you like and style it as\nyou please. The field _website keeps machines out; people don't see it."
	return c
}

func (p *program) listReasonsCommand() *cli.Command {
	c := p.command("reasons", "count the reasons that leavers gave", []cli.Flag{idFlag(people.NounList)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if _, err := s.List(c.Context, c.String("id")); err != nil {
				return missing(err, "list", c.String("id"))
			}
			rows, err := s.LeaveReasons(c.Context, c.String("id"))
			if err != nil {
				return err
			}
			return list(p.printer(c), rows, "reason", "leavers", "last_at", "last_words")
		})
	c.Description = "On the page to unsubscribe a reason may be given: too_many, content, never_asked or other, and " +
		"words of one's own."
	return c
}
