package admin

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strings"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/bulk"
	"newsletterd/store/people"
)

func bulkCommands(p commands) *cli.Command {
	id := cli.Reference("id", people.NounBulk, "bulk action (`ID` or start of the ID)")
	type operation func(*store.Store, *cli.Context) (core.BulkAction, error)
	change := func(name, usage, more string, do operation) *cli.Command {
		command := p.Command(name, usage, []cli.Flag{id}, []string{"id"},
			func(c *cli.Context, _ *config.Config, s *store.Store) error {
				a, err := do(s, c)
				if err != nil {
					return cli.Missing(err, "bulk action", c.String("id"))
				}
				return p.printBulk(c, s, a)
			})
		command.Description = more
		return command
	}
	all := p.Command("list", "list the bulk actions on a list, newest first", []cli.Flag{segmentListFlag()},
		[]string{"list"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			idOf := func(a core.BulkAction) string { return a.ID }
			rows, err := cli.Pages(idOf, func(page core.Page) ([]core.BulkAction, error) {
				return s.BulkActions(c.Context, c.String("list"), page)
			})
			if err != nil {
				return err
			}
			return cli.List(p.Printer(c), rows, "id", "action", "state", "done", "of", "changed", "restored",
				"created_at")
		})
	start := p.Command("start", "unsubscribe, remove, tag or untag subscribers (asks for confirmation)", []cli.Flag{
		segmentListFlag(),
		cli.OneOf("action", "`ACTION`: unsubscribe, remove (from the list), tag or untag", core.BulkKinds...),
		cli.String("tag", "`TAG` to add or remove (ID or name)"),
		cli.Reference("segment", people.NounSegment, "everyone in a segment (`ID` or name)"),
		ruleFlag("everyone who matches a rule"),
		cli.String("ids", "subscribers with the IDs in `FILE`, one per line, or - for standard input"),
		cli.Yes(),
	}, []string{"list", "action"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		return startBulk(p, c, s)
	})
	start.Description = `The running daemon performs the action. You can undo it for a week. The
action "remove" keeps the records of people who had unsubscribed before.

Prints the ID of the bulk action. To see its progress: newsletterd admin bulk
show --id ID

   newsletterd admin bulk start --list Weekly --segment Silent --action unsubscribe
   newsletterd admin bulk start --list Weekly --segment Loyal --action tag --tag VIP`
	return &cli.Command{
		Name: "bulk", Usage: "bulk edit a list's subscribers, with undo",
		Subcommands: []*cli.Command{
			all, start,
			change("show", "show the progress of a bulk action", "",
				func(s *store.Store, c *cli.Context) (core.BulkAction, error) {
					return s.BulkAction(c.Context, c.String("id"))
				}),
			change("cancel", "stop a bulk action",
				"Subscribers who were already changed stay changed until you undo the action.",
				func(s *store.Store, c *cli.Context) (core.BulkAction, error) {
					return s.CancelBulk(c.Context, c.String("id"), cli.Actor(), now())
				}),
			change("undo", "undo a bulk action",
				"Skips people who did something since then, for example unsubscribed or\nsigned up again.",
				func(s *store.Store, c *cli.Context) (core.BulkAction, error) {
					return s.UndoBulk(c.Context, c.String("id"), cli.Actor(), now())
				}),
		},
	}
}

// printBulk prints a bulk action, with a note if it is waiting for the daemon.
func (p commands) printBulk(c *cli.Context, s *store.Store, a core.BulkAction) error {
	if a.Open() && !s.DaemonRuns() {
		fmt.Fprintln(p.Err, "newsletterd isn't running. The bulk action waits until you start it.")
	}
	return p.Printer(c).Record(a)
}

func startBulk(p commands, c *cli.Context, s *store.Store) error {
	given := 0
	for _, name := range []string{"segment", "rule", "ids"} {
		if c.IsSet(name) {
			given++
		}
	}
	if given != 1 {
		return cli.UsageError(c, "pass one of --segment, --rule and --ids")
	}
	r := bulk.Request{
		ListID: c.String("list"), Kind: c.String("action"), Tag: strings.TrimSpace(c.String("tag")), Actor: cli.Actor(),
	}
	if core.BulkTags(r.Kind) {
		if err := cli.Need(c, "tag"); err != nil {
			return err
		}
	} else if r.Tag != "" {
		return cli.UsageError(c, "--tag is only for the actions tag and untag. Leave it out")
	}
	l, err := s.List(c.Context, r.ListID)
	if err != nil {
		return cli.Missing(err, "list", r.ListID)
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
	yes, err := p.Sure(c, bulkQuestion(&r, about, l.Name))
	if err != nil {
		return err
	}
	if !yes {
		return errors.New("canceled; no subscribers were changed")
	}
	a, err := s.StartBulk(c.Context, r, now())
	if err == error(core.ErrBulkFull) {
		return fmt.Errorf("%s To cancel one: newsletterd admin bulk cancel --id ID", core.ErrBulkFull.Message)
	}
	if err != nil {
		return cli.Missing(err, "list", r.ListID)
	}
	return p.printBulk(c, s, a)
}

// matchingOf sets the rule in r, and the number of people who match the rule. If that number is an estimate, it returns
// "about ", otherwise an empty string.
func matchingOf(p commands, c *cli.Context, s *store.Store, l *core.List, r *bulk.Request) (about string, err error) {
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

// bulkQuestion returns the confirmation question for a bulk action. It contains about before the number of people.
func bulkQuestion(r *bulk.Request, about, list string) string {
	many := about + "1 person"
	if r.Of != 1 {
		many = fmt.Sprintf("%s%s people", about, cli.Grouped(r.Of))
	}
	question := fmt.Sprintf("Unsubscribe %s from the list %q?", many, list)
	switch r.Kind {
	case core.BulkRemove:
		question = fmt.Sprintf("Remove %s from the list %q?", many, list)
	case core.BulkTag:
		question = fmt.Sprintf("Add the tag %q to %s on the list %q?", r.Tag, many, list)
	case core.BulkUntag:
		question = fmt.Sprintf("Remove the tag %q from %s on the list %q?", r.Tag, many, list)
	}
	return "You can undo this for a week. " + question
}

// readIDs reads subscriber IDs from the file called name, and sets them and their number in r.
func readIDs(p commands, name string, r *bulk.Request) error {
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
		return fmt.Errorf("%s:%d: not an ID. --ids needs a file of subscriber IDs (UUIDs), one per line", name, n)
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
		return fmt.Errorf("%s has no IDs. --ids needs a file of subscriber IDs (UUIDs), one per line", name)
	}
	r.Of = int64(len(r.IDs))
	return nil
}
