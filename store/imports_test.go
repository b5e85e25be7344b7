package store_test

import (
	"fmt"
	"slices"
	"testing"

	"newsletterd/core"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/storetest"
)

func TestPutAndWriteAreAdd(t *testing.T) {
	n := storetest.SeedList(t, now0)
	rows := append(rowsOf(1300), imports.ImportRow{Email: "R7@example.org", Preferences: `{"later":1}`})
	if got := n.Import(n.ListID, "active", rows...); got.Added != 1300 || got.Updated != 1 || got.SyncID == "" {
		t.Errorf("%+v", got)
	}
	if sub, err := n.Subscription(t.Context(), n.ListID,
		"r7@example.org"); err != nil || sub.Preferences != `{"later":1,"n":7}` {
		t.Errorf("the later of two lines does not count: %+v, %v", sub, err)
	}
}

func rowsOf(n int) []imports.ImportRow {
	rows := make([]imports.ImportRow, n)
	for i := range rows {
		rows[i] = imports.ImportRow{
			Email:       core.Email(fmt.Sprintf("r%d@example.org", i)),
			Preferences: core.Preferences(fmt.Sprintf(`{"n":%d}`, i)),
		}
	}
	return rows
}

func TestImportIsIdempotent(t *testing.T) {
	n := storetest.SeedList(t, now0)
	if got, want := n.Import(n.ListID, "active", rowsOf(700)...), (core.ImportCounts{Added: 700}); got != want {
		t.Errorf("first: %+v", got)
	}
	if got, want := n.Import(n.ListID, "active", rowsOf(700)...), (core.ImportCounts{Unchanged: 700}); got != want {
		t.Errorf("again: %+v", got)
	}
	if got := n.Count("SELECT count(*) FROM outbox"); got != 700 {
		t.Errorf("%d events, want 700", got)
	}
	if got := n.Count("SELECT count(*) FROM consent WHERE what = 'imported' AND means = 'import' AND source = " +
		"'file.csv'"); got != 700 {
		t.Errorf("%d consents, want 700", got)
	}
}

// The ledger keeps evidence of consent from another system. Repeating an import adds evidence where there is none yet.
func TestImportKeepsEvidenceOfConsents(t *testing.T) {
	n := storetest.SeedList(t, now0)
	const evidence = "confirmed 2019-05-01 10:00:00 from 203.0.113.7"
	reasons := func(email core.Email) (all []string) {
		sub, err := n.Subscription(t.Context(), n.ListID, email)
		n.Must(err)
		consents, err := n.Consents(t.Context(), n.ListID, sub.ID)
		n.Must(err)
		for _, c := range consents {
			if c.What != core.ConsentImported || c.At != now0 || c.Source != "file.csv" {
				t.Errorf("%+v", c)
			}
			all = append(all, c.Reason)
		}
		return all
	}
	rows := []imports.ImportRow{{Email: "ann@example.org", Evidence: evidence}, {Email: "bob@example.org"}}
	if got, want := n.Import(n.ListID, "active", rows...), (core.ImportCounts{Added: 2, Evidence: 1}); got != want {
		t.Errorf("first: %+v", got)
	}
	if got := reasons("ann@example.org"); len(got) != 1 || got[0] != evidence {
		t.Errorf("ann: %q", got)
	}
	if got := reasons("bob@example.org"); len(got) != 1 || got[0] != "" {
		t.Errorf("bob: %q", got)
	}
	rows[0].Evidence, rows[1].Evidence, rows[1].Preferences = "confirmed 2020-01-01", evidence, `{"n":1}`
	if got, want := n.Import(n.ListID, "active",
		rows...), (core.ImportCounts{Unchanged: 1, Updated: 1, Evidence: 1}); got != want {
		t.Errorf("again: %+v", got)
	}
	for _, email := range []core.Email{"ann@example.org", "bob@example.org"} {
		if got := reasons(email); len(got) != 1 || got[0] != evidence {
			t.Errorf("%s: %q", email, got)
		}
	}
}

