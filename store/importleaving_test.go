package store_test

import (
	"slices"
	"testing"

	"newsletterd/core"
	"newsletterd/store/imports"
	"newsletterd/store/storetest"
)

// imported imports rows as an uploaded file of a user with all rights.
func imported(n *storetest.Seeder, now core.Instant, rows ...imports.ImportRow) core.ImportJob {
	n.Helper()
	return importedBy(n, core.ImportInput{MayEnd: true, MaySuppress: true}, now, rows...)
}

func importedBy(n *storetest.Seeder, in core.ImportInput, now core.Instant, rows ...imports.ImportRow) core.ImportJob {
	n.Helper()
	ctx := n.Context()
	in.SubscriberStatus = core.SubscriptionActive
	j := n.NewImportJob(n.ListID, "email\n")
	_, err := n.RunImport(ctx, j.ID, in, "user:1", now)
	n.Must(err)
	j, err = n.StartImport(ctx, j.ID, now)
	n.Must(err)
	im, err := n.ImportOf(ctx, &j)
	n.Must(err)
	defer im.Close()
	for _, r := range rows {
		n.Must(im.Put(r))
	}
	n.Must(im.Write(ctx, func() core.Instant { return now }, nil))
	n.Must(n.FinishImport(ctx, &j, im.Counts, "", now))
	j, err = n.ImportJob(ctx, j.ID)
	n.Must(err)
	return j
}

// undone undoes an import in steps, as a worker does.
func undone(n *storetest.Seeder, id string, now core.Instant) core.ImportJob {
	n.Helper()
	ctx := n.Context()
	_, err := n.UndoImport(ctx, id, "user:1", now)
	n.Must(err)
	for more := true; more; {
		more, err = n.UndoImportStep(ctx, id, now)
		n.Must(err)
	}
	j, err := n.ImportJob(ctx, id)
	n.Must(err)
	return j
}

func joins(email core.Email) imports.ImportRow { return imports.ImportRow{Email: email} }

func leaves(email core.Email, at core.Instant) imports.ImportRow {
	return imports.ImportRow{Email: email, Left: true, Departure: imports.Departure{Unsubscribed: true, LeftAt: at}}
}

func blocks(email core.Email, kind core.Status) imports.ImportRow {
	return imports.ImportRow{Email: email, Left: true, Departure: imports.Departure{Block: kind}}
}

// statusOf returns the status of an address on the list of n, or an empty string if it is not on the list.
func statusOf(n *storetest.Seeder, email core.Email) string {
	n.Helper()
	sub, err := n.Subscription(n.Context(), n.ListID, email)
	if core.KindOf(err) == core.NotFound {
		return ""
	}
	n.Must(err)
	return sub.Status
}

func blockOf(n *storetest.Seeder, email core.Email) (kind string) {
	n.Helper()
	rows, err := n.Suppressions(n.Context(), email, n.TenantID)
	n.Must(err)
	for _, r := range rows {
		kind = r.Kind
	}
	return kind
}

// TestImportedLeaversStay checks that people marked as unsubscribed, bounced or complained in a file get that status
// without an event, and that a second file without a status doesn't make them subscribers.
func TestImportedLeaversStay(t *testing.T) {
	n := storetest.SeedList(t, now0)
	j := imported(
		n,
		now0,
		joins("ann@example.org"),
		leaves("bob@example.org", 1_600_000_000_000),
		blocks(
			"cid@example.org",
			core.StatusBounced,
		),
		blocks("dan@example.org", core.StatusComplaint),
		blocks("eve@example.org", core.StatusSuppressed),
		imports.ImportRow{Email: "fay@example.org", Left: true},
	)
	want := core.ImportCounts{Added: 1, Unsubscribed: 1, Bounced: 1, Complained: 1, Suppressed: 1, Pending: 1}
	if j.ImportCounts != want || j.Rows() != 6 || j.Brought != 2 || j.Barred != 3 {
		t.Errorf("%+v", j)
	}
	if got := n.Count("SELECT count(*) FROM outbox"); got != 1 {
		t.Errorf("%d events, want the one of the active subscriber", got)
	}
	if got := n.Count("SELECT count(*) FROM disabled"); got != 0 {
		t.Errorf("%d addresses are disabled", got)
	}
	if got := n.Count("SELECT count(*) FROM consent WHERE what = 'imported_unsubscribed' AND reason = " +
		"'unsubscribed 2020-09-13T12:26:40Z'"); got != 1 {
		t.Errorf("%d entries in the ledger", got)
	}
	j = imported(n, now0, joins("bob@example.org"), joins("cid@example.org"), joins("dan@example.org"),
		joins("eve@example.org"))
	if want := (core.ImportCounts{Kept: 4}); j.ImportCounts != want {
		t.Errorf("again without a status: %+v", j.ImportCounts)
	}
	j = imported(n, now0, leaves("bob@example.org", 0), blocks("cid@example.org", core.StatusBounced))
	if want := (core.ImportCounts{Kept: 2}); j.ImportCounts != want || j.UndoUntil == 0 || j.Said != 2 {
		t.Errorf("again: %+v", j)
	}
	if got := []string{
		statusOf(n, "bob@example.org"), statusOf(n, "cid@example.org"), blockOf(n, "cid@example.org"),
		blockOf(n, "dan@example.org"), blockOf(n, "eve@example.org"),
	}; got[0] != "unsubscribed" || got[1] != "" || got[2] != "bounced" || got[3] != "complaint" || got[4] != "suppressed" {
		t.Errorf("%q", got)
	}
	consistent(n)
}

