package worker_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/store/imports"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

// TestUploadedFilesAreImported checks that an uploaded file is tested in a dry run and then imported, by the same rules
// as with the command. Lines with errors are kept for a week; the file isn't.
func TestUploadedFilesAreImported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		h.Run(worker.Imports(h.Store, nil, h.Opts.Log))
		var file strings.Builder
		file.WriteString("E-Mail;First name;Status\n")
		for i := range 1200 {
			fmt.Fprintf(&file, "reader%d@example.org;Reader %d;active\n", i, i)
		}
		file.WriteString("no address;X;active\nleft@example.org;L;unsubscribed\nnew@example.org;N;pending\n" +
			"reader3@example.org;R;unsubscribed\n")
		j := h.NewImportJob(h.List.ID, file.String())
		run := func(dry bool) core.ImportJob {
			_, err := h.RunImport(t.Context(), j.ID, core.ImportInput{
				DryRun: dry, SubscriberStatus: core.SubscriptionActive, Source: "the old system",
				Mapping: core.ColumnMapping{"First name": "first_name"},
			}, "user:1", h.Time())
			h.Must(err)
			synctest.Wait()
			j, err := h.ImportJob(t.Context(), j.ID)
			h.Must(err)
			return j
		}
		want := core.ImportCounts{Added: 1199, Unsubscribed: 2, Contradicted: 1, Pending: 1, Failed: 1}
		if tried := run(true); tried.Status != core.ImportChecked || tried.ImportCounts != want || tried.Lines != 1204 {
			t.Errorf("tried: %+v", tried)
		}
		if c, err := h.CountedList(t.Context(), h.List.ID); err != nil || c.Counts != (core.ListCounts{}) {
			t.Errorf("a dry run changes: %+v, %v", c.Counts, err)
		}
		done := run(false)
		want.SyncID = done.SyncID
		if done.Status != core.ImportCompleted || done.ImportCounts != want || done.FinishedAt == 0 {
			t.Errorf("done: %+v", done)
		}
		if c, err := h.CountedList(t.Context(), h.List.ID); err != nil || c.Counts.Active != 1199 ||
			c.Counts.Unsubscribed != 2 {
			t.Errorf("%+v, %v", c.Counts, err)
		}
		sub, err := h.Subscription(t.Context(), h.List.ID, "reader7@example.org")
		if err != nil || sub.Preferences != `{"first_name":"Reader 7"}` {
			t.Errorf("%+v, %v", sub, err)
		}
		const faults = "line,error,E-Mail,First name,Status\n1202,\"\"\"no address\"\" is not a valid email address\",no address,X," +
			"active\n5,unsubscribed according to line 1205,,,\n"
		read := func(r io.Reader) string {
			b, err := io.ReadAll(r)
			h.Must(err)
			return string(b)
		}
		if got := read(h.ImportFaults(t.Context(), j.ID)); got != faults {
			t.Errorf("lines with errors: %q", got)
		}
		if left := read(h.ImportFile(t.Context(), j.ID)); left != "" {
			t.Errorf("%d bytes of the file are left", len(left))
		}
		time.Sleep(imports.FaultsKept + 2*time.Hour)
		synctest.Wait()
		if left := read(h.ImportFaults(t.Context(), j.ID)); left != "" {
			t.Errorf("after a week there is %q", left)
		}
	})
}

// TestImportKeepsFields checks that an import by a person who may not change subscribers adds new ones, and leaves
// existing ones unchanged.
func TestImportKeepsFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		h.Run(worker.Imports(h.Store, nil, h.Opts.Log))
		run := func(keep bool) core.ImportJob {
			j := h.NewImportJob(h.List.ID, "email,name\nann@example.org,New\nnew@example.org,N\n")
			_, err := h.RunImport(t.Context(), j.ID, core.ImportInput{
				SubscriberStatus: core.SubscriptionActive, KeepFields: keep,
			}, "user:1", h.Time())
			h.Must(err)
			synctest.Wait()
			j, err = h.ImportJob(t.Context(), j.ID)
			h.Must(err)
			return j
		}
		name := func() string {
			sub, err := h.Subscription(t.Context(), h.List.ID, "ann@example.org")
			h.Must(err)
			return string(sub.Preferences)
		}
		ann := h.Active(h.List.ID, "ann@example.org")
		h.Must(h.SetPreferences(t.Context(), h.List.ID, ann.Email, `{"name":"Ann"}`, h.Time()))
		if j := run(true); !j.KeepFields || j.Added != 1 || j.Unchanged != 1 || name() != `{"name":"Ann"}` {
			t.Errorf("%+v: %s", j, name())
		}
		if j := run(false); j.KeepFields || j.Updated != 1 || name() != `{"name":"New"}` {
			t.Errorf("%+v: %s", j, name())
		}
	})
}

