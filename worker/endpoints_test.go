package worker

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store"
)

// crm is a receiver that a tenant has brought.
type crm struct {
	mu     sync.Mutex
	status map[string]int // by path
	heard  map[string][]core.Event
	posts  map[string]int
	last   *http.Request
	body   []byte

	retryAfter string // of a refusal
}

func (c *crm) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var e core.Event
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	path := req.URL.Path
	c.posts[path]++
	c.last, c.body = req, body
	status := max(c.status[path], 200)
	if status == 599 {
		return nil, io.ErrUnexpectedEOF
	}
	if status/100 == 2 {
		c.heard[path] = append(c.heard[path], e)
	}
	res := coretest.Response(status, "{}")
	if c.retryAfter != "" && status == 503 {
		res.Header.Set("Retry-After", c.retryAfter)
	}
	return res, nil
}

func (c *crm) say(path string, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status[path] = status
}

func (c *crm) types(path string) (types []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.heard[path] {
		types = append(types, strings.TrimPrefix(e.Type, "subscription."))
	}
	return types
}

func (c *crm) count(path string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.posts[path]
}

// withEndpoints runs a test with the loops of the outbox and of endpoints.
func withEndpoints(t *testing.T, fn func(m *member, c *crm)) {
	inBubble(t, func(m *member) {
		c := &crm{status: map[string]int{}, heard: map[string][]core.Event{}, posts: map[string]int{}}
		poster := NewEndpointPoster(m.Store, &http.Client{Transport: c})
		m.run(Outbox(m.Store, m.poster, quiet), Endpoints(m.Store, poster, quiet))
		fn(m, c)
	})
}

func settleFor(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Each endpoint hears what it wants, in order; one that is down holds up neither the other nor the send service.
func TestEndpointsHearTheSameEvents(t *testing.T) {
	withEndpoints(t, func(m *member, c *crm) {
		m.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/all")})
		m.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/left"), Events: &[]string{core.EventUnsubscribed}})
		down := m.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/down")})
		c.say("/down", 503)
		m.Active(m.list.ID, "a@example.org")
		settleFor(time.Second)
		m.Leave(m.list.ID, "a@example.org")
		m.Active(m.list.ID, "a@example.org")
		settleFor(time.Second)
		all := []string{"activated", "unsubscribed", "activated"}
		if got := c.types("/all"); !slices.Equal(got, all) || len(m.receiver.heard()) != 3 {
			m.Errorf("all %v, send service %d", got, len(m.receiver.heard()))
		}
		if got := c.types("/left"); !slices.Equal(got, []string{"unsubscribed"}) {
			m.Errorf("left %v", got)
		}
		if st, err := m.EndpointState(m.Context()); err != nil || st.Waiting != 3 {
			m.Errorf("%+v, %v", st, err)
		}
		c.say("/down", 200)
		settleFor(time.Hour)
		if got := c.types("/down"); !slices.Equal(got, all) {
			m.Errorf("the one that was down %v", got)
		}
		log, err := m.EndpointAttempts(m.Context(), down.ID, false, 100)
		m.Must(err)
		if n := len(log); n < 4 || log[0].Outcome != "delivered" || log[n-1].Outcome != "retry" || log[n-1].Status != 503 {
			m.Errorf("%d lines: %+v", n, log)
		}
		if e, err := m.Endpoint(m.Context(), down.ID); err != nil || e.FailingSince != 0 {
			m.Errorf("%+v, %v", e, err)
		}
	})
}

// Both kinds of signature hold, also while a secret is replaced, and the one before ends by itself.
func TestEndpointSignatures(t *testing.T) {
	withEndpoints(t, func(m *member, c *crm) {
		e := m.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/in?k=1")})
		second := make([]byte, 32)
		second[0] = 1
		check := func(want int, keys ...[]byte) {
			m.Helper()
			m.Active(m.list.ID, core.Email(fmt.Sprintf("s%d@example.org", c.count("/in"))))
			settleFor(time.Second)
			c.mu.Lock()
			defer c.mu.Unlock()
			h := c.last.Header
			sig, err := auth.ParseSignature(h, core.At(time.Now()))
			m.Must(err)
			standard := strings.Fields(h.Get("webhook-signature"))
			if sig.ClientID != e.ID || len(standard) != want || h.Get("X-Timestamp") != h.Get("webhook-timestamp") {
				m.Errorf("%v", h)
			}
			for i, key := range keys {
				if err := auth.VerifySignature(sig, "/in", c.body, key); err != nil {
					m.Errorf("key %d: %v", i, err)
				}
				mac := hmac.New(sha256.New, key)
				fmt.Fprintf(mac, "%s.%s.%s", h.Get("webhook-id"), h.Get("webhook-timestamp"), c.body)
				if !slices.Contains(standard, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil))) {
					m.Errorf("key %d is not in %v", i, standard)
				}
			}
		}
		first := make([]byte, 32)
		check(1, first)
		_, err := m.UpdateEndpoint(m.Context(), e.ID, store.EndpointChange{NewKey: second, Overlap: time.Hour}, "test",
			core.At(time.Now()))
		m.Must(err)
		check(2, second, first)
		settleFor(2 * time.Hour)
		check(1, second)
	})
}

