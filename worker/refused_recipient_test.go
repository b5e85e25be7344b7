package worker_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/mailtest"
	"newsletterd/mail/smtp"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
	"newsletterd/worker/workertest"
)

// TestARecipientThatIsAlwaysAnswered421 checks that the third 421 in a row for one recipient counts as a temporary
// failure of this recipient, and that all others get their email.
func TestARecipientThatIsAlwaysAnswered421(t *testing.T) {
	for _, verb := range []string{"RCPT", "DATA", "DOT"} {
		for mode, chunking := range map[string]bool{"DATA": false, "BDAT": true} {
			if verb == "DATA" && chunking {
				continue // a chunk has no DATA
			}
			t.Run(verb+"/"+mode, func(t *testing.T) {
				server := mailtest.Start(t, mailtest.Script{
					Chunking: chunking, On: at(verb, 0, mailtest.Action{Reply: "421 4.7.0 not this one", Close: true}),
				})
				synctest.Test(t, func(t *testing.T) {
					h, j := slowly(t, server, 5)
					coretest.Settle(3 * time.Minute)
					for _, r := range recipients(h, j) {
						bad := r.Email == string(storetest.Reader(1))
						if !bad && (r.State != core.RecipientSent || r.Tries != 1) ||
							bad && (r.State != core.RecipientDeferred || r.Tries != 1 || r.Reason != "421 4.7.0 not this one") {
							t.Errorf("%s: state %d, %q, %d tries", r.Email, r.State, r.Reason, r.Tries)
						}
					}
					if n := asked(server, string(storetest.Reader(1))); n != 3 || len(server.Messages()) != 4 {
						t.Errorf("asked %d times for the refused one, %d mails", n, len(server.Messages()))
					}
				})
			})
		}
	}
}

// TestSeveralRecipientsThatAreAnswered421 checks that such recipients at the head of the queue hold up the others only
// once each.
func TestSeveralRecipientsThatAreAnswered421(t *testing.T) {
	bad := []string{string(storetest.Reader(0)), string(storetest.Reader(1)), string(storetest.Reader(2))}
	server := mailtest.Start(t, mailtest.Script{On: func(e mailtest.Event) mailtest.Action {
		if e.Verb == "RCPT" && slices.ContainsFunc(bad, func(b string) bool { return strings.Contains(e.Arg, b) }) {
			return mailtest.Action{Reply: "421 4.7.0 not this one", Close: true}
		}
		return mailtest.Action{}
	}})
	synctest.Test(t, func(t *testing.T) {
		h, j := slowly(t, server, 5)
		coretest.Settle(2 * time.Minute)
		if n := len(server.Messages()); n != 2 {
			t.Errorf("%d emails after two minutes", n)
		}
		coretest.Settle(2 * time.Hour)
		for _, r := range recipients(h, j) {
			if slices.Contains(bad, r.Email) && (r.State != core.RecipientDeferred || r.Tries == 0) {
				t.Errorf("%s: state %d after %d tries", r.Email, r.State, r.Tries)
			}
		}
	})
}

// TestARelayThatAnswers421ToEveryone checks that the pauses grow as after any failure of the relay, and that they
// don't end when a recipient is deferred. Everyone is asked before someone is asked again, and the third 421 for one
// recipient touches it. Later, everyone gets the email.
func TestARelayThatAnswers421ToEveryone(t *testing.T) {
	var well atomic.Bool
	server := overloaded(t, &well)
	synctest.Test(t, func(t *testing.T) {
		h, j := slowly(t, server, 2)
		coretest.Settle(4 * time.Second)
		for i, pause := range []time.Duration{
			5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, 15 * time.Minute,
		} {
			if n := server.Seen("RCPT"); n != i+1 {
				t.Fatalf("%d tries before a pause of %v, want %d", n, pause, i+1)
			}
			touched := 0
			for _, r := range recipients(h, j) {
				if r.State != core.RecipientQueued {
					touched++
				}
			}
			if touched != max(0, i+1-4) {
				t.Errorf("%d touched after %d tries", touched, i+1)
			}
			coretest.Settle(pause)
		}
		j, err := h.SendJob(t.Context(), j.ID)
		if h.Must(err); j.PauseReason != core.ReasonRelay {
			t.Errorf("paused because of %q", j.PauseReason)
		}
		well.Store(true)
		j = h.Wait(j)
		if h.AddsUp(j, 2, 0, 0); j.Status != core.JobCompleted || len(server.Messages()) != 2 {
			t.Errorf("%s, %d mails", j.Status, len(server.Messages()))
		}
	})
}

// TestARelayThatAnswers421ToEveryoneForTooLong checks that the job then fails because of the relay. If only one
// recipient is answered 421, it doesn't: see TestMisbehavingRelays.
func TestARelayThatAnswers421ToEveryoneForTooLong(t *testing.T) {
	server := overloaded(t, new(atomic.Bool))
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, &smtp.Client{Addr: server.Addr()})
		h.Opts.Connections, h.Opts.GiveUpAfter = 1, 6*time.Hour
		h.Readers(h.List, 5)
		h.Start()
		j := h.Wait(h.Job())
		h.AddsUp(j, 0, 5, 0)
		if n := server.Seen("RCPT"); j.Status != core.JobFailed || j.FailureReason != core.ReasonRelay || n > 40 {
			t.Errorf("%s %q after %d tries", j.Status, j.FailureReason, n)
		}
	})
}

// slowly starts a job to n people through a server, over one connection.
func slowly(t *testing.T, server *mailtest.Server, n int) (*workertest.Harness, core.SendJob) {
	t.Helper()
	h := workertest.New(t, &smtp.Client{Addr: server.Addr()})
	h.Opts.Connections = 1
	h.Readers(h.List, n)
	h.Start()
	return h, h.Job()
}

// overloaded starts a relay that answers 421 to each recipient until it is well.
func overloaded(t *testing.T, well *atomic.Bool) *mailtest.Server {
	t.Helper()
	return mailtest.Start(t, mailtest.Script{On: func(e mailtest.Event) mailtest.Action {
		if e.Verb != "RCPT" || well.Load() {
			return mailtest.Action{}
		}
		return mailtest.Action{Reply: "421 4.3.2 overloaded", Close: true}
	}})
}

// recipients returns the recipients of a job.
func recipients(h *workertest.Harness, j core.SendJob) []core.Recipient {
	j, err := h.SendJob(h.Context(), j.ID)
	h.Must(err)
	rs, err := h.Recipients(h.Context(), &j, campaigns.RecipientFilter{}, core.Page{Limit: 100})
	h.Must(err)
	if int64(len(rs)) != j.Recipients {
		h.Errorf("%d recipients", len(rs))
	}
	return rs
}

// asked returns how often RCPT named an address.
func asked(s *mailtest.Server, email string) (n int) {
	for _, line := range s.Lines() {
		if strings.HasPrefix(line, "RCPT ") && strings.Contains(line, email) {
			n++
		}
	}
	return n
}
