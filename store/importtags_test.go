package store_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/imports"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
)

// tagImport imports rows as an import that can be undone, and returns it.
func tagImport(s *storetest.Seeder, listID string, now core.Instant, rows ...imports.ImportRow) core.ImportJob {
	s.Helper()
	ctx := s.Context()
	j := s.NewImportJob(listID, "email,tags\n")
	_, err := s.RunImport(ctx, j.ID, core.ImportInput{SubscriberStatus: core.SubscriptionActive}, "user:1", now)
	s.Must(err)
	j, err = s.StartImport(ctx, j.ID, now)
	s.Must(err)
	im, err := s.ImportOf(ctx, &j)
	s.Must(err)
	defer im.Close()
	for _, r := range rows {
		s.Must(im.Put(r))
	}
	s.Must(im.Write(ctx, func() core.Instant { return now }, nil))
	s.Must(s.FinishImport(ctx, &j, im.Counts, "", now))
	j, err = s.ImportJob(ctx, j.ID)
	s.Must(err)
	return j
}

// tagsAt returns the names of the tags of an address, separated by commas.
func tagsAt(s *storetest.Seeder, tenantID, email string) string {
	s.Helper()
	tags, err := s.TagsAt(s.Context(), tenantID, core.Email(email).Key())
	s.Must(err)
	names := make([]string, len(tags))
	for i := range tags {
		names[i] = tags[i].Name
	}
	return strings.Join(names, ",")
}

func undoImport(s *storetest.Seeder, id string, now core.Instant) core.ImportJob {
	s.Helper()
	_, err := s.UndoImport(s.Context(), id, "user:1", now)
	s.Must(err)
	for more := true; more; {
		more, err = s.UndoImportStep(s.Context(), id, now)
		s.Must(err)
	}
	j, err := s.ImportJob(s.Context(), id)
	s.Must(err)
	return j
}

func TestImportOfTags(t *testing.T) {
	n := storetest.SeedList(t, now0)
	ctx := t.Context()
	other := n.NewList()
	vip, err := core.NewTag(n.TenantID, "VIP", now0)
	n.Must(err)
	n.Must(n.AddTag(ctx, vip, "user:1"))
	n.Import(n.ListID, core.SubscriptionActive, imports.ImportRow{Email: "ann@example.org"})
	n.Import(other.ID, core.SubscriptionActive, imports.ImportRow{Email: "ann@example.org"})
	_, err = n.SetTags(ctx, n.TenantID, "ann@example.org", []string{"VIP"}, "user:1", now0)
	n.Must(err)

	rows := []imports.ImportRow{
		{Email: "ann@example.org", Tags: "vip;Press"},
		{Email: "bob@example.org", Tags: "press;Zürich"},
		{Email: "bob@example.org", Tags: "PRESS;VIP"}, // the same person once more
		{Email: "cid@example.org"},
	}
	im, err := n.NewImport(ctx, n.ListID, core.SubscriptionActive, "file")
	n.Must(err)
	im.DryRun = true
	for _, r := range rows {
		n.Must(im.Put(r))
	}
	n.Must(im.Write(ctx, n.Time, nil))
	im.Close()
	j := tagImport(n, n.ListID, now0+1000, rows...)
	if j.Tagged != 2 || j.NewTags != 2 || j.TagsSkipped != 0 || im.Counts.Tagged != 2 || im.Counts.NewTags != 2 {
		t.Errorf("%+v, dry run %+v", j.ImportCounts, im.Counts)
	}
	for email, want := range map[string]string{
		"ann@example.org": "Press,VIP", "bob@example.org": "press,VIP,Zürich", "cid@example.org": "",
	} {
		if got := tagsAt(n, n.TenantID, email); !strings.EqualFold(got, want) {
			t.Errorf("%s: %s, not %s", email, got, want)
		}
	}
	if both := n.Count("SELECT count(*) FROM tagged WHERE list_id = ?", other.ID); both != 2 {
		t.Errorf("%d tags on the other list", both)
	}
	if made := n.Count("SELECT count(*) FROM audit WHERE action = 'tag.create' AND actor = ?", j.CreatedBy); made < 2 {
		t.Errorf("%d audit entries", made)
	}
	if again := tagImport(n, n.ListID, now0+2000, rows...); again.Tagged != 0 || again.NewTags != 0 {
		t.Errorf("the same again: %+v", again.ImportCounts)
	}

	// A tag that someone removes and gives again stays. Zürich becomes unused.
	_, err = n.SetTags(ctx, n.TenantID, "bob@example.org", []string{"VIP", "Zürich"}, "user:1", now0+3000)
	n.Must(err)
	_, err = n.SetTags(ctx, n.TenantID, "bob@example.org", []string{"VIP", "Zürich", "Press"}, "user:1", now0+4000)
	n.Must(err)
	j = undoImport(n, j.ID, now0+6000)
	if j.UndoUntagged != 3 {
		t.Errorf("%d tags taken back", j.UndoUntagged)
	}
	if ann, bob := tagsAt(n, n.TenantID, "ann@example.org"), tagsAt(n, n.TenantID, "bob@example.org"); ann != "VIP" ||
		!strings.EqualFold(bob, "Press") {
		t.Errorf("after the undo: %s; %s", ann, bob)
	}
	tags, err := n.AllTags(ctx, n.TenantID)
	n.Must(err)
	if len(tags) != 2 {
		t.Errorf("%d tags are left", len(tags))
	}
}

