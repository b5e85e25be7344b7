package store

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"newsletterd/core"
)

func (n newsletter) importRows(status string, rows ...ImportRow) ImportCounts {
	n.Helper()
	im, err := n.NewImport(n.Context(), n.list, status, "file.csv")
	if err != nil {
		n.Fatal(err)
	}
	for len(rows) > 0 {
		part := rows[:min(importBatch, len(rows))]
		if err := im.Add(n.Context(), part, now0); err != nil {
			n.Fatal(err)
		}
		rows = rows[len(part):]
	}
	if err := im.End(n.Context(), now0); err != nil {
		n.Fatal(err)
	}
	return im.Counts
}

func (n newsletter) importFile(status string, rows ...ImportRow) ImportCounts {
	n.Helper()
	im, err := n.NewImport(n.Context(), n.list, status, "file.csv")
	must(n.T, err)
	defer im.Close()
	for _, r := range rows {
		must(n.T, im.Put(r))
	}
	must(n.T, im.Write(n.Context(), func() core.Instant { return now0 }, nil))
	return im.Counts
}

func TestPutAndWriteAreAdd(t *testing.T) {
	n := testNewsletter(t)
	rows := append(rowsOf(1300), ImportRow{Email: "R7@example.org", Preferences: `{"later":1}`})
	if got := n.importFile("active", rows...); got.Added != 1300 || got.Updated != 1 || got.SyncID == "" {
		t.Errorf("%+v", got)
	}
	if sub, err := n.Subscription(t.Context(), n.list,
		"r7@example.org"); err != nil || sub.Preferences != `{"later":1}` {
		t.Errorf("the later of two lines does not count: %+v, %v", sub, err)
	}
}

func rowsOf(n int) []ImportRow {
	rows := make([]ImportRow, n)
	for i := range rows {
		rows[i] = ImportRow{
			Email:       core.Email(fmt.Sprintf("r%d@example.org", i)),
			Preferences: core.Preferences(fmt.Sprintf(`{"n":%d}`, i)),
		}
	}
	return rows
}

func TestImportIsIdempotent(t *testing.T) {
	n := testNewsletter(t)
	if got, want := n.importRows("active", rowsOf(700)...), (ImportCounts{Added: 700}); got != want {
		t.Errorf("first: %+v", got)
	}
	if got, want := n.importRows("active", rowsOf(700)...), (ImportCounts{Unchanged: 700}); got != want {
		t.Errorf("again: %+v", got)
	}
	if got := n.count("SELECT count(*) FROM outbox"); got != 700 {
		t.Errorf("%d events, want 700", got)
	}
	if got := n.count("SELECT count(*) FROM consent WHERE what = 'imported' AND means = 'import' AND source = " +
		"'file.csv'"); got != 700 {
		t.Errorf("%d consents, want 700", got)
	}
}

// The ledger keeps what another system knows of a consent; an import that is run again adds it where none is kept yet.
func TestImportKeepsEvidenceOfConsents(t *testing.T) {
	n := testNewsletter(t)
	const evidence = "confirmed 2019-05-01 10:00:00 from 203.0.113.7"
	reasons := func(email core.Email) (all []string) {
		sub, err := n.Subscription(t.Context(), n.list, email)
		must(t, err)
		consents, err := n.Consents(t.Context(), n.list, sub.ID)
		must(t, err)
		for _, c := range consents {
			if c.What != core.ConsentImported || c.At != now0 || c.Source != "file.csv" {
				t.Errorf("%+v", c)
			}
			all = append(all, c.Reason)
		}
		return all
	}
	rows := []ImportRow{{Email: "ann@example.org", Evidence: evidence}, {Email: "bob@example.org"}}
	if got, want := n.importFile("active", rows...), (ImportCounts{Added: 2, Evidence: 1}); got != want {
		t.Errorf("first: %+v", got)
	}
	if got := reasons("ann@example.org"); len(got) != 1 || got[0] != evidence {
		t.Errorf("ann: %q", got)
	}
	if got := reasons("bob@example.org"); len(got) != 1 || got[0] != "" {
		t.Errorf("bob: %q", got)
	}
	rows[0].Evidence, rows[1].Evidence, rows[1].Preferences = "confirmed 2020-01-01", evidence, `{"n":1}`
	if got, want := n.importFile("active",
		rows...), (ImportCounts{Unchanged: 1, Updated: 1, Evidence: 1}); got != want {
		t.Errorf("again: %+v", got)
	}
	for _, email := range []core.Email{"ann@example.org", "bob@example.org"} {
		if got := reasons(email); len(got) != 1 || got[0] != evidence {
			t.Errorf("%s: %q", email, got)
		}
	}
}

