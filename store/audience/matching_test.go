package audience_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/audience"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// values lists raw values of a field. An empty one means that the field is missing.
var values = []string{
	"", "", "null", `""`, "[]", `"pro"`, `"PRO "`, `"Team"`, `"ÄRGER"`, `"ärger in Köln"`, `"ΣΊΣΥΦΟΣ"`,
	"1", "1.50", `"1.5"`,
	`"007"`, "-3", "1e3", "true", `["pro", "team"]`, `[1, null, "x"]`, `{"a": 1}`, `"2026-03-02"`, `"2025-12-24"`,
	`"2026-03-01T23:30:00Z"`, `"2026-02-31"`, `"1988-03-02"`, `"\u00e4r` + strings.Repeat("x", 1000) + `"`,
}

// conditions lists single conditions. %[1]s and %[2]s are lists, %[3]s is a campaign, and %[4]s is a segment.
var conditions = []string{
	`{"field": "a", "is": ["pro", "TEAM"]}`, `{"field": "b", "is": [1.5, "x"]}`, `{"field": "a", "is_not": "pro"}`,
	`{"field": "b", "is_not": [1, true]}`, `{"field": "a", "contains": "ÄR"}`, `{"field": "b", "contains": "σ"}`,
	`{"field": "a", "starts_with": "är"}`, `{"field": "a", "less": 2}`, `{"field": "b", "more": "0.5"}`,
	`{"field": "a", "before": "2026-01-01"}`, `{"field": "b", "after": "2025-12-24"}`,
	`{"field": "a", "within_days": 1}`, `{"field": "b", "on_day": "today"}`, `{"field": "a", "on_day": "12-24"}`,
	`{"field": "a", "exists": true}`, `{"field": "b", "missing": true}`, `{"joined": {"within_days": 10}}`,
	`{"joined": {"before_days": 30}}`, `{"joined": {"before": "2026-02-20"}}`, `{"joined": {"after": "2026-02-01"}}`,
	`{"domain": ["example.org"]}`, `{"on_list": "%[1]s"}`, `{"on_list": "%[2]s"}`, `{"received": "%[3]s"}`,
	`{"segment": "%[4]s"}`, `{"tag": "VIP"}`, `{"tag": "straße"}`,
}

func randomRule(r *rand.Rand, depth int) string {
	if depth == 0 || r.IntN(3) == 0 {
		return conditions[r.IntN(len(conditions))]
	}
	if r.IntN(4) == 0 {
		return `{"not": ` + randomRule(r, depth-1) + `}`
	}
	group := []string{`{"all": [`, `{"any": [`}[r.IntN(2)]
	for i := range 2 + r.IntN(2) {
		if i > 0 {
			group += ", "
		}
		group += randomRule(r, depth-1)
	}
	return group + "]}"
}

// population is two lists of people and a campaign that some of them received.
type population struct {
	*world
	lists    []core.List
	people   []map[core.Email]*person // people of each list, by address
	campaign string
	random   *rand.Rand
}

func newPopulation(t *testing.T, n int) *population {
	p := &population{world: newWorld(t), random: rand.New(rand.NewPCG(7, 9))}
	p.NewTenant(func(in *core.TenantInput) { in.TimeZone = new("Pacific/Auckland") })
	p.lists = []core.List{p.NewList(), p.NewList()}
	for i, l := range p.lists {
		p.people = append(p.people, map[core.Email]*person{})
		for k := range n {
			if k%3 != i {
				p.add(l, i, k)
			}
		}
	}
	for _, who := range []core.Email{storetest.Reader(9), storetest.Reader(10)} {
		_, err := p.Suppress(p.Context(), members.DisableRequest{Email: who, OccurredAt: start}, "test", start)
		p.Must(err)
		for i := range p.people {
			if of := p.people[i][who]; of != nil {
				of.mailable = false
			}
		}
	}
	for _, people := range p.people {
		for email, of := range people {
			for i, l := range p.lists {
				if on := p.people[i][email]; on != nil && on.on[l.ID] {
					of.on[l.ID] = true
				}
			}
		}
	}
	p.tagThem()
	j := p.Start(p.NewJob(p.lists[0].ID))
	p.campaign = j.CampaignID
	for seq := range j.Recipients {
		if seq%3 == 0 {
			p.Must(p.FinishRecipients(p.Context(), []core.Outcome{{
				JobNo: j.No, TenantID: j.TenantID, Seq: seq + 1, State: core.RecipientFailed, Tried: true,
			}}, start))
		}
	}
	for seq, email := range p.reached(j) {
		for i := range p.people {
			if of := p.people[i][email]; of != nil && seq%3 != 0 {
				of.received[p.campaign] = true
			}
		}
	}
	return p
}