// TestImportsThatFail checks that a file that can't be imported fails with a reason that the uploader understands.
func TestImportsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		h.Run(worker.Imports(h.Store, nil, h.Opts.Log))
		for file, reason := range map[string]string{
			"name\nAnn\n":         "no column is named email; the file has name",
			"email\nno address\n": core.ImportNobody,
			"email\n\"ann@example.org\nbob@example.org\n": `line 2: a quote (") is never closed`,
		} {
			j := h.NewImportJob(h.List.ID, file)
			_, err := h.RunImport(t.Context(), j.ID, core.ImportInput{SubscriberStatus: "active"}, "user:1", h.Time())
			h.Must(err)
			synctest.Wait()
			j, err = h.ImportJob(t.Context(), j.ID)
			if err != nil || j.Status != core.ImportFailed || j.FailureReason != reason {
				t.Errorf("%q: %+v, %v", file, j, err)
			}
		}
		j := h.NewImportJob(h.List.ID, "email\nann@example.org\n")
		h.Must(h.DeleteList(t.Context(), h.List.ID, "user:1", h.Time()))
		_, err := h.RunImport(t.Context(), j.ID, core.ImportInput{SubscriberStatus: "active"}, "user:1", h.Time())
		h.Must(err)
		synctest.Wait()
		j, err = h.ImportJob(t.Context(), j.ID)
		if err != nil || j.Status != core.ImportFailed || j.FailureReason != core.ErrListNotFound.Message {
			t.Errorf("into a list that is deleted: %+v, %v", j, err)
		}
	})
}

// TestADryRunThatFailsCanBeRepeated checks that, after a failed dry run, the columns can be mapped again and the file
// imported.
func TestADryRunThatFailsCanBeRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		h.Run(worker.Imports(h.Store, nil, h.Opts.Log))
		j := h.NewImportJob(h.List.ID, "name\nann@example.org\n")
		run := func(in core.ImportInput) core.ImportJob {
			in.SubscriberStatus = core.SubscriptionActive
			_, err := h.RunImport(t.Context(), j.ID, in, "user:1", h.Time())
			h.Must(err)
			synctest.Wait()
			j, err := h.ImportJob(t.Context(), j.ID)
			h.Must(err)
			return j
		}
		tried := run(core.ImportInput{DryRun: true})
		if tried.Status != core.ImportChecked || tried.FailureReason != "no column is named email; the file has name" {
			t.Errorf("tried: %+v", tried)
		}
		done := run(core.ImportInput{Mapping: core.ColumnMapping{"name": "email"}})
		if done.Status != core.ImportCompleted || done.Added != 1 || done.FailureReason != "" {
			t.Errorf("done: %+v", done)
		}
	})
}

// TestLongDryRun checks that a long dry run records its progress and counts every line.
func TestLongDryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		h.Run(worker.Imports(h.Store, nil, h.Opts.Log))
		var file strings.Builder
		file.WriteString("email\n")
		for i := range 10_500 {
			fmt.Fprintf(&file, "reader%d@example.org\n", i)
		}
		j := h.NewImportJob(h.List.ID, file.String())
		_, err := h.RunImport(t.Context(), j.ID, core.ImportInput{DryRun: true, SubscriberStatus: "active"},
			"user:1", h.Time())
		h.Must(err)
		synctest.Wait()
		j, err = h.ImportJob(t.Context(), j.ID)
		if err != nil || j.Status != core.ImportChecked || j.Added != 10_500 || j.Lines != 10_500 {
			t.Errorf("%+v, %v", j, err)
		}
	})
}