// Evidence for a subscriber who must confirm is evidence of the signup. It enters the ledger with the request, when the
// subscriber has confirmed.
func TestImportKeepsEvidenceOfRequests(t *testing.T) {
	n := storetest.SeedList(t, now0)
	const evidence = "opted in 2019-05-01 09:58:00 from 203.0.113.9"
	row := imports.ImportRow{Email: "ann@example.org", Evidence: evidence}
	if got, want := n.Import(n.ListID, "pending", row), (core.ImportCounts{Added: 1, Evidence: 1}); got != want {
		t.Errorf("first: %+v", got)
	}
	if got, want := n.Import(n.ListID, "pending", row), (core.ImportCounts{Unchanged: 1}); got != want {
		t.Errorf("again: %+v", got)
	}
	if got := n.Count("SELECT count(*) FROM consent"); got != 0 {
		t.Errorf("%d consents before the confirmation", got)
	}
	var rows []string
	n.AllRows(&rows, "SELECT id FROM confirm_token")
	sub, err := n.Confirm(t.Context(), n.Token(rows[0], core.ProofMailed), core.Origin{}, now0+1)
	n.Must(err)
	consents, err := n.Consents(t.Context(), n.ListID, sub.ID)
	n.Must(err)
	if len(consents) != 2 || consents[0].What != core.ConsentRequested || consents[0].Source != "file.csv" ||
		consents[0].Reason != evidence ||
		consents[1].What != core.ConsentConfirmed || consents[1].Reason != "" {
		t.Errorf("%+v", consents)
	}
}

// Evidence is ignored if the subscriber has unsubscribed.
func TestImportKeepsNoEvidenceWithoutConsent(t *testing.T) {
	n := storetest.SeedList(t, now0)
	left := imports.ImportRow{Email: "bob@example.org", Evidence: "confirmed 2019-05-01", Left: true}
	if got, want := n.Import(n.ListID, "active", left), (core.ImportCounts{Pending: 1}); got != want {
		t.Errorf("left: %+v", got)
	}
	if got := n.Count("SELECT count(*) FROM consent"); got != 0 {
		t.Errorf("%d consents", got)
	}
}

// If any line of a file marks a person as unsubscribed, no other line adds the person.
func TestImportLeavesOutWhoHasLeftInAnyLine(t *testing.T) {
	n := storetest.SeedList(t, now0)
	im, err := n.NewImport(t.Context(), n.ListID, core.SubscriptionActive, "file.csv")
	n.Must(err)
	defer im.Close()
	for i, r := range []imports.ImportRow{
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
		n.Must(im.Put(r))
	}
	var contradicted [][2]int
	im.OnContradicted = func(line, left int) error {
		contradicted = append(contradicted, [2]int{line, left})
		return nil
	}
	written := int64(0)
	n.Must(im.Write(t.Context(), func() core.Instant { return now0 }, func(rows int64) { written = rows }))
	want := core.ImportCounts{Pending: 3, Contradicted: 3, Added: 1, Unchanged: 1}
	if im.Counts != want || written != 8 || im.Counts.Rows() != 8 {
		t.Errorf("%+v, want %+v; %d written", im.Counts, want, written)
	}
	slices.SortFunc(contradicted, func(a, b [2]int) int { return a[0] - b[0] })
	if want := [][2]int{{2, 4}, {6, 3}, {7, 3}}; !slices.Equal(contradicted, want) {
		t.Errorf("contradicted %v, want %v", contradicted, want)
	}
	if got := n.Count("SELECT count(*) FROM subscription WHERE email = " +
		"'c@example.org'"); got != 1 || n.Count("SELECT count(*) FROM subscription") != 1 {
		t.Errorf("%d subscriptions", n.Count("SELECT count(*) FROM subscription"))
	}
}

