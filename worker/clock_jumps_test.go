package worker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/storetest"
	"newsletterd/worker/workertest"
)

// TestClockJumps stops the daemon and starts it again with a clock that was put forward or back, several times. The job
// must continue each time, no subscriber may get two emails, and a job scheduled for later must not start before its
// time.
func TestClockJumps(t *testing.T) {
	const recipients, tomorrow = 1500, 30 * time.Hour
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	path := t.TempDir() + "/newsletterd.db"
	mails := 0
	defer coretest.Held(t, 16, &mails, "emails of jobs while the clock jumps by an hour, a day and two days")
	got := map[string]int{}
	var now, later core.SendJob
	for _, jump := range []time.Duration{
		0, time.Hour, -time.Hour, -24 * time.Hour, 0, 24 * time.Hour, -24 * time.Hour, 0,
		48 * time.Hour,
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(noon.Add(jump)))
			s := &smtptest.Sender{}
			h := workertest.NewOn(t, storetest.OpenAt(t, path), s)
			if now.ID == "" {
				h.Readers(h.List, recipients)
				now = h.Job()
				later = h.Job(func(n *core.NewJob) { n.ScheduledAt, n.Subject = core.At(noon.Add(tomorrow)), "Later" })
			}
			h.Opts.Limits.PerSecond = 1
			h.Start()
			coretest.Settle(4 * time.Minute)
			h.Group.Drain(time.Minute)
			for to, n := range s.Count() {
				if got[to] += n; got[to] > 1 && jump < tomorrow || n > 1 {
					t.Errorf("%v: %s got %d mails of one job", jump, to, max(n, got[to]))
				}
			}
			if mails += s.Sum(); s.Sum() == 0 && mails < recipients {
				t.Errorf("%v: the job stood still after %d mails", jump, mails)
			}
			if j, err := h.SendJob(t.Context(), later.ID); err != nil || (j.Status != core.JobPending) != (jump > tomorrow) {
				t.Errorf("%v: the job of tomorrow is %s, %v", jump, j.Status, err)
			}
			if j, err := h.SendJob(t.Context(), now.ID); err != nil || (j.Status == core.JobCompleted) != (mails >= recipients) {
				t.Errorf("%v: after %d mails the job is %s with %d, %v", jump, mails, j.Status, j.Sent, err)
			}
		})
	}
	if len(got) != recipients {
		t.Errorf("%d of %d recipients were mailed", len(got), recipients)
	}
}
