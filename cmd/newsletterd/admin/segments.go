package admin

import (
	"cmp"
	"io"
	"strconv"
	"strings"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/audience"
	"newsletterd/store/people"
)

// ruleFlag returns the flag for a rule as JSON, or a file that contains one. usage describes its purpose and can be
// empty.
func ruleFlag(usage string) cli.Flag {
	if usage != "" {
		usage += ": "
	}
	return cli.String("rule", usage+"`RULE` as JSON, a file that contains it, or - for standard input")
}

// givenRule returns the rule in --rule, or an empty string if there is none.
func givenRule(p commands, c *cli.Context) (core.RuleText, error) {
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

func segmentInput(p commands, c *cli.Context) (in core.SegmentInput, err error) {
	in.Name = cli.Given(c, "name")
	in.Rule, err = givenRule(p, c)
	return in, err
}

func segmentCommands(p commands) *cli.Command {
	all := p.Command("list", "list a tenant's segments", []cli.Flag{cli.Tenant("tenant (`ID` or name)")},
		[]string{"tenant"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if _, _, err := cli.TenantOf(c, s); err != nil {
				return err
			}
			id := func(g core.Segment) string { return g.ID }
			rows, err := cli.Pages(id, func(page core.Page) ([]core.Segment, error) {
				return s.Segments(c.Context, c.String("tenant"), page)
			})
			if err != nil {
				return err
			}
			return cli.List(p.Printer(c), rows, "id", "name", "changed_by", "updated_at")
		})
	show := p.Command("show", "show a segment", []cli.Flag{cli.ID(people.NounSegment)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			g, err := s.Segment(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "segment", c.String("id"))
			}
			return p.Printer(c).Record(g)
		})
	add := p.Command("add", "add a segment", []cli.Flag{
		cli.Tenant("tenant (`ID` or name)"), cli.String("name", "`NAME` of the segment"), ruleFlag(""),
	}, []string{"tenant", "name", "rule"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		in, err := segmentInput(p, c)
		if err != nil {
			return err
		}
		g, err := core.NewSegment(c.String("tenant"), in, cli.Actor(), now())
		if err == nil {
			err = cli.Missing(s.AddSegment(c.Context, g), "tenant", c.String("tenant"))
		}
		if err != nil {
			return err
		}
		return p.Printer(c).Record(g)
	})
	add.Description = `   newsletterd admin segment add --tenant Acme --name "Yearly plans" ` +
		`--rule '{"field": "plan", "is": ["yearly"]}'`
	change := p.Command("change", "change a segment", []cli.Flag{
		cli.ID(people.NounSegment), cli.String("name", "new `NAME`"), ruleFlag("new rule"),
	}, []string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		in, err := segmentInput(p, c)
		if err != nil {
			return err
		}
		at := now()
		g, err := s.ChangeSegment(c.Context, c.String("id"), cli.Actor(), func(g *core.Segment) error {
			return g.Change(in, cli.Actor(), at)
		})
		if err != nil {
			return cli.Missing(err, "segment", c.String("id"))
		}
		return p.Printer(c).Record(g)
	})
	del := p.deleteCommand("delete a segment that nothing uses", people.NounSegment, "Segment",
		(*store.Store).DeleteSegment)
	return &cli.Command{
		Name: "segment", Usage: "manage segments: saved rules about subscribers",
		Subcommands: []*cli.Command{
			all, show, add, change, del, countSegmentCommand(p), segmentPeopleCommand(p), segmentWhyCommand(p),
		},
	}
}

// segmentListFlag returns the flag that names the list whose subscribers are matched against a segment.
func segmentListFlag() cli.Flag { return cli.Reference("list", people.NounList, "list (`ID` or name)") }

// segmentQuestion returns a query for the subscribers on the list in --list who match the segment in --id or the rule
// in --rule.
func segmentQuestion(p commands, c *cli.Context, s *store.Store) (q audience.Question, err error) {
	l, err := s.List(c.Context, c.String("list"))
	if err != nil {
		return q, cli.Missing(err, "list", c.String("list"))
	}
	return questionOf(p, c, s, &l, c.String("id"))
}

// matchingQuestion returns the question of which subscribers on list l match the segment in --segment or the rule in
// --rule.
func matchingQuestion(p commands, c *cli.Context, s *store.Store, l *core.List) (q audience.Question, err error) {
	if c.IsSet("segment") && c.IsSet("rule") {
		return q, cli.UsageError(c, "pass either --segment or --rule")
	}
	return questionOf(p, c, s, l, c.String("segment"))
}

