package worker_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

// withEndpoints runs the loops of the outbox and of endpoints.
func withEndpoints(t *testing.T) (*workertest.Harness, *workertest.Receiver) {
	h := workertest.New(t, nil)
	r := workertest.NewReceiver(h.Seeder)
	h.Run(worker.Outbox(h.Store, r.Poster(), h.Opts.Log), worker.Endpoints(h.Store, r.EndpointPoster(), h.Opts.Log))
	return h, r
}

// TestEndpointsHearTheSameEvents checks that each endpoint gets the events it wants, in order. An endpoint that is down
// delays neither the other one nor the send service.
func TestEndpointsHearTheSameEvents(t *testing.T) {
	coretest.Bubble(t, func(t *testing.T) {
		h, r := withEndpoints(t)
		h.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/all")})
		h.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/left"), Events: &[]string{core.EventUnsubscribed}})
		down := h.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/down")})
		r.Say("/down", 503)
		h.Active(h.List.ID, "a@example.org")
		coretest.Settle(time.Second)
		h.Leave(h.List.ID, "a@example.org")
		h.Active(h.List.ID, "a@example.org")
		coretest.Settle(time.Second)
		all := []string{core.EventActivated, core.EventUnsubscribed, core.EventActivated}
		if got := r.Types("/all"); !slices.Equal(got, all) || len(r.Events(workertest.EventPath)) != 3 {
			h.Errorf("all %v, send service %d", got, len(r.Events(workertest.EventPath)))
		}
		if got := r.Types("/left"); !slices.Equal(got, []string{core.EventUnsubscribed}) {
			h.Errorf("left %v", got)
		}
		if st, err := h.EndpointState(h.Context()); err != nil || st.Waiting != 3 {
			h.Errorf("%+v, %v", st, err)
		}
		r.Say("/down", 200)
		coretest.Settle(time.Hour)
		if got := r.Types("/down"); !slices.Equal(got, all) {
			h.Errorf("the one that was down %v", got)
		}
		log, err := h.EndpointAttempts(h.Context(), down.ID, false, core.Page{Limit: 100})
		h.Must(err)
		if n := len(log); n < 4 || log[0].Outcome != "delivered" || log[n-1].Outcome != "retry" || log[n-1].Status != 503 {
			h.Errorf("%d lines: %+v", n, log)
		}
		if e, err := h.Endpoint(h.Context(), down.ID); err != nil || e.FailingSince != 0 {
			h.Errorf("%+v, %v", e, err)
		}
	})
}

// TestEndpointSignatures checks that both kinds of signatures are valid, even while a secret is being replaced, and
// that the previous secret expires.
func TestEndpointSignatures(t *testing.T) {
	coretest.Bubble(t, func(t *testing.T) {
		h, r := withEndpoints(t)
		e := h.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/in?k=1")})
		second := make([]byte, 32)
		second[0] = 1
		check := func(want int, keys ...[]byte) {
			h.Helper()
			h.Active(h.List.ID, core.Email(fmt.Sprintf("s%d@example.org", len(r.Posts("/in")))))
			coretest.Settle(time.Second)
			posts := r.Posts("/in")
			head, body := posts[len(posts)-1].Header, posts[len(posts)-1].Body
			sig, err := auth.ParseSignature(head, core.At(time.Now()))
			h.Must(err)
			standard := strings.Fields(head.Get("webhook-signature"))
			if sig.ClientID != e.ID || len(standard) != want || head.Get("X-Timestamp") != head.Get("webhook-timestamp") {
				h.Errorf("%v", head)
			}
			for i, key := range keys {
				if err := auth.VerifySignature(sig, "/in", body, key); err != nil {
					h.Errorf("key %d: %v", i, err)
				}
				mac := hmac.New(sha256.New, key)
				fmt.Fprintf(mac, "%s.%s.%s", head.Get("webhook-id"), head.Get("webhook-timestamp"), body)
				if !slices.Contains(standard, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil))) {
					h.Errorf("key %d is not in %v", i, standard)
				}
			}
		}
		first := make([]byte, 32)
		check(1, first)
		_, err := h.UpdateEndpoint(h.Context(), e.ID, tenants.EndpointChange{NewKey: second, Overlap: time.Hour}, "test",
			core.At(time.Now()))
		h.Must(err)
		check(2, second, first)
		coretest.Settle(2 * time.Hour)
		check(1, second)
	})
}

