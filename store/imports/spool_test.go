package imports

import (
	"fmt"
	"path/filepath"
	"testing"

	"newsletterd/core"
)

// The spool returns rows in the order of ids. Of rows with the same id, those with Left come first, then the others in
// the order of the file. Whether the rows were spilled makes no difference.
func TestSpoolSorts(t *testing.T) {
	for _, rows := range []int{0, 1, 3000, 150_000} {
		if testing.Short() && rows > 100_000 {
			continue
		}
		p := spool{dir: t.TempDir()}
		for i := range rows {
			id := fmt.Sprintf("%036d", i*7919%(rows/2+1))
			r := newImportRow(id, fmt.Sprintf("r%d@example.org", i), `{"n":1}`, i%3 == 0)
			if i%2 == 0 {
				r.Evidence = "confirmed " + id
			}
			r.Line = i
			if r.Left {
				r.Departure = departureOf(i)
			}
			must(t, p.add(&r))
		}
		if spilled := len(p.runs) > 0; spilled != (rows > 100_000) {
			t.Errorf("%d rows: spilled %v", rows, spilled)
		}
		n, last := 0, ImportRow{}
		must(t, p.inOrder(func(r ImportRow) error {
			if r.id < last.id || r.id == last.id && (r.Left && !last.Left || r.Left == last.Left && r.Line < last.Line) {
				t.Fatalf("%v came after %v", r, last)
			}
			if r.Preferences != `{"n":1}` || r.key != string(r.Email) || r.Left != (r.Line%3 == 0) ||
				string(r.Email) != fmt.Sprintf("r%d@example.org", r.Line) {
				t.Fatalf("%+v", r)
			}
			if r.Left && r.Departure != departureOf(r.Line) || !r.Left && r.Departure != (Departure{}) {
				t.Fatalf("another departure: %+v", r)
			}
			if (r.Line%2 == 0) != (r.Evidence == "confirmed "+r.id) {
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

// departureOf returns the Departure of the row in the given line.
func departureOf(line int) Departure {
	return Departure{
		Unsubscribed: line%2 == 0, Block: departureBlocks[line/3%len(departureBlocks)],
		LeftAt: core.Instant(int64(line%5) * 1_700_000_000_000),
	}
}