// Evidence of a subscriber who is asked to confirm is evidence of the sign-up: it enters the ledger with the request,
// once that is confirmed.
func TestImportKeepsEvidenceOfRequests(t *testing.T) {
	n := testNewsletter(t)
	const evidence = "opted in 2019-05-01 09:58:00 from 203.0.113.9"
	row := ImportRow{Email: "ann@example.org", Evidence: evidence}
	if got, want := n.importFile("pending", row), (ImportCounts{Added: 1, Evidence: 1}); got != want {
		t.Errorf("first: %+v", got)
	}
	if got, want := n.importFile("pending", row), (ImportCounts{Unchanged: 1}); got != want {
		t.Errorf("again: %+v", got)
	}
	if got := n.count("SELECT count(*) FROM consent"); got != 0 {
		t.Errorf("%d consents before the confirmation", got)
	}
	var token string
	must(t, n.get(t.Context(), &token, "SELECT id FROM confirm_token"))
	sub, err := n.Confirm(t.Context(), n.token(token, core.ProofMailed), core.Origin{}, now0+1)
	must(t, err)
	consents, err := n.Consents(t.Context(), n.list, sub.ID)
	must(t, err)
	if len(consents) != 2 || consents[0].What != core.ConsentRequested || consents[0].Source != "file.csv" ||
		consents[0].Reason != evidence ||
		consents[1].What != core.ConsentConfirmed || consents[1].Reason != "" {
		t.Errorf("%+v", consents)
	}
}

// Evidence counts for nothing where the subscriber has left.
func TestImportKeepsNoEvidenceWithoutConsent(t *testing.T) {
	n := testNewsletter(t)
	left := ImportRow{Email: "bob@example.org", Evidence: "confirmed 2019-05-01", Left: true}
	if got, want := n.importFile("active", left), (ImportCounts{Kept: 1}); got != want {
		t.Errorf("left: %+v", got)
	}
	if got := n.count("SELECT count(*) FROM consent"); got != 0 {
		t.Errorf("%d consents", got)
	}
}

// Anyone who has left in one line of a file is not brought in by another one, before it or after.
func TestImportLeavesOutWhoHasLeftInAnyLine(t *testing.T) {
	n := testNewsletter(t)
	im, err := n.NewImport(t.Context(), n.list, core.SubscriptionActive, "file.csv")
	must(t, err)
	defer im.Close()
	for i, r := range []ImportRow{
		{Email: "a@example.org"},
		{Email: "b@example.org", Left: true},
		{Email: "A@example.org", Left: true},
		{Email: "c@example.org"},
		{Email: "b@example.org"},
		{Email: "b@example.org"},
		{Email: "d@example.org", Left: true},
		{Email: "c@example.org"},
	} {
		r.Line = i + 2
		must(t, im.Put(r))
	}
	var contradicted [][2]int
	im.OnContradicted = func(line, left int) error {
		contradicted = append(contradicted, [2]int{line, left})
		return nil
	}
	written := int64(0)
	must(t, im.Write(t.Context(), func() core.Instant { return now0 }, func(rows int64) { written = rows }))
	want := ImportCounts{Kept: 3, Contradicted: 3, Added: 1, Unchanged: 1}
	if im.Counts != want || written != 8 || im.Counts.Rows() != 8 {
		t.Errorf("%+v, want %+v; %d written", im.Counts, want, written)
	}
	slices.SortFunc(contradicted, func(a, b [2]int) int { return a[0] - b[0] })
	if want := [][2]int{{2, 4}, {6, 3}, {7, 3}}; !slices.Equal(contradicted, want) {
		t.Errorf("contradicted %v, want %v", contradicted, want)
	}
	if got := n.count("SELECT count(*) FROM subscription WHERE email = " +
		"'c@example.org'"); got != 1 || n.count("SELECT count(*) FROM subscription") != 1 {
		t.Errorf("%d subscriptions", n.count("SELECT count(*) FROM subscription"))
	}
}

