package main

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/bulk"
	"newsletterd/store/people"
)

func bulkCommands(p *program) *cli.Command {
	id := referenceFlag("id", people.NounBulk, "`ID` of the bulk action (or its first characters)")
	type operation func(*store.Store, *cli.Context) (core.BulkAction, error)
	change := func(name, usage, more string, do operation) *cli.Command {
		command := p.command(name, usage, []cli.Flag{id}, []string{"id"},
			func(c *cli.Context, _ *config.Config, s *store.Store) error {
				a, err := do(s, c)
				if err != nil {
					return missing(err, "bulk action", c.String("id"))
				}
				return p.printBulk(c, s, a)
			})
		command.Description = more
		return command
	}
	all := p.command("list", "list the bulk actions on a list, newest first", []cli.Flag{segmentListFlag()},
		[]string{"list"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			idOf := func(a core.BulkAction) string { return a.ID }
			rows, err := pages(idOf, func(page core.Page) ([]core.BulkAction, error) {
				return s.BulkActions(c.Context, c.String("list"), page)
			})
			if err != nil {
				return err
			}
			return list(p.printer(c), rows, "id", "action", "state", "done", "of", "changed", "restored", "created_at")
		})
	start := p.command("start", "unsubscribe, remove, tag or untag many subscribers; asks first", []cli.Flag{
		segmentListFlag(),
		oneOfFlag("action", "`ACTION`: unsubscribe, remove (from the list), tag or untag", core.BulkKinds...),
		stringFlag("tag", "`TAG` to give or to remove (ID or name)"),
		referenceFlag("segment", people.NounSegment, "everyone in a segment (`ID` or name)"),
		ruleFlag("everyone who matches a rule"),
		stringFlag("ids", "subscribers with the IDs in `FILE`, one a line, or - for standard input"),
		yesFlag(),
	}, []string{"list", "action"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		return startBulk(p, c, s)
	})
	start.Description = `The running daemon performs the action. You can undo it for a week. People
who unsubscribed stay on the list as unsubscribed.

Prints the ID; follow it with newsletterd admin bulk show --id ID.

   newsletterd admin bulk start --list Weekly --segment Silent --action unsubscribe
   newsletterd admin bulk start --list Weekly --segment Loyal --action tag --tag VIP`
	return &cli.Command{
		Name: "bulk", Usage: "change many subscribers of a list together, with undo",
		Subcommands: []*cli.Command{
			all, start,
			change("show", "show the progress of a bulk action", "",
				func(s *store.Store, c *cli.Context) (core.BulkAction, error) {
					return s.BulkAction(c.Context, c.String("id"))
				}),
			change("cancel", "stop a bulk action",
				"People who are already changed stay so, until you undo the action.",
				func(s *store.Store, c *cli.Context) (core.BulkAction, error) {
					return s.CancelBulk(c.Context, c.String("id"), actor(), now())
				}),
			change("undo", "undo a bulk action",
				"Skips people who did something since then, for example unsubscribed or\nsigned up again.",
				func(s *store.Store, c *cli.Context) (core.BulkAction, error) {
					return s.UndoBulk(c.Context, c.String("id"), actor(), now())
				}),
		},
	}
}

// printBulk prints a bulk action, and says if it waits for the daemon.
func (p *program) printBulk(c *cli.Context, s *store.Store, a core.BulkAction) error {
	if a.Open() && !s.DaemonRuns() {
		fmt.Fprintln(p.err, "newsletterd isn't running. The bulk action waits until you start it.")
	}
	return p.printer(c).record(a)
}

