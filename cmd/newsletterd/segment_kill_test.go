package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/mail/mailtest"
	"newsletterd/store/storetest"
)

// segmentJob is a daemon with a campaign to a segment of two lists, whose rule asks about an earlier campaign.
type segmentJob struct {
	*daemontest.Process
	sink *mailtest.Sink
	want map[string]bool // addresses of those who match
	job  core.SendJob
}

// newSegmentJob adds n people to a long list. Each third person matches, unless they received the earlier campaign.
// Those who received it are on a short list too. The campaign goes to the long list first, or last.
func newSegmentJob(t *testing.T, n int, longFirst bool) *segmentJob {
	f := &segmentJob{sink: mailtest.StartSink(t, mailtest.SinkOptions{Records: true}), want: map[string]bool{}}
	f.Process = daemontest.New(t, daemontest.Relay(f.sink.Addr())...)
	f.Env = append(f.Env, fmt.Sprint("NEWSLETTERD_SEND_MAX_UNRECORDED=", daemontest.MaxUnrecorded))
	f.Prepare(func(s *storetest.Seeder) {
		short, long := s.NewList(), s.NewList()
		s.Readers(short, n/10)
		old := s.Finish(s.NewJob(short.ID))
		for i := 0; i < n; i += 1000 {
			b := s.Batch(long, core.NewID(), 1, 2)
			for k := i; k < min(n, i+1000); k++ {
				plan := `{"plan":"free"}`
				if k%3 == 0 {
					plan = `{"plan":"pro"}`
					f.want[string(storetest.Reader(k))] = k >= n/10
				}
				b.Subscribers = append(b.Subscribers, core.EventSubscriber{
					ID: core.NewID(), Email: storetest.Reader(k), Status: string(core.StatusActive),
					Preferences: core.Preferences(plan),
				})
			}
			s.Must(s.ApplyBatch(s.Context(), s.Nonce(), b, s.Time()))
		}
		g, err := core.NewSegment(s.TenantID, core.SegmentInput{
			Name: new("Pro"), Rule: core.RuleText(`{"all": [{"field": "plan", "is": "PRO"}, {"not": {"received": "` +
				old.CampaignID + `"}}]}`),
		}, "test", s.Time())
		s.Must(err)
		s.Must(s.AddSegment(s.Context(), g))
		c := s.NewCampaign(short, func(c *core.CampaignFields) {
			c.ListIDs, c.SegmentID = []string{short.ID, long.ID}, g.ID
			if longFirst {
				slices.Reverse(c.ListIDs)
			}
		})
		c, err = s.Campaign(s.Context(), c.ID)
		s.Must(err)
		d, err := s.Draft(s.Context(), &c, 0, func(*core.CampaignFields, *core.Theme, *core.List, *core.Tenant) (string,
			string, error,
		) {
			return "", "Hello", nil
		}, s.Time())
		s.Must(err)
		f.job = s.SendDraft(&d)
	})
	for email, matches := range f.want {
		if !matches {
			delete(f.want, email)
		}
	}
	return f
}

// TestKillDuringASendToASegment kills the daemon at the steps in which a job finds the people of its segment, and while
// it sends. Exactly the people who match must become recipients, each once. Each must get the email, and at most
// max_unrecorded may get a second copy per kill.
func TestKillDuringASendToASegment(t *testing.T) {
	for name, longFirst := range map[string]bool{"long list first": true, "long list last": false} {
		t.Run(name, func(t *testing.T) {
			daemontest.Parallel(t)
			killDuringASend(t, longFirst)
		})
	}
}

func killDuringASend(t *testing.T, longFirst bool) {
	kills, n := 3, 9000
	if daemontest.AtLength() {
		kills, n = 20, 40_000
	}
	f := newSegmentJob(t, n, longFirst)
	s := f.Open()
	position := func() string {
		var at string
		f.Must(s.Get(f.Context(), &at, "SELECT iif(expanded, '', status || expanded_to) FROM send_job WHERE no = ?",
			f.job.No))
		return at
	}
	during, sending := 0, 0
	for at := position(); during < kills && at != ""; {
		f.Start()
		f.Every(time.Millisecond/2, func() bool { return position() != at })
		f.Kill()
		if at = position(); at != "" {
			during++
		}
	}
	for range 2 {
		f.Start()
		until := f.sink.Count() + 1 + rand.Int64N(int64(len(f.want))/4)
		f.Every(time.Millisecond, func() bool { return f.sink.Count() >= until })
		f.Kill()
		sending++
	}
	f.Serve()
	f.Every(20*time.Millisecond, func() bool {
		var err error
		f.job, err = s.SendJob(f.Context(), f.job.ID)
		f.Must(err)
		return f.job.Status.Final() || f.job.PausedAt != 0
	})
	f.Must(s.Close())
	f.Stop()
	if during == 0 {
		t.Error("no kill was in time")
	}
	t.Logf("%d people, %d kills while recipients were found, %d while sending: %d recipients, %d emails", n, during,
		sending, f.job.Recipients, f.sink.Count())
	f.check(during + sending)
}

// check compares the recipients and the emails with the people who match.
func (f *segmentJob) check(kills int) {
	f.Helper()
	if j := f.job; j.Status != core.JobCompleted || j.Recipients != int64(len(f.want)) || j.Sent != j.Recipients {
		f.Errorf("%s: %d recipients, sent %d, want %d: %s", j.Status, j.Recipients, j.Sent, len(f.want), j.PauseReason)
	}
	if rows := f.Number(fmt.Sprint("SELECT count(DISTINCT email_key) FROM recipient WHERE job_no = ",
		f.job.No)); rows != len(f.want) {
		f.Errorf("%d people are recipients, want %d", rows, len(f.want))
	}
	ids, again := map[string]string{}, 0
	for _, r := range f.sink.Records() {
		before, known := ids[r.Rcpt]
		if ids[r.Rcpt] = r.MessageID; known {
			again++
		}
		if known && before != r.MessageID {
			f.Errorf("%s got %s and %s", r.Rcpt, before, r.MessageID)
		}
		if !f.want[r.Rcpt] {
			f.Errorf("%s got an email but doesn't match", r.Rcpt)
		}
	}
	if len(ids) != len(f.want) {
		f.Errorf("%d people got an email, want %d", len(ids), len(f.want))
	}
	if again > kills*daemontest.MaxUnrecorded {
		f.Errorf("%d second copies of %d kills", again, kills)
	}
	f.Run("check")
}