// TestImportedLeaverComesBackByThemselves tries all orders of a file that marks a person as unsubscribed, a file
// without a status, their own confirmation, and undoing the first file. Only their confirmation makes them active, and
// they then stay active.
func TestImportedLeaverComesBackByThemselves(t *testing.T) {
	const bob = core.Email("bob@example.org")
	type state struct {
		n     *storetest.Seeder
		now   core.Instant
		first string // id of the import that marks the person as unsubscribed
		token string
	}
	steps := map[byte]func(*state){
		'L': func(s *state) { s.first = imported(s.n, s.now, leaves(bob, 0)).ID },
		'F': func(s *state) { imported(s.n, s.now, joins(bob)) },
		'S': func(s *state) { s.token = s.n.At(s.now).Pending(s.n.ListID, bob) },
		'C': func(s *state) {
			_, err := s.n.Confirm(s.n.Context(), s.token, core.Origin{}, s.now)
			s.n.Must(err)
		},
		'U': func(s *state) {
			if j, err := s.n.ImportJob(s.n.Context(), s.first); err == nil && j.UndoUntil > 0 {
				undone(s.n, s.first, s.now)
			}
		},
	}
	for order, want := range map[string]string{
		"L": "unsubscribed", "LF": "unsubscribed", "LFS": "pending", "LSF": "pending", "SLF": "pending",
		"LSFC": "active", "SLFC": "active", "SLC": "active", "SCL": "active", "SCLF": "active", "LSCF": "active",
		"LU": "", "LUF": "active", "LSU": "pending", "LSUF": "pending", "LSUC": "active", "SLU": "pending",
		"SLUC": "active", "LSCU": "active", "LSCUF": "active", "FL": "unsubscribed", "FLF": "unsubscribed",
		"FLU": "active", "FLSC": "active", "FLSCU": "active", "FLSCL": "active", "LFU": "", "LFUF": "active",
	} {
		s := &state{n: storetest.SeedList(t, now0), now: now0}
		for i := range len(order) {
			s.now += 1000
			steps[order[i]](s)
		}
		if got := statusOf(s.n, bob); got != want {
			t.Errorf("%s: %q, want %q", order, got, want)
		}
		consistent(s.n)
	}
}

func consistent(n *storetest.Seeder) {
	n.Helper()
	if found, err := n.Check(n.Context()); err != nil || len(found) > 0 {
		n.Errorf("%q %v", found, err)
	}
}

// TestWhoMayImportLeavers checks that a file of a user without further rights adds only unsubscribed people who are
// new, and that the result contains the number of skipped rows.
func TestWhoMayImportLeavers(t *testing.T) {
	n := storetest.SeedList(t, now0)
	imported(n, now0, joins("ann@example.org"))
	n.Pending(n.ListID, "pia@example.org")
	rows := []imports.ImportRow{
		leaves("ann@example.org", 0), leaves("bob@example.org", 0), leaves("pia@example.org", 0),
		blocks("cid@example.org", core.StatusBounced), blocks("dan@example.org", core.StatusComplaint),
	}
	j := importedBy(n, core.ImportInput{}, now0+1000, rows...)
	if want := (core.ImportCounts{Unsubscribed: 2, NotPermitted: 3}); j.ImportCounts != want {
		t.Errorf("%+v", j.ImportCounts)
	}
	if a, b := statusOf(n, "ann@example.org"), blockOf(n, "cid@example.org"); a != "active" || b != "" {
		t.Errorf("%q %q", a, b)
	}
	j = importedBy(n, core.ImportInput{MayEnd: true}, now0+2000, rows...)
	if want := (core.ImportCounts{Unsubscribed: 1, Kept: 2, NotPermitted: 2}); j.ImportCounts != want {
		t.Errorf("%+v", j.ImportCounts)
	}
	n.Leave(n.ListID, "ann@example.org")
	consistent(n)
}

