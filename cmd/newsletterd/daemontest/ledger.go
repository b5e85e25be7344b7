package daemontest

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/mail/report"
	"newsletterd/store"
)

// Ledger records the operations that a daemon has acknowledged to its clients before it is killed. Each entry has a
// check that looks for the operation's result in the database.
type Ledger struct {
	*Process
	Acked map[string]func(*store.Store) error // by kind and name
	Kinds map[string]int                      // number of entries by kind

	mu             sync.Mutex // guards the above while clients write
	client, secret string     // of webhooks
	provider       []byte     // key of the mail provider's events
}

// NewLedger starts a daemon with Records, a webhook client and a mail provider. Settings are as for New.
func NewLedger(t testing.TB, settings ...string) *Ledger {
	t.Helper()
	l := &Ledger{Process: New(t, settings...), Acked: map[string]func(*store.Store) error{}, Kinds: map[string]int{}}
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

// ack records that the daemon has acknowledged an operation. there checks that the result exists.
func (l *Ledger) ack(kind, what string, there func(*store.Store) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Acked[kind+" "+what] = there
	l.Kinds[kind]++
}

// Visits starts n visitors that call Visit repeatedly. Their names start with name. stop ends them and waits for them.
func (l *Ledger) Visits(name string, n int) (stop func()) {
	ctx, end := context.WithCancel(l.Context())
	var all sync.WaitGroup
	for v := range n {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				l.Visit(fmt.Sprintf("%s-%d-%d", name, v, i))
			}
		})
	}
	return func() { end(); all.Wait() }
}

// Acknowledged returns a copy of Acked. It is safe to call while clients write.
func (l *Ledger) Acknowledged() map[string]func(*store.Store) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.Acked)
}

// Forget empties Acked. It is safe to call while clients write.
func (l *Ledger) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.Acked)
}

// post sends a request and reports whether it was acknowledged. If the daemon dies during the request, it isn't.
func (l *Ledger) post(method, path string, body any, header ...string) (answer map[string]any, ok bool) {
	r, err := l.Try(method, path, body, header...)
	if err == nil && r.StatusCode >= 300 && r.StatusCode != 503 {
		l.Errorf("%s %s: %d %s", method, path, r.StatusCode, r.Text)
	}
	return answer, err == nil && r.StatusCode < 300 && (r.Text == "" || json.Unmarshal([]byte(r.Text), &answer) == nil)
}

// Visit runs every write operation once, as the visitor with the given name.
func (l *Ledger) Visit(name string) {
	ctx := context.Background()
	email := core.Email(name + "@example.net")
	if a, ok := l.post("POST", "/api/newsletter/subscribe", map[string]any{"list_id": l.List, "email": email}); ok {
		l.ack("subscribe", name, func(s *store.Store) error {
			_,
				err := s.Subscription(ctx, l.List, email)
			return err
		})
		if _, ok := l.post("GET", "/api/newsletter/confirm?token="+fmt.Sprint(a["confirm_token"]), nil); ok {
			l.ack("confirm", name, func(s *store.Store) error {
				sub, err := s.Subscription(ctx, l.List, email)
				if err == nil && sub.Status != core.SubscriptionActive {
					err = fmt.Errorf("it is %s", sub.Status)
				}
				return err
			})
		}
	}
	if _, ok := l.post("POST", "/api/auth/register",
		map[string]any{"email": email, "password": "a password of mine"}); ok {
		l.ack("register", name, func(s *store.Store) error { _, err := s.UserByEmail(ctx, email); return err })
	}
	job := map[string]any{"list_id": l.List, "subject": name, "body_text": "x", "scheduled_at": "2099-01-01T00:00:00Z"}
	if a, ok := l.post("POST", "/api/send-jobs", job); ok {
		l.ack("job", name, func(s *store.Store) error {
			_, err := s.SendJob(ctx,
				fmt.Sprint(a["send_job_id"]))
			return err
		})
	}

	// A signed webhook adds a subscriber, and a provider's report removes it again.
	hooked := core.Email("w-" + name + "@example.net")
	event, _ := json.Marshal(core.Event{
		ID: core.NewID(), Type: core.EventActivated, TenantID: l.Tenant, ListID: l.List, OccurredAt: core.At(time.Now()),
		Subscriber: core.EventSubscriber{ID: core.NewID(), Email: hooked, Status: "active"},
	})
	if _, ok := l.post("POST", "/webhooks/subscriptions", event, l.Signed(event)...); !ok {
		return
	}
	status := func(s *store.Store) (core.Status, error) {
		sub, err := s.Subscriber(ctx, l.List, hooked)
		return sub.Status(), err
	}
	l.ack("webhook", name, func(s *store.Store) error { _, err := status(s); return err })
	if l.Report(string(hooked), "suppression") {
		l.ack("provider event", name, func(s *store.Store) error {
			got, err := status(s)
			if err == nil && got != "suppressed" {
				err = fmt.Errorf("it is %s", got)
			}
			return err
		})
	}
}

// Report posts the mail provider's event about an address, and reports whether it was acknowledged.
func (l *Ledger) Report(email, event string) bool {
	body, _ := json.Marshal(map[string]any{
		"event_type": event, "bounce_type": "hard", "message_id": core.NewID(), "tenant_id": l.Tenant, "email": email,
		"occurred_at": core.At(time.Now()),
	})
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, l.provider)
	fmt.Fprintf(mac, "%s.%s", stamp, body)
	_, ok := l.post("POST", "/webhooks/mailprovider", body, report.HeaderSignature,
		"t="+stamp+",v1="+hex.EncodeToString(mac.Sum(nil)))
	return ok
}

// Signed returns an event's signature headers.
func (l *Ledger) Signed(body []byte) []string {
	key, err := auth.ParseSecret(l.secret)
	l.Must(err)
	at, nonce := time.Now().Unix(), auth.NewNonce()
	return []string{
		auth.HeaderClientID, l.client, auth.HeaderNonce, nonce, auth.HeaderTimestamp, strconv.FormatInt(at, 10),
		auth.HeaderSignature, auth.Sign(key, "/webhooks/subscriptions", l.client, at, nonce, body),
	}
}