// TestEndpointThatNeverAnswers checks that an endpoint that never responds is tried less and less often. Its events
// become dead letters after 72 hours, and after five days it is disabled with the reason. Once enabled again, it gets
// new events, and dead letters can be sent again.
func TestEndpointThatNeverAnswers(t *testing.T) {
	coretest.Bubble(t, func(t *testing.T) {
		h, r := withEndpoints(t)
		e := h.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/gone")})
		r.Say("/gone", 0)
		for i := range 30 {
			h.Active(h.List.ID, core.Email(fmt.Sprintf("s%d@example.org", i)))
		}
		coretest.Settle(71 * time.Hour)
		if st, err := h.EndpointState(h.Context()); err != nil || st.Waiting != 30 {
			h.Errorf("%+v, %v", st, err)
		}
		if n := len(r.Posts("/gone")); n > 120 {
			h.Errorf("%d attempts", n)
		}
		coretest.Settle(10 * time.Hour)
		if st, err := h.EndpointState(h.Context()); err != nil || st.Waiting != 0 || st.Dead != 30 {
			h.Errorf("after 81 hours: %+v, %v", st, err)
		}
		h.Active(h.List.ID, "late@example.org")
		coretest.Settle(60 * time.Hour)
		if e, err := h.Endpoint(h.Context(), e.ID); err != nil || e.DisabledAt == 0 ||
			!strings.Contains(e.DisabledReason, "five days") {
			h.Errorf("%+v, %v", e, err)
		}
		h.Active(h.List.ID, "unheard@example.org")
		before := len(r.Posts("/gone"))
		coretest.Settle(5 * time.Hour)
		if len(r.Posts("/gone")) != before {
			h.Error("it is tried although it is switched off")
		}
		r.Say("/gone", 200)
		_, err := h.UpdateEndpoint(h.Context(), e.ID, tenants.EndpointChange{Disabled: new(false)}, "test",
			core.At(time.Now()))
		h.Must(err)
		_, err = h.RetryDead(h.Context(), tenants.OutboxFilter{TenantID: e.TenantID}, 500, "test", core.At(time.Now()))
		h.Must(err)
		coretest.Settle(3 * time.Hour)
		if got := len(r.Events("/gone")); got != 31 {
			h.Errorf("%d came, want 31", got)
		}
	})
}

func TestEndpointThatWantsNoMore(t *testing.T) {
	coretest.Bubble(t, func(t *testing.T) {
		h, r := withEndpoints(t)
		e := h.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/bye")})
		r.Say("/bye", 410)
		h.Active(h.List.ID, "a@example.org")
		coretest.Settle(time.Minute)
		if e, err := h.Endpoint(h.Context(), e.ID); err != nil || e.DisabledAt == 0 ||
			!strings.Contains(e.DisabledReason, "410") {
			h.Errorf("%+v, %v", e, err)
		}
		h.Active(h.List.ID, "b@example.org")
		coretest.Settle(time.Minute)
		if n := len(r.Posts("/bye")); n != 1 {
			h.Errorf("%d posts", n)
		}
	})
}

// TestReceiverThatIsDownIsLeftAlone checks that a receiver that is down gets no requests between two probes, however
// many events are written meanwhile. A new event can make the next probe earlier, but not earlier than Retry-After
// allows.
func TestReceiverThatIsDownIsLeftAlone(t *testing.T) {
	for _, c := range []struct {
		retryAfter string
		looks      int // probes of the endpoint, in ten minutes
	}{{"", 15}, {"660", 1}} {
		coretest.Bubble(t, func(t *testing.T) {
			h, r := withEndpoints(t)
			h.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/down")})
			r.Say("/down", 503, "Retry-After", c.retryAfter)
			r.Say(workertest.EventPath, 503)
			const events = 600
			for i := range events {
				h.Active(h.List.ID, core.Email(fmt.Sprintf("s%d@example.org", i)))
				coretest.Settle(time.Second)
			}
			if n := len(r.Posts("/down")); n > c.looks {
				h.Errorf("Retry-After %q: %d looks at the endpoint, %d may be", c.retryAfter, n, c.looks)
			}
			if n := len(r.Posts(workertest.EventPath)); n > events/3 {
				h.Errorf("%d looks at the send service", n)
			}
			r.Say("/down", 200)
			r.Say(workertest.EventPath, 200)
			coretest.Settle(2 * time.Minute)
			if n := len(r.Events("/down")); n != events || len(r.Events(workertest.EventPath)) < events {
				h.Errorf("Retry-After %q: %d and %d of %d events came through", c.retryAfter, n,
					len(r.Events(workertest.EventPath)), events)
			}
		})
	}
}

// TestOperatorEndsTheRest checks that a receiver which requested a pause of hours is probed sooner if an operator sends
// events again or changes the endpoint.
func TestOperatorEndsTheRest(t *testing.T) {
	coretest.Bubble(t, func(t *testing.T) {
		h, r := withEndpoints(t)
		e := h.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/rest")})
		r.Say("/rest", 503, "Retry-After", "86400")
		h.Active(h.List.ID, "a@example.org")
		coretest.Settle(time.Minute)
		h.Active(h.List.ID, "b@example.org")
		coretest.Settle(time.Hour)
		if n := len(r.Posts("/rest")); n != 1 {
			h.Errorf("%d attempts in the day of rest", n)
		}
		waiting, err := h.OutboxEvents(h.Context(), tenants.OutboxFilter{EndpointID: e.ID}, 0, 1)
		h.Must(err)
		h.Must(h.RetryEvent(h.Context(), waiting[0].ID, "test", core.At(time.Now())))
		h.Active(h.List.ID, "c@example.org")
		coretest.Settle(time.Minute)
		if n := len(r.Posts("/rest")); n != 2 {
			h.Errorf("%d attempts after an operator's", n)
		}
		r.Say("/moved", 200)
		_, err = h.UpdateEndpoint(h.Context(), e.ID,
			tenants.EndpointChange{EndpointInput: core.EndpointInput{URL: new("https://crm.test/moved")}}, "test",
			core.At(time.Now()))
		h.Must(err)
		coretest.Settle(time.Minute)
		if got := len(r.Events("/moved")); got != 3 {
			h.Errorf("%d came at the new address, want 3", got)
		}
	})
}

