package worker_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

func withFullEndpoint(t *testing.T) (*workertest.Harness, *workertest.Receiver) {
	h := workertest.NewOn(t, storetest.OpenWith(t, db.Options{EndpointEvents: 20}), nil)
	r := workertest.NewReceiver(h.Seeder)
	h.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/slow"), Events: &[]string{core.EventActivated}})
	h.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/quick")})
	return h, r
}

// TestDroppedEventsAreToldInOrder checks that the event that reports dropped events is delivered alone, after all
// earlier events and before all later ones. Endpoints that keep up miss nothing.
func TestDroppedEventsAreToldInOrder(t *testing.T) {
	for name, answer := range map[string]func(began time.Time) int{
		"slow": func(time.Time) int { time.Sleep(5 * time.Second); return 200 },
		"down": func(began time.Time) int {
			if time.Since(began) < time.Minute {
				return 503
			}
			time.Sleep(5 * time.Second)
			return 200
		},
	} {
		coretest.Bubble(t, func(t *testing.T) {
			h, r := withFullEndpoint(t)
			began := time.Now()
			r.On = func(p *workertest.Post) int {
				if p.Path != "/slow" {
					return 200
				}
				return answer(began)
			}
			h.Run(worker.Outbox(h.Store, r.Poster(), h.Opts.Log), worker.Endpoints(h.Store, r.EndpointPoster(), h.Opts.Log))
			for i := range 40 {
				h.Active(h.List.ID, storetest.Reader(i))
			}
			for coretest.Settle(100 * time.Millisecond); len(r.Events("/slow")) < 10; {
				coretest.Settle(time.Second)
			}
			for i := range 3 { // there is room again, although some events are not delivered yet
				h.Active(h.List.ID, storetest.Reader(100+i))
			}
			coretest.Settle(5 * time.Minute)
			if n := len(r.Events("/quick")); n != 43 || len(r.Events(workertest.EventPath)) != 43 {
				t.Fatalf("%s: %d came to the one that keeps up", name, n)
			}
			var posts []workertest.Post
			for _, p := range r.Posts("/slow") {
				if p.Taken {
					posts = append(posts, p)
				}
			}
			at, tried := slices.IndexFunc(posts, isDrop), len(r.Posts("/slow"))-len(posts)
			if len(posts) != 19+1+3 || at > 19 || at < 19-tried || !posts[at].At.After(posts[at-1].At) ||
				!posts[at+1].At.After(posts[at].At) {
				t.Fatalf("%s: %d came, the word of those dropped as number %d", name, len(posts), at)
			}
			for _, p := range posts[20:] { // except those that were tried before
				if e := eventOf(t, &p); at == 19 && e.Subscriber.Email < storetest.Reader(100) {
					t.Errorf("%s: %s comes after it", name, e.Subscriber.Email)
				}
			}
			var told core.SummaryEvent
			if err := json.Unmarshal(posts[max(at, 0)].Body, &told); err != nil || told.Counts[core.EventActivated] != 21 {
				t.Errorf("%s: %s, %v", name, posts[max(at, 0)].Body, err)
			}
		})
	}
}

func eventOf(t *testing.T, p *workertest.Post) (e core.Event) {
	t.Helper()
	if err := json.Unmarshal(p.Body, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

func isDrop(p workertest.Post) bool {
	var e core.SummaryEvent
	return json.Unmarshal(p.Body, &e) == nil && e.Type == core.EventDropped
}

// TestDroppedEventsAreToldAgain checks that a receiver that refuses this event gets all others, and later the same
// event again with the same body.
func TestDroppedEventsAreToldAgain(t *testing.T) {
	coretest.Bubble(t, func(t *testing.T) {
		h, r := withFullEndpoint(t)
		tries := 0
		r.On = func(p *workertest.Post) int {
			if p.Path == "/slow" && isDrop(*p) {
				if tries++; tries < 3 {
					return 500
				}
			}
			return 200
		}
		for i := range 40 {
			h.Active(h.List.ID, storetest.Reader(i))
		}
		h.Run(worker.Endpoints(h.Store, r.EndpointPoster(), h.Opts.Log))
		coretest.Settle(100 * time.Millisecond)
		h.Active(h.List.ID, storetest.Reader(100))
		coretest.Settle(100 * time.Millisecond)
		if n := len(r.Events("/slow")); n != 20 {
			t.Errorf("%d came before the word was taken", n)
		}
		coretest.Settle(time.Minute)
		bodies := map[string]bool{}
		for _, p := range r.Posts("/slow") {
			if isDrop(p) {
				bodies[string(p.Body)] = true
			}
		}
		if tries != 3 || len(bodies) != 1 {
			t.Errorf("%d tries with %d bodies", tries, len(bodies))
		}
	})
}

// TestEventsWakeTheirEndpointsAlone checks that an event wakes only the endpoints that get it, and causes no cost for
// endpoints of other tenants.
func TestEventsWakeTheirEndpointsAlone(t *testing.T) {
	cost := func(others int) (statements int64) {
		coretest.Bubble(t, func(t *testing.T) {
			h, r := withEndpoints(t)
			h.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/mine")})
			own := h.TenantID
			h.TenantID = h.NewTenant().ID
			for range others {
				h.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/other")})
			}
			h.TenantID = own
			coretest.Settle(time.Minute)
			before := h.Stats().Statements
			for i := range 20 {
				h.Active(h.List.ID, storetest.Reader(i))
				coretest.Settle(time.Second)
			}
			statements = h.Stats().Statements - before
			if n := len(r.Events("/mine")); n != 20 {
				t.Errorf("%d came", n)
			}
		})
		return statements
	}
	if none, some := cost(0), cost(15); some > none+20*15/2 { // half a statement for each event and endpoint
		t.Errorf("%d statements beside the endpoints of another tenant, %d without", some, none)
	}
}
