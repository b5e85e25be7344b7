package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/files"
	"newsletterd/store/imports"
	"newsletterd/store/storetest"
)

// newcomers returns the import of a file into the list of n.
func newcomers(n *storetest.Seeder) core.ImportJob {
	return core.ImportJob{ID: core.NewID(), ListID: n.ListID, Name: "people.csv", CreatedBy: "user:1", CreatedAt: now0}
}

// A file is split at the ends of lines, so that every address is in one part.
func TestPartsOfAnUploadedFileEndWithALine(t *testing.T) {
	n := storetest.SeedList(t, now0)
	file := "email\n" + strings.Repeat("somebody@example.org\n", 2*files.ChunkSize/21) + strings.Repeat("x",
		files.ChunkSize+10) + "\nend"
	j := n.NewImportJob(n.ListID, file)
	b, err := io.ReadAll(n.ImportFile(t.Context(), j.ID))
	if err != nil || string(b) != file || j.Bytes != int64(len(file)) {
		t.Errorf("%d bytes of %d come back, %d are noted: %v", len(b), len(file), j.Bytes, err)
	}
	if cut := n.Count("SELECT count(*) FROM import_chunk WHERE no < 2 AND substr(data, -1) <> x'0a'"); cut != 0 {
		t.Errorf("%d parts end within a line", cut)
	}
}

// The size of a file and the number of waiting files are limited.
func TestUploadsOfFilesAreBounded(t *testing.T) {
	n := storetest.SeedList(t, now0)
	u, err := n.NewImportUpload(t.Context(), newcomers(n), 10)
	n.Must(err)
	if err := u.ReadFrom(t.Context(), strings.NewReader("email\nann@example.org\n"), nil,
		func() core.Instant { return now0 }); core.KindOf(err) != core.TooLarge {
		t.Errorf("a file over the limit: %v", err)
	}
	u.Close(t.Context())
	for range core.MaxOpenImports {
		n.NewImportJob(n.ListID, "email\n")
	}
	_, err = n.NewImportUpload(t.Context(), newcomers(n), 10)
	if core.KindOf(err) != core.Conflict {
		t.Errorf("one more than may be open: %v", err)
	}
	n.SweptImports()
	if left := n.Count("SELECT count(*) FROM import_job"); left != core.MaxOpenImports {
		t.Errorf("%d imports are left", left)
	}
	n.At(now0.Add(imports.ImportIdle + time.Minute)).SweptImports()
	if open := n.Count("SELECT count(*) FROM import_job WHERE status <> 'cancelled'") + n.Count("SELECT count(*) FROM "+
		"import_chunk"); open != 0 {
		t.Error("files that no one runs stay")
	}
}

// A stalled upload counts as an open import. It is therefore listed, and can be canceled and deleted.
func TestStalledUploadsCanBeEnded(t *testing.T) {
	n := storetest.SeedList(t, now0)
	now := func() core.Instant { return now0 }
	for _, end := range []func(id string) error{
		func(id string) error { return n.DeleteImport(t.Context(), id, "user:1", now0) },
		func(id string) error { _, err := n.CancelImport(t.Context(), id, "user:1", now0); return err },
	} {
		j := newcomers(n)
		u, err := n.NewImportUpload(t.Context(), j, 1000)
		n.Must(err)
		n.Must(u.ReadFrom(t.Context(), strings.NewReader("email\n"), nil, now))
		page := core.Page{Limit: 1}
		if js, err := n.ImportJobs(t.Context(), []string{n.TenantID}, false, "", page); err != nil || len(js) != 1 ||
			js[0].ID != j.ID || js[0].Status != core.ImportUploading {
			t.Fatalf("listed: %+v, %v", js, err)
		}
		if _, err := n.RunImport(t.Context(), j.ID, core.ImportInput{}, "user:1", now0); core.KindOf(err) != core.Conflict {
			t.Errorf("run: %v", err)
		}
		n.Must(end(j.ID))
		err = u.ReadFrom(t.Context(), strings.NewReader("ann@example.org\n"), nil, now)
		if core.KindOf(err) != core.Conflict {
			t.Errorf("it goes on: %v", err)
		}
		if _, err := u.Commit(t.Context(), now0); core.KindOf(err) != core.Conflict {
			t.Errorf("it is committed: %v", err)
		}
		u.Close(t.Context())
		n.SweptImports()
		if left := n.Count("SELECT count(*) FROM import_chunk"); left != 0 {
			t.Errorf("%d parts are left", left)
		}
	}
}