// One that never answers is tried ever more rarely; its events become dead letters after 72 hours, and after five days
// it is switched off with the reason. Switched on again it goes on with what comes, and dead letters can be brought
// back.
func TestEndpointThatNeverAnswers(t *testing.T) {
	withEndpoints(t, func(m *member, c *crm) {
		e := m.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/gone")})
		c.say("/gone", 599)
		for i := range 30 {
			m.Active(m.list.ID, core.Email(fmt.Sprintf("s%d@example.org", i)))
		}
		settleFor(71 * time.Hour)
		if st, err := m.EndpointState(m.Context()); err != nil || st.Waiting != 30 {
			m.Errorf("%+v, %v", st, err)
		}
		if n := c.count("/gone"); n > 120 {
			m.Errorf("%d attempts", n)
		}
		settleFor(10 * time.Hour)
		if st, err := m.EndpointState(m.Context()); err != nil || st.Waiting != 0 || st.Dead != 30 {
			m.Errorf("after 81 hours: %+v, %v", st, err)
		}
		m.Active(m.list.ID, "late@example.org")
		settleFor(60 * time.Hour)
		if e, err := m.Endpoint(m.Context(), e.ID); err != nil || e.DisabledAt == 0 ||
			!strings.Contains(e.DisabledReason, "five days") {
			m.Errorf("%+v, %v", e, err)
		}
		m.Active(m.list.ID, "unheard@example.org")
		before := c.count("/gone")
		settleFor(5 * time.Hour)
		if c.count("/gone") != before {
			m.Error("it is tried although it is switched off")
		}
		c.say("/gone", 200)
		_, err := m.UpdateEndpoint(m.Context(), e.ID, store.EndpointChange{Disabled: new(false)}, "test", core.At(time.Now()))
		m.Must(err)
		_, err = m.RetryDead(m.Context(), e.TenantID, 500, "test", core.At(time.Now()))
		m.Must(err)
		settleFor(3 * time.Hour)
		if got := len(c.types("/gone")); got != 31 {
			m.Errorf("%d came, want 31", got)
		}
	})
}

func TestEndpointThatWantsNoMore(t *testing.T) {
	withEndpoints(t, func(m *member, c *crm) {
		e := m.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/bye")})
		c.say("/bye", 410)
		m.Active(m.list.ID, "a@example.org")
		settleFor(time.Minute)
		if e, err := m.Endpoint(m.Context(), e.ID); err != nil || e.DisabledAt == 0 ||
			!strings.Contains(e.DisabledReason, "410") {
			m.Errorf("%+v, %v", e, err)
		}
		m.Active(m.list.ID, "b@example.org")
		settleFor(time.Minute)
		if n := c.count("/bye"); n != 1 {
			m.Errorf("%d posts", n)
		}
	})
}

// A receiver that is down is left alone between two looks, however many events are written meanwhile; a new event may
// bring the next look forward, but not before the time that Retry-After asked for.
func TestReceiverThatIsDownIsLeftAlone(t *testing.T) {
	for _, c := range []struct {
		retryAfter string
		looks      int // at the endpoint, in ten minutes
	}{{"", 15}, {"660", 1}} {
		withEndpoints(t, func(m *member, r *crm) {
			m.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/down")})
			r.retryAfter = c.retryAfter
			r.say("/down", 503)
			m.receiver.say(func(core.Event) (int, map[string]string) { return 503, nil })
			const events = 600
			for i := range events {
				m.Active(m.list.ID, core.Email(fmt.Sprintf("s%d@example.org", i)))
				settleFor(time.Second)
			}
			if n := r.count("/down"); n > c.looks {
				m.Errorf("Retry-After %q: %d looks at the endpoint, %d may be", c.retryAfter, n, c.looks)
			}
			if n := m.receiver.count(); n > events/3 {
				m.Errorf("%d looks at the send service", n)
			}
			r.say("/down", 200)
			m.receiver.say(nil)
			settleFor(2 * time.Minute)
			if n := len(r.types("/down")); n != events || len(m.receiver.heard()) < events {
				m.Errorf("Retry-After %q: %d and %d of %d events came through", c.retryAfter, n, len(m.receiver.heard()), events)
			}
		})
	}
}

// Who has asked for hours of rest is looked at sooner where an operator sends events again, or has changed the
// endpoint.
func TestOperatorEndsTheRest(t *testing.T) {
	withEndpoints(t, func(m *member, c *crm) {
		e := m.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/rest")})
		c.say("/rest", 503)
		c.retryAfter = "86400"
		m.Active(m.list.ID, "a@example.org")
		settleFor(time.Minute)
		m.Active(m.list.ID, "b@example.org")
		settleFor(time.Hour)
		if n := c.count("/rest"); n != 1 {
			m.Errorf("%d attempts in the day of rest", n)
		}
		waiting, err := m.OutboxEvents(m.Context(), store.OutboxFilter{EndpointID: e.ID}, 0, 1)
		m.Must(err)
		m.Must(m.RetryEvent(m.Context(), waiting[0].ID, "test", core.At(time.Now())))
		m.Active(m.list.ID, "c@example.org")
		settleFor(time.Minute)
		if n := c.count("/rest"); n != 2 {
			m.Errorf("%d attempts after an operator's", n)
		}
		c.say("/moved", 200)
		_, err = m.UpdateEndpoint(m.Context(), e.ID,
			store.EndpointChange{EndpointInput: core.EndpointInput{URL: new("https://crm.test/moved")}}, "test",
			core.At(time.Now()))
		m.Must(err)
		settleFor(time.Minute)
		if got := len(c.types("/moved")); got != 3 {
			m.Errorf("%d came at the new address, want 3", got)
		}
	})
}
