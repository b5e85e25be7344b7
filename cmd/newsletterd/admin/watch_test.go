package admin

import (
	"testing"
	"time"

	"newsletterd/core"
)

func TestProgressOfAJob(t *testing.T) {
	var w watch
	j := core.JobView{Status: core.JobRunning}
	j.Recipients = 1000
	at := time.Unix(1_800_000_000, 0)
	w.look(&j, at)
	if got := w.line(&j); got != "running  0 of 1,000 (0%) found so far" {
		t.Error(got)
	}
	for i := range 40 {
		j.Expanded, j.Recipients, j.Sent, j.Failed, j.Deferred = true, 1_000_000, int64(i)*5_000, 2, 1
		w.look(&j, at.Add(time.Duration(i+1)*watchEvery))
	}
	if got := w.line(&j); got != "running  195,002 of 1,000,000 (19%)  10,000/s  1m20s left  1 deferred  2 failed" {
		t.Error(got)
	}
	if n := len(w.seen); n > 22 {
		t.Errorf("%d samples are kept", n)
	}
	j.PausedAt, j.PauseReason = 1, "too many complaints: 4 of 1000"
	w.look(&j, at.Add(time.Hour))
	if got := w.line(&j); got != "running  195,002 of 1,000,000 (19%)  1 deferred  2 failed  paused: too many "+
		"complaints: 4 of 1000" {
		t.Error(got)
	}
}

// TestWatchEndsWithAPause checks that watch ends if only a person can resume the job.
func TestWatchEndsWithAPause(t *testing.T) {
	for _, c := range []struct {
		status core.JobStatus
		paused core.Instant
		reason string
		ends   bool
	}{
		{core.JobRunning, 1, core.PauseSender, true},
		{core.JobPending, 1, core.PauseRestored, true},
		{core.JobRunning, 1, "too many complaints: 4 of 1000", true},
		{core.JobRunning, 0, core.PauseList, false},
		{core.JobRunning, 0, "", false},
		{core.JobCancelled, 1, core.PauseSender, false},
	} {
		j := core.JobView{Status: c.status, PausedAt: c.paused, PauseReason: c.reason}
		if got := waitsForPerson(&j); got != c.ends {
			t.Errorf("%s, %q: %v", c.status, c.reason, got)
		}
	}
}