// An import that is killed after any batch continues with the next batch. The counts, the records and the reported
// lines must match those of an uninterrupted import.
func TestImportsGoOnWhereTheyWere(t *testing.T) {
	const sameList = "00000000-0000-0000-0000-000000000001"
	rows := rowsOf(3000)
	for i := range 40 {
		r := imports.ImportRow{Email: rows[i*7].Email, Left: true, Line: 10_000 + i}
		r.Unsubscribed = i%2 == 0
		if r.Block = core.StatusBounced; r.Unsubscribed {
			r.Block = core.NotBlocked
		}
		rows = append(rows, r, rows[1000+i])
	}
	type result struct {
		core.ImportCounts
		reported []string
		consents int
		barred   int64
	}
	run := func(t *testing.T, kills int) result {
		n := storetest.SeedList(t, now0)
		// with the same list id, the order is the same as in the other run
		n.SQL("UPDATE list SET id = ?", sameList)
		n.ListID = sameList
		j := n.NewImportJob(n.ListID, "email\n")
		_, err := n.RunImport(
			t.Context(),
			j.ID,
			core.ImportInput{SubscriberStatus: "active", MaySuppress: true},
			"user:1",
			now0,
		)
		n.Must(err)
		for kill := 1; ; kill++ {
			j, err = n.NextImport(t.Context())
			n.Must(err)
			j, err = n.StartImport(t.Context(), j.ID, now0)
			n.Must(err)
			im, err := n.ImportOf(t.Context(), &j)
			n.Must(err)
			r := result{}
			im.OnContradicted = func(line, left int) error {
				r.reported = append(r.reported, fmt.Sprint(line, " ", left))
				return nil
			}
			im.Counts.Failed = 2 // number of lines read
			for _, row := range rows {
				n.Must(im.Put(row))
			}
			ctx, cut := context.WithCancel(t.Context())
			batches := 0
			err = im.Write(ctx, func() core.Instant {
				if batches++; kill <= kills && batches > kill%3+1 {
					cut()
				}
				return now0
			}, nil)
			im.Close()
			if kill <= kills && err != nil {
				continue
			}
			n.Must(err)
			n.Must(n.FinishImport(t.Context(), &j, im.Counts, "", now0))
			j, err = n.ImportJob(t.Context(), j.ID)
			n.Must(err)
			if j.Status != core.ImportCompleted || j.ImportCounts != im.Counts {
				t.Errorf("recorded: %+v, counted %+v", j, im.Counts)
			}
			r.ImportCounts, r.consents = im.Counts, n.Count("SELECT count(*) FROM consent WHERE what = 'imported'")
			r.SyncID, r.barred = "", j.Barred
			slices.Sort(r.reported)
			countsAreScanned(n, "the import")
			return r
		}
	}
	want := run(t, 0)
	if want.Added != 2960 || want.Unsubscribed != 20 || want.Bounced != 20 || want.barred != 20 ||
		want.Contradicted == 0 ||
		want.Unchanged == 0 ||
		want.Failed != 2 {
		t.Errorf("%+v", want.ImportCounts)
	}
	for _, kills := range []int{1, 2, 4} {
		if got := run(t, kills); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("after %d kills: %+v, without %+v", kills, got, want)
		}
	}
}

