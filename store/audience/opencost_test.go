package audience_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/storetest"
)

// openCost is what an open or click costs: SQL statements, and pages written to the -wal.
type openCost struct{ statements, pages int64 }

// costsOfOpens returns the costs of some opens and clicks in a new database, with or without segments that use them.
func costsOfOpens(t *testing.T, segmented bool) (all []openCost) {
	path := filepath.Join(t.TempDir(), "a.db")
	w := &world{storetest.Seed(t, storetest.OpenAt(t, path)).At(start)}
	l := w.NewList()
	w.Readers(l, 300)
	d := w.draft([]core.List{l}, func(f *core.CampaignFields) { f.Tracking = core.TrackingPersons })
	j := w.Start(w.SendDraft(&d))
	w.sql("UPDATE recipient SET state = 2, finished_at = ?", int64(w.Time()))
	w.sql("UPDATE send_job SET sent = recipients, tracked = 3")
	change := func(*core.CampaignFields) {}
	if segmented {
		rule := `{"any":[{"opened":{"last":3}},{"opened":{"within_days":9}},{"not":{"clicked":{"last":1}}}]}`
		for i := range 50 {
			change = to(w.segment(fmt.Sprint("Opened ", i), rule))
		}
		w.exact(w.question(rule, l))
	}
	d = w.draft([]core.List{l}, change)
	w.Start(w.SendDraft(&d)) // runs while people open the first campaign
	written := func() int64 {
		index, err := os.ReadFile(path + "-shm")
		w.Must(err)
		return int64(binary.NativeEndian.Uint32(index[16:])) // mxFrame, sqlite.org/walformat.html section 2.1
	}
	for i := range 40 {
		at := w.Time().Add(time.Duration(i) * time.Hour)
		open := core.Engagement{JobNo: j.No, Seq: int64(1 + i%13*20), LinkNo: int64(i % 3), At: at, Last: at, Times: 1}
		statements, pages := w.Stats().Statements, written()
		_, err := w.AddEngagements(t.Context(), []core.Engagement{open})
		w.Must(err)
		now := written()
		if now < pages { // the -wal began anew
			pages = 0
		}
		all = append(all, openCost{w.Stats().Statements - statements, now - pages})
	}
	if n := w.number("SELECT count(*) FROM recipient WHERE marks > 1 AND job_no = ?", j.No); n != 13 {
		t.Errorf("%d people have opened the campaign, want 13", n)
	}
	return all
}

// Segments that use opens and clicks make neither cost more: they run as many statements and write as many pages.
func TestOpensCostTheSameWithSegments(t *testing.T) {
	without, with := costsOfOpens(t, false), costsOfOpens(t, true)
	if !slices.Equal(without, with) {
		t.Errorf("with segments %v, without %v", with, without)
	}
	if c := without[0]; c.statements < 3 || c.pages < 2 {
		t.Errorf("the first open costs %+v", c)
	}
}
