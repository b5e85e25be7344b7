package audience_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"newsletterd/core"
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
