package main

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/audience"
	"newsletterd/store/bulk"
	"newsletterd/store/people"
)

// ruleFlag takes a rule as JSON, or the file that holds one.
func ruleFlag(usage string) cli.Flag {
	return stringFlag("rule", usage+", as JSON, or a `FILE` that holds it, or - for standard input")
}

// givenRule reads the rule of --rule. It is empty if there is none.
func givenRule(p *program, c *cli.Context) (core.RuleText, error) {
	given := strings.TrimSpace(c.String("rule"))
	if given == "" || strings.HasPrefix(given, "{") {
		return core.RuleText(given), nil
	}
	in, err := p.openInput(given)
	if err != nil {
		return "", err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, core.MaxRuleBytes+1))
	return core.RuleText(text), err
}

func segmentInput(p *program, c *cli.Context) (in core.SegmentInput, err error) {
	in.Name = given(c, "name")
	in.Rule, err = givenRule(p, c)
	return in, err
}

func segmentCommands(p *program) *cli.Command {
	all := p.command("list", "list a tenant's segments", []cli.Flag{tenantFlag("tenant (`ID` or name)")},
		[]string{"tenant"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if _, _, err := tenantOf(c, s); err != nil {
				return err
			}
			id := func(g core.Segment) string { return g.ID }
			rows, err := pages(id, func(page core.Page) ([]core.Segment, error) {
				return s.Segments(c.Context, c.String("tenant"), page)
			})
			if err != nil {
				return err
			}
			return list(p.printer(c), rows, "id", "name", "changed_by", "updated_at")
		})
	show := p.command("show", "show a segment", []cli.Flag{idFlag(people.NounSegment)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			g, err := s.Segment(c.Context, c.String("id"))
			if err != nil {
				return missing(err, "segment", c.String("id"))
			}
			return p.printer(c).record(g)
		})
	add := p.command("add", "add a segment", []cli.Flag{
		tenantFlag("tenant (`ID` or name)"), stringFlag("name", "`NAME` of the segment"), ruleFlag("rule"),
	}, []string{"tenant", "name", "rule"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		in, err := segmentInput(p, c)
		if err != nil {
			return err
		}
		g, err := core.NewSegment(c.String("tenant"), in, actor(), now())
		if err == nil {
			err = missing(s.AddSegment(c.Context, g), "tenant", c.String("tenant"))
		}
		if err != nil {
			return err
		}
		return p.printer(c).record(g)
	})
	add.Description = `   newsletterd admin segment add --tenant Acme --name "Yearly plans" --rule '{"field": "plan", "is": ["yearly"]}'`
	change := p.command("change", "change a segment", []cli.Flag{
		idFlag(people.NounSegment), stringFlag("name", "new `NAME`"), ruleFlag("new rule"),
	}, []string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		in, err := segmentInput(p, c)
		if err != nil {
			return err
		}
		at := now()
		g, err := s.ChangeSegment(c.Context, c.String("id"), actor(), func(g *core.Segment) error {
			return g.Change(in, actor(), at)
		})
		if err != nil {
			return missing(err, "segment", c.String("id"))
		}
		return p.printer(c).record(g)
	})
	del := p.command("delete", "delete a segment that nothing uses", []cli.Flag{idFlag(people.NounSegment)},
		[]string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if err := s.DeleteSegment(c.Context, c.String("id"), actor(), now()); err != nil {
				return missing(err, "segment", c.String("id"))
			}
			return p.done(c, "Segment %s deleted.", c.String("id"))
		})
	return &cli.Command{
		Name: "segment", Usage: "manage segments: saved rules about subscribers",
		Subcommands: []*cli.Command{
			all, show, add, change, del, countSegmentCommand(p), segmentPeopleCommand(p), segmentWhyCommand(p),
		},
	}
}

// segmentListFlag names the list whose subscribers a segment is asked about.
func segmentListFlag() cli.Flag { return referenceFlag("list", people.NounList, "list (`ID` or name)") }

// segmentQuestion asks about the segment of --id, or the rule of --rule, and the list of --list.
func segmentQuestion(p *program, c *cli.Context, s *store.Store) (q audience.Question, err error) {
	l, err := s.List(c.Context, c.String("list"))
	if err != nil {
		return q, missing(err, "list", c.String("list"))
	}
	return questionOf(p, c, s, &l, c.String("id"))
}

