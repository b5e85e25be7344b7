package worker_test

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/storetest"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

// TestAnEventThatBecomesDueDuringASlowAnswer checks that an event is delivered on time if it becomes due again during a
// slow response to another event, after the last look at due events, and nothing kicks the loop.
func TestAnEventThatBecomesDueDuringASlowAnswer(t *testing.T) {
	coretest.Bubble(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		r := workertest.NewReceiver(h.Seeder)
		for i := range 14 {
			h.Active(h.List.ID, storetest.Reader(i))
		}
		var mu sync.Mutex
		tried := map[core.Email]int{}
		r.On = func(p *workertest.Post) int {
			var e core.Event
			h.Must(json.Unmarshal(p.Body, &e))
			mu.Lock()
			tried[e.Subscriber.Email]++
			first := tried[e.Subscriber.Email] == 1
			mu.Unlock()
			if e.Subscriber.Email == storetest.Reader(0) {
				time.Sleep(1900 * time.Millisecond)
			} else if first {
				return http.StatusInternalServerError
			}
			return http.StatusOK
		}
		h.Run(worker.Outbox(h.Store, r.Poster(), h.Opts.Log))
		coretest.Settle(20 * time.Second)
		if n := len(r.Events(workertest.EventPath)); n != 14 {
			t.Errorf("%d of 14 events were delivered: %v", n, tried)
		}
	})
}

// TestAMailThatBecomesDueAsTheLastConnectionEnds checks that an email is sent on time if it becomes due after the last
// look, while the last connection ends.
func TestAMailThatBecomesDueAsTheLastConnectionEnds(t *testing.T) {
	coretest.Bubble(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		var mu sync.Mutex
		tries, sent := 0, 0
		s := smtptest.Func(func(ctx context.Context, src *smtp.Source) error {
			e, ok := src.Next(ctx, true)
			if !ok {
				return nil
			}
			mu.Lock()
			tries++
			first := tries == 1
			mu.Unlock()
			if first {
				src.Done(e, smtp.Outcome{Result: smtp.Later, Code: 450})
				return nil
			}
			at, err := h.NextMail(h.Context(), h.Time())
			h.Must(err)
			if at != 0 { // until just after the first email is due again
				time.Sleep(time.Until(at.Time().Add(time.Millisecond)))
			}
			mu.Lock()
			sent++
			mu.Unlock()
			src.Done(e, smtp.Outcome{Result: smtp.Sent})
			return nil
		})
		h.Pending(h.List.ID, "a@example.org")
		h.Pending(h.List.ID, "b@example.org")
		h.Relay = s
		h.Run(h.Mailer())
		time.Sleep(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if sent != 2 {
			t.Errorf("%d mails, want 2", sent)
		}
	})
}
