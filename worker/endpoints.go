package worker

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
)

// The headers of Standard Webhooks 1.0, which are sent in addition to newsletterd's own.
const (
	headerStandardID        = "Webhook-Id"
	headerStandardTimestamp = "Webhook-Timestamp"
	headerStandardSignature = "Webhook-Signature"
)

// EndpointPoster posts events to tenants' webhook endpoints. Because tenants choose the URLs, its client must not
// follow redirects, nor connect to addresses that the server administrator has not permitted.
type EndpointPoster struct {
	store  *store.Store
	client *http.Client
}

// NewEndpointPoster returns a poster that uses client. Each attempt has the client's timeout, but at most 15 s.
func NewEndpointPoster(s *store.Store, client *http.Client) *EndpointPoster {
	return &EndpointPoster{store: s, client: client}
}

func (p *EndpointPoster) post(ctx context.Context, e *core.OutboxEvent) verdict {
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	if e.EventType == core.EventDropped {
		body, err := p.store.SendDropped(ctx, e)
		if err != nil {
			return verdict{down: true, reason: err.Error()}
		}
		e.Body = body
	}
	endpoint, err := p.store.EndpointKeys(ctx, e.EndpointID, core.At(time.Now()))
	if err != nil {
		return verdict{down: true, reason: err.Error()}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint.URL, bytes.NewReader([]byte(e.Body)))
	if err != nil {
		return verdict{down: true, reason: "the URL cannot be used"}
	}
	signEndpoint(req, endpoint, e, time.Now().Unix())
	if err := p.store.MayAct(); err != nil {
		return verdict{down: true, reason: err.Error()}
	}
	res, err := p.client.Do(req)
	if err != nil {
		return verdict{down: true, reason: postError(err)}
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	return judge(res, text)
}

// signEndpoint adds two signatures to a request: the one that the send service gets, over the path of the URL, and one
// according to Standard Webhooks.
func signEndpoint(req *http.Request, endpoint *core.EndpointKeys, e *core.OutboxEvent, now int64) {
	path := req.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	sign(req, endpoint.Keys, path, endpoint.ID, now, []byte(e.Body))
	standard := make([]string, len(endpoint.Keys))
	for i, key := range endpoint.Keys {
		standard[i] = auth.SignStandard(key, e.EventID, now, []byte(e.Body))
	}
	req.Header[headerStandardID] = []string{e.EventID}
	req.Header[headerStandardTimestamp] = []string{strconv.FormatInt(now, 10)}
	req.Header[headerStandardSignature] = []string{strings.Join(standard, " ")}
	req.Header["User-Agent"] = []string{"newsletterd"}
}

// TestEventType is the type of events that only test an endpoint.
const TestEventType = "webhook.test"

// Test posts a test event to an endpoint once, even if the endpoint is disabled, and records the result in the
// endpoint's log. If the endpoint does not exist, it returns core.ErrNotFound.
func (p *EndpointPoster) Test(ctx context.Context, endpointID string) (t core.EndpointTest, err error) {
	endpoint, err := p.store.Endpoint(ctx, endpointID)
	if err != nil {
		return t, err
	}
	now := core.At(time.Now())
	t.EventID = core.NewID()
	body := `{"event_id":"` + t.EventID + `","event_type":"` + TestEventType + `","tenant_id":"` + endpoint.TenantID +
		`","occurred_at":"` + now.String() + `"}`
	began := time.Now()
	v := p.post(ctx, &core.OutboxEvent{EventID: t.EventID, EndpointID: endpointID, Body: body})
	t.Status, t.TookMS, t.Reason = v.status, time.Since(began).Milliseconds(), v.reason
	outcome := core.AttemptDelivered
	if t.Reason != "" {
		outcome = core.AttemptDead
	}
	return t, p.store.AddEndpointAttempt(context.WithoutCancel(ctx), core.EndpointAttempt{
		EndpointID: endpointID, EventID: t.EventID, EventType: TestEventType, At: now, Outcome: outcome,
		Status: t.Status, TookMS: t.TookMS, Reason: t.Reason,
	})
}

// endpoints runs a separate delivery loop for each enabled endpoint.
type endpoints struct {
	store  *store.Store
	poster *EndpointPoster
	log    *slog.Logger
	loop   *Loop

	mu      sync.Mutex
	running map[string]*runningEndpoint
	wg      sync.WaitGroup
}

type runningEndpoint struct {
	outbox *outbox
	stop   chan struct{}
}

// Endpoints returns the loop that delivers events to tenants' webhook endpoints. It runs a loop for each endpoint, so
// an endpoint that is slow or down does not delay the others.
func Endpoints(s *store.Store, p *EndpointPoster, log *slog.Logger) *Loop {
	e := &endpoints{store: s, poster: p, log: log, running: map[string]*runningEndpoint{}}
	e.loop = &Loop{Name: "endpoints", Step: e.step, End: e.end}
	s.OnKick(db.TopicRecords, e.loop.Kick)
	s.OnKick(db.TopicEndpoints, e.kickAll)
	s.OnFed(e.kick)
	return e.loop
}

// step starts loops for new endpoints, and stops those of endpoints that are no longer active.
func (e *endpoints) step(ctx context.Context, now time.Time) time.Time {
	ids, err := e.store.ActiveEndpoints(ctx)
	if err != nil {
		e.log.Warn("endpoints: read", slog.Any("error", err))
		return now.Add(time.Second)
	}
	wanted := make(map[string]bool, len(ids))
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		wanted[id] = true
		if e.running[id] == nil {
			e.start(ctx, id)
		}
	}
	for id, r := range e.running {
		if !wanted[id] {
			close(r.stop)
			delete(e.running, id)
		}
	}
	return Never
}

func (e *endpoints) start(ctx context.Context, id string) {
	o := &outbox{
		store: e.store, endpoint: id, post: e.poster.post, probes: eventDelays, log: e.log,
		wake: make(chan struct{}, 1),
	}
	o.loop = &Loop{Name: "endpoint " + id, Step: o.step}
	r := &runningEndpoint{outbox: o, stop: make(chan struct{})}
	e.running[id] = r
	e.wg.Go(func() { o.loop.run(ctx, r.stop, e.log) })
}

// kick wakes the loops of the given endpoints. Its cost doesn't depend on the number of other endpoints.
func (e *endpoints) kick(ids []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		if r := e.running[id]; r != nil {
			r.outbox.kick()
		}
	}
}

func (e *endpoints) kickAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.running {
		r.outbox.kick()
	}
}

// end stops all loops and waits for the requests in flight.
func (e *endpoints) end(context.Context) {
	e.mu.Lock()
	for id, r := range e.running {
		close(r.stop)
		delete(e.running, id)
	}
	e.mu.Unlock()
	e.wg.Wait()
}