// Undoing an import keeps the tags that people were given again, although they still had them.
func TestUndoKeepsTagsGivenAgain(t *testing.T) {
	n := storetest.SeedList(t, now0)
	ctx := t.Context()
	row := func(name string) imports.ImportRow {
		return imports.ImportRow{Email: core.Email(name + "@example.org"), Tags: "VIP;Press"}
	}
	j := tagImport(n, n.ListID, now0, row("add"), row("bulk"), row("none"))
	all := func(ids []string) []string { return ids }
	_, err := n.ChangeTags(ctx, n.TenantID, "add@example.org", all, []string{"vip"}, "user:1", now0+1000)
	n.Must(err)
	_, err = n.ChangeTags(ctx, n.TenantID, "none@example.org", all, nil, "user:1", now0+1000)
	n.Must(err)
	tags, err := n.AllTags(ctx, n.TenantID)
	n.Must(err)
	n.Must(n.Update(ctx, func(tx *db.Tx) error {
		_, err := tenants.TagSubscriber(tx, &tags[0], n.ListID, n.SubscriptionIDs(n.ListID).Of("bulk@example.org"),
			now0+1000)
		return err
	}))
	j = undoImport(n, j.ID, now0+2000)
	for name, want := range map[string]string{"add": "VIP", "bulk": tags[0].Name, "none": ""} {
		if got := tagsAt(n, n.TenantID, name+"@example.org"); got != want {
			t.Errorf("%s: %q, not %q", name, got, want)
		}
	}
	if j.UndoUntagged != 4 {
		t.Errorf("%d tags taken back", j.UndoUntagged)
	}
}

// Tags beyond a limit are counted and left out, and the import continues.
func TestImportOfTooManyTags(t *testing.T) {
	n := storetest.SeedList(t, now0)
	many := func(prefix string, tags int) string {
		names := make([]string, tags)
		for i := range names {
			names[i] = prefix + strconv.Itoa(i)
		}
		return strings.Join(names, imports.TagSeparator)
	}
	var rows []imports.ImportRow
	for i := range core.MaxTags/core.MaxTagsOfOne + 1 {
		rows = append(rows, imports.ImportRow{
			Email: storetest.Reader(i), Tags: many(string(rune('a'+i)), core.MaxTagsOfOne),
		})
	}
	j := tagImport(n, n.ListID, now0, rows...)
	if j.Added != int64(len(rows)) || j.NewTags != core.MaxTags || j.TagsSkipped != core.MaxTagsOfOne ||
		j.Tagged != int64(len(rows)-1) {
		t.Errorf("%+v", j.ImportCounts)
	}
	who := slices.IndexFunc(rows, func(r imports.ImportRow) bool {
		return tagsAt(n, n.TenantID, string(r.Email)) != ""
	})
	rows = []imports.ImportRow{{Email: rows[who].Email, Tags: "a0;b0;c0;d0;e0;f0;g0;h0;i0;j0;k0"}}
	if j := tagImport(n, n.ListID, now0+1000, rows...); j.Tagged != 0 || j.TagsSkipped == 0 {
		t.Errorf("over 50: %+v", j.ImportCounts)
	}
	if j = undoImport(n, j.ID, now0+2000); j.UndoUntagged != core.MaxTags ||
		n.Count("SELECT count(*) FROM tagged") != 0 || n.Count("SELECT count(*) FROM tag") != 0 {
		t.Errorf("after the undo: %+v", j.ImportUndo)
	}
	if n.Count("SELECT count(*) FROM import_chunk WHERE kind = 5") != 0 {
		t.Error("notes are left")
	}
}