// add puts a person with a history on a list.
func (p *population) add(l core.List, i, k int) {
	email := storetest.Reader(k)
	if k%5 == 0 {
		email = core.Email(fmt.Sprintf("r%d@example.com", k))
	}
	fields := map[string]json.RawMessage{}
	for _, key := range []string{"a", "b"} {
		if v := values[p.random.IntN(len(values))]; v != "" {
			fields[key] = json.RawMessage(v)
		}
	}
	text, err := json.Marshal(fields)
	p.Must(err)
	of := &person{
		email: email, fields: decoded(string(text)), on: map[string]bool{}, received: map[string]bool{}, mailable: true,
	}
	at := start - core.Instant(p.random.Int64N(int64(60*day)))
	(&world{p.At(at)}).tell(l, core.StatusActive, email, string(text))
	of.joined = at.Time()
	switch p.random.IntN(8) {
	case 0:
		(&world{p.At(at + 1)}).tell(l, core.StatusUnsubscribed, email, "")
		of.mailable = false
	case 1: // a second subscription
		(&world{p.At(at + 1)}).tell(l, core.StatusUnsubscribed, email, "")
		again := at + core.Instant(p.random.Int64N(int64(start-at)))
		(&world{p.At(again + 2)}).tell(l, core.StatusActive, email, "")
		of.joined = (again + 2).Time()
	case 2:
		(&world{p.At(at + 1)}).tell(l, core.StatusBounced, email, "")
		of.mailable, of.on[l.ID] = false, true
	}
	of.on[l.ID] = of.on[l.ID] || of.mailable
	p.people[i][email] = of
}

// tagThem gives tags to some people on both lists.
func (p *population) tagThem() {
	names := []string{"VIP", "Straße"}
	for _, name := range names {
		p.newTag(name)
	}
	for i := range 12 {
		names = append(names, p.newTag(fmt.Sprint("Other ", i)).Name)
	}
	for i := range p.people {
		for email := range p.people[i] {
			if i == 1 && p.people[0][email] != nil {
				continue
			}
			given, tags := []string{}, map[string]bool{}
			for _, name := range names {
				if p.random.IntN(3) == 0 {
					given, tags[strings.ToLower(name)] = append(given, name), true
				}
			}
			p.give(email, given...)
			for _, people := range p.people {
				if of := people[email]; of != nil {
					of.tags = tags
				}
			}
		}
	}
}