// Canceling an import ends it before its next operation. Its changes stay.
func TestACancelledImportEnds(t *testing.T) {
	n := storetest.SeedList(t, now0)
	j := n.NewImportJob(n.ListID, "email\n")
	_, err := n.RunImport(t.Context(), j.ID, core.ImportInput{SubscriberStatus: "active"}, "user:1", now0)
	n.Must(err)
	j, err = n.StartImport(t.Context(), j.ID, now0)
	n.Must(err)
	im, err := n.ImportOf(t.Context(), &j)
	n.Must(err)
	defer im.Close()
	for _, row := range rowsOf((imports.ImportSteps + 1) * imports.ImportBatch) {
		n.Must(im.Put(row))
	}
	err = im.Write(t.Context(), func() core.Instant { return now0 }, func(int64) {
		_, err := n.CancelImport(t.Context(), j.ID, "user:1", now0)
		n.Must(err)
	})
	if got := n.Count("SELECT count(*) FROM subscription"); !errors.Is(err, imports.ErrImportEnded) || got == 0 ||
		got%imports.ImportBatch != 0 || got > imports.ImportSteps*imports.ImportBatch {
		t.Errorf("%d records, %v", got, err)
	}
	if _, err := n.StartImport(t.Context(), j.ID, now0); !errors.Is(err, imports.ErrImportEnded) {
		t.Errorf("started again: %v", err)
	}
	if _, err := n.RunImport(t.Context(), j.ID, core.ImportInput{}, "user:1", now0); core.KindOf(err) != core.Conflict {
		t.Errorf("run again: %v", err)
	}
}

// Erasing a person removes the tenant's files that contain the address, and ends their imports. Other imports continue.
func TestErasingRemovesUploadedFiles(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.Active(n.ListID, "ann@example.org")
	holds, other := n.NewImportJob(n.ListID, "Name,email\nAnn,Ann@Example.ORG\n"),
		n.NewImportJob(n.ListID, "email\nbob@example.org\n")
	w, err := n.NewFaultWriter(t.Context(), other.ID)
	n.Must(err)
	_, err = n.ErasePerson(t.Context(), core.Person{Email: "ann@example.org", TenantID: n.TenantID}, "test", now0)
	n.Must(err)
	n.SweptImports()
	if left := n.Count("SELECT count(*) FROM import_chunk WHERE import_id = ?", holds.ID); left != 0 {
		t.Errorf("%d parts of the file are left", left)
	}
	j, err := n.ImportJob(t.Context(), holds.ID)
	if err != nil || j.Status != core.ImportCancelled || j.FailureReason != core.ImportErased {
		t.Errorf("%+v, %v", j, err)
	}
	if j, err = n.ImportJob(t.Context(), other.ID); err != nil || j.Status != core.ImportUploaded {
		t.Errorf("the other: %+v, %v", j, err)
	}
	_, err = w.Write([]byte("line,error,email\n7,no address,ann@example.org\n"))
	n.Must(err)
	n.Must(w.Flush())
	_, err = n.ErasePerson(t.Context(), core.Person{Email: "ann@example.org"}, "test", now0)
	n.Must(err)
	n.SweptImports()
	if left := n.Count("SELECT count(*) FROM import_chunk"); left != 0 {
		t.Errorf("%d parts are left", left)
	}
}

// Imports don't add addresses that have bounced at the tenant or are blocked.
func TestImportsLeaveOutWhoGetsNoMail(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.SQL("INSERT INTO suppression (tenant_id, email_key, kind, created_at) VALUES (?, 'bounced@example.org', "+
		"'bounced', 1), ('other', 'fine@example.org', 'complaint', 1)", n.TenantID)
	got := n.Import(n.ListID, "active", imports.ImportRow{Email: "bounced@example.org"},
		imports.ImportRow{Email: "fine@example.org"})
	if want := (core.ImportCounts{Added: 1, Kept: 1}); got != want {
		t.Errorf("%+v", got)
	}
}
