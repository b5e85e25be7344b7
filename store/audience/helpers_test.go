package audience_test

import (
	"testing"

	"newsletterd/core"
	"newsletterd/store/audience"
	"newsletterd/store/campaigns"
	"newsletterd/store/db/dbtest"
	"newsletterd/store/storetest"
)

// start is a Monday, at 09:00 UTC.
const start core.Instant = 1_772_442_000_000

const day core.Instant = 24 * 60 * 60 * 1000

// world is a store with segments.
type world struct{ *storetest.Seeder }

func newWorld(t testing.TB) *world {
	return &world{storetest.Seed(t, storetest.Open(t)).At(start)}
}

func (w *world) segment(name, rule string) core.Segment {
	w.Helper()
	g, err := w.trySegment(name, rule)
	w.Must(err)
	return g
}

func (w *world) trySegment(name, rule string) (core.Segment, error) {
	w.Helper()
	g, err := core.NewSegment(w.TenantID, core.SegmentInput{Name: &name, Rule: core.RuleText(rule)}, "user:ann",
		w.Time())
	w.Must(err)
	return g, w.AddSegment(w.Context(), g)
}

func (w *world) change(g core.Segment, rule string) (core.Segment, error) {
	return w.ChangeSegment(w.Context(), g.ID, "user:bob", func(g *core.Segment) error {
		return g.Change(core.SegmentInput{Rule: core.RuleText(rule)}, "user:bob", w.Time())
	})
}

// tell sends the status and preferences of a subscriber to the send side.
func (w *world) tell(l core.List, status core.Status, email core.Email, preferences string) {
	w.Helper()
	e := w.Event(l, status, email)
	e.Subscriber.Preferences = core.Preferences(preferences)
	w.Must(w.ApplyEvent(w.Context(), w.Nonce(), e, w.Time()))
}

func (w *world) question(rule string, lists ...core.List) audience.Question {
	w.Helper()
	r, err := core.ParseRule("rule", []byte(rule))
	w.Must(err)
	q := audience.Question{TenantID: w.TenantID, Rule: r, Now: w.Time()}
	for _, l := range lists {
		q.ListIDs = append(q.ListIDs, l.ID)
	}
	return q
}

func (w *world) exact(q audience.Question) int64 {
	w.Helper()
	q.Exact = true
	n, err := w.CountSegment(w.Context(), q)
	w.Must(err)
	return *n.Exact
}

// people returns everyone on all pages of PeopleOf.
func (w *world) people(q audience.Question, limit int) (all []core.Email) {
	w.Helper()
	for page := (core.Page{Limit: limit}); ; {
		found, next, err := w.PeopleOf(w.Context(), q, page)
		w.Must(err)
		for i := range found {
			all = append(all, found[i].Email)
		}
		if next == "" {
			return all
		}
		page.After = next
	}
}

// draft creates a campaign to the given lists and returns its draft.
func (w *world) draft(lists []core.List, change func(*core.CampaignFields)) campaigns.Draft {
	w.Helper()
	c := w.NewCampaign(lists[0], func(f *core.CampaignFields) {
		f.ListIDs = nil
		for _, l := range lists {
			f.ListIDs = append(f.ListIDs, l.ID)
		}
		change(f)
	})
	return w.draftOf(c)
}

func (w *world) draftOf(c core.Campaign) campaigns.Draft {
	w.Helper()
	c, err := w.Campaign(w.Context(), c.ID)
	w.Must(err)
	d, err := w.Draft(w.Context(), &c, 0, plainParts, w.Time())
	w.Must(err)
	return d
}

func plainParts(f *core.CampaignFields, _ *core.Theme, _ *core.List, _ *core.Tenant) (html, text string, err error) {
	return "", f.Content.Source, nil
}

// reached returns the recipients of a job.
func (w *world) reached(j core.SendJob) (all []core.Email) {
	w.Helper()
	rows, err := w.Recipients(w.Context(), &j, campaigns.RecipientFilter{}, core.Page{Limit: 10_000})
	w.Must(err)
	for _, r := range rows {
		all = append(all, core.Email(r.Email))
	}
	return all
}

func (w *world) sql(query string, args ...any)            { dbtest.SQL(w.DB, query, args...) }
func (w *world) number(query string, args ...any) (n int) { return dbtest.Count(w.DB, query, args...) }