// matchingQuestion asks about the segment of --segment, or the rule of --rule, and a list.
func matchingQuestion(p *program, c *cli.Context, s *store.Store, l *core.List) (q audience.Question, err error) {
	if c.IsSet("segment") && c.IsSet("rule") {
		return q, usageError{c.Command.HelpName, "pass either --segment or --rule"}
	}
	return questionOf(p, c, s, l, c.String("segment"))
}

// questionOf asks about a segment, or the rule of --rule, and a list.
func questionOf(p *program, c *cli.Context, s *store.Store, l *core.List, id string) (q audience.Question, err error) {
	q = audience.Question{TenantID: l.TenantID, ListIDs: []string{l.ID}, Exact: c.Bool("exact"), Now: now()}
	if id == "" {
		rule, err := givenRule(p, c)
		if err == nil {
			q.Rule, err = core.ParseRule("rule", []byte(rule))
		}
		return q, err
	}
	g, err := s.Segment(c.Context, id)
	if err == nil && g.TenantID != l.TenantID {
		err = core.ErrSegmentNotFound
	}
	if err != nil {
		return q, missing(err, "segment", id)
	}
	q.Rule, err = g.ParsedRule()
	return q, err
}

func countSegmentCommand(p *program) *cli.Command {
	count := p.command("count", "count the active subscribers of a list who match a segment or a rule", []cli.Flag{
		idFlag(people.NounSegment), ruleFlag("instead of a segment: a rule"), segmentListFlag(),
		boolFlag("exact", "count everyone, even on a large list"),
	}, []string{"list"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		if c.IsSet("id") == c.IsSet("rule") {
			return usageError{c.Command.HelpName, "pass either --id or --rule"}
		}
		q, err := segmentQuestion(p, c, s)
		if err != nil {
			return err
		}
		n, err := s.CountSegment(c.Context, q)
		if err != nil {
			return err
		}
		return p.printer(c).record(n)
	})
	count.Description = "Counts a sample of a list with more than 20,000 subscribers, unless you pass --exact."
	return count
}

// segmentPerson is a subscriber in the output of people.
type segmentPerson struct {
	ID          string           `json:"id"`
	Email       core.Email       `json:"email"`
	Preferences core.Preferences `json:"preferences"`
}

func segmentPeopleCommand(p *program) *cli.Command {
	return p.command("people", "list the active subscribers of a list who belong to a segment", []cli.Flag{
		idFlag(people.NounSegment), segmentListFlag(),
	}, []string{"id", "list"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		q, err := segmentQuestion(p, c, s)
		if err != nil {
			return err
		}
		rows := []segmentPerson{}
		for page := (core.Page{Limit: pageSize}); ; {
			found, next, err := s.PeopleOf(c.Context, q, page)
			if err != nil {
				return err
			}
			for i := range found {
				rows = append(rows, segmentPerson{found[i].ID, found[i].Email, found[i].Preferences.OrEmpty()})
			}
			if page.After = next; next == "" {
				return list(p.printer(c), rows, "id", "email", "preferences")
			}
		}
	})
}

// segmentMembership is the output of why.
type segmentMembership struct {
	Match      bool          `json:"match"`
	Conditions []core.Reason `json:"conditions"`
}

// explainedCondition is a row of why: a condition with its result in words.
type explainedCondition struct {
	Path  string     `json:"path"`
	Rule  *core.Rule `json:"rule"`
	Value string     `json:"value"`
	Match string     `json:"match"`
}

func explained(reasons []core.Reason) []explainedCondition {
	rows := make([]explainedCondition, len(reasons))
	for i, r := range reasons {
		rows[i] = explainedCondition{r.Path, r.Rule, r.Value, strconv.FormatBool(r.Match)}
		if r.Unknown {
			rows[i].Match = "unknown"
		}
	}
	return rows
}