func startBulk(p *program, c *cli.Context, s *store.Store) error {
	given := 0
	for _, name := range []string{"segment", "rule", "ids"} {
		if c.IsSet(name) {
			given++
		}
	}
	if given != 1 {
		return usageError{c.Command.HelpName, "pass one of --segment, --rule and --ids"}
	}
	r := bulk.Request{
		ListID: c.String("list"), Kind: c.String("action"), Tag: strings.TrimSpace(c.String("tag")), Actor: actor(),
	}
	if core.BulkTags(r.Kind) {
		if err := need(c, "tag"); err != nil {
			return err
		}
	} else if r.Tag != "" {
		return usageError{c.Command.HelpName, "--tag is only for the actions tag and untag. Leave it out"}
	}
	l, err := s.List(c.Context, r.ListID)
	if err != nil {
		return missing(err, "list", r.ListID)
	}
	about := ""
	if c.IsSet("ids") {
		err = readIDs(p, c.String("ids"), &r)
	} else {
		about, err = matchingOf(p, c, s, &l, &r)
	}
	if err != nil {
		return err
	}
	yes, err := sure(p, c, bulkQuestion(&r, about, l.Name))
	if err != nil {
		return err
	}
	if !yes {
		return errors.New("canceled; nobody was changed")
	}
	a, err := s.StartBulk(c.Context, r, now())
	if err == error(core.ErrBulkFull) {
		return fmt.Errorf("%s To cancel one: newsletterd admin bulk cancel --id ID", core.ErrBulkFull.Message)
	}
	if err != nil {
		return missing(err, "list", r.ListID)
	}
	return p.printBulk(c, s, a)
}

// matchingOf sets the rule of a request, and how many people match it. about is "about " if that is an estimate.
func matchingOf(p *program, c *cli.Context, s *store.Store, l *core.List, r *bulk.Request) (about string, err error) {
	q, err := questionOf(p, c, s, l, c.String("segment"))
	if err != nil {
		return "", err
	}
	n, err := s.CountSegment(c.Context, q)
	if err != nil {
		return "", unsaved(c, err)
	}
	if r.Rule = q.Rule; n.Exact != nil {
		r.Of = *n.Exact
		return "", nil
	}
	r.Of = *n.About
	return "about ", nil
}

// bulkQuestion asks whether a bulk action is to start. about stands before the number of people.
func bulkQuestion(r *bulk.Request, about, list string) string {
	many := about + "1 person"
	if r.Of != 1 {
		many = fmt.Sprintf("%s%s people", about, grouped(r.Of))
	}
	question := fmt.Sprintf("Unsubscribe %s from the list %q?", many, list)
	switch r.Kind {
	case core.BulkRemove:
		question = fmt.Sprintf("Remove %s from the list %q?", many, list)
	case core.BulkTag:
		question = fmt.Sprintf("Give the tag %q to %s of the list %q?", r.Tag, many, list)
	case core.BulkUntag:
		question = fmt.Sprintf("Remove the tag %q from %s of the list %q?", r.Tag, many, list)
	}
	return "You can undo this for a week. " + question
}

// readIDs reads the IDs of subscribers from a file, and sets how many they are.
func readIDs(p *program, name string, r *bulk.Request) error {
	in, err := p.openInput(name)
	if err != nil {
		return err
	}
	defer in.Close()
	if name == "-" {
		name = "standard input"
	}
	n, lines := 0, bufio.NewScanner(in)
	noID := func() error {
		return fmt.Errorf("%s:%d: this is not an ID. --ids needs a file with UUIDs of subscribers, one a line", name, n)
	}
	for lines.Scan() {
		n++
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		id, ok := core.ParseID(line)
		if !ok {
			return noID()
		}
		if !slices.Contains(r.IDs, id) {
			r.IDs = append(r.IDs, id)
		}
		if len(r.IDs) > core.MaxBulkIDs {
			return fmt.Errorf("%s:%d: a bulk action can have at most %d IDs. Split the file, or use --segment or "+
				"--rule", name, n, core.MaxBulkIDs)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		n++
		return noID()
	} else if err != nil {
		return err
	}
	if len(r.IDs) == 0 {
		return fmt.Errorf("%s has no IDs. --ids needs a file with UUIDs of subscribers, one a line", name)
	}
	r.Of = int64(len(r.IDs))
	return nil
}