// questionOf returns the question of which subscribers on list l match the segment with the given id or, if id is
// empty, the rule in --rule.
func questionOf(p commands, c *cli.Context, s *store.Store, l *core.List, id string) (q audience.Question, err error) {
	q = audience.Question{TenantID: l.TenantID, ListIDs: []string{l.ID}, Exact: c.Bool("exact"), Now: now()}
	if id == "" {
		rule, err := givenRule(p, c)
		if err == nil {
			q.Rule, err = core.ParseRule("rule", []byte(rule))
		}
		if err == nil {
			err = q.Rule.CheckIDs("rule")
		}
		return q, err
	}
	g, err := s.Segment(c.Context, id)
	if err == nil && g.TenantID != l.TenantID {
		err = core.ErrSegmentNotFound
	}
	if err != nil {
		return q, cli.Missing(err, "segment", id)
	}
	q.Rule, err = g.ParsedRule()
	return q, err
}

// unsaved rewords an error from evaluating --rule, whose rule doesn't belong to a segment.
func unsaved(c *cli.Context, err error) error {
	if c.IsSet("rule") {
		return core.UnsavedRule(err)
	}
	return err
}

func countSegmentCommand(p commands) *cli.Command {
	count := p.Command("count", "count the active subscribers of a list who match a segment or a rule", []cli.Flag{
		cli.ID(people.NounSegment), ruleFlag("instead of a segment"), segmentListFlag(),
		cli.Bool("exact", "count everyone, even on a large list"),
	}, []string{"list"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		if c.IsSet("id") == c.IsSet("rule") {
			return cli.UsageError(c, "pass either --id or --rule")
		}
		q, err := segmentQuestion(p, c, s)
		if err != nil {
			return err
		}
		n, err := s.CountSegment(c.Context, q)
		if err != nil {
			return unsaved(c, err)
		}
		return p.Printer(c).Record(n)
	})
	count.Description = "On a list with more than 20,000 subscribers, only a sample is counted, unless you " +
		"pass --exact."
	return count
}

// segmentPerson is a subscriber in the output of the command people.
type segmentPerson struct {
	ID          string           `json:"id"`
	Email       core.Email       `json:"email"`
	Preferences core.Preferences `json:"preferences"`
}

func segmentPeopleCommand(p commands) *cli.Command {
	return p.Command("people", "list the active subscribers of a list who belong to a segment", []cli.Flag{
		cli.ID(people.NounSegment), segmentListFlag(),
	}, []string{"id", "list"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		q, err := segmentQuestion(p, c, s)
		if err != nil {
			return err
		}
		rows := []segmentPerson{}
		for page := (core.Page{Limit: cli.PageSize}); ; {
			found, next, err := s.PeopleOf(c.Context, q, page)
			if err != nil {
				return err
			}
			for i := range found {
				rows = append(rows, segmentPerson{found[i].ID, found[i].Email, found[i].Preferences.OrEmpty()})
			}
			if page.After = next; next == "" {
				return cli.List(p.Printer(c), rows, "id", "email", "preferences")
			}
		}
	})
}

// explainedCondition is a row in the output of the command why: a condition with its result in words.
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

func segmentWhyCommand(p commands) *cli.Command {
	return p.Command("why", "show which conditions of a segment a subscriber matches", []cli.Flag{
		cli.ID(people.NounSegment), segmentListFlag(), cli.String("email", "`ADDRESS` of the subscriber"),
	}, []string{"id", "list", "email"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		email, err := cli.GivenEmail(c)
		if err != nil {
			return err
		}
		q, err := segmentQuestion(p, c, s)
		if err != nil {
			return err
		}
		var m core.SegmentMembership
		who, err := s.Subscriber(c.Context, q.ListIDs[0], email)
		if err == nil {
			m, err = s.WhySegment(c.Context, q, who.ID)
		}
		if err != nil {
			return cli.Missing(err, "subscriber", string(email))
		}
		if out := p.Printer(c); out.JSON {
			return out.Value(m)
		}
		if err := cli.List(p.Printer(c), explained(m.Conditions), "path", "rule", "value", "match"); err != nil {
			return err
		}
		switch {
		case !m.Match:
			return p.Done(c, "%s doesn't belong to the segment.", email)
		case m.Status == string(core.StatusActive):
			return p.Done(c, "%s belongs to the segment.", email)
		}
		return p.Done(c, "%s matches the rule, but %s, so no campaign reaches them.", email,
			cmp.Or(unreached[m.Status], "is "+m.Status))
	})
}

// unreached maps statuses in core.SegmentMembership to explanations of why campaigns don't reach a person.
var unreached = map[string]string{
	string(core.StatusRemoved):   "isn't on this list",
	core.SubscriptionPending:     "hasn't confirmed the subscription",
	string(core.StatusComplaint): "marked an email as spam",
}