func segmentWhyCommand(p *program) *cli.Command {
	return p.command("why", "show for each condition of a segment whether a subscriber matches it", []cli.Flag{
		idFlag(people.NounSegment), segmentListFlag(), stringFlag("email", "email `ADDRESS` of the subscriber"),
	}, []string{"id", "list", "email"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		email, err := core.ParseEmail(c.String("email"))
		if err != nil {
			return err
		}
		q, err := segmentQuestion(p, c, s)
		if err != nil {
			return err
		}
		var m segmentMembership
		who, err := s.Subscriber(c.Context, q.ListIDs[0], email)
		if err == nil {
			m.Conditions, m.Match, err = s.WhySegment(c.Context, q, who.ID)
		}
		if err != nil {
			return missing(err, "subscriber", string(email))
		}
		if out := p.printer(c); out.json {
			return out.value(m)
		}
		if err := list(p.printer(c), explained(m.Conditions), "path", "rule", "value", "match"); err != nil {
			return err
		}
		words := "%s doesn't belong to the segment."
		if m.Match {
			words = "%s belongs to the segment."
		}
		return p.done(c, words, email)
	})
}

func tagCommands(p *program) *cli.Command {
	all := p.command("list", "list a tenant's tags", []cli.Flag{tenantFlag("tenant (`ID` or name)")},
		[]string{"tenant"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if _, _, err := tenantOf(c, s); err != nil {
				return err
			}
			tags, err := s.AllTags(c.Context, c.String("tenant"))
			if err != nil {
				return err
			}
			return list(p.printer(c), tags, "id", "name", "created_at")
		})
	create := p.command("create", "create a tag", []cli.Flag{
		tenantFlag("tenant (`ID` or name)"), stringFlag("name", "`NAME` of the tag"),
	}, []string{"tenant", "name"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		t, err := core.NewTag(c.String("tenant"), c.String("name"), now())
		if err == nil {
			err = missing(s.AddTag(c.Context, t, actor()), "tenant", c.String("tenant"))
		}
		if err != nil {
			return err
		}
		return p.printer(c).record(t)
	})
	create.Description = `   newsletterd admin tag create --tenant Acme --name VIP`
	rename := p.command("rename", "rename a tag", []cli.Flag{idFlag(people.NounTag), stringFlag("name", "new `NAME`")},
		[]string{"id", "name"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			t, err := s.RenameTag(c.Context, c.String("id"), c.String("name"), actor(), now())
			if err != nil {
				return missing(err, "tag", c.String("id"))
			}
			return p.printer(c).record(t)
		})
	del := p.command("delete", "delete a tag and remove it from everyone", []cli.Flag{idFlag(people.NounTag)},
		[]string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if err := s.DeleteTag(c.Context, c.String("id"), actor(), now()); err != nil {
				return missing(err, "tag", c.String("id"))
			}
			return p.done(c, "Tag %s deleted.", c.String("id"))
		})
	return &cli.Command{
		Name: "tag", Usage: "manage tags and the people who have them",
		Subcommands: []*cli.Command{
			all, create, rename, del,
			personTagCommand(p, "add", "give a tag to a person on all lists of the tenant", true),
			personTagCommand(p, "remove", "remove a tag from a person", false),
		},
	}
}

// personTag is the output of add and remove.
type personTag struct {
	Email core.Email   `json:"email"`
	Tags  core.Strings `json:"tags"`
}

// personTagCommand adds or removes a tag of a person.
func personTagCommand(p *program, name, usage string, adds bool) *cli.Command {
	return p.command(name, usage, []cli.Flag{
		idFlag(people.NounTag), stringFlag("email", "email `ADDRESS` of the person"),
	}, []string{"id", "email"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		email, err := core.ParseEmail(c.String("email"))
		if err != nil {
			return err
		}
		t, err := s.Tag(c.Context, c.String("id"))
		if err != nil {
			return missing(err, "tag", c.String("id"))
		}
		tags, err := s.ChangeTags(c.Context, t.TenantID, email, func(had []string) []string {
			had = slices.DeleteFunc(had, func(id string) bool { return id == t.ID })
			if adds {
				had = append(had, t.ID)
			}
			return had
		}, actor(), now())
		if err != nil {
			return missing(err, "subscriber", string(email))
		}
		out := personTag{Email: email, Tags: core.Strings{}}
		for i := range tags {
			out.Tags = append(out.Tags, tags[i].Name)
		}
		return p.printer(c).record(out)
	})
}

