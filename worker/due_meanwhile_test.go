package worker

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
)

// An event that becomes due again while the answer to another is waited for, after the last look at what is due, is
// delivered in its time, though nothing kicks the loop any more.
func TestAnEventThatBecomesDueDuringASlowAnswer(t *testing.T) {
	inBubble(t, func(m *member) {
		var mu sync.Mutex
		tried, done := map[int64]int{}, 0
		o := &outbox{store: m.Store, probes: probeDelays, log: quiet, wake: make(chan struct{}, 1)}
		o.loop = &Loop{Name: "outbox", Step: o.step}
		o.post = func(_ context.Context, e *core.OutboxEvent) verdict {
			mu.Lock()
			tried[e.ID]++
			n, slow := tried[e.ID], e.ID == 1
			if done++; !slow && n == 1 {
				done--
			}
			mu.Unlock()
			if slow {
				time.Sleep(1900 * time.Millisecond)
			} else if n == 1 {
				return verdict{status: 500, reason: "HTTP 500"}
			}
			return verdict{done: true, status: 200}
		}
		for i := range 14 {
			m.Active(m.list.ID, core.Email(fmt.Sprintf("e%d@example.org", i)))
		}
		m.run(o.loop)
		time.Sleep(20 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if done != 14 {
			t.Errorf("%d of 14 events were delivered: %v", done, tried)
		}
	})
}

// A mail that becomes due after the last look, while the last connection ends, goes out in its time.
func TestAMailThatBecomesDueAsTheLastConnectionEnds(t *testing.T) {
	inBubble(t, func(m *member) {
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
			at, err := m.NextMail(m.Context(), m.Time())
			m.Must(err)
			if at != 0 { // until just after the instant at which the first mail is due again
				time.Sleep(time.Until(at.Time().Add(time.Millisecond)))
			}
			mu.Lock()
			sent++
			mu.Unlock()
			src.Done(e, smtp.Outcome{Result: smtp.Sent})
			return nil
		})
		m.Pending(m.list.ID, "a@example.org")
		m.Pending(m.list.ID, "b@example.org")
		m.run(m.mailer(s))
		time.Sleep(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if sent != 2 {
			t.Errorf("%d mails, want 2", sent)
		}
	})
}
