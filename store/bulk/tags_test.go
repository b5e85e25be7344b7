package bulk_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/bulk"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

// tag adds a tag.
func (w *world) tag(name string) core.Tag {
	w.Helper()
	t, err := core.NewTag(w.list.TenantID, name, w.Time())
	w.Must(err)
	w.Must(w.AddTag(w.Context(), t, "user:ann"))
	return t
}

// set replaces the tags of the given readers.
func (w *world) set(names []string, readers ...int) {
	w.Helper()
	for _, k := range readers {
		_, err := w.SetTags(w.Context(), w.list.TenantID, storetest.Reader(k), names, "user:ann", w.Time())
		w.Must(err)
	}
}

// have checks that exactly the readers in want have a tag, on each of the lists.
func (w *world) have(t *core.Tag, want []int, lists ...string) {
	w.Helper()
	for _, list := range append(lists, w.list.ID) {
		var got []int
		for k := range w.n {
			if w.number("SELECT count(*) FROM tagged JOIN tag ON no = tag_no WHERE list_id = ? AND tagged.id = ? AND "+
				"tag.id = ?", list, w.SubscriptionID(list, storetest.Reader(k).Key()), t.ID) > 0 {
				got = append(got, k)
			}
		}
		if !slices.Equal(got, want) {
			w.Errorf("%v have the tag, want %v", got, want)
		}
	}
}

// People who match get a tag or lose it, on all lists. The undo restores only people who were changed.
func TestTags(t *testing.T) {
	w := newWorld(t, storetest.Open(t), 8)
	second := w.NewList()
	for k := range w.n {
		w.Active(second.ID, storetest.Reader(k))
	}
	w.Deliver()
	vip := w.tag("VIP")
	w.set([]string{"vip"}, 0, 1)
	w.Seeder = w.At(w.Time() + hour)
	rule := w.rule(`{"field":"city","is":"Berlin"}`)
	a := w.run(w.begin(bulk.Request{Kind: core.BulkTag, Tag: "vip", Rule: rule}))
	if a.State != core.BulkCompleted || a.Done != 4 || a.Changed != 3 || a.Tag != "VIP" || a.UndoUntil == 0 {
		t.Fatalf("%+v", a)
	}
	w.have(&vip, []int{0, 1, 2, 4, 6}, second.ID)
	if a = w.undo(a); a.State != core.BulkUndone || a.Restored != 3 {
		t.Errorf("%+v", a)
	}
	w.have(&vip, []int{0, 1}, second.ID)
	// The rule matches the tag that the action removes.
	a = w.run(w.begin(bulk.Request{Kind: core.BulkUntag, Tag: vip.ID, Rule: w.rule(`{"tag":"vip"}`)}))
	if a.Changed != 2 || a.Done != 2 {
		t.Errorf("%+v", a)
	}
	w.have(&vip, nil, second.ID)
	if a = w.undo(a); a.Restored != 2 {
		t.Errorf("%+v", a)
	}
	w.have(&vip, []int{0, 1}, second.ID)
	if n := w.number("SELECT count(*) FROM bulk_person"); n != 0 {
		t.Errorf("%d people are kept", n)
	}
	w.counts(8, 0)
}

// The undo skips people who have been given a tag since.
func TestTagsChangedSince(t *testing.T) {
	for _, kind := range []string{core.BulkTag, core.BulkUntag} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t, storetest.Open(t), 4)
			vip := w.tag("VIP")
			w.tag("Press")
			want := []int{0, 1}
			if kind == core.BulkUntag {
				w.set([]string{"vip"}, 0, 1, 2, 3)
				want = []int{0, 2, 3}
			}
			w.Seeder = w.At(w.Time() + hour)
			a := w.run(w.begin(bulk.Request{Kind: kind, Tag: "vip", Rule: w.rule(everyone)}))
			w.Seeder = w.At(w.Time() + hour)
			w.set([]string{"vip", "press"}, 0)
			w.set([]string{"press"}, 1)
			if kind == core.BulkTag {
				w.set([]string{"vip"}, 1)
			}
			if a = w.undo(a); a.Changed != 4 || a.Restored != 2 {
				t.Errorf("%+v", a)
			}
			w.have(&vip, want)
		})
	}
}

