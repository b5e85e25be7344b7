package daemontest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/mail/mailtest"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// MaxUnrecorded is how many of a Campaign's recipients can get a second copy after a crash, by default.
const MaxUnrecorded = 64

// Campaign is a daemon with one job, and the SMTP server that receives its emails. People who subscribe to its list
// during the test are not recipients.
type Campaign struct {
	*Process
	Sink       *mailtest.Sink // nil if the caller passed a server
	Recipients int
	Taken      func() int64 // messages that the server has accepted

	job core.SendJob
}

// NewCampaign creates a list and a job that is due immediately. Its emails go to the given server, or to a new sink.
func NewCampaign(t testing.TB, recipients int, server ...*mailtest.Server) *Campaign {
	t.Helper()
	w := &Campaign{Recipients: recipients}
	addr := ""
	if len(server) > 0 {
		addr, w.Taken = server[0].Addr(), func() int64 { return int64(server[0].Seen("DOT")) }
	} else {
		w.Sink = mailtest.StartSink(t, mailtest.SinkOptions{Records: true})
		addr, w.Taken = w.Sink.Addr(), w.Sink.Count
	}
	w.Process = New(t, Relay(addr)...)
	w.Env = append(w.Env, fmt.Sprint("NEWSLETTERD_SEND_MAX_UNRECORDED=", MaxUnrecorded))
	w.Prepare(func(s *storetest.Seeder) {
		list := s.NewList()
		w.List = list.ID
		s.Readers(list, w.Recipients)
		w.job = s.NewJob(list.ID, func(r *campaigns.JobRequest) {
			r.BodyText = strings.Repeat("A line of the letter.\n",
				100)
		})
	})
	return w
}

// StartUntil starts the daemon and waits until the SMTP server has count messages.
func (w *Campaign) StartUntil(count int64) {
	w.Helper()
	w.Start()
	w.Every(time.Millisecond, func() bool { return w.Taken() >= count })
}

// Finish starts the daemon, waits for the end of the job, stops the daemon and returns the job.
func (w *Campaign) Finish() (j core.SendJob) {
	w.Helper()
	w.Serve()
	s := w.Open()
	w.Patience = 12 * time.Minute
	w.Every(20*time.Millisecond, func() bool {
		var err error
		j, err = s.SendJob(w.Context(), w.job.ID)
		w.Must(err)
		return j.Status.Final()
	})
	w.Must(s.Close())
	w.Stop()
	return j
}

// Duplicates checks a finished job and the emails at the sink: no recipient may be missing, and all copies of an email
// must be identical. It returns the number of second copies.
func (w *Campaign) Duplicates(j core.SendJob) (n int) {
	w.Helper()
	if j.Status != core.JobCompleted || j.Recipients != int64(w.Recipients) || j.Sent != int64(w.Recipients) ||
		j.Failed+j.Skipped != 0 {
		w.Errorf("%s: %d recipients, sent %d, failed %d, skipped %d", j.Status, j.Recipients, j.Sent, j.Failed,
			j.Skipped)
	}
	ids := map[string]string{}
	for _, r := range w.Sink.Records() {
		if strings.HasPrefix(r.Rcpt, "visitor") {
			continue
		}
		before, again := ids[r.Rcpt]
		if again {
			n++
		}
		if again && before != r.MessageID {
			w.Errorf("%s got %s and %s", r.Rcpt, before, r.MessageID)
		}
		ids[r.Rcpt] = r.MessageID
	}
	if lost := w.Recipients - len(ids); lost != 0 {
		w.Errorf("%d of %d recipients got nothing", lost, w.Recipients)
	}
	return n
}
