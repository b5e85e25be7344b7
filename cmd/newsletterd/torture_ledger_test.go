package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/report"
	"newsletterd/store"
)

// ledger is what clients of a daemon that is killed were told has been done, each with the question that proves it.
type ledger struct {
	*daemontest.Process
	client, secret string // of webhooks
	provider       []byte // key of the mail provider's events

	mu    sync.Mutex // guards what follows
	acked map[string]func(*store.Store) error
	kinds map[string]int
}

func newLedger(t *testing.T) *ledger {
	l := &ledger{Process: daemontest.New(t), acked: map[string]func(*store.Store) error{}, kinds: map[string]int{}}
	l.Serve()
	l.Records()
	client := l.Record("admin", "webhook-client", "create", "--tenant", l.Tenant, "--name", "Outside")
	l.client, l.secret = client["id"].(string), client["secret"].(string)
	provider := l.Record("admin", "provider", "show", "--name", "mailprovider", "--show-secret")
	key, err := auth.ParseSecret(provider["secrets"].([]any)[0].(string))
	l.Must(err)
	l.provider = key
	return l
}

// ack notes what was acknowledged.
func (l *ledger) ack(kind, what string, there func(*store.Store) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[kind+" "+what] = there
	l.kinds[kind]++
}

// send posts and reports whether it was acknowledged, which a daemon that dies meanwhile has not done.
func (l *ledger) send(method, path string, body any, header ...string) (answer map[string]any, ok bool) {
	r, err := l.Try(method, path, body, header...)
	if err == nil && r.StatusCode >= 300 && r.StatusCode != 503 {
		l.Errorf("%s %s: %d %s", method, path, r.StatusCode, r.Text)
	}
	return answer, err == nil && r.StatusCode < 300 && (r.Text == "" || json.Unmarshal([]byte(r.Text), &answer) == nil)
}

// life is one visitor's round over everything that writes.
func (l *ledger) life(name string) {
	ctx := context.Background()
	email := core.Email(name + "@example.net")
	if a, ok := l.send("POST", "/api/newsletter/subscribe", obj{"list_id": l.List, "email": email}); ok {
		l.ack("subscribe", name, func(s *store.Store) error { _, err := s.Subscription(ctx, l.List, email); return err })
		if _, ok := l.send("GET", "/api/newsletter/confirm?token="+fmt.Sprint(a["confirm_token"]), nil); ok {
			l.ack("confirm", name, func(s *store.Store) error {
				sub, err := s.Subscription(ctx, l.List, email)
				if err == nil && sub.Status != core.SubscriptionActive {
					err = fmt.Errorf("it is %s", sub.Status)
				}
				return err
			})
		}
	}
	if _, ok := l.send("POST", "/api/auth/register", obj{"email": email, "password": "a password of mine"}); ok {
		l.ack("register", name, func(s *store.Store) error { _, err := s.UserByEmail(ctx, email); return err })
	}
	job := obj{"list_id": l.List, "subject": name, "body_text": "x", "scheduled_at": "2099-01-01T00:00:00Z"}
	if a, ok := l.send("POST", "/api/send-jobs", job); ok {
		l.ack("job", name, func(s *store.Store) error { _, err := s.SendJob(ctx, fmt.Sprint(a["send_job_id"])); return err })
	}
	l.events(name)
}

// events are a signed webhook that brings a subscriber, and a provider's report that takes it away again.
func (l *ledger) events(name string) {
	ctx, email := context.Background(), core.Email("w-"+name+"@example.net")
	event, _ := json.Marshal(core.Event{
		ID: core.NewID(), Type: core.EventActivated, TenantID: l.Tenant, ListID: l.List, OccurredAt: now(),
		Subscriber: core.EventSubscriber{ID: core.NewID(), Email: email, Status: "active"},
	})
	if _, ok := l.send("POST", "/webhooks/subscriptions", event, l.signed(event)...); !ok {
		return
	}
	status := func(s *store.Store) (core.Status, error) {
		sub, err := s.Subscriber(ctx, l.List, email)
		return sub.Status(), err
	}
	l.ack("webhook", name, func(s *store.Store) error { _, err := status(s); return err })
	if l.report(string(email), "suppression") {
		l.ack("provider event", name, func(s *store.Store) error {
			got, err := status(s)
			if err == nil && got != "suppressed" {
				err = fmt.Errorf("it is %s", got)
			}
			return err
		})
	}
}

// report posts the mail provider's event about an address, and reports whether it was acknowledged.
func (l *ledger) report(email, event string) bool {
	body, _ := json.Marshal(obj{
		"event_type": event, "bounce_type": "hard", "message_id": core.NewID(), "tenant_id": l.Tenant, "email": email,
		"occurred_at": now(),
	})
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, l.provider)
	fmt.Fprintf(mac, "%s.%s", stamp, body)
	_, ok := l.send("POST", "/webhooks/mailprovider", body, report.HeaderSignature,
		"t="+stamp+",v1="+hex.EncodeToString(mac.Sum(nil)))
	return ok
}

type obj = map[string]any

// signed returns the headers of an event.
func (l *ledger) signed(body []byte) []string {
	key, err := auth.ParseSecret(l.secret)
	l.Must(err)
	at, nonce := time.Now().Unix(), auth.NewNonce()
	return []string{
		auth.HeaderClientID, l.client, auth.HeaderNonce, nonce, auth.HeaderTimestamp, strconv.FormatInt(at, 10),
		auth.HeaderSignature, auth.Sign(key, "/webhooks/subscriptions", l.client, at, nonce, body),
	}
}

// TestTortureLedger kills the daemon at random moments while visitors register, subscribe, confirm, make jobs and send
// webhooks and reports: whatever was acknowledged is there afterwards.
func TestTortureLedger(t *testing.T) {
	daemontest.Parallel(t)
	kills := 3
	if daemontest.AtLength() {
		kills = 200
	}
	l := newLedger(t)
	lost, all := 0, 0
	for round := range kills {
		ctx, end := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for v := range 6 {
			wg.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					l.life(fmt.Sprintf("v%d-%d-%d", round, v, i))
				}
			})
		}
		select { // a moment of no meaning
		case <-time.After(time.Duration(100+rand.IntN(400)) * time.Millisecond):
		case <-t.Context().Done():
		}
		l.Kill()
		end()
		wg.Wait()
		l.Serve()
		s := l.Open()
		for what, there := range l.acked {
			if err := there(s); err != nil {
				l.Errorf("round %d: %s was acknowledged: %v", round, what, err)
				lost++
			}
		}
		if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
			l.Errorf("round %d: %v %v", round, found, err)
			lost++
		}
		l.Must(s.Close())
		all += len(l.acked)
		if round%20 != 19 && round != kills-1 { // what is old is asked again only now and then
			clear(l.acked)
		}
	}
	l.Stop()
	t.Logf("%d kills, acknowledged: %v", kills, slices.Sorted(maps.Keys(l.kinds)))
	total := 0
	for _, n := range l.kinds {
		total += n
	}
	coretest.Promise(t, 1, total, lost, fmt.Sprintf("writes acknowledged before one of %d kills", kills))
}