// want returns the people on the given lists who match a rule. For each person, the first list that can email them
// counts.
func (p *population) want(e *evaluator, rule map[string]any, lists ...int) (all []core.Email) {
	judged := map[core.Email]bool{}
	for _, i := range lists {
		for email, of := range p.people[i] {
			if of.mailable && !judged[email] {
				judged[email] = true
				if e.match(rule, of) {
					all = append(all, email)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// For every rule, the same people are counted, listed and emailed. An independent evaluator finds the same people.
func TestCountsPeopleAndRecipientsAreTheSame(t *testing.T) {
	p := newPopulation(t, 500)
	zone, err := time.LoadLocation("Pacific/Auckland")
	p.Must(err)
	base := `{"any": [{"field": "a", "is": "pro"}, {"field": "b", "exists": true}]}`
	inner := p.segment("Inner", base)
	e := &evaluator{now: start.Time().In(zone), segments: map[string]map[string]any{inner.ID: decoded(base)}}
	rules, some := 40, 0
	for n := range rules {
		text := randomRule(p.random, 2)
		if n < len(conditions) {
			text = conditions[n]
		}
		text = fmt.Sprintf(text+"%.0[1]s%.0[2]s%.0[3]s%.0[4]s", p.lists[0].ID, p.lists[1].ID, p.campaign, inner.ID)
		rule := decoded(text)
		g := p.segment(fmt.Sprint("Rule ", n), text)
		one, two := p.want(e, rule, 0), p.want(e, rule, 1, 0)
		if len(one) > 3 && len(one) < 280 {
			some++
		}
		people := p.sorted(p.question(text, p.lists[0]), 1+p.random.IntN(100))
		if !slices.Equal(people, one) {
			t.Errorf("%s: PeopleOf has %d, want %d", text, len(people), len(one))
		}
		p.foundBy(e, text, rule)
		if got := p.exact(p.question(text, p.lists[0])); got != int64(len(one)) {
			t.Errorf("%s: %d counted, want %d", text, got, len(one))
		}
		if got := p.exact(p.question(text, p.lists[1], p.lists[0])); got != int64(len(two)) {
			t.Errorf("%s: %d counted on both lists, want %d", text, got, len(two))
		}
		for lists, want := range map[*[]core.List][]core.Email{
			{p.lists[0]}: one, {p.lists[1], p.lists[0]}: two,
		} {
			d := p.draft(*lists, func(f *core.CampaignFields) { f.SegmentID = g.ID })
			a, err := p.CountAudience(p.Context(), p.TenantID, &d.Fields, 0)
			p.Must(err)
			got := p.reached(p.Start(p.SendDraft(&d)))
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s: %d recipients on %d lists, want %d", text, len(got), len(*lists), len(want))
			}
			if relative := strings.Contains(text, "_day"); !relative &&
				a.Recipients != int64(len(want)) { // want doesn't depend on the clock
				t.Errorf("%s: %+v on %d lists, want %d recipients", text, a, len(*lists), len(want))
			}
		}
		p.explained(e, text, rule)
	}
	if some < rules/2 {
		t.Errorf("only %d rules match some and not all", some)
	}
}

// foundBy compares the results of searches by a rule with the evaluator: on one list, on both lists, and with a prefix.
func (p *population) foundBy(e *evaluator, text string, rule map[string]any) {
	p.Helper()
	f := people.SubscriptionFilter{
		Tenants: []string{p.TenantID}, ListID: p.lists[0].ID, Rule: p.question(text).Rule, Now: start,
	}
	one := p.want(e, rule, 0)
	if got := p.directory(f); !slices.Equal(got, one) {
		p.Errorf("%s: a search finds %d, want %d", text, len(got), len(one))
	}
	f.Prefix = "r1"
	want := slices.DeleteFunc(slices.Clone(one), func(m core.Email) bool { return !strings.HasPrefix(m.Key(), "r1") })
	if got := p.directory(f); !slices.Equal(got, want) {
		p.Errorf("%s: a search with a prefix finds %d, want %d", text, len(got), len(want))
	}
	f.ListID, f.Prefix = "", ""
	both := slices.Sorted(slices.Values(slices.Concat(one, p.want(e, rule, 1))))
	if got := p.directory(f); !slices.Equal(got, both) {
		p.Errorf("%s: a search on both lists finds %d, want %d", text, len(got), len(both))
	}
}

// directory returns the addresses on all pages of a search, sorted.
func (p *population) directory(f people.SubscriptionFilter) (all []core.Email) {
	p.Helper()
	for page := (core.Page{Limit: 1 + p.random.IntN(100)}); ; {
		found, next, err := p.MatchingSubscriptions(p.Context(), f, page)
		p.Must(err)
		if len(found) > page.Limit {
			p.Fatalf("%d on a page of %d", len(found), page.Limit)
		}
		for i := range found {
			all = append(all, found[i].Email)
		}
		if page.After = next; next == "" {
			slices.Sort(all)
			return all
		}
	}
}

// sorted returns the matching people of one list, sorted by address.
func (p *population) sorted(q audience.Question, limit int) []core.Email {
	all := p.world.people(q, limit)
	slices.Sort(all)
	return all
}

// explained compares WhySegment with the evaluator for a few people.
func (p *population) explained(e *evaluator, text string, rule map[string]any) {
	n := 0
	for email, of := range p.people[0] {
		if n++; n > 5 {
			return
		}
		m, err := p.WhySegment(p.Context(), p.question(text, p.lists[0]),
			p.SubscriptionID(p.lists[0].ID, email.Key()))
		p.Must(err)
		if m.Match != e.match(rule, of) {
			p.Errorf("%s: %s matches: %v", text, email, m.Match)
		}
		if (m.Status == core.SubscriptionActive) != of.mailable {
			p.Errorf("%s is %s, want mailable %v", email, m.Status, of.mailable)
		}
		for _, r := range m.Conditions {
			if r.Match != e.match(decoded(r.Rule.JSON()), of) {
				p.Errorf("%s: of %s, %s is %v", text, email, r.Rule.JSON(), r.Match)
			}
		}
	}
}

// WhySegment explains why campaigns don't reach a person who matches the rule.
func TestStatusOfSomeoneInASegment(t *testing.T) {
	w := newWorld(t)
	l := w.NewList()
	status := func(email core.Email) string {
		t.Helper()
		m, err := w.WhySegment(t.Context(), w.question(`{"domain": "user.example"}`, l),
			w.SubscriptionID(l.ID, email.Key()))
		if err != nil || !m.Match {
			t.Errorf("%s: %+v, %v", email, m, err)
		}
		return m.Status
	}
	for email, want := range map[core.Email]core.Status{
		"active@user.example": core.StatusActive, "left@user.example": core.StatusUnsubscribed,
		"removed@user.example": core.StatusRemoved, "pending@user.example": core.SubscriptionPending,
		"bounced@user.example": core.StatusBounced, "spam@user.example": core.StatusComplaint,
		"blocked@user.example": core.StatusSuppressed, "everywhere@user.example": core.StatusSuppressed,
	} {
		w.Active(l.ID, email)
		w.tell(l, core.StatusActive, email, "")
		switch w.Seeder = w.At(w.Time() + 1); want {
		case core.StatusUnsubscribed:
			w.Leave(l.ID, email)
			w.tell(l, core.StatusUnsubscribed, email, "")
		case core.StatusRemoved:
			w.tell(l, core.StatusUnsubscribed, email, "")
			w.sql("DELETE FROM subscription WHERE list_id = ? AND email_key = ?", l.ID, email.Key())
		case core.SubscriptionPending:
			w.tell(l, core.StatusUnsubscribed, email, "")
			w.sql("UPDATE subscription SET status = 'pending' WHERE list_id = ? AND email_key = ?", l.ID, email.Key())
		case core.StatusBounced, core.StatusComplaint:
			w.tell(l, want, email, "")
		case core.StatusSuppressed:
			if email == "blocked@user.example" {
				w.sql("INSERT INTO suppression (tenant_id, email_key, kind, created_at) VALUES (?, ?, 'suppressed', 1)",
					w.TenantID, email.Key())
				break
			}
			w.sql("INSERT INTO disabled (email_key, reason, disabled_by, occurred_at, created_at) "+
				"VALUES (?, 'x', '', 1, 1)", email.Key())
		}
		if got := status(email); got != string(want) {
			t.Errorf("%s is %s, want %s", email, got, want)
		}
	}
}
