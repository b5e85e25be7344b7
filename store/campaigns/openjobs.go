package campaigns

import (
	"time"

	"newsletterd/store/db"
)

// openJobs holds, for jobs, how many recipients were without an outcome at the last look, less the outcomes since: as
// long as that is above 0 the job can't be complete.
type openJobs struct{ left map[int64]int64 }

// Undone forgets all of it: some outcomes may not be in the database.
func (o *openJobs) Undone(bool) { clear(o.left) }

// What openJobs holds outlasts operations, and nothing of it is written.

func (o *openJobs) Begin()                         {}
func (o *openJobs) End(*db.Tx) error               { return nil }
func (o *openJobs) Done()                          {}
func (o *openJobs) Commit(*db.Tx, time.Time) error { return nil }
func (o *openJobs) Committed()                     {}
