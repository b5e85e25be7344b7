package worker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/worker/workertest"
)

// TestOutcomesGatherForACommit checks that outcomes gather until a commit is worth its fsync, but not for long: if
// emails are slow, each is recorded separately.
func TestOutcomesGatherForACommit(t *testing.T) {
	const n = 320
	for _, c := range []struct {
		each    time.Duration // duration of each email
		commits int64         // maximum number of commits with outcomes
		late    int           // maximum number of unrecorded outcomes when an email is sent
	}{{100 * time.Microsecond, n / 16, 32}, {30 * time.Millisecond, n, 0}} {
		synctest.Test(t, func(t *testing.T) {
			h := workertest.New(t, nil)
			var j core.SendJob
			taken, made := 0, make(chan struct{})
			h.Relay = &smtptest.Sender{Answer: func(string, int) smtp.Outcome {
				<-made
				time.Sleep(c.each)
				now, err := h.SendJob(t.Context(), j.ID)
				h.Must(err)
				if unrecorded := taken - int(now.Sent); unrecorded > c.late {
					t.Errorf("%d of %d outcomes are not recorded", unrecorded, taken)
				}
				taken++
				return smtp.Outcome{Result: smtp.Sent}
			}}
			h.Opts.Connections = 1
			h.Readers(h.List, n)
			h.Start()
			before := h.Stats().Batches
			j = h.Job()
			close(made)
			if ended := h.Wait(j); ended.Sent != n {
				t.Errorf("%+v", ended)
			}
			const others = 8 // the job, its start, its recipients
			if got := h.Stats().Batches - before; got > c.commits+others {
				t.Errorf("%d commits for %d mails of %v", got, n, c.each)
			}
		})
	}
}

// TestALateReplyIsRecorded checks that a reply is recorded even if it arrives when the daemon no longer waits for it.
// Otherwise the email would be sent again.
func TestALateReplyIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		h.Opts.Connections = 1
		replies := make(chan struct{})
		h.Relay = &smtptest.Sender{Answer: func(string, int) smtp.Outcome {
			<-replies
			return smtp.Outcome{Result: smtp.Sent}
		}}
		h.Readers(h.List, 1)
		h.Start()
		j := h.Job()
		synctest.Wait()
		time.Sleep(time.Minute)
		h.Group.Drain(time.Second)
		close(replies)
		synctest.Wait()
		if got := h.Reload(j); got.Sent != 1 {
			t.Errorf("%d sent", got.Sent)
		}
	})
}
