package audience_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/store/audience"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

// A count reports the error that stopped it, not that its other goroutine was canceled.
func TestACountReportsItsError(t *testing.T) {
	f := storetest.NewFaults(t)
	w := &world{storetest.Seed(t, storetest.OpenWith(t, db.Options{Driver: f.Driver})).At(start)}
	l := w.NewList()
	w.Readers(l, 100)
	q := w.question(`{"field": "first_name", "exists": true}`, l)
	if n := w.exact(q); n != 100 {
		t.Fatalf("%d people", n)
	}
	q.Exact = true
	for failing := range 2 {
		reads := 0
		f.FailWhen(func(query string) bool {
			if !strings.Contains(query, "s.preferences") {
				return false
			}
			reads++
			return reads == failing+1
		})
		_, err := w.CountSegment(w.Context(), q)
		if core.KindOf(err) != core.KindOf(core.ErrStorage) || errors.Is(err, context.Canceled) {
			t.Errorf("read %d fails: %v", failing, err)
		}
	}
}

// sampledHouse has two lists of 768,000 each, of whom only those in the sample are stored. The rule matches everyone on
// the second list, and a step reads few because it names other lists. reads counts the reads of subscribers in whose
// query a text occurs, which take a time each.
func sampledHouse(t *testing.T, in string, takes time.Duration) (w *world, q audience.Question, reads *int) {
	f := storetest.NewFaults(t)
	w = &world{storetest.Seed(t, storetest.OpenWith(t, db.Options{Driver: f.Driver})).At(start)}
	lists := []core.List{w.NewList(), w.NewList()}
	rule := `{"any":[{"field":"first_name","is":"yes"}`
	for range 9 {
		rule += fmt.Sprintf(`,{"on_list":%q}`, w.NewList().ID)
	}
	for i, l := range lists {
		w.sql(`INSERT INTO subscriber (list_id, id, email_key, email, word, word_at, preferences, created_at, changed_at)
			WITH RECURSIVE n (k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n WHERE k < 15999)
			SELECT ?1, printf('%08x-%04d', (k % 16 << 28) + k / 16 * 5592, k), concat('r', ?2, k, '@example.org'),
			concat('r', ?2, k, '@example.org'), 'active', 0, iif(?2, '{"first_name":"yes"}', '{}'), 0, 0 FROM n`, l.ID, i)
		w.sql("DELETE FROM list_count WHERE list_id = ?", l.ID)
		w.sql("INSERT INTO list_count (list_id, day, active, mailable) VALUES (?1, 1, ?2, ?2)", l.ID,
			16_000*core.SegmentSample)
	}
	reads = new(int)
	f.FailWhen(func(query string) bool {
		if strings.Contains(query, in) {
			*reads++
			time.Sleep(takes)
		}
		return false
	})
	return w, w.question(rule+"]}", lists...), reads
}

// A count that has no time left reads one range on every list with each of its goroutines.
func TestACountEndsInTime(t *testing.T) {
	w, q, reads := sampledHouse(t, "s.preferences", 0)
	q.Within = 1
	n, err := w.CountSegment(w.Context(), q)
	w.Must(err)
	if *reads > 8 {
		t.Errorf("%d reads", *reads)
	}
	if half := int64(16_000 * core.SegmentSample); n.Of != 2*half || *n.About < half*8/10 || *n.About > half*12/10 ||
		*n.Low > half || *n.High < half {
		t.Errorf("about %d, %d to %d of %d", *n.About, *n.Low, *n.High, n.Of)
	}
	*reads, q.Within = 0, time.Hour
	n, err = w.CountSegment(w.Context(), q)
	w.Must(err)
	if half := int64(16_000 * core.SegmentSample); *n.About != half || *reads < 16_000/200+16_000/100 {
		t.Errorf("about %d from the whole sample, %d reads", *n.About, *reads)
	}
}

// An estimate of an audience ends when its time is over, although not even one sixteenth of the sample was read.
func TestAnEstimateEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, q, reads := sampledHouse(t, "s.block = 'complaint' THEN 2", time.Second)
		f := core.CampaignFields{ListIDs: q.ListIDs}
		f.Rule = core.RuleText(q.Rule.JSON())
		f.SegmentID = core.NewID()
		begun := time.Now()
		a, err := w.CountAudience(w.Context(), w.TenantID, &f, core.AudienceEstimate)
		w.Must(err)
		took, half := time.Since(begun), int64(16_000*core.SegmentSample)
		if took > core.AudienceBudget+2*time.Second || *reads < 2 {
			t.Errorf("it took %v, with %d reads", took, *reads)
		}
		if !a.About || a.Active != 2*half || a.Recipients < half*8/10 || a.Recipients > half*12/10 {
			t.Errorf("%+v", a)
		}
	})
}