// If a step is repeated, for example because the process was killed before it knew of the commit, no tag is given or
// created twice.
func TestRepeatedTagsChangeNothing(t *testing.T) {
	n := storetest.SeedList(t, now0)
	im, err := n.NewImport(t.Context(), n.ListID, core.SubscriptionActive, "file")
	n.Must(err)
	rows := []imports.ImportRow{{Email: "ann@example.org", Tags: "a;b"}, {Email: "bob@example.org", Tags: "b;c"}}
	n.Must(im.Add(t.Context(), rows, now0))
	first := im.Counts
	n.Must(im.Add(t.Context(), rows, now0+1000))
	if first.NewTags != 3 || im.Counts.NewTags != 3 || first.Tagged != 2 || im.Counts.Tagged != 2 {
		t.Errorf("%+v, then %+v", first, im.Counts)
	}
}

// People get the tag of a list when they confirm, and not before. It stays until it is removed from the list.
func TestTagOfSignups(t *testing.T) {
	n := storetest.SeedList(t, now0)
	ctx := t.Context()
	tag, err := core.NewTag(n.TenantID, "Website", now0)
	n.Must(err)
	n.Must(n.AddTag(ctx, tag, "user:1"))
	set := func(name string) error {
		_, err := n.UpdateList(ctx, n.ListID, "user:1", func(l *core.List) error {
			return l.Change(core.ListInput{SignupTagID: &name}, now0)
		})
		return err
	}
	n.Active(n.ListID, "old@example.org")
	if err := set("unknown"); core.KindOf(err) != core.Invalid {
		t.Errorf("an unknown tag: %v", err)
	}
	n.Must(set("website"))
	token := n.Pending(n.ListID, "ann@example.org")
	if got := tagsAt(n, n.TenantID, "ann@example.org"); got != "" {
		t.Errorf("before the confirmation: %s", got)
	}
	_, err = n.Confirm(ctx, token, core.Origin{}, n.Time())
	n.Must(err)
	if got := tagsAt(n, n.TenantID, "ann@example.org"); got != "Website" {
		t.Errorf("after the confirmation: %s", got)
	}
	_, err = n.SetTags(ctx, n.TenantID, "ann@example.org", nil, "user:1", now0)
	n.Must(err)
	_, err = n.Confirm(ctx, token, core.Origin{}, n.Time())
	n.Must(err)
	if ann, old := tagsAt(n, n.TenantID, "ann@example.org"), tagsAt(n, n.TenantID, "old@example.org"); ann+old != "" {
		t.Errorf("a second click: %s; someone who confirmed earlier: %s", ann, old)
	}
	if err := n.DeleteTag(ctx, tag.ID, "user:1", now0); core.KindOf(err) != core.Conflict {
		t.Errorf("deleted while a list uses it: %v", err)
	}
	n.Must(set(""))
	n.Must(n.DeleteTag(ctx, tag.ID, "user:1", now0))
	n.Active(n.ListID, "bob@example.org")
}

// TestImportsWithTagsAreSwept checks that the records of the tags that an import gave are deleted with it.
func TestImportsWithTagsAreSwept(t *testing.T) {
	n := storetest.SeedList(t, now0)
	j := tagImport(n, n.ListID, now0, imports.ImportRow{Email: "ann@example.org", Tags: "VIP"})
	if chunks := n.Count("SELECT count(*) FROM import_chunk WHERE import_id = ?", j.ID); chunks == 0 {
		t.Fatal("no record of the tags")
	}
	n.Must(n.DeleteImport(t.Context(), j.ID, "user:1", now0))
	more := true
	for steps := 0; more && steps < 20; steps++ {
		var err error
		more, err = n.SweepImports(t.Context(), now0)
		n.Must(err)
	}
	if chunks := n.Count("SELECT count(*) FROM import_chunk WHERE import_id = ?", j.ID); chunks != 0 || more {
		t.Errorf("%d records of a deleted import, more: %t", chunks, more)
	}
}
