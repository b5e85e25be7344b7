package store_test

import (
	"testing"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/imports"
	"newsletterd/store/storetest"
)

// TestNotDeletedWhileTakenBack checks that the records of an import stay until it is undone.
func TestNotDeletedWhileTakenBack(t *testing.T) {
	n := storetest.SeedList(t, now0)
	ctx := t.Context()
	j := n.NewImportJob(n.ListID, "email\nbrought@example.org\n")
	_, err := n.RunImport(ctx, j.ID, core.ImportInput{SubscriberStatus: core.SubscriptionActive}, "user:1", now0)
	n.Must(err)
	j, err = n.StartImport(ctx, j.ID, now0)
	n.Must(err)
	im, err := n.ImportOf(ctx, &j)
	n.Must(err)
	n.Must(im.Add(ctx, []imports.ImportRow{{Email: "brought@example.org"}}, now0))
	_, err = n.CancelImport(ctx, j.ID, "user:1", now0)
	n.Must(err)
	_, err = n.UndoImport(ctx, j.ID, "user:1", now0)
	n.Must(err)
	if err := n.DeleteImport(ctx, j.ID, "user:1", now0); core.KindOf(err) != core.Conflict {
		t.Errorf("deleted while it is taken back: %v", err)
	}
	for more := true; more; {
		more, err = n.UndoImportStep(ctx, j.ID, now0)
		n.Must(err)
	}
	n.Must(n.DeleteImport(ctx, j.ID, "user:1", now0))
}

// replaced imports subscribers with a new value for the field city, in steps as a worker does, and ends the import.
func replaced(n *storetest.Seeder, city string, readers int, now core.Instant) core.ImportJob {
	n.Helper()
	ctx := n.Context()
	j := n.NewImportJob(n.ListID, "email,city\n")
	_, err := n.RunImport(ctx, j.ID, core.ImportInput{SubscriberStatus: core.SubscriptionActive}, "user:1", now)
	n.Must(err)
	j, err = n.StartImport(ctx, j.ID, now)
	n.Must(err)
	im, err := n.ImportOf(ctx, &j)
	n.Must(err)
	for i := range readers {
		p := core.Preferences(`{"city":"` + city + `"}`)
		n.Must(im.Put(imports.ImportRow{Email: storetest.Reader(i), Preferences: p}))
	}
	n.Must(im.Write(ctx, func() core.Instant { return now }, nil))
	n.Must(n.FinishImport(ctx, &j, im.Counts, "", now))
	im.Close()
	j, err = n.ImportJob(ctx, j.ID)
	if n.Must(err); j.UndoUntil == 0 || j.Replaced+j.ReplacedUnkept != int64(readers) {
		n.Fatalf("%+v", j)
	}
	return j
}

// TestReplacedFieldsGoInTime checks that replaced values are kept as long as the import can be undone, and are removed
// with its record.
func TestReplacedFieldsGoInTime(t *testing.T) {
	n := storetest.SeedList(t, now0)
	ctx := t.Context()
	const readers = 700
	for i := range readers {
		n.Active(n.ListID, storetest.Reader(i))
	}
	kept := func(want int) {
		t.Helper()
		if rows := n.Count("SELECT count(*) FROM import_before"); rows != want {
			t.Errorf("%d rows are kept, want %d", rows, want)
		}
	}
	sweep := func(now core.Instant) {
		t.Helper()
		for more := true; more; {
			var err error
			more, err = n.SweepImports(ctx, now)
			n.Must(err)
		}
	}
	replaced(n, "Ulm", readers, now0)
	sweep(now0.Add(imports.FaultsKept))
	kept(readers)
	sweep(now0.Add(imports.FaultsKept) + 1)
	kept(0)

	j := replaced(n, "Bonn", readers, now0)
	sweep(now0)
	kept(readers)
	n.Must(n.DeleteImport(ctx, j.ID, "user:1", now0))
	sweep(now0)
	kept(0)

	j = replaced(n, "Mainz", readers, now0)
	_, err := n.UndoImport(ctx, j.ID, "user:1", now0)
	n.Must(err)
	sweep(now0.Add(imports.FaultsKept) + 1) // the values are still needed
	kept(readers)
	steps := 0
	for more := true; more; steps++ {
		more, err = n.UndoImportStep(ctx, j.ID, now0)
		n.Must(err)
	}
	kept(0)
	s, err := n.Subscription(ctx, n.ListID, storetest.Reader(7))
	if n.Must(err); s.Preferences != `{"city":"Bonn"}` || steps != 3 {
		t.Errorf("%+v after %d steps", s, steps)
	}
}

// TestReplacedFieldsAreBounded checks that an import that replaces too many values stores only some of the old values,
// and counts the others.
func TestReplacedFieldsAreBounded(t *testing.T) {
	n := storetest.SeedList(t, now0)
	const readers = 3
	for i := range readers {
		n.Active(n.ListID, storetest.Reader(i))
	}
	defer store.SetMaxReplacedBytes(70)()
	j := replaced(n, "Ulm", readers, now0)
	if j.Replaced != 2 || j.ReplacedUnkept != 1 {
		t.Errorf("%+v", j)
	}
}
