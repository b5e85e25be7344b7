package mailed

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/db/dbtest"
)

func testOpen(t *testing.T) *db.DB {
	d := db.New(db.Options{Path: filepath.Join(t.TempDir(), "a.db"), Mode: db.Daemon, Migrate: true})
	if err := d.Open(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// randomIDs returns different ids in order.
func randomIDs(rng *rand.Rand, n int) []string {
	ids := map[string]bool{}
	for len(ids) < n {
		b := make([]byte, 16)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		if rng.IntN(9) == 0 { // ids that differ only in their last bytes
			copy(b, "collision1234")
		}
		ids[core.IDFromBytes(b)] = true
	}
	all := make([]string, 0, n)
	for id := range ids {
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}

func add(t *testing.T, d *db.DB, job, first int64, all []Recipient) (added bool) {
	t.Helper()
	err := d.Update(t.Context(), func(tx *db.Tx) (err error) {
		added, err = Add(tx, job, first, all)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return added
}

// pages stores recipients of job 7, the first of which is 11.
func pages(t *testing.T, d *db.DB, all []Recipient) (first, last int64) {
	t.Helper()
	first = 11
	for i := 0; i < len(all); i += Size {
		if !add(t, d, 7, first+int64(i), all[i:min(i+Size, len(all))]) {
			t.Fatal("a page was refused")
		}
	}
	return first, first + int64(len(all)) - 1
}

// A cursor finds exactly the recipients among any ids, in steps of any size, forward and back.
func TestCursorsFindRecipients(t *testing.T) {
	d := testOpen(t)
	rng := rand.New(rand.NewPCG(1, 2))
	ids := randomIDs(rng, 3*Size)
	var all []Recipient
	states := map[string]byte{}
	for _, id := range ids {
		if rng.IntN(10) < 7 {
			states[id] = byte(rng.IntN(3))
			all = append(all, Recipient{id, states[id]})
		}
	}
	first, last := pages(t, d, all)
	seqs := map[string]int64{}
	for i, r := range all {
		seqs[r.ID] = first + int64(i)
	}
	q := d.Reads(t.Context())
	for round := range 300 {
		c, err := NewCursor(q, 7, first, last)
		if err != nil || c == nil {
			t.Fatal(c, err)
		}
		for at := 0; at < len(ids); {
			step := ids[at:min(at+1+rng.IntN(1+rng.IntN(3000)), len(ids))]
			at += len(step)
			switch rng.IntN(8) {
			case 0:
				at = rng.IntN(at + 1)
			case 1:
				at += rng.IntN(4000)
			}
			wantEvery := 1 + rng.IntN(1+rng.IntN(200))
			keys := make([]Key, len(step))
			var wanted []int
			var want []Match
			for i, id := range step {
				var ok bool
				if keys[i], ok = KeyOf(id); !ok {
					t.Fatal(id)
				}
				if rng.IntN(wantEvery) == 0 {
					wanted = append(wanted, i)
					if states[id] != Nothing {
						want = append(want, Match{i, seqs[id], states[id]})
					}
				}
			}
			found, ok, err := c.Find(q, keys, wanted, func(i int) string { return step[i] })
			if err != nil || !ok || !slices.Equal(found, want) {
				t.Fatalf("round %d: %d found, want %d: %v, %v", round, len(found), len(want), ok, err)
			}
		}
	}
}

// counted counts queries.
type counted struct {
	db.Querier
	n int
}

func (c *counted) Get(dest any, query string, args ...any) error {
	c.n++
	return c.Querier.Get(dest, query, args...)
}

// Ids after a job's last recipient need no search, however far they are.
func TestIDsAfterTheLastPage(t *testing.T) {
	d := testOpen(t)
	ids := randomIDs(rand.New(rand.NewPCG(7, 8)), 20*Size)
	var all []Recipient
	for _, id := range ids[:Size+20] { // a job that was canceled early
		all = append(all, Recipient{id, Sent})
	}
	first, last := pages(t, d, all)
	q := &counted{Querier: d.Reads(t.Context())}
	c, err := NewCursor(q, 7, first, last)
	if err != nil || c == nil {
		t.Fatal(c, err)
	}
	keys, wanted := make([]Key, len(ids)), make([]int, len(ids))
	for i, id := range ids {
		keys[i], _ = KeyOf(id)
		wanted[i] = i
	}
	found, ok, err := c.Find(q, keys, wanted, func(i int) string { return ids[i] })
	if err != nil || !ok || len(found) != len(all) {
		t.Error(len(found), ok, err)
	}
	if q.n > 10 {
		t.Errorf("%d queries for %d ids", q.n, len(ids))
	}
}

// Without all pages there is no cursor, and one that misses a page says so.
func TestMissingPages(t *testing.T) {
	d := testOpen(t)
	ids := randomIDs(rand.New(rand.NewPCG(3, 4)), 2*Size+1)
	var all []Recipient
	for _, id := range ids {
		all = append(all, Recipient{id, Sent})
	}
	first, last := pages(t, d, all)
	q := d.Reads(t.Context())
	if c, err := NewCursor(q, 7, first, last+Size); c != nil || err != nil {
		t.Error("there is a cursor without the last page", err)
	}
	if c, err := NewCursor(q, 7, first, first-1); c != nil || err != nil {
		t.Error("there is a cursor for no one", err)
	}
	if next, err := Next(q, 7); next != last+1 || err != nil {
		t.Error(next, err)
	}
	if next, err := Next(q, 8); next != 1 || err != nil {
		t.Error(next, err)
	}
	c, err := NewCursor(q, 7, first, last)
	if err != nil || c == nil {
		t.Fatal(err)
	}
	dbtest.SQL(d, "DELETE FROM recipient_page WHERE first_seq = ?", first+Size)
	keys, wanted := make([]Key, len(ids)), make([]int, len(ids))
	for i, id := range ids {
		keys[i], _ = KeyOf(id)
		wanted[i] = i
	}
	id := func(i int) string { return ids[i] }
	if _, ok, err := c.Find(q, keys, wanted, id); ok || err != nil {
		t.Error("a missing page is not missed", err)
	}
	if found, ok, err := c.Find(q, keys, wanted[:9], id); !ok || err != nil || len(found) != 9 {
		t.Error("the first page is missed", len(found), ok, err)
	}
}

// Ids that aren't in the form of ours, or not in order, are not stored.
func TestRefusedPages(t *testing.T) {
	d := testOpen(t)
	a, b := "0000000a-0000-8000-8000-000000000000", "0000000b-0000-8000-8000-000000000000"
	for _, ids := range [][]string{
		{b, a}, {strings.ToUpper(a)}, {"x"}, {a + "0"}, {"0000000a00000-8000-8000-000000000000"}, {a[:35] + "-"},
	} {
		var all []Recipient
		for _, id := range ids {
			all = append(all, Recipient{id, Sent})
		}
		if add(t, d, 1, 1, all) {
			t.Errorf("%q is stored", ids)
		}
	}
	if dbtest.Count(d, "SELECT count(*) FROM recipient_page") != 0 {
		t.Error("there are pages")
	}
	if !add(t, d, 1, 1, []Recipient{{"00", Sent}, {a, Sent}}) {
		t.Error("an erased recipient isn't stored")
	}
}

// An erased recipient is found no more, keeps no more of the id than its row, and the others are still found.
func TestErase(t *testing.T) {
	d := testOpen(t)
	ids := randomIDs(rand.New(rand.NewPCG(5, 6)), 40)
	var all []Recipient
	for _, id := range ids {
		all = append(all, Recipient{id, Sent})
	}
	first, last := pages(t, d, all)
	left := map[int]string{0: ids[0][:1], 20: ids[20][:36], 39: ids[39][:9]}
	for i, id := range left {
		err := d.Update(t.Context(), func(tx *db.Tx) error { return Erase(tx, 7, first+int64(i), id) })
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, seq := range []int64{first - 1, last + 1} {
		if err := d.Update(t.Context(), func(tx *db.Tx) error { return Erase(tx, 7, seq, "") }); err != nil {
			t.Error(err)
		}
	}
	if id := ids[0][:8]; dbtest.Count(d, "SELECT count(*) FROM recipient_page WHERE first_id <> ?1 OR "+
		"instr(hex(ids), upper(?2))", ids[0][:1], id) != 0 {
		t.Error("the first id is left")
	}
	q := d.Reads(t.Context())
	c, err := NewCursor(q, 7, first, last)
	if err != nil || c == nil {
		t.Fatal(err)
	}
	keys, wanted := make([]Key, len(ids)), make([]int, len(ids))
	for i, id := range ids {
		keys[i], _ = KeyOf(id)
		wanted[i] = i
	}
	found, ok, err := c.Find(q, keys, wanted, func(i int) string { return ids[i] })
	if err != nil || !ok || len(found) != len(ids)-len(left) {
		t.Error(len(found), ok, err)
	}
	for _, m := range found {
		if _, gone := left[m.At]; gone || m.Seq != first+int64(m.At) {
			t.Error("found:", m)
		}
	}
}

// Pages are found by job and first recipient, with any SQLite statistics.
func TestPlans(t *testing.T) {
	d := testOpen(t)
	for range 2 {
		for query, want := range map[string]string{
			selectPage: "SEARCH recipient_page USING INDEX sqlite_autoindex_recipient_page_1 " +
				"(job_no=? AND first_seq=?)",
			hasPage: "COVERING INDEX sqlite_autoindex_recipient_page_1 (job_no=? AND first_seq=?)",
			pageOf: "SEARCH recipient_page USING COVERING INDEX sqlite_autoindex_recipient_page_1 " +
				"(job_no=? AND first_seq=?)",
			lastPage: "SEARCH recipient_page USING INDEX sqlite_autoindex_recipient_page_1 (job_no=?)",
			pageWith: "SEARCH recipient_page USING INDEX sqlite_autoindex_recipient_page_1 (job_no=? AND first_seq<?)",
		} {
			plan, err := d.Explain(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(plan, "\n")
			if !strings.Contains(all, want) || strings.Contains(all, "SCAN recipient_page") ||
				strings.Contains(all, "TEMP B-TREE") {
				t.Errorf("%s\n%s", query, all)
			}
		}
		dbtest.SkewStatistics(d)
	}
}
