package bulk_test

import (
	"fmt"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/bulk"
	"newsletterd/store/db"
	"newsletterd/store/db/dbtest"
	"newsletterd/store/imports"
	"newsletterd/store/storetest"
)

// start is a Monday, at 09:00 UTC.
const start core.Instant = 1_772_442_000_000

// holdFor is the longest time for which a commit may block other writers.
const holdFor = 3 * time.Millisecond

// leaving lists the kinds of actions that end subscriptions.
var leaving = []string{core.BulkUnsubscribe, core.BulkRemove}

const hour core.Instant = 60 * 60 * 1000

// world is a store with a list whose subscribers are on both sides. Every second subscriber lives in Berlin.
type world struct {
	*storetest.Seeder
	list core.List
	n    int
}

func newWorld(t testing.TB, s *store.Store, n int) *world {
	w := &world{Seeder: storetest.Seed(t, s).At(start), n: n}
	w.list = w.NewList()
	rows := make([]imports.ImportRow, n)
	for i := range rows {
		city := []string{"Berlin", "Paris"}[i%2]
		rows[i] = imports.ImportRow{
			Email: storetest.Reader(i), Preferences: core.Preferences(`{"city":"` + city + `"}`),
		}
	}
	w.Import(w.list.ID, core.SubscriptionActive, rows...)
	w.Deliver()
	w.Seeder = w.At(start + hour)
	return w
}

func (w *world) rule(text string) *core.Rule {
	w.Helper()
	r, err := core.ParseRule("rule", []byte(text))
	w.Must(err)
	return r
}

// berlin starts an action on the people who live in Berlin.
func (w *world) berlin(kind string) core.BulkAction {
	w.Helper()
	return w.begin(bulk.Request{Kind: kind, Rule: w.rule(`{"field":"city","is":"Berlin"}`)})
}

func (w *world) begin(r bulk.Request) core.BulkAction {
	w.Helper()
	r.ListID, r.Actor = w.list.ID, "user:ann"
	a, err := w.StartBulk(w.Context(), r, w.Time())
	w.Must(err)
	return a
}

// run performs all steps of an action and returns it.
func (w *world) run(a core.BulkAction) core.BulkAction {
	w.Helper()
	for more := true; more; {
		var err error
		more, err = w.BulkStep(w.Context(), a.ID, w.Time())
		w.Must(err)
	}
	a, err := w.BulkAction(w.Context(), a.ID)
	w.Must(err)
	return a
}

// undo undoes an action an hour later and returns it.
func (w *world) undo(a core.BulkAction) core.BulkAction {
	w.Helper()
	w.Seeder = w.At(w.Time() + hour)
	_, err := w.UndoBulk(w.Context(), a.ID, "user:bob", w.Time())
	w.Must(err)
	return w.run(a)
}

// is checks the status of reader k on both sides.
func (w *world) is(k int, member string, send core.Status) {
	w.Helper()
	e := storetest.Reader(k)
	if m, s := w.MemberStatus(w.list.ID, e), w.Status(w.list.ID, e); m != member || s != send {
		w.Errorf("%s is %s and %s, want %s and %s", e, m, s, member, send)
	}
}

func (w *world) number(query string, args ...any) int { return dbtest.Count(w.DB, query, args...) }

func (w *world) sql(query string, args ...any) { dbtest.SQL(w.DB, query, args...) }

// counts checks the stored counts of the list against its rows.
func (w *world) counts(active, unsubscribed int64) {
	w.Helper()
	c, err := w.ListCounts(w.Context(), []string{w.list.ID})
	w.Must(err)
	got := c[w.list.ID]
	if got.Active != active || got.Mailable != active || got.Unsubscribed != unsubscribed {
		w.Errorf("%+v, want %d active and %d unsubscribed", got, active, unsubscribed)
	}
}