func bulkCommands(p *program) *cli.Command {
	id := referenceFlag("id", people.NounBulk, "`ID` of the bulk action (or its first characters)")
	type operation func(*store.Store, *cli.Context) (core.BulkAction, error)
	change := func(name, usage string, do operation) *cli.Command {
		return p.command(name, usage, []cli.Flag{id}, []string{"id"},
			func(c *cli.Context, _ *config.Config, s *store.Store) error {
				a, err := do(s, c)
				if err != nil {
					return missing(err, "bulk action", c.String("id"))
				}
				return p.printer(c).record(a)
			})
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
	start := p.command("start", "unsubscribe, remove, tag or untag many subscribers of a list", []cli.Flag{
		segmentListFlag(),
		oneOfFlag("action", "`ACTION`: unsubscribe, remove from the list, tag or untag", core.BulkKinds...),
		stringFlag("tag", "`TAG` to give or to remove (ID or name)"),
		referenceFlag("segment", people.NounSegment, "everyone in a segment (`ID` or name)"),
		ruleFlag("everyone who matches a rule"),
		stringFlag("ids", "subscribers with the IDs in `FILE`, one a line, or - for standard input"),
	}, []string{"list", "action"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		return startBulk(p, c, s)
	})
	start.Description = `The running daemon performs the action. You can undo it for a week. People
who unsubscribed stay on the list as unsubscribed.

   newsletterd admin bulk start --list Weekly --segment Silent --action unsubscribe
   newsletterd admin bulk start --list Weekly --segment Loyal --action tag --tag VIP`
	return &cli.Command{
		Name: "bulk", Usage: "change many subscribers of a list together, with undo",
		Subcommands: []*cli.Command{
			all, start,
			change("show", "show the progress of a bulk action",
				func(s *store.Store, c *cli.Context) (core.BulkAction, error) {
					return s.BulkAction(c.Context, c.String("id"))
				}),
			change("cancel", "stop a bulk action", func(s *store.Store, c *cli.Context) (core.BulkAction, error) {
				return s.CancelBulk(c.Context, c.String("id"), actor(), now())
			}),
			change("undo", "undo a bulk action", func(s *store.Store, c *cli.Context) (core.BulkAction, error) {
				return s.UndoBulk(c.Context, c.String("id"), actor(), now())
			}),
		},
	}
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
	r := bulk.Request{ListID: c.String("list"), Kind: c.String("action"), Tag: c.String("tag"), Actor: actor()}
	if c.IsSet("ids") {
		if err := readIDs(p, c.String("ids"), &r); err != nil {
			return err
		}
	} else {
		l, err := s.List(c.Context, r.ListID)
		if err != nil {
			return missing(err, "list", r.ListID)
		}
		q, err := questionOf(p, c, s, &l, c.String("segment"))
		if err != nil {
			return err
		}
		n, err := s.CountSegment(c.Context, q)
		if err != nil {
			return err
		}
		if r.Rule = q.Rule; n.Exact != nil {
			r.Of = *n.Exact
		} else {
			r.Of = *n.About
		}
	}
	a, err := s.StartBulk(c.Context, r, now())
	if err != nil {
		return missing(err, "list", r.ListID)
	}
	return p.printer(c).record(a)
}

// readIDs reads the ids of subscribers from a file.
func readIDs(p *program, name string, r *bulk.Request) error {
	in, err := p.openInput(name)
	if err != nil {
		return err
	}
	defer in.Close()
	noID := core.Invalidf("ids", "%s must contain only UUIDs.", "ids")
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		id, ok := core.ParseID(line)
		if !ok {
			return noID
		}
		if !slices.Contains(r.IDs, id) {
			r.IDs = append(r.IDs, id)
		}
		if len(r.IDs) > core.MaxBulkIDs {
			return core.Invalidf("ids", "ids must have at most %d entries.", core.MaxBulkIDs)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return noID
	} else if err != nil {
		return err
	}
	if len(r.IDs) == 0 {
		return core.Invalidf("ids", "%s is missing.", "ids")
	}
	return nil
}