func TestImportBringsNobodyBack(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.Active(n.ListID, "left@example.org")
	n.Leave(n.ListID, "left@example.org")
	if _, err := n.Disable(t.Context(), members.DisableRequest{Email: "off@example.org"}, now0); err != nil {
		t.Fatal(err)
	}
	n.Request(n.ListID, "pending@example.org", "")
	n.Active(n.ListID, "active@example.org")
	n.Active(n.ListID, "again@example.org") // the person unsubscribed, then someone entered the address in a form
	n.Leave(n.ListID, "again@example.org")
	n.At(now0+1).Request(n.ListID, "again@example.org", "")
	got := n.Import(n.ListID, "active", imports.ImportRow{Email: "Left@example.org"},
		imports.ImportRow{Email: "OFF@example.org"},
		imports.ImportRow{Email: "pending@example.org"}, imports.ImportRow{
			Email:       "active@example.org",
			Preferences: `{"x":1}`,
		}, imports.ImportRow{Email: "again@example.org"})
	if want := (core.ImportCounts{Kept: 3, Updated: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for email, want := range map[core.Email]string{
		"left@example.org": "unsubscribed", "off@example.org": "absent",
		"pending@example.org": "active", "active@example.org": "active", "again@example.org": "pending",
	} {
		if got := n.MemberStatus(n.ListID, email); got != want {
			t.Errorf("%s is %s, want %s", email, got, want)
		}
	}
}

func TestPendingImportAsksForConfirmation(t *testing.T) {
	n := storetest.SeedList(t, now0)
	if got := n.Import(n.ListID, "pending", rowsOf(3)...); got.Added != 3 {
		t.Fatalf("%+v", got)
	}
	if n.Count("SELECT count(*) FROM mail WHERE state = 0 AND kind = 'confirm'") != 3 || len(n.Events()) != 0 {
		t.Error("no confirmation mails, or events of pending ones")
	}
	var rows []string
	n.AllRows(&rows, "SELECT token_id FROM mail WHERE email_key = 'r1@example.org'")
	if sub, err := n.Confirm(t.Context(), n.Token(rows[0], core.ProofMailed), core.Origin{},
		now0+1); err != nil || sub.Status != "active" {
		t.Errorf("%+v, %v", sub, err)
	}
}

func TestLargeImportAsksForOneSync(t *testing.T) {
	n := storetest.SeedList(t, now0)
	got := n.Import(n.ListID, "active", rowsOf(2600)...)
	if got.Added != 2600 || got.SyncID == "" {
		t.Fatalf("%+v", got)
	}
	if events := n.Count("SELECT count(*) FROM outbox"); events != imports.MaxSingle {
		t.Errorf("%d single events", events)
	}
	syncs, err := n.OpenSyncs(t.Context(), 10)
	if err != nil || len(syncs) != 1 || syncs[0].ID != got.SyncID || syncs[0].DueAt != now0 {
		t.Errorf("syncs %+v, %v", syncs, err)
	}
}

// An import commits all rows that are ready, up to a limit, as long as no other operation waits.
func TestAnImportTakesWhatIsReady(t *testing.T) {
	n := storetest.SeedList(t, now0)
	im, err := n.NewImport(t.Context(), n.ListID, "active", "test")
	n.Must(err)
	defer im.Close()
	steps := slices.Collect(slices.Chunk(rowsOf(2*imports.ImportSteps+1), 1))
	before := n.Stats().Batches
	n.Must(im.AddSteps(t.Context(), now0, steps...))
	if took := n.Stats().Batches - before; took != 3 || im.Counts.Added != int64(len(steps)) {
		t.Errorf("%d commits, %+v", took, im.Counts)
	}
}

func TestSyncHoldsEveryoneButThePending(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.Import(n.ListID, "active", rowsOf(1200)...)
	n.Request(n.ListID, "pending@example.org", "")
	n.Leave(n.ListID, "r7@example.org")
	y := n.At(now0 + 10).Plan(n.ListID)
	if y.BatchTotal != 3 {
		t.Fatalf("%d batches", y.BatchTotal)
	}
	n.At(now0+20).Active(n.ListID, "late@example.org") // this change has its own event
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
	var results []members.BatchResult
	for _, b := range batches {
		results = append(results, members.BatchResult{BatchNo: b.BatchNo, Done: true})
	}
	if err := n.FinishBatches(t.Context(), y.ID, results, 0, now0+30); err != nil {
		t.Fatal(err)
	}
	if done, err := n.FinishSync(t.Context(), y.ID, now0+30); err != nil || !done {
		t.Errorf("not finished: %v", err)
	}
	if open, err := n.OpenSyncs(t.Context(), 10); err != nil || len(open) != 0 {
		t.Errorf("open: %+v, %v", open, err)
	}
}

// A request that was in progress while a sync was planned, or that comes after the clock was set back, still gets a
// later time than the sync.
func TestChangesAfterASyncAreStampedLater(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.Active(n.ListID, "leaves@example.org")
	y := n.At(now0 + 1000).Plan(n.ListID)
	n.At(now0+5).Active(n.ListID, "comes@example.org")
	n.At(now0+5).Leave(n.ListID, "leaves@example.org")
	if got := n.Count("SELECT count(*) FROM outbox WHERE occurred_at > ?", int64(y.StartedAt)); got != 2 {
		t.Errorf("%d of 2 changes are later than the sync", got)
	}
}

func TestEmptyListSyncsOneEmptyBatch(t *testing.T) {
	n := storetest.SeedList(t, now0)
	y := n.Plan(n.ListID)
	b, err := n.OpenBatches(t.Context(), y.ID, 0, 10)
	if err != nil || len(b) != 1 {
		t.Fatal(b, err)
	}
	if subs, err := n.SyncSubscribers(t.Context(), &y, &b[0]); err != nil || len(subs) != 0 {
		t.Error(subs, err)
	}
}

func BenchmarkImport(b *testing.B) {
	n := storetest.SeedList(b, now0)
	b.ResetTimer()
	im, err := n.NewImport(b.Context(), n.ListID, core.SubscriptionActive, "bench")
	if err != nil {
		b.Fatal(err)
	}
	defer im.Close()
	for i := range b.N {
		if err := im.Put(imports.ImportRow{
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
