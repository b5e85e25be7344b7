package worker_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/campaigns"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

// firstFewJob sends a campaign to n recipients, with first recipients.
func firstFewJob(t *testing.T, n int, answer func(string, int) smtp.Outcome) (*letters, core.SendJob) {
	l := &letters{sender: &smtptest.Sender{Answer: answer}}
	l.Harness = workertest.New(t, l.sender)
	l.Readers(l.List, n)
	c := l.NewCampaign(l.List)
	r, _ := l.sending(&letter{id: c.ID}, &c, 1)
	r.FirstFew = new(true)
	j, err := l.SendCampaign(t.Context(), r, campaigns.JobRequest{}, 0)
	l.Must(err)
	l.Start()
	return l, j
}

// TestFirstFew checks that a large send goes to its first recipients, waits, and then goes to the rest. Each recipient
// gets it once.
func TestFirstFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, j := firstFewJob(t, core.FirstFewFrom+1, nil)
		time.Sleep(core.FirstFewHold - time.Minute)
		if now := l.Reload(j); now.Sent != core.FirstFew || now.Recipients != core.FirstFew || now.FirstUntil == 0 {
			t.Errorf("in the hold: %d of %d sent, until %d", now.Sent, now.Recipients, now.FirstUntil)
		}
		time.Sleep(2 * time.Minute)
		if now := l.Reload(j); now.Status != core.JobCompleted {
			t.Errorf("after the hold: %s, %d sent", now.Status, now.Sent)
		}
		for to, n := range l.sender.Count() {
			if n != 1 {
				t.Errorf("%s got %d", to, n)
			}
		}
		if n := len(l.sender.Count()); n != core.FirstFewFrom+1 {
			t.Errorf("%d readers", n)
		}
	})
}

// TestFirstFewAtOnce checks that a short list gets the email without a pause, and so does a list whose send a person
// resumes during the hold.
func TestFirstFewAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, j := firstFewJob(t, core.FirstFewFrom, nil)
		time.Sleep(time.Minute)
		if now := l.Reload(j); now.Status != core.JobCompleted || now.Sent != core.FirstFewFrom {
			t.Errorf("%d readers: %s, %d sent", core.FirstFewFrom, now.Status, now.Sent)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		l, j := firstFewJob(t, core.FirstFewFrom+1, nil)
		time.Sleep(time.Minute)
		if now := l.Reload(j); now.Sent != core.FirstFew {
			t.Errorf("%d sent", now.Sent)
		}
		_, err := l.ResumeSendJob(t.Context(), j.ID, "user:ann", core.At(time.Now()))
		l.Must(err)
		time.Sleep(time.Minute)
		if now := l.Reload(j); now.Status != core.JobCompleted {
			t.Errorf("after it was told to go on: %s, %d sent", now.Status, now.Sent)
		}
	})
}

// TestFirstFewStop checks that the rest has to wait for a person if too many of the first recipients don't exist or are
// refused for policy reasons.
func TestFirstFewStop(t *testing.T) {
	for name, tt := range map[string]struct {
		outcome smtp.Outcome
		every   int64
		stops   string
	}{
		"5.4 % of hard bounces": {
			smtp.Outcome{Result: smtp.Never, Code: 550, Enhanced: "5.1.1", HardBounce: true},
			18,
			"27 of 500 addresses",
		},
		"5 % of hard bounces": {smtp.Outcome{Result: smtp.Never, Code: 550, Enhanced: "5.1.1", HardBounce: true}, 20, ""},
		"1.2 % of policy": {
			smtp.Outcome{Result: smtp.Never, Code: 550, Enhanced: "5.7.1", Text: "no"},
			80,
			"6 of 500 emails were rejected",
		},
		"1 % of policy": {smtp.Outcome{Result: smtp.Never, Code: 550, Enhanced: "5.7.1", Text: "no"}, 100, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var tries atomic.Int64
				l, j := firstFewJob(t, core.FirstFewFrom+1, func(string, int) smtp.Outcome {
					if n := tries.Add(1); n%tt.every == 0 && n <= core.FirstFew {
						return tt.outcome
					}
					return smtp.Outcome{Result: smtp.Sent, Code: 250}
				})
				time.Sleep(time.Hour)
				now := l.Reload(j)
				if tt.stops == "" {
					if now.Status != core.JobCompleted {
						t.Errorf("%s, %s", now.Status, now.PauseReason)
					}
					return
				}
				if now.Recipients != core.FirstFew || !strings.Contains(now.PauseReason, tt.stops) {
					t.Errorf("%d recipients, %s", now.Recipients, now.PauseReason)
				}
				_, err := l.ResumeSendJob(t.Context(), j.ID, "user:ann", core.At(time.Now()))
				l.Must(err)
				time.Sleep(time.Hour)
				if now := l.Reload(j); now.Status != core.JobCompleted {
					t.Errorf("after a person let it go on: %s", now.Status)
				}
			})
		})
	}
}

// TestFirstFewStopAtADeadLink checks that the rest has to wait for a person of the tenant if a link fails twice within
// a minute.
func TestFirstFewStopAtADeadLink(t *testing.T) {
	for name, tt := range map[string]struct {
		answers []string
		stops   bool
	}{
		"answers":                  {[]string{""}, false},
		"does not respond at once": {[]string{"https://x.example/ does not respond", ""}, false},
		"does not respond": {
			[]string{"https://x.example/ does not respond", "https://x.example/ responds with Gone"}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, j := firstFewJob(t, core.FirstFewFrom+1, nil)
				var asked atomic.Int64
				l.Run(worker.FirstLinks(l.Store, func(_ context.Context, of *core.SendJob) (string, error) {
					n := asked.Add(1)
					if of.ID != j.ID || n > int64(len(tt.answers)) {
						t.Errorf("%s was asked, the %d. time", of.ID, n)
						return "", nil
					}
					return tt.answers[n-1], nil
				}, l.Opts.Log))
				time.Sleep(core.FirstFewHold - time.Minute)
				now := l.Reload(j)
				if want := "dead link: https://x.example/ responds with Gone"; tt.stops && now.PauseReason != want {
					t.Errorf("it is paused for %q", now.PauseReason)
				}
				if tt.stops == (now.PausedAt == 0) || now.Sent != core.FirstFew || now.PausedForHarm() {
					t.Errorf("paused at %d, %d sent", now.PausedAt, now.Sent)
				}
				time.Sleep(time.Hour)
				if now = l.Reload(j); tt.stops == (now.Status == core.JobCompleted) {
					t.Errorf("after the hold it is %s", now.Status)
				}
				if tt.stops {
					l.AddsUp(l.Resume(j), core.FirstFewFrom+1, 0, 0)
				}
				if n := asked.Load(); n != int64(len(tt.answers)) {
					t.Errorf("it was asked %d times", n)
				}
			})
		})
	}
}
