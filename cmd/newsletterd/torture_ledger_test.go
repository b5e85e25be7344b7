package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/report"
	"newsletterd/store"
)

// ledger is what clients of a daemon that is killed were told has been done, each with the question that proves it.
type ledger struct {
	*figures
	client, secret string // of webhooks
	provider       []byte // key of the mail provider's events

	mu    sync.Mutex // guards what follows
	acked map[string]func(*store.Store) error
	kinds map[string]int
}

func newLedger(t *testing.T) *ledger {
	l := &ledger{figures: newProcess(t), acked: map[string]func(*store.Store) error{}, kinds: map[string]int{}}
	l.serve()
	l.records()
	b := l.record("admin", "webhook-client", "create", "--tenant", l.tenant, "--name", "Outside")
	l.client, l.secret = b["id"].(string), b["secret"].(string)
	shown := l.record("admin", "provider", "show", "--name", "mailprovider", "--show-secret")
	key, err := auth.ParseSecret(shown["secrets"].([]any)[0].(string))
	l.must(err)
	l.provider = key
	return l
}

// record runs a command and returns the JSON object that it prints.
func (l *ledger) record(args ...string) map[string]any {
	l.Helper()
	var m map[string]any
	c := exec.Command(l.program("newsletterd"), append(args, "--json")...)
	c.Dir = l.dir
	b, err := c.Output()
	l.must(err)
	l.must(json.Unmarshal(b, &m))
	return m
}

// ack notes what was acknowledged.
func (l *ledger) ack(kind, what string, there func(*store.Store) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[kind+" "+what] = there
	l.kinds[kind]++
}

// send posts and reports whether it was acknowledged, which a daemon that dies meanwhile has not done.
func (l *ledger) send(method, path string, body []byte, header map[string]string) (answer map[string]any, ok bool) {
	req, err := http.NewRequest(method, l.url+path, bytes.NewReader(body))
	l.must(err)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := l.httpClient.Do(req)
	if err != nil {
		return nil, false
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 && res.StatusCode != 503 {
		l.Errorf("%s %s: %d %s", method, path, res.StatusCode, text)
	}
	return answer, err == nil && res.StatusCode < 300 && (len(text) == 0 || json.Unmarshal(text, &answer) == nil)
}

// life is one visitor's round over everything that writes.
func (l *ledger) life(name string) {
	ctx := context.Background()
	email := core.Email(name + "@example.net")
	body := func(v any) []byte { b, _ := json.Marshal(v); return b }
	if a, ok := l.send("POST", "/api/newsletter/subscribe", body(obj{"list_id": l.list, "email": email}), nil); ok {
		l.ack("subscribe", name, func(s *store.Store) error { _, err := s.Subscription(ctx, l.list, email); return err })
		if _, ok := l.send("GET", "/api/newsletter/confirm?token="+fmt.Sprint(a["confirm_token"]), nil, nil); ok {
			l.ack("confirm", name, func(s *store.Store) error {
				sub, err := s.Subscription(ctx, l.list, email)
				if err == nil && sub.Status != core.SubscriptionActive {
					err = fmt.Errorf("it is %s", sub.Status)
				}
				return err
			})
		}
	}
	if _, ok := l.send("POST", "/api/auth/register", body(obj{"email": email, "password": "a password of mine"}),
		nil); ok {
		l.ack("register", name, func(s *store.Store) error { _, err := s.UserByEmail(ctx, email); return err })
	}
	job := obj{"list_id": l.list, "subject": name, "body_text": "x", "scheduled_at": "2099-01-01T00:00:00Z"}
	if a, ok := l.send("POST", "/api/send-jobs", body(job), map[string]string{"Authorization": "Bearer " + l.token}); ok {
		l.ack("job", name, func(s *store.Store) error { _, err := s.SendJob(ctx, fmt.Sprint(a["send_job_id"])); return err })
	}
	l.events(name)
}

// events are a signed webhook that brings a subscriber, and a provider's report that takes it away again.
func (l *ledger) events(name string) {
	ctx, email := context.Background(), core.Email("w-"+name+"@example.net")
	event, _ := json.Marshal(core.Event{
		ID: core.NewID(), Type: core.EventActivated, TenantID: l.tenant, ListID: l.list, OccurredAt: now(),
		Subscriber: core.EventSubscriber{ID: core.NewID(), Email: email, Status: "active"},
	})
	if _, ok := l.send("POST", "/webhooks/subscriptions", event, l.signed(event)); !ok {
		return
	}
	status := func(s *store.Store) (core.Status, error) {
		sub, err := s.Subscriber(ctx, l.list, email)
		return sub.Status(), err
	}
	l.ack("webhook", name, func(s *store.Store) error { _, err := status(s); return err })
	bounce, _ := json.Marshal(obj{
		"event_type": "suppression", "message_id": name, "tenant_id": l.tenant, "email": email,
		"occurred_at": now(),
	})
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, l.provider)
	fmt.Fprintf(mac, "%s.%s", stamp, bounce)
	header := map[string]string{report.HeaderSignature: "t=" + stamp + ",v1=" + hex.EncodeToString(mac.Sum(nil))}
	if _, ok := l.send("POST", "/webhooks/mailprovider", bounce, header); ok {
		l.ack("provider event", name, func(s *store.Store) error {
			got, err := status(s)
			if err == nil && got != "suppressed" {
				err = fmt.Errorf("it is %s", got)
			}
			return err
		})
	}
}

type obj = map[string]any

func (l *ledger) signed(body []byte) map[string]string {
	key, err := auth.ParseSecret(l.secret)
	l.must(err)
	at, nonce := time.Now().Unix(), auth.NewNonce()
	return map[string]string{
		auth.HeaderClientID: l.client, auth.HeaderNonce: nonce, auth.HeaderTimestamp: strconv.FormatInt(at, 10),
		auth.HeaderSignature: auth.Sign(key, "/webhooks/subscriptions", l.client, at, nonce, body),
	}
}

// missing counts what was acknowledged and is not there, and looks the file over.
func (l *ledger) missing(round int) (lost int) {
	l.Helper()
	s := l.open()
	for what, there := range l.acked {
		if err := there(s); err != nil {
			l.Errorf("round %d: %s was acknowledged: %v", round, what, err)
			lost++
		}
	}
	if found, err := s.Check(l.Context()); err != nil || len(found) > 0 {
		l.Errorf("round %d: %v %v", round, found, err)
		lost++
	}
	l.must(s.Close())
	return lost
}

// TestTortureLedger kills the daemon at random moments while visitors register, subscribe, confirm, make jobs and send
// webhooks and reports: whatever was acknowledged is there afterwards.
func TestTortureLedger(t *testing.T) {
	sideBySide(t)
	kills := 3
	if os.Getenv(tortureEnv) != "" {
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
		l.must(l.daemon.Process.Kill())
		_ = l.daemon.Wait()
		end()
		wg.Wait()
		l.serve()
		lost += l.missing(round)
		all += len(l.acked)
		if round%20 != 19 && round != kills-1 { // what is old is asked again only now and then
			clear(l.acked)
		}
	}
	l.stop()
	t.Logf("%d kills, acknowledged: %v", kills, slices.Sorted(maps.Keys(l.kinds)))
	total := 0
	for _, n := range l.kinds {
		total += n
	}
	coretest.Promise(t, 1, total, lost, fmt.Sprintf("writes acknowledged before one of %d kills", kills))
}
