package campaigns

import (
	"time"

	"newsletterd/store/db"
)

// openJobs holds, per job, the number of recipients without an outcome when last counted, minus the outcomes since.
// While it is above 0, the job can't be complete.
type openJobs struct{ left map[int64]int64 }

// Undone drops all counts, because some outcomes may not be in the database.
func (o *openJobs) Undone(bool) { clear(o.left) }

// openJobs lives longer than an operation and is never written to the database.

func (o *openJobs) Begin()                         {}
func (o *openJobs) End(*db.Tx) error               { return nil }
func (o *openJobs) Done()                          {}
func (o *openJobs) Commit(*db.Tx, time.Time) error { return nil }
func (o *openJobs) Committed()                     {}