func TestImportBringsNobodyBack(t *testing.T) {
	n := testNewsletter(t)
	n.activate("left@example.org", now0)
	if _, err := n.leave("left@example.org", now0); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Disable(t.Context(), DisableRequest{Email: "off@example.org"}, now0); err != nil {
		t.Fatal(err)
	}
	n.subscribe("pending@example.org", "", now0)
	n.activate("active@example.org", now0)
	n.activate("again@example.org", now0) // has left, and then a person typed the address into a form
	if _, err := n.leave("again@example.org", now0); err != nil {
		t.Fatal(err)
	}
	n.subscribe("again@example.org", "", now0+1)
	got := n.importRows("active", ImportRow{Email: "Left@example.org"}, ImportRow{Email: "OFF@example.org"},
		ImportRow{Email: "pending@example.org"}, ImportRow{
			Email:       "active@example.org",
			Preferences: `{"x":1}`,
		}, ImportRow{Email: "again@example.org"})
	if want := (ImportCounts{Kept: 3, Updated: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for email, want := range map[core.Email]string{
		"left@example.org": "unsubscribed", "off@example.org": core.ErrSubscriptionNotFound.Error(),
		"pending@example.org": "active", "active@example.org": "active", "again@example.org": "pending",
	} {
		if got := n.status(email); got != want {
			t.Errorf("%s is %s, want %s", email, got, want)
		}
	}
}

func TestPendingImportAsksForConfirmation(t *testing.T) {
	n := testNewsletter(t)
	if got := n.importRows("pending", rowsOf(3)...); got.Added != 3 {
		t.Fatalf("%+v", got)
	}
	if n.count("SELECT count(*) FROM mail WHERE state = 0 AND kind = 'confirm'") != 3 || len(n.events()) != 0 {
		t.Error("no confirmation mails, or events of pending ones")
	}
	var rowID string
	if err := n.get(t.Context(), &rowID, "SELECT token_id FROM mail WHERE email_key = 'r1@example.org'"); err != nil {
		t.Fatal(err)
	}
	if sub, err := n.Confirm(t.Context(), n.token(rowID, core.ProofMailed), core.Origin{},
		now0+1); err != nil || sub.Status != "active" {
		t.Errorf("%+v, %v", sub, err)
	}
}

func TestLargeImportAsksForOneSync(t *testing.T) {
	n := testNewsletter(t)
	got := n.importRows("active", rowsOf(2600)...)
	if got.Added != 2600 || got.SyncID == "" {
		t.Fatalf("%+v", got)
	}
	if events := n.count("SELECT count(*) FROM outbox"); events != maxSingle {
		t.Errorf("%d single events", events)
	}
	syncs, err := n.OpenSyncs(t.Context(), 10)
	if err != nil || len(syncs) != 1 || syncs[0].ID != got.SyncID || syncs[0].DueAt != now0 {
		t.Errorf("syncs %+v, %v", syncs, err)
	}
}

func TestSyncHoldsEveryoneButThePending(t *testing.T) {
	n := testNewsletter(t)
	n.importRows("active", rowsOf(1200)...)
	n.subscribe("pending@example.org", "", now0)
	if _, err := n.leave("r7@example.org", now0); err != nil {
		t.Fatal(err)
	}
	y := n.plannedSync(now0 + 10)
	if y.BatchTotal != 3 {
		t.Fatalf("%d batches", y.BatchTotal)
	}
	n.activate("late@example.org", now0+20) // has an event of its own
	seen := map[core.Email]string{}
	batches, err := n.OpenBatches(t.Context(), y.ID, 0, 10)
	if err != nil || len(batches) != 3 {
		t.Fatal(len(batches), err)
	}
	for i, b := range batches {
		subs, err := n.SyncSubscribers(t.Context(), &y, &b)
		if err != nil || len(subs) > core.SyncBatchSize || b.BatchNo != i+1 {
			t.Fatal(len(subs), b, err)
		}
		for _, s := range subs {
			seen[s.Email] = s.Status
		}
	}
	if len(seen) != 1200 || seen["r7@example.org"] != "unsubscribed" || seen["r8@example.org"] != "active" {
		t.Errorf("%d in the batches", len(seen))
	}
	if done, err := n.FinishSync(t.Context(), y.ID, now0+30); err != nil || done {
		t.Errorf("finished with open batches: %v", err)
	}
	var results []BatchResult
	for _, b := range batches {
		results = append(results, BatchResult{SyncID: y.ID, BatchNo: b.BatchNo, Done: true})
	}
	if err := n.FinishBatches(t.Context(), results, now0+30); err != nil {
		t.Fatal(err)
	}
	if done, err := n.FinishSync(t.Context(), y.ID, now0+30); err != nil || !done {
		t.Errorf("not finished: %v", err)
	}
	if open, err := n.OpenSyncs(t.Context(), 10); err != nil || len(open) != 0 {
		t.Errorf("open: %+v, %v", open, err)
	}
}

func (n newsletter) plannedSync(at core.Instant) core.Sync {
	n.Helper()
	id, err := n.RequestSync(n.Context(), n.list, at)
	if err != nil {
		n.Fatal(err)
	}
	y, err := n.Sync(n.Context(), id)
	if err != nil {
		n.Fatal(err)
	}
	if err := n.PlanSync(n.Context(), &y, at); err != nil {
		n.Fatal(err)
	}
	return y
}

// A request that was on its way while a sync was planned, or that comes after the clock was set back, is later than
// the sync all the same.
func TestChangesAfterASyncAreStampedLater(t *testing.T) {
	n := testNewsletter(t)
	n.activate("leaves@example.org", now0)
	y := n.plannedSync(now0 + 1000)
	n.activate("comes@example.org", now0+5)
	if _, err := n.leave("leaves@example.org", now0+5); err != nil {
		t.Fatal(err)
	}
	if got := n.count("SELECT count(*) FROM outbox WHERE occurred_at > ?", int64(y.StartedAt)); got != 2 {
		t.Errorf("%d of 2 changes are later than the sync", got)
	}
}

func TestEmptyListSyncsOneEmptyBatch(t *testing.T) {
	n := testNewsletter(t)
	y := n.plannedSync(now0)
	b, err := n.OpenBatches(t.Context(), y.ID, 0, 10)
	if err != nil || len(b) != 1 {
		t.Fatal(b, err)
	}
	if subs, err := n.SyncSubscribers(t.Context(), &y, &b[0]); err != nil || len(subs) != 0 {
		t.Error(subs, err)
	}
}

func BenchmarkImport(b *testing.B) {
	n := newsletter{
		Store: testOpen(b, filepath.Join(b.TempDir(), "n.db"), Daemon), tenant: core.NewID(),
		list: core.NewID(),
	}
	err := n.update(b.Context(), func(tx *Tx) error {
		if _, err := tx.exec("INSERT INTO tenant (id, name, created_at, updated_at) VALUES (?, 'T', 1, 1)",
			n.tenant); err != nil {
			return err
		}
		_, err := tx.exec("INSERT INTO list (id, tenant_id, name, created_at, updated_at) VALUES (?, ?, 'L', 1, 1)",
			n.list, n.tenant)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	im, err := n.NewImport(b.Context(), n.list, core.SubscriptionActive, "bench")
	if err != nil {
		b.Fatal(err)
	}
	defer im.Close()
	for i := range b.N {
		if err := im.Put(ImportRow{
			Email:       core.Email(fmt.Sprintf("r%d@example.org", i)),
			Preferences: `{"first_name":"Ann"}`,
		}); err != nil {
			b.Fatal(err)
		}
	}
	err = im.Write(b.Context(), func() core.Instant { return now0 }, nil)
	if err != nil || im.Counts.Added != int64(b.N) {
		b.Fatal(im.Counts, err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// Rows come back in the order of ids, equal ones in the order of the file after those who have left, whether they were
// spilled or not.
func TestSpoolSorts(t *testing.T) {
	for _, rows := range []int{0, 1, 3000, 120_000} {
		p := spool{dir: t.TempDir()}
		for i := range rows {
			id := fmt.Sprintf("%036d", i*7919%(rows/2+1))
			r := newImportRow(id, fmt.Sprintf("r%d@example.org", i), `{"n":1}`, i%3 == 0)
			if i%2 == 0 {
				r.Evidence = "confirmed " + id
			}
			r.Line = i
			must(t, p.add(r))
		}
		if spilled := len(p.runs) > 0; spilled != (rows > 100_000) {
			t.Errorf("%d rows: spilled %v", rows, spilled)
		}
		n, last := 0, ImportRow{}
		must(t, p.each(func(r ImportRow) error {
			if r.id < last.id || r.id == last.id && (r.Left && !last.Left || r.Left == last.Left && place(t,
				r) < place(t, last)) {
				t.Fatalf("%v came after %v", r, last)
			}
			if r.Preferences != `{"n":1}` || r.key != string(r.Email) || r.Left != (place(t, r)%3 == 0) ||
				r.Line != place(t, r) {
				t.Fatalf("%+v", r)
			}
			if (place(t, r)%2 == 0) != (r.Evidence == "confirmed "+r.id) {
				t.Fatalf("evidence of another row: %+v", r)
			}
			n, last = n+1, r
			return nil
		}))
		if n != rows {
			t.Errorf("%d of %d rows came back", n, rows)
		}
		p.close()
		if left, err := filepath.Glob(p.dir + "/.import-*"); err != nil || len(left) > 0 {
			t.Errorf("files left: %v %v", left, err)
		}
	}
}

func place(t *testing.T, r ImportRow) (i int) {
	_, err := fmt.Sscanf(string(r.Email), "r%d@", &i)
	must(t, err)
	return i
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