// TestImportedLeavingEndsWhoJoinedBefore checks that a file unsubscribes a person imported by an earlier file, unless
// the earlier file gave a later time. A person who subscribed here is unsubscribed only if the file gives a later time.
func TestImportedLeavingEndsWhoJoinedBefore(t *testing.T) {
	const day = 24 * 3600 * 1000
	for _, c := range []struct {
		name     string
		own      bool
		evidence string
		leftAt   core.Instant
		want     string
	}{
		{"a file, no time", false, "", 0, "unsubscribed"},
		{"a file, a time", false, "", now0 - 9*day, "unsubscribed"},
		{
			"a file that gives an earlier time", false, "confirmed 2019-05-01 10:00:00 from 203.0.113.7", 1_600_000_000_000,
			"unsubscribed",
		},
		{
			"a file that gives a later time", false, "opted in 2019-05-01; confirmed 2020-12-01T10:00:00Z from 2001:db8::1",
			1_600_000_000_000, "active",
		},
		{"themselves, no time", true, "", 0, "active"},
		{"themselves, an earlier time", true, "", now0 - day, "active"},
		{"themselves, a later time", true, "", now0 + day, "unsubscribed"},
	} {
		n := storetest.SeedList(t, now0)
		if c.own {
			n.Active(n.ListID, "ann@example.org")
		} else {
			imported(n, now0, imports.ImportRow{Email: "ann@example.org", Evidence: c.evidence})
		}
		n.Deliver()
		j := imported(n, now0+2*day, leaves("ann@example.org", c.leftAt))
		if got := statusOf(n, "ann@example.org"); got != c.want || (j.Unsubscribed == 1) != (c.want == "unsubscribed") {
			t.Errorf("%s: %q, %+v", c.name, got, j.ImportCounts)
		}
		if c.want != "unsubscribed" {
			continue
		}
		if got := n.Events(); !slices.Equal(got, []string{core.EventUnsubscribed}) {
			t.Errorf("%s: %q", c.name, got)
		}
		n.At(now0 + 2*day).Deliver()
		if got := n.Status(n.ListID, "ann@example.org"); got != core.StatusUnsubscribed {
			t.Errorf("%s: the send side says %q", c.name, got)
		}
		j = undone(n, j.ID, now0+3*day)
		n.At(now0 + 3*day).Deliver()
		if got := n.Status(n.ListID, "ann@example.org"); got != core.StatusActive || j.UndoResumed != 1 ||
			statusOf(n, "ann@example.org") != "active" {
			t.Errorf("%s, undone: %q, %+v", c.name, got, j.ImportUndo)
		}
		if left := n.Count("SELECT count(*) FROM consent WHERE what = 'unsubscribed'"); left != 0 {
			t.Errorf("%s: the ledger keeps what was undone", c.name)
		}
		consistent(n)
	}
}

// TestUndoneLeaversLeaveNoRow checks that undoing an import removes everything it has added, and restores everything it
// has strengthened.
func TestUndoneLeaversLeaveNoRow(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.Active(n.ListID, "own@example.org")
	first := imported(n, now0, blocks("old@example.org", core.StatusBounced))
	const people = 1200
	rows := []imports.ImportRow{
		blocks("old@example.org", core.StatusComplaint), blocks("own@example.org", core.StatusBounced),
		blocks("own@example.org", core.StatusComplaint),
	}
	for i := range people {
		rows = append(rows, leaves(storetest.Reader(i), 0), blocks("x"+storetest.Reader(i), core.StatusBounced))
	}
	j := imported(n, now0+1000, rows...)
	want := core.ImportCounts{Unsubscribed: people, Bounced: people, Complained: 2, Kept: 1}
	if j.ImportCounts != want || j.Barred != people+1 {
		t.Errorf("%+v", j)
	}
	plan, err := n.ImportUndoPlan(t.Context(), j.ID, now0+2000)
	if n.Must(err); plan.Remove != people || plan.Lift != people+1 {
		t.Errorf("%+v", plan)
	}
	consistent(n)
	j = undone(n, j.ID, now0+2000)
	if j.UndoRemoved != people || j.UndoLifted != people+1 {
		t.Errorf("%+v", j.ImportUndo)
	}
	if subs, barred := n.Count("SELECT count(*) FROM subscription"),
		n.Count("SELECT count(*) FROM suppression"); subs != 1 ||
		barred != 1 ||
		blockOf(n, "old@example.org") != "bounced" {
		t.Errorf("%d subscriptions, %d suppressions, %q", subs, barred, blockOf(n, "old@example.org"))
	}
	if j, err = n.ImportJob(t.Context(), first.ID); err != nil || undone(n, first.ID, now0+3000).UndoLifted != 1 {
		t.Errorf("%+v %v", j, err)
	}
	consistent(n)
}

