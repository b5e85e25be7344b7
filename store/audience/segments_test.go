package audience_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/storetest"
)

func fieldOf(err error) string {
	var e *core.Error
	if errors.As(err, &e) {
		return e.Field
	}
	return ""
}

func TestSegmentsAreKept(t *testing.T) {
	w := newWorld(t)
	w.NewList()
	g := w.segment("Pro", pro)
	for range 2 {
		w.segment(core.NewID(), pro)
	}
	got, err := w.Segment(t.Context(), g.ID)
	if w.Must(err); got != g || got.Revision != 1 || got.CreatedBy != "user:ann" {
		t.Errorf("%+v, want %+v", got, g)
	}
	all, err := w.Segments(t.Context(), w.TenantID, core.Page{Limit: 2})
	w.Must(err)
	rest, err := w.Segments(t.Context(), w.TenantID, core.Page{Limit: 2, After: all[1].ID})
	w.Must(err)
	if len(all) != 2 || len(rest) != 1 || all[0] != g || rest[0].ID < all[1].ID {
		t.Errorf("%d and %d segments", len(all), len(rest))
	}
	for _, name := range []string{"Pro", "pRO", " PRO "} {
		if _, err := w.trySegment(name, pro); core.KindOf(err) != core.Conflict {
			t.Errorf("the same name %q: %v", name, err)
		}
	}
	same, err := w.change(g, pro)
	if w.Must(err); same != g || w.Audited("segment.update") != 0 {
		t.Errorf("no change: %+v, want %+v", same, g)
	}
	got, err = w.change(g, `{"not": `+pro+`}`)
	if w.Must(err); got.Revision != 2 || got.ChangedBy != "user:bob" || w.Audited("segment.update") != 1 {
		t.Errorf("changed: %+v", got)
	}
	entries, _, err := w.Audit(t.Context(), core.AuditFilter{Object: g.ID}, core.Page{Limit: 1})
	w.Must(err)
	w.Must(w.NameAudited(t.Context(), entries))
	if e := entries[0]; e.ObjectName != "Pro" || strings.Contains(fmt.Sprint(e), "changed_by") {
		t.Errorf("the audit log: %+v", e)
	}
	w.Must(w.DeleteSegment(t.Context(), g.ID, "test", start))
	for what, err := range map[string]error{
		"read":   func() error { _, err := w.Segment(t.Context(), g.ID); return err }(),
		"change": func() error { _, err := w.change(g, pro); return err }(),
		"delete": w.DeleteSegment(t.Context(), g.ID, "test", start),
	} {
		if !errors.Is(err, core.ErrSegmentNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for n := range core.MaxSegments {
		if _, err = w.trySegment(fmt.Sprint(n), pro); err != nil {
			break
		}
	}
	if n := w.number("SELECT count(*) FROM segment"); core.KindOf(err) != core.Conflict || n != core.MaxSegments {
		t.Errorf("%d segments, %v", n, err)
	}
}

// A rule can refer only to the tenant's own records, and references must not form a cycle.
func TestReferencesOfRules(t *testing.T) {
	w := newWorld(t)
	l := w.NewList()
	theirs := &world{w.At(start)}
	theirs.TenantID, theirs.ListID = "", ""
	theirs.NewTenant()
	other := theirs.NewList()
	hidden := theirs.segment("Hidden", pro)
	campaign := theirs.NewCampaign(other).ID
	for _, rule := range []string{
		`{"all": [` + pro + `, {"on_list": "` + other.ID + `"}]}`,
		`{"all": [` + pro + `, {"received": "` + campaign + `"}]}`,
		`{"all": [` + pro + `, {"segment": "` + hidden.ID + `"}]}`, `{"all": [` + pro + `, {"segment": "x"}]}`,
		`{"all": [` + pro + `, {"on_list": "x"}]}`, `{"all": [` + pro + `, {"received": "x"}]}`,
	} {
		if _, err := w.trySegment("Theirs", rule); core.KindOf(err) != core.Invalid || fieldOf(err) != "rule.all[1]" {
			t.Errorf("%s: %v", rule, err)
		}
	}
	if _, err := w.CountSegment(t.Context(), w.question(pro, other)); !errors.Is(err, core.ErrListNotFound) {
		t.Errorf("a list of another tenant: %v", err)
	}
	refers := func(to core.Segment) string {
		return `{"any": [{"on_list": "` + l.ID + `"}, {"segment": "` + to.ID + `"}]}`
	}
	one := w.segment("One", pro)
	two := w.segment("Two", refers(one))
	three := w.segment("Three", refers(two))
	four := w.segment("Four", refers(three))
	if _, err := w.trySegment("Five", refers(four)); core.KindOf(err) != core.Invalid {
		t.Errorf("four levels: %v", err)
	}
	zero := w.segment("Zero", pro)
	for _, to := range []core.Segment{one, two, four, zero} {
		if _, err := w.change(one, refers(to)); core.KindOf(err) != core.Invalid {
			t.Errorf("One refers to %s: %v", to.Name, err)
		}
	}
	d := w.draft([]core.List{l}, func(f *core.CampaignFields) { f.ExcludeSegmentIDs = []string{one.ID} })
	uses, err := w.SegmentUses(t.Context(), one.ID, 10)
	w.Must(err)
	want := []core.SegmentUse{
		{Kind: "campaign", ID: d.Campaign.ID, Name: "May"}, {Kind: "segment", ID: two.ID, Name: "Two"},
	}
	if !slices.Equal(uses, want) {
		t.Errorf("uses: %v", uses)
	}
	if err := w.DeleteSegment(t.Context(), one.ID, "test", start); core.KindOf(err) != core.Conflict {
		t.Errorf("deleted in use: %v", err)
	}
	w.Must(w.DeleteSegment(t.Context(), four.ID, "test", start))
}

// The count of a long list is estimated from a sample of its ids. The limits contain the exact number.
func TestCountsOfALongList(t *testing.T) {
	w := newWorld(t)
	l, other := w.NewList(), w.NewList()
	w.Readers(l, 24_000)
	w.Readers(other, 2000, func(k int) core.Email { return storetest.Reader(23_000 + k) })
	for rule, want := range map[string]int64{
		`{"field": "first_name", "starts_with": "R1"}`:                            12_111,
		`{"not": {"field": "first_name", "starts_with": "R1"}}`:                   12_889,
		`{"field": "first_name", "is": "R7"}`:                                     1,
		`{"field": "first_name", "missing": true}`:                                0,
		`{"field": "first_name", "exists": true}`:                                 25_000,
		`{"all": [{"on_list": "` + l.ID + `"}, {"on_list": "` + other.ID + `"}]}`: 1000,
	} {
		q := w.question(rule, l, other)
		n, err := w.CountSegment(t.Context(), q)
		w.Must(err)
		if n.Exact != nil || *n.Low > *n.About || *n.About > *n.High || n.Of != 26_000 {
			t.Fatalf("%s: %+v", rule, n)
		}
		exact := w.exact(q)
		// Ids are random, so 1 of 100 samples is outside the limits, but not far outside.
		width := *n.High - *n.Low
		if *n.Low-width > exact || *n.High+width < exact || width > 26_000/4 {
			t.Errorf("%s: %d to %d, and exactly %d", rule, *n.Low, *n.High, exact)
		}
		if exact != want {
			t.Errorf("%s: exactly %d, want %d", rule, exact, want)
		}
		f := core.CampaignFields{ListIDs: q.ListIDs}
		f.SegmentID = w.segment(core.NewID(), rule).ID
		all, err := w.CountAudience(t.Context(), w.TenantID, &f, 0)
		w.Must(err)
		a, err := w.CountAudience(t.Context(), w.TenantID, &f, core.AudienceEstimate)
		w.Must(err)
		sum := a.Recipients + a.Outside + a.Excluded + a.Duplicates
		off := a.Recipients - all.Recipients
		if !a.About || a.Expected() != 0 || sum != a.Active || a.Active != all.Active || off < -width || off > width {
			t.Errorf("%s: the audience is about %+v, and exactly %+v", rule, a, all)
		}
	}
	q := w.question(`{"field": "first_name", "starts_with": "R1"}`, l, other)
	whole, err := w.CountSegment(t.Context(), q)
	w.Must(err)
	q.Within = 1 // the sample ends early
	part, err := w.CountSegment(t.Context(), q)
	w.Must(err)
	width := *part.High - *part.Low
	if width < (*whole.High-*whole.Low)*3/2 || *part.Low-width > 12_111 || *part.High+width < 12_111 {
		t.Errorf("%d to %d from a part of the sample, %d to %d from all of it", *part.Low, *part.High, *whole.Low,
			*whole.High)
	}
	f := core.CampaignFields{ListIDs: []string{other.ID}}
	f.SegmentID = w.segment("R2", `{"field": "first_name", "starts_with": "R2"}`).ID
	a, err := w.CountAudience(t.Context(), w.TenantID, &f, core.AudienceEstimate)
	if w.Must(err); a.About || a.Recipients != 2000-1000 && a.Recipients+a.Outside != 2000 {
		t.Errorf("a short list: %+v", a)
	}
}