// The tag must exist at the start. If it is deleted while the action runs, the action pauses. Its undo then has nothing
// to do.
func TestTagIsDeleted(t *testing.T) {
	w := newWorld(t, storetest.Open(t), 4)
	vip := w.tag("VIP")
	for _, r := range []bulk.Request{
		{Kind: core.BulkTag, Tag: "unknown"}, {Kind: core.BulkTag}, {Kind: core.BulkRemove, Tag: "vip"},
	} {
		r.ListID, r.Rule = w.list.ID, w.rule(everyone)
		if _, err := w.StartBulk(t.Context(), r, w.Time()); core.KindOf(err) != core.Invalid {
			t.Errorf("%+v: %v", r, err)
		}
	}
	done := w.run(w.begin(bulk.Request{Kind: core.BulkTag, Tag: "vip", Rule: w.rule(everyone)}))
	a := w.begin(bulk.Request{Kind: core.BulkUntag, Tag: "vip", Rule: w.rule(everyone)})
	w.Must(w.DeleteTag(t.Context(), vip.ID, "user:ann", w.Time()))
	if a = w.run(a); a.State != core.BulkPaused || a.Changed != 0 || a.Reason == "" || a.Tag != "" {
		t.Errorf("%+v", a)
	}
	if done = w.undo(done); done.State != core.BulkUndone || done.Restored != 0 {
		t.Errorf("%+v", done)
	}
}

// A person with the maximum number of tags is skipped.
func TestTagsAreLimited(t *testing.T) {
	w := newWorld(t, storetest.Open(t), 3)
	var names []string
	for i := range core.MaxTagsOfOne {
		names = append(names, fmt.Sprint("tag ", i))
		w.tag(names[i])
	}
	w.set(names, 1)
	vip := w.tag("VIP")
	a := w.run(w.begin(bulk.Request{Kind: core.BulkTag, Tag: "vip", Rule: w.rule(everyone)}))
	if a.Done != 3 || a.Changed != 2 {
		t.Errorf("%+v", a)
	}
	w.have(&vip, []int{0, 2})
}

// The cost of tagging a person doesn't depend on the number of lists that don't know the person.
func TestTagsOfManyLists(t *testing.T) {
	f := storetest.NewFaults(t)
	w := newWorld(t, storetest.OpenWith(t, db.Options{Driver: f.Driver}), 3)
	w.tag("VIP")
	statements := func() (n int) {
		t.Helper()
		for _, kind := range []string{core.BulkTag, core.BulkUntag} {
			a := w.begin(bulk.Request{Kind: kind, Tag: "vip", Rule: w.rule(everyone)})
			f.FailWhen(func(query string) bool {
				if strings.Contains(query, "tagged") {
					n++
				}
				return false
			})
			if a = w.run(a); a.Changed != 3 {
				t.Errorf("%+v", a)
			}
			f.FailAt(0)
		}
		return n
	}
	few := statements()
	for range 20 {
		w.NewList()
	}
	if many := statements(); few == 0 || many != few {
		t.Errorf("%d statements, and %d with 20 more lists", few, many)
	}
}

// An action that is killed at any statement tags no one twice and misses no one, and the same is true of its undo.
func TestTaggingKilledAtAnyStatement(t *testing.T) {
	bulk.HoldFor(0) // one person in each commit
	defer bulk.HoldFor(holdFor)
	path, f := t.TempDir()+"/a.db", storetest.NewFaults(t)
	open := func() *store.Store {
		return storetest.OpenWith(t, db.Options{Path: path, Migrate: true, Driver: f.Driver})
	}
	s := open()
	w := newWorld(t, s, 8)
	vip := w.tag("VIP")
	w.set([]string{"vip"}, 0)
	w.Seeder = w.At(w.Time() + hour)
	id := w.begin(bulk.Request{Kind: core.BulkTag, Tag: "vip", Rule: w.rule(everyone)}).ID
	// complete runs the action until its state is done. Each attempt fails one statement later than the last one, and
	// every tenth failure is followed by a restart.
	complete := func(done string) (a core.BulkAction) {
		for at, failures := 1, 0; a.State != done; {
			f.FailAt(at)
			_, err := w.BulkStep(t.Context(), id, w.Time())
			f.FailAt(0)
			at++
			if err == nil {
				at = 1
			} else if failures++; failures%10 == 0 {
				w.Must(s.Close())
				s = open()
				w.Seeder = storetest.Seed(t, s).At(w.Time())
			}
			if a, err = w.BulkAction(t.Context(), id); a.State == done && failures < 20 {
				t.Errorf("only %d failures: %v", failures, err)
			}
		}
		return a
	}
	if a := complete(core.BulkCompleted); a.Done != 8 || a.Changed != 7 {
		t.Errorf("%+v", a)
	}
	w.have(&vip, []int{0, 1, 2, 3, 4, 5, 6, 7})
	w.Seeder = w.At(w.Time() + hour)
	_, err := w.UndoBulk(t.Context(), id, "user:bob", w.Time())
	w.Must(err)
	if a := complete(core.BulkUndone); a.Restored != 7 {
		t.Errorf("%+v", a)
	}
	w.have(&vip, []int{0})
}
