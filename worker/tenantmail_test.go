package worker_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/store"
	"newsletterd/worker"
)

func (h *house) ask(k int) {
	h.Helper()
	_, _, err := h.Subscribe(h.Context(), store.SubscribeRequest{ListID: h.list.ID, Email: core.Email(fmt.Sprintf("ask%d@example.org", k))}, core.At(time.Now()))
	h.must(err)
}

// Mails to one go by the relay of their tenant; what is wrong with one tenant's is nobody else's wait, and a second relay takes
// over from the first.
func TestMailsToOneGoByTheirTenantsRelay(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var mu sync.Mutex
		mended := false
		broken := func() *mail.RouteError {
			mu.Lock()
			defer mu.Unlock()
			if mended {
				return nil
			}
			return &mail.RouteError{Fault: mail.FaultAuth, Stage: "AUTH", Code: 535}
		}
		shared, first, second, dead := &script{}, &script{route: broken}, &script{}, &script{route: broken}
		h := newHouse(t, shared)
		o, p := h.neighbor(0), h.neighbor(0)
		o.setRelays(o.tenant.ID, core.Relay{Host: "one.example.org"}, core.Relay{Host: "two.example.org"})
		p.setRelays(p.tenant.ID, core.Relay{Host: "dead.example.org"})
		h.start()
		opts := worker.MailerOptions{
			Store: h.Store, Sender: shared, Sealer: h.opts.Sealer, Ident: h.opts.Ident, PublicURL: "http://news.test", From: h.opts.From,
			Tenants: true, Log: h.opts.Log,
		}
		r := &relays{by: map[string]*script{"one.example.org": first, "two.example.org": second, "dead.example.org": dead}}
		g := worker.NewGroup(h.opts.Log, worker.Mailer(opts), worker.TenantMailer(opts, r.sender))
		g.Start()
		defer g.Drain(time.Minute)
		for k := range 300 { // of a tenant whose relay is down: more than are read at once
			p.ask(k)
		}
		for k := range 10 {
			h.ask(1000 + k)
			o.ask(2000 + k)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if shared.sum() != 10 || second.sum() != 10 || first.sum() != 0 || dead.sum() != 0 {
			t.Errorf("shared %d, first %d, second %d, dead %d", shared.sum(), first.sum(), second.sum(), dead.sum())
		}
		mu.Lock()
		mended = true
		mu.Unlock()
		time.Sleep(30 * time.Minute)
		o.ask(3000)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if dead.sum() != 300 || first.sum() != 1 {
			t.Errorf("%d of 300 after the relay came back, %d by the first relay again", dead.sum(), first.sum())
		}
		for _, s := range []*script{shared, first, second, dead} {
			for to, n := range s.count() {
				if n != 1 {
					t.Errorf("%s got %d", to, n)
				}
			}
		}
	})
}
