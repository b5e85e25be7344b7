package audience_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
)

func (w *world) newTag(name string) core.Tag {
	w.Helper()
	t, err := core.NewTag(w.TenantID, name, w.Time())
	w.Must(err)
	w.Must(w.AddTag(w.Context(), t, "test"))
	t, err = w.Tag(w.Context(), t.ID)
	w.Must(err)
	return t
}

func (w *world) give(email core.Email, names ...string) {
	w.Helper()
	_, err := w.SetTags(w.Context(), w.TenantID, email, names, "test", w.Time())
	w.Must(err)
}

// tagsOn returns the names of the tags that an address has on a list.
func (w *world) tagsOn(l core.List, email core.Email) (names []string) {
	w.Helper()
	w.Must(w.All(w.Context(), &names, `SELECT g.name FROM tagged AS t JOIN tag AS g ON g.no = t.tag_no
		WHERE t.list_id = ? AND t.id = ? ORDER BY 1`, l.ID, w.SubscriptionIDs(l.ID).Of(email.Key())))
	return names
}

func (w *world) wantTags(l core.List, email core.Email, want ...string) {
	w.Helper()
	if got := w.tagsOn(l, email); !slices.Equal(got, want) {
		w.Errorf("%s has %q on %s, want %q", email, got, l.Name, want)
	}
}