// TestEndpointThatRefusesEverything checks that a receiver that refuses everything is treated like one that doesn't
// respond: a single event probes it. A receiver that refuses some events gets the others. When it accepts events again,
// it gets all.
func TestEndpointThatRefusesEverything(t *testing.T) {
	const waiting, atOnce = 1200, 640 // number of events held when the first responses arrive
	for name, c := range map[string]struct {
		refuses func(n int) bool
		most    int // maximum number of requests in an hour
	}{
		"everything": {func(int) bool { return true }, atOnce + 100},
		"each third": {func(n int) bool { return n%3 == 0 }, 3 * waiting},
	} {
		coretest.Bubble(t, func(t *testing.T) {
			h := workertest.New(t, nil)
			r := workertest.NewReceiver(h.Seeder)
			h.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/hook")})
			var posts atomic.Int64 // several at the same time
			var back atomic.Bool
			r.On = func(p *workertest.Post) int {
				if p.Path != "/hook" {
					return 200
				}
				if n := posts.Add(1); !back.Load() && c.refuses(int(n)) {
					return 500
				}
				return 200
			}
			for i := range waiting {
				h.Active(h.List.ID, storetest.Reader(i))
			}
			h.Run(worker.Endpoints(h.Store, r.EndpointPoster(), h.Opts.Log))
			coretest.Settle(time.Hour)
			if n := int(posts.Load()); n > c.most {
				t.Errorf("%s: %d posts", name, n)
			}
			back.Store(true)
			coretest.Settle(3 * time.Hour)
			if n := len(r.Events("/hook")); n != waiting {
				t.Errorf("%s: %d of %d events came", name, n, waiting)
			}
		})
	}
}

// TestReceiverThatFailsAtSomeEvents checks that events which the receiver fails to process follow a schedule of their
// own while it accepts others. They delay the others for no longer than a probe of a receiver that is down.
func TestReceiverThatFailsAtSomeEvents(t *testing.T) {
	const others = 60 // one per second
	for _, c := range []struct{ status, broken int }{{400, 1}, {500, 25}, {503, 1}, {503, 25}, {429, 1}} {
		t.Run(fmt.Sprint(c.status, " ", c.broken), func(t *testing.T) {
			coretest.Bubble(t, func(t *testing.T) {
				h := workertest.New(t, nil)
				r := workertest.NewReceiver(h.Seeder)
				h.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/hook")})
				r.On = func(p *workertest.Post) int {
					time.Sleep(10 * time.Millisecond)
					if strings.Contains(string(p.Body), "broken-") {
						return c.status
					}
					return 200
				}
				h.Run(worker.Outbox(h.Store, r.Poster(), h.Opts.Log), worker.Endpoints(h.Store, r.EndpointPoster(), h.Opts.Log))
				for i := range c.broken {
					h.Active(h.List.ID, core.Email(fmt.Sprintf("broken-%d@example.org", i)))
				}
				for i := range others {
					h.Active(h.List.ID, storetest.Reader(i))
					coretest.Settle(time.Second)
				}
				coretest.Settle(2 * time.Second)
				// The receiver counts as down for a second or two after each 16 events that failed for the first time.
				longest := time.Duration(1+(c.broken+14)/16) * 2500 * time.Millisecond
				for _, path := range []string{"/hook", workertest.EventPath} {
					tries, slowest, came := map[string]int{}, time.Duration(0), 0
					for _, p := range r.Posts(path) {
						var e core.Event
						h.Must(json.Unmarshal(p.Body, &e))
						if p.Taken {
							came++
							slowest = max(slowest, p.At.Sub(e.OccurredAt.Time()))
						} else {
							tries[e.ID]++
						}
					}
					most := 0
					for _, n := range tries {
						most = max(most, n)
					}
					// immediately, then on the schedule (after 1, 2, 5 and 30 seconds), and once as a failure of the
					// receiver itself
					if came != others || slowest > longest || most > 6 || len(tries) != c.broken {
						t.Errorf("%s: %d others came, the slowest after %v; %d broken ones, tried %d times at most", path, came, slowest,
							len(tries), most)
					}
				}
			})
		})
	}
}
