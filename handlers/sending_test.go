package handlers

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store/tenants"
)

func init() {
	// webhook-client NAME tenant=TENANT disabled count=N: a source of signed webhooks, or N of them; {NAME} is the id
	// of the last one.
	steps["webhook-client"] = func(e *env, name string, args map[string]string) {
		now := core.At(time.Now())
		n, err := strconv.Atoi(argOr(args, "count", "1"))
		e.must(err)
		var w core.WebhookClient
		for range n {
			w, err = e.store.AddWebhookClient(e.t.Context(), e.value(args["tenant"]), name, senderKey(name), "command",
				now)
			e.must(err)
		}
		if _, off := args["disabled"]; off {
			e.must(e.store.UpdateWebhookClient(e.t.Context(), w.ID, tenants.WebhookClientChange{Disabled: new(true)},
				"command", now))
		}
		e.name(name, w.ID)
	}
	// template NAME tenant=TENANT
	steps["template"] = func(e *env, name string, args map[string]string) {
		t, err := core.NewTemplate(e.value(args["tenant"]), core.TemplateInput{Name: &name, BodyText: &name}, 1)
		e.must(err)
		e.must(e.store.AddTemplate(e.t.Context(), t, "command"))
	}
	// tried TENANT: it has sent all test emails allowed in this hour
	steps["tried"] = func(e *env, name string, _ map[string]string) {
		for range 100 {
			_, err := e.store.Throttle(e.t.Context(), "test-mail:"+e.value(name), 1000, time.Hour, core.At(time.Now()))
			e.must(err)
		}
	}
	// stopped JOB: the stop rule has paused it
	steps["stopped"] = func(e *env, name string, _ map[string]string) {
		j, err := e.store.SendJob(e.t.Context(), e.value(name))
		e.must(err)
		e.must(e.store.PauseSendJob(e.t.Context(), j.No, "too many complaints: 9 of 10", core.At(time.Now())))
	}
	// suspend TENANT
	steps["suspend"] = func(e *env, name string, _ map[string]string) {
		_, err := e.store.UpdateTenant(e.t.Context(), e.value(name), "command", func(t *core.Tenant) error {
			t.Status = core.TenantSuspended
			return nil
		})
		e.must(err)
	}
	// retire LIST
	steps["retire"] = func(e *env, name string, _ map[string]string) {
		_, err := e.store.UpdateList(e.t.Context(), e.value(name), "command", func(l *core.List) error {
			l.Status = core.ListInactive
			return nil
		})
		e.must(err)
	}
}

func senderKey(name string) []byte { return append([]byte(name), make([]byte, 32)...)[:32] }

// sign sets the four webhook headers: "Signed-By: NAME", followed by the intended error: old, stranger, forged, or
// nonce=… for a nonce that is used again.
func (e *env) sign(req *http.Request, body string, words []string) {
	client, at, nonce := words[0], time.Now(), auth.NewNonce()
	id := e.value(client)
	key := senderKey(client)
	for _, w := range words[1:] {
		switch {
		case w == "old":
			at = at.Add(-301 * time.Second)
		case w == "stranger":
			id = "nobody"
		case w == "forged":
			key = senderKey("forged")
		case strings.HasPrefix(w, "nonce="):
			nonce = strings.TrimPrefix(w, "nonce=")
		}
	}
	sec := at.Unix()
	req.Header.Set(auth.HeaderClientID, id)
	req.Header.Set(auth.HeaderTimestamp, strconv.FormatInt(sec, 10))
	req.Header.Set(auth.HeaderNonce, nonce)
	req.Header.Set(auth.HeaderSignature, auth.Sign(key, req.URL.Path, id, sec, nonce, []byte(body)))
}

// If 20 copies of a signed request arrive concurrently, one takes effect.
func TestTwentyCopiesOfAWebhook(t *testing.T) {
	tried := 0
	defer coretest.Held(t, 6, &tried, "copies of a signed request at once, over HTTP")
	e := newEnv(t)
	e.step("tenant acme")
	e.step("list weekly tenant=acme")
	e.step("webhook-client ours tenant=acme")
	event := fmt.Sprintf(`{"event_id": %q, "event_type": "subscription.activated", "tenant_id": %q, "list_id": %q,
		"subscriber": {"id": %q, "email": "a@example.org", "status": "active"}, "occurred_at": "2026-01-01T00:00:00Z"}`,
		core.NewID(), e.value("acme"), e.value("weekly"), core.NewID())
	sync1 := fmt.Sprintf(`{"sync_id": %q, "batch_no": 1, "batch_total": 1, "tenant_id": %q, "list_id": %q, "subscribers": [],
		"occurred_at": "2026-01-01T00:00:00Z"}`, core.NewID(), e.value("acme"), e.value("weekly"))
	for path, body := range map[string]string{"/webhooks/subscriptions": event, "/webhooks/lists/full-sync": sync1} {
		nonce := "nonce=" + auth.NewNonce()
		statuses := make([]int, 20)
		var wg sync.WaitGroup
		for i := range statuses {
			req, err := http.NewRequestWithContext(t.Context(), "POST", e.url+path, strings.NewReader(body))
			e.must(err)
			req.Header.Set("Content-Type", "application/json")
			e.sign(req, body, []string{"ours", nonce})
			tried++
			wg.Go(func() {
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				res.Body.Close()
				statuses[i] = res.StatusCode
			})
		}
		wg.Wait()
		count := map[int]int{}
		for _, s := range statuses {
			count[s]++
		}
		if count[200] != 1 || count[409] != 19 {
			t.Errorf("%s: %v", path, count)
		}
	}
}

// If no webhook client has signed a request, the server doesn't wait for the body. The response is that for a wrong
// signature.
func TestUnknownWebhookClientsBodyIsNotRead(t *testing.T) {
	e := newEnv(t)
	at := strconv.FormatInt(time.Now().Unix(), 10)
	body := strings.NewReader("{}")
	req := httptest.NewRequest("POST", "/webhooks/lists/full-sync", io.NopCloser(body))
	req.Header = http.Header{
		"X-Client-Id": {"nobody"}, "X-Timestamp": {at}, "X-Nonce": {"0123456789abcdef"},
		"X-Signature":  {"v1=" + strings.Repeat("0", 64)},
		"Content-Type": {"application/json"},
	}
	rec := httptest.NewRecorder()
	e.handler.ServeHTTP(rec, req)
	if rec.Code != 401 || body.Len() != 2 || !strings.Contains(rec.Body.String(), `"invalid_signature"`) {
		t.Errorf("%d, %d bytes not read: %s", rec.Code, body.Len(), rec.Body)
	}
}
