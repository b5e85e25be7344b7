package worker_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/worker/workertest"
)

// groups is a relay that accepts any number of emails at once, and counts the emails without a reply.
type groups struct {
	mu            sync.Mutex
	open, most    int
	largest, last int // sizes of the groups; last: number of emails in groups after the 1,000th email
	taken         int

	reply func(n int) // waits for the reply to n emails; nil: a millisecond
}

func (g *groups) deliver(ctx context.Context, src *smtp.Source) error {
	var held *smtp.Envelope
	for {
		e, ok := held, true
		if held = nil; e == nil {
			e, ok = src.Next(ctx, true)
		}
		if !ok {
			return nil
		}
		if !src.Commit(e, true) {
			src.Done(e, smtp.Outcome{})
			continue
		}
		group := []*smtp.Envelope{e}
		for len(group) < 8 {
			next, ok := src.Next(ctx, false)
			if !ok {
				break
			}
			if !src.Commit(next, false) {
				held = next
				break
			}
			group = append(group, next)
		}
		g.mu.Lock()
		if g.open += len(group); g.taken > 1000 {
			g.last = max(g.last, len(group))
		}
		g.most, g.largest = max(g.most, g.open), max(g.largest, len(group))
		g.mu.Unlock()
		time.Sleep(time.Millisecond)
		if g.reply != nil {
			g.reply(len(group))
		}
		g.mu.Lock()
		g.open -= len(group)
		g.taken += len(group)
		g.mu.Unlock()
		for _, e := range group {
			src.Done(e, smtp.Outcome{Result: smtp.Sent, Code: 250})
		}
	}
}

// TestMailsAtOnceKeepToTheWindow checks that the number of emails without a reply never exceeds the window, even if two
// routes share it, and that the last emails of a job are sent one at a time.
func TestMailsAtOnceKeepToTheWindow(t *testing.T) {
	for name, tenants := range map[string]int{"one route": 1, "two routes": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &groups{}
				h := workertest.New(t, smtptest.Func(g.deliver))
				h.Opts.Connections, h.Opts.MaxUnrecorded = 3, 24
				h.Readers(h.List, 1064/tenants)
				jobs := []core.SendJob{h.Job()}
				if tenants == 2 {
					n := h.Neighbor(1064 / tenants)
					n.SetRelays(n.List.TenantID, core.Relay{Host: "own.example.org", Connections: 3})
					h.Opts.Relay = func(*core.Relay) smtp.Sender { return smtptest.Func(g.deliver) }
					jobs = append(jobs, n.Job())
				}
				h.Start()
				for _, j := range jobs {
					h.AddsUp(h.Wait(j), int64(1064/tenants), 0, 0)
				}
				if g.most > 24 || g.largest < 3 || tenants == 1 && g.last > 1 {
					t.Errorf("%d without a reply, the window is 24; %d at once, and %d at the end", g.most, g.largest, g.last)
				}
			})
		})
	}
}

// TestConnectionsThatHangLeaveSlots checks that, if connections hang after a group of emails was written to them, the
// others continue with the remaining slots, one email at a time.
func TestConnectionsThatHangLeaveSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan bool)
		var mu sync.Mutex
		hung, sent := 0, 0
		g := &groups{reply: func(n int) {
			time.Sleep(time.Second)
			mu.Lock()
			hangs := hung < 8
			if sent += n; hangs {
				sent -= n
				hung++
			}
			mu.Unlock()
			if hangs {
				<-hang
			}
		}}
		h := workertest.New(t, smtptest.Func(g.deliver))
		h.Opts.Connections, h.Opts.MaxUnrecorded = 16, 64
		h.Readers(h.List, 2000)
		h.Start()
		j := h.Job()
		time.Sleep(time.Hour)
		mu.Lock()
		if hung != 8 || sent < 2000-9*hung {
			t.Errorf("%d of 2000 mails have gone out while %d connections hang", sent, hung)
		}
		mu.Unlock()
		close(hang)
		h.AddsUp(h.Wait(j), 2000, 0, 0)
	})
}