// An action changes only people who match, on both sides. Its undo restores all of them.
func TestActions(t *testing.T) {
	for _, kind := range leaving {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t, storetest.Open(t), 20)
			before := w.snapshot()
			a := w.run(w.berlin(kind))
			if a.State != core.BulkCompleted || a.Done != 10 || a.Of != 10 || a.Changed != 10 || a.UndoUntil == 0 {
				t.Fatalf("%+v", a)
			}
			left, gone := core.SubscriptionUnsubscribed, int64(10)
			if kind == core.BulkRemove {
				left, gone = "absent", 0
			}
			w.is(0, left, core.StatusUnsubscribed)
			w.is(1, core.SubscriptionActive, core.StatusActive)
			w.counts(10, gone)
			if n := w.Audited("bulk_action.start"); n != 1 {
				t.Errorf("%d starts in the audit log", n)
			}
			a = w.undo(a)
			if a.State != core.BulkUndone || a.Restored != 10 || a.UndoUntil != 0 {
				t.Fatalf("%+v", a)
			}
			w.counts(20, 0)
			if after := w.snapshot(); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			if n := w.number("SELECT count(*) FROM bulk_person"); n != 0 {
				t.Errorf("%d people are kept", n)
			}
			if _, err := w.UndoBulk(t.Context(), a.ID, "user:ann", w.Time()); core.KindOf(err) != core.Conflict {
				t.Errorf("undone twice: %v", err)
			}
		})
	}
}

// snapshot returns everything that an undo has to restore.
func (w *world) snapshot() (all string) {
	w.Helper()
	var rows []string
	w.Must(w.All(w.Context(), &rows, `SELECT s.id || ' ' || s.status || ' ' || s.preferences || ' ' ||
		s.generation || ' ' || s.means || ' ' || s.created_at || ' ' || b.word || ' ' || b.preferences || ' ' ||
		b.joined_at || ' ' || b.created_at
		FROM subscription AS s JOIN subscriber AS b ON b.list_id = s.list_id AND b.id = s.id ORDER BY s.id`))
	for _, r := range rows {
		all += r + "\n"
	}
	return all
}

// A bulk action that is killed at any statement changes no one twice and misses no one. The same is true of its undo.
func TestKilledAtAnyStatement(t *testing.T) {
	bulk.HoldFor(0) // one person in each commit
	defer bulk.HoldFor(holdFor)
	for _, kind := range leaving {
		t.Run(kind, func(t *testing.T) {
			const n = 8
			path := t.TempDir() + "/a.db"
			f := storetest.NewFaults(t)
			reopen := func(s *store.Store) *store.Store {
				if s != nil && s.Close() != nil {
					t.Fatal("close")
				}
				return storetest.OpenWith(t, db.Options{Path: path, Migrate: true, Driver: f.Driver})
			}
			s := reopen(nil)
			w := newWorld(t, s, n)
			a := w.berlin(kind)
			id := a.ID
			// complete runs the action to its end. Each attempt fails one statement later than the last one, and every
			// tenth failure is followed by a restart.
			complete := func(done string) {
				for at, failures := 1, 0; ; {
					f.FailAt(at)
					_, err := w.BulkStep(t.Context(), id, w.Time())
					f.FailAt(0)
					if a, _ := w.BulkAction(t.Context(), id); a.State == done {
						if failures < 20 {
							t.Errorf("only %d failures", failures)
						}
						return
					}
					if err == nil {
						at = 1
						continue
					}
					at, failures = at+1, failures+1
					if failures%10 == 0 {
						s = reopen(s)
						w.Seeder = storetest.Seed(t, s).At(w.Time())
					}
				}
			}
			complete(core.BulkCompleted)
			a, err := w.BulkAction(t.Context(), id)
			w.Must(err)
			if a.Changed != n/2 || a.Done != n/2 {
				t.Errorf("%+v", a)
			}
			for k := range n {
				want := core.SubscriptionActive
				if k%2 == 0 {
					want = map[string]string{
						core.BulkRemove: "absent", core.BulkUnsubscribe: core.SubscriptionUnsubscribed,
					}[kind]
				}
				if is := w.MemberStatus(w.list.ID, storetest.Reader(k)); is != want {
					t.Errorf("%d is %s, want %s", k, is, want)
				}
			}
			w.Seeder = w.At(w.Time() + hour)
			_, err = w.UndoBulk(t.Context(), id, "user:bob", w.Time())
			w.Must(err)
			complete(core.BulkUndone)
			if a, err = w.BulkAction(t.Context(), id); err != nil || a.Restored != n/2 {
				t.Errorf("%+v, %v", a, err)
			}
			w.counts(n, 0)
			if kind == core.BulkUnsubscribe {
				for what, want := range map[string]int{core.ConsentUnsubscribed: n / 2, core.ConsentResumed: n / 2} {
					if got := w.number("SELECT count(*) FROM consent WHERE what = ?", what); got != want {
						t.Errorf("%d times %s in the ledger, want %d", got, what, want)
					}
				}
			}
		})
	}
}

