package worker_test

import (
	"database/sql"
	"testing"
	"time"

	"newsletterd/core/coretest"
	"newsletterd/store/people"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

// TestTablesAreLookedAtDaily checks that the optimizer runs when the daemon starts, and again a day later.
func TestTablesAreLookedAtDaily(t *testing.T) {
	coretest.Bubble(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		db, err := sql.Open("sqlite", "file:"+h.Path())
		h.Must(err)
		defer db.Close()
		noted := func() (lists int) {
			h.Must(db.QueryRowContext(t.Context(), "SELECT coalesce(max(CAST(stat AS INTEGER)), 0) FROM "+
				"sqlite_stat1 WHERE "+
				"tbl = 'list'").Scan(&lists))
			return lists
		}
		h.Run(worker.Housekeeping(h.Store, people.Retention{}, h.Opts.Log))
		coretest.Settle(time.Minute)
		if noted() != 1 {
			h.Errorf("at the start, %d lists are noted", noted())
		}
		for range 30 {
			h.NewList()
		}
		coretest.Settle(23 * time.Hour)
		if noted() != 1 {
			h.Errorf("tables are looked at more than once a day: %d lists", noted())
		}
		coretest.Settle(time.Hour)
		if noted() != 31 {
			h.Errorf("a day later, %d lists are noted", noted())
		}
	})
}