// TestImportedBounceEndsWithAConfirmation checks that an address imported as bounced gets emails after it confirms
// here. A complaint stays until it is lifted.
func TestImportedBounceEndsWithAConfirmation(t *testing.T) {
	n := storetest.SeedList(t, now0)
	imported(n, now0, blocks("cid@example.org", core.StatusBounced), blocks("dan@example.org", core.StatusComplaint))
	n.Active(n.ListID, "cid@example.org")
	n.Active(n.ListID, "dan@example.org")
	if a, b := blockOf(n, "cid@example.org"), blockOf(n, "dan@example.org"); a != "" || b != "complaint" {
		t.Errorf("%q %q", a, b)
	}
}

// TestImportedLeaversAreNeverMailed checks that neither an import nor a full sync makes people recipients whom a file
// marks as unsubscribed or suppressed.
func TestImportedLeaversAreNeverMailed(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.Active(n.ListID, "dan@example.org")
	imported(
		n,
		now0,
		joins("ann@example.org"),
		leaves("bob@example.org", 0),
		blocks("cid@example.org", core.StatusBounced),
		blocks("dan@example.org", core.StatusComplaint),
		joins("eve@example.org"),
	)
	imported(n, now0+1000, leaves("eve@example.org", 0))
	y := n.At(now0 + 2000).Plan(n.ListID)
	batches, err := n.OpenBatches(t.Context(), y.ID, 0, 1)
	n.Must(err)
	told, err := n.SyncSubscribers(t.Context(), &y, &batches[0])
	n.Must(err)
	for _, s := range told {
		if mailed := s.Email == "ann@example.org" || s.Email == "dan@example.org"; (s.Status == "active") != mailed {
			t.Errorf("%+v", s)
		}
	}
	n.At(now0 + 3000).Deliver()
	j := n.At(now0 + 3000).Start(n.At(now0 + 3000).NewJob(n.ListID))
	if got := n.Count("SELECT count(*) FROM recipient"); got != 1 {
		t.Errorf("%d recipients of %+v", got, j)
	}
}

// TestImportedBounceOfSubscriberEndsWithTheirConfirmation checks a subscriber whom a file marks as bounced and who
// subscribes again. They must confirm, and then get emails. Nothing else about the subscription changes.
func TestImportedBounceOfSubscriberEndsWithTheirConfirmation(t *testing.T) {
	const cid, dan = core.Email("cid@example.org"), core.Email("dan@example.org")
	for _, own := range []bool{false, true} {
		n := storetest.SeedList(t, now0)
		if own { // the file also has a later time
			n.Active(n.ListID, cid)
		} else {
			imported(n, now0, joins(cid), joins(dan))
		}
		row := blocks(cid, core.StatusBounced)
		row.LeftAt = now0 + 1000
		first := imported(n, now0+1000, row, blocks(dan, core.StatusComplaint))
		second := imported(n, now0+2000, row)
		n = n.At(now0 + 3000)
		id := n.Request(n.ListID, cid, "")
		if got := n.Count("SELECT count(*) FROM mail WHERE email_key = ? AND kind = 'confirm' AND created_at = ?", cid,
			now0+3000); got != 1 {
			t.Fatalf("own %t: %d emails ask for a confirmation", own, got)
		}
		for _, step := range []struct {
			at          core.Instant
			proof, want string
		}{{now0 + 3500, core.ProofResponse, "bounced"}, {now0 + 4000, core.ProofMailed, ""}} {
			_, err := n.Confirm(t.Context(), n.Token(id, step.proof), core.Origin{}, step.at)
			if n.Must(err); blockOf(n, cid) != step.want || statusOf(n, cid) != core.SubscriptionActive {
				t.Errorf("own %t, %s: %q, %q", own, step.proof, blockOf(n, cid), statusOf(n, cid))
			}
		}
		if got := n.Count("SELECT count(*) FROM consent WHERE what = 'confirmed' AND means = 'mailed' AND at = ?",
			now0+4000); got != 1 {
			t.Errorf("own %t: %d entries in the ledger", own, got)
		}
		undone(n, first.ID, now0+5000)
		undone(n, second.ID, now0+6000)
		if got := statusOf(n, cid); got != core.SubscriptionActive || blockOf(n, cid) != "" {
			t.Errorf("own %t: %q %q after both were undone", own, got, blockOf(n, cid))
		}
		n.Request(n.ListID, cid, "")
		n.Request(n.ListID, dan, "")
		if got := n.Count("SELECT count(*) FROM mail WHERE kind = 'already_subscribed'"); own && got != 1 ||
			!own && got != 2 {
			t.Errorf("own %t: %d emails say that they are subscribed already", own, got)
		}
		consistent(n)
	}
}