// People can be chosen individually. Unknown people are skipped, and pending people are changed too.
func TestChosenPeople(t *testing.T) {
	for _, kind := range leaving {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t, storetest.Open(t), 4)
			w.Pending(w.list.ID, "pending@example.org")
			ids := []string{core.NewID()}
			for _, e := range []core.Email{storetest.Reader(0), "pending@example.org"} {
				ids = append(ids, w.SubscriptionID(w.list.ID, e.Key()))
			}
			w.Leave(w.list.ID, storetest.Reader(1))
			ids = append(ids, w.SubscriptionID(w.list.ID, storetest.Reader(1).Key()))
			a := w.run(w.begin(bulk.Request{Kind: kind, IDs: ids}))
			if a.State != core.BulkCompleted || a.Done != 4 || a.Of != 4 || a.Changed != 2 {
				t.Fatalf("%+v", a)
			}
			if n := w.number("SELECT count(*) FROM bulk_person"); n != 2 {
				t.Errorf("%d people are kept, want 2", n)
			}
			if is := w.MemberStatus(w.list.ID, storetest.Reader(1)); is != core.SubscriptionUnsubscribed {
				t.Errorf("someone who unsubscribed is %s", is)
			}
			if a = w.undo(a); a.Restored != 2 {
				t.Errorf("%+v", a)
			}
			if is := w.MemberStatus(w.list.ID, "pending@example.org"); is != core.SubscriptionPending {
				t.Errorf("the pending one is %s", is)
			}
			w.is(0, core.SubscriptionActive, core.StatusActive)
		})
	}
}

// The action keeps the rule with which it was started. If the rule can't be evaluated anymore, the action pauses before
// the next step, and its changes can be undone.
func TestRuleIsFrozen(t *testing.T) {
	w := newWorld(t, storetest.Open(t), 10)
	other := w.NewList()
	name := "Ours"
	g, err := core.NewSegment(w.list.TenantID, core.SegmentInput{
		Name: &name, Rule: core.RuleText(fmt.Sprintf(`{"not":{"on_list":%q}}`, other.ID)),
	}, "user:ann", w.Time())
	w.Must(err)
	w.Must(w.AddSegment(t.Context(), g))
	rule := w.rule(fmt.Sprintf(`{"segment":%q}`, g.ID))
	a := w.begin(bulk.Request{Kind: core.BulkUnsubscribe, Rule: rule})
	w.Must(w.DeleteSegment(t.Context(), g.ID, "user:ann", w.Time()))
	w.Must(w.DeleteList(t.Context(), other.ID, "user:ann", w.Time()))
	if a = w.run(a); a.State != core.BulkPaused || a.Changed != 0 || a.Reason == "" {
		t.Errorf("%+v", a)
	}
	w.counts(10, 0)
	_, err = w.StartBulk(t.Context(), bulk.Request{ListID: w.list.ID, Kind: core.BulkUnsubscribe, Rule: rule}, w.Time())
	if !core.IsUndecided(err) {
		t.Errorf("a rule that can't be evaluated: %v", err)
	}
}

// The action keeps the tags that its rule names, even if another tag gets the name of one of them.
func TestRuleKeepsItsTags(t *testing.T) {
	w := newWorld(t, storetest.Open(t), 10)
	named := func(name string) core.Tag {
		tag, err := core.NewTag(w.list.TenantID, name, w.Time())
		w.Must(err)
		w.Must(w.AddTag(t.Context(), tag, "user:ann"))
		return tag
	}
	kept, gone := named("Kept"), named("Gone")
	a := w.begin(bulk.Request{Kind: core.BulkUnsubscribe, Rule: w.rule(`{"not":{"tag":"kept"}}`)})
	b := w.begin(bulk.Request{Kind: core.BulkUnsubscribe, Rule: w.rule(`{"not":{"tag":"gone"}}`)})
	_, err := w.SetTags(t.Context(), w.list.TenantID, storetest.Reader(0), []string{kept.ID}, "user:ann", w.Time())
	w.Must(err)
	_, err = w.RenameTag(t.Context(), kept.ID, "Renamed", "user:ann", w.Time())
	w.Must(err)
	w.Must(w.DeleteTag(t.Context(), gone.ID, "user:ann", w.Time()))
	named("Kept")
	named("Gone")
	if b = w.run(b); b.State != core.BulkPaused || b.Changed != 0 {
		t.Errorf("the tag is gone: %+v", b)
	}
	if a = w.run(a); a.State != core.BulkCompleted || a.Changed != 9 {
		t.Errorf("the tag has another name: %+v", a)
	}
	w.is(0, core.SubscriptionActive, core.StatusActive)
}