// A tag's name is unique in its tenant regardless of case, and the number of a tenant's tags is limited.
func TestTagsAsRecords(t *testing.T) {
	w := newWorld(t)
	w.NewList()
	tag := w.newTag(" Straße ")
	if tag.Name != "Straße" {
		t.Errorf("%q", tag.Name)
	}
	twin, err := core.NewTag(w.TenantID, "STRAßE", w.Time())
	w.Must(err)
	if err := w.AddTag(t.Context(), twin, "test"); core.KindOf(err) != core.Conflict {
		t.Errorf("the same name: %v", err)
	}
	for _, name := range []string{
		"", " ", "a,b", "a;b", "a\nb", strings.Repeat("x", 61), core.NewID(), "\xff", "V\u200bIP", "VI\u00adP",
		"\u202eVIP", "VIP\u2066", "\ufeffVIP", "V\u2028IP", "\u3164", "V\u200dIP",
	} {
		if _, err := core.NewTag(w.TenantID, name, w.Time()); core.KindOf(err) != core.Invalid {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"Größe L", "Käufer ❤️", "顧客", "عميل"} {
		if _, err := core.NewTag(w.TenantID, name, w.Time()); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if tag, err = w.RenameTag(t.Context(), tag.ID, "straße", "test", w.Time()+1); err != nil || tag.Name != "straße" {
		t.Errorf("%q, %v", tag.Name, err)
	}
	if _, err := w.RenameTag(t.Context(), core.NewID(), "x", "test", w.Time()); core.KindOf(err) != core.NotFound {
		t.Errorf("a tag that isn't there: %v", err)
	}
	for i := range core.MaxTags - 1 {
		w.newTag(fmt.Sprint("Tag ", i))
	}
	more, err := core.NewTag(w.TenantID, "More", w.Time())
	w.Must(err)
	if err := w.AddTag(t.Context(), more, "test"); core.KindOf(err) != core.Conflict {
		t.Errorf("one more than a tenant can have: %v", err)
	}
	var names []string
	for i := range core.MaxTagsOfOne + 1 {
		names = append(names, fmt.Sprint("tag ", i))
	}
	if _, err := w.SetTags(t.Context(), w.TenantID, "a@user.example", names, "test", w.Time()); core.KindOf(
		err) != core.Invalid {
		t.Errorf("more than a person can have: %v", err)
	}
	if _, err := w.SetTags(t.Context(), w.TenantID, "a@user.example", []string{"None"}, "test",
		w.Time()); core.KindOf(err) != core.Invalid {
		t.Errorf("a tag that isn't there: %v", err)
	}
}

// A person has the same tags on all lists of the tenant, and keeps them on a list that they join later.
func TestTagsOfAPerson(t *testing.T) {
	w := newWorld(t)
	weekly, daily, later := w.NewList(), w.NewList(), w.NewList()
	const ada, bob = core.Email("Ada@user.example"), core.Email("bob@user.example")
	w.tell(weekly, core.StatusActive, ada, `{}`)
	w.tell(daily, core.StatusActive, ada, `{}`)
	w.tell(weekly, core.StatusActive, bob, `{}`)
	w.newTag("VIP")
	w.newTag("Press")
	w.give(ada, "vip", "PRESS", "Vip")
	w.wantTags(weekly, ada, "Press", "VIP")
	w.wantTags(daily, ada, "Press", "VIP")
	w.wantTags(later, ada)
	w.wantTags(weekly, bob)
	w.tell(later, core.StatusActive, ada, `{}`)
	w.tell(later, core.StatusActive, bob, `{}`)
	w.wantTags(later, ada, "Press", "VIP")
	w.wantTags(later, bob)
	given := w.Time()
	w.Seeder = w.At(given + 1000)
	w.give(ada, "vip")
	if n := w.number("SELECT count(*) FROM tagged WHERE at = ?", given); n != 3 {
		t.Errorf("%d lists keep the time of a tag that stays, want 3", n)
	}
	w.wantTags(later, ada, "VIP")
	w.wantTags(daily, ada, "VIP")
	tags, err := w.TagsAt(t.Context(), w.TenantID, ada.Key())
	if w.Must(err); len(tags) != 1 || tags[0].Name != "VIP" {
		t.Errorf("%+v", tags)
	}
	n := w.number("SELECT count(*) FROM audit WHERE action = 'subscription.tag'")
	w.give(ada, "VIP")
	if now := w.number("SELECT count(*) FROM audit WHERE action = 'subscription.tag'"); n != 2 || now != n {
		t.Errorf("%d, then %d entries", n, now)
	}
}

// TagSubscriber and UntagSubscriber add and remove a tag by id. A person who has the tag, has the maximum number of
// tags, or is unknown stays unchanged.
func TestTagsByID(t *testing.T) {
	w := newWorld(t)
	l, other := w.NewList(), w.NewList()
	for _, email := range []core.Email{"a@user.example", "b@user.example", "full@user.example"} {
		w.tell(l, core.StatusActive, email, `{}`)
	}
	w.tell(other, core.StatusActive, "a@user.example", `{}`)
	w.tell(other, core.StatusActive, "b@user.example", `{}`)
	w.Pending(l.ID, "pending@user.example")
	vip := w.newTag("VIP")
	w.give("a@user.example", "VIP")
	var many []string
	for i := range core.MaxTagsOfOne {
		many = append(many, w.newTag(fmt.Sprint(i)).Name)
	}
	w.give("full@user.example", many...)
	each := func(change func(tx *db.Tx, id string) (bool, error)) (changed []string) {
		t.Helper()
		w.Must(w.Update(w.Context(), func(tx *db.Tx) error {
			for _, name := range []string{"a", "b", "full", "pending", "stranger"} {
				done, err := change(tx, w.SubscriptionIDs(l.ID).Of(name+"@user.example"))
				if err != nil {
					return err
				}
				if done {
					changed = append(changed, name)
				}
			}
			return nil
		}))
		return changed
	}
	if got := each(func(tx *db.Tx, id string) (bool, error) {
		return tenants.TagSubscriber(tx, &vip, l.ID, id, w.Time())
	}); !slices.Equal(got, []string{"b", "pending"}) {
		t.Errorf("%q are tagged", got)
	}
	w.wantTags(other, "b@user.example", "VIP")
	w.wantTags(l, "pending@user.example", "VIP")
	if n := w.number("SELECT count(*) FROM tagged"); n != 5+core.MaxTagsOfOne {
		t.Errorf("%d rows", n)
	}
	if got := each(func(tx *db.Tx, id string) (bool, error) {
		return tenants.UntagSubscriber(tx, &vip, l.ID, id)
	}); !slices.Equal(got, []string{"a", "b", "pending"}) {
		t.Errorf("%q are untagged", got)
	}
	w.wantTags(other, "a@user.example")
	if n := w.number("SELECT count(*) FROM tagged"); n != core.MaxTagsOfOne {
		t.Errorf("%d rows", n)
	}
}

// Tags of people who are erased or removed are deleted, and so is everything about a deleted tag.
func TestTagsGo(t *testing.T) {
	w := newWorld(t)
	l, other := w.NewList(), w.NewList()
	const ada, bob = core.Email("ada@user.example"), core.Email("bob@user.example")
	for _, email := range []core.Email{ada, bob} {
		w.tell(l, core.StatusActive, email, `{}`)
		w.tell(other, core.StatusActive, email, `{}`)
	}
	vip := w.newTag("VIP")
	w.newTag("Press")
	w.give(ada, "VIP")
	w.give(bob, "VIP", "Press")
	rows := func(want int) {
		t.Helper()
		if n := w.number("SELECT count(*) FROM tagged"); n != want {
			t.Errorf("%d rows, want %d", n, want)
		}
	}
	d, err := w.ExportPerson(t.Context(), core.Person{Email: bob, TenantID: w.TenantID})
	if w.Must(err); len(d.Tags) != 2 || d.Tags[0].Name != "Press" || d.Tags[1].TenantID != w.TenantID {
		t.Errorf("%+v", d.Tags)
	}
	_, err = w.ErasePerson(t.Context(), core.Person{Email: ada, TenantID: w.TenantID}, "test", w.Time())
	w.Must(err)
	rows(4)
	w.Must(w.DeleteTag(context.Background(), vip.ID, "test", w.Time()))
	if tags, err := w.TagsAt(t.Context(), w.TenantID, bob.Key()); err != nil || len(tags) != 1 {
		t.Errorf("%+v, %v", tags, err)
	}
	w.Clean(people.Retention{})
	rows(2)
	if again := w.newTag("VIP"); again.No <= vip.No {
		t.Errorf("a number is used again")
	}
	w.Must(w.DeleteList(t.Context(), other.ID, "test", w.Time()))
	w.At(w.Time() + 100*day).Clean(people.Retention{Deleted: 1})
	rows(1)
	w.Must(w.DeleteTenant(t.Context(), w.TenantID, "test", w.Time()))
	w.At(w.Time() + 100*day).Clean(people.Retention{Deleted: 1})
	rows(0)
	if n := w.number("SELECT count(*) FROM tag"); n != 0 {
		t.Errorf("%d tags of a deleted tenant", n)
	}
}

// A condition names a tag in any case. Renaming the tag changes the rules that name it, but not jobs and approvals. A
// tag that a segment uses can't be deleted.
func TestTagsInRules(t *testing.T) {
	w := newWorld(t)
	l := w.NewList()
	w.Readers(l, 30)
	w.newTag("VIP")
	for i := range 3 {
		w.give(storetest.Reader(i), "VIP")
	}
	if _, err := w.trySegment("None", `{"any": [{"tag": "none"}]}`); core.KindOf(err) != core.Invalid ||
		!strings.Contains(err.Error(), "rule.any[0]") {
		t.Errorf("an unknown tag: %v", err)
	}
	for rule, want := range map[string]int64{
		`{"all": [{"tag": "vip"}, {"tag": "VIP"}]}`: 3, `{"not": {"any": [{"tag": "Vip"}, {"tag": "vip"}]}}`: 27,
		`{"all": [{"tag": "VIP"}, {"not": {"tag": "vip"}}]}`: 0,
	} {
		if n := w.exact(w.question(rule, l)); n != want {
			t.Errorf("%s: %d, want %d", rule, n, want)
		}
	}
	g := w.segment("Ours", `{"all": [{"tag": "vip"}, {"not": {"tag": "VIP "}}]}`)
	other := w.segment("Other", `{"tag": "vip"}`)
	d := w.draft([]core.List{l}, to(other))
	started := w.SendDraft(&d)
	vip, err := tenants.TagNamed(w.Reads(t.Context()), w.TenantID, "vip")
	w.Must(err)
	if _, err = w.RenameTag(t.Context(), vip.ID, "Regular", "test", w.Time()); err != nil {
		t.Fatal(err)
	}
	g, err = w.Segment(t.Context(), g.ID)
	if want := `{"all":[{"tag":"Regular"},{"not":{"tag":"Regular"}}]}`; err != nil || string(g.Rule) != want ||
		g.Revision != 2 {
		t.Errorf("%s, revision %d, %v", g.Rule, g.Revision, err)
	}
	w.newTag("VIP") // another tag with the same name
	if got := w.reached(w.Start(started)); len(got) != 3 {
		t.Errorf("%d recipients of a job from before the rename", len(got))
	}
	if n := w.exact(w.question(`{"tag": "regular"}`, l)); n != 3 {
		t.Errorf("%d match", n)
	}
	if err := w.DeleteTag(t.Context(), vip.ID, "test", w.Time()); core.KindOf(err) != core.Conflict ||
		!strings.Contains(err.Error(), `"Other" and others`) {
		t.Errorf("a tag in use is deleted: %v", err)
	}
}

// People with many tags, or with ids far apart, are looked up one by one. The result is the same.
func TestPeopleWithManyTags(t *testing.T) {
	w := newWorld(t)
	l := w.NewList()
	w.Readers(l, 60)
	var names []string
	for i := range 20 {
		names = append(names, w.newTag(fmt.Sprint(i)).Name)
	}
	for i := range 60 {
		w.give(storetest.Reader(i), names[i%3:20-i%2]...)
	}
	for rule, want := range map[string]int64{
		`{"tag": "0"}`: 20, `{"tag": "1"}`: 40, `{"tag": "19"}`: 30, `{"all": [{"tag": "0"}, {"tag": "19"}]}`: 10,
		`{"not": {"tag": "5"}}`: 0,
	} {
		if n := w.exact(w.question(rule, l)); n != want {
			t.Errorf("%s: %d, want %d", rule, n, want)
		}
	}
}
