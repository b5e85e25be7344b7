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

// The headers of Standard Webhooks 1.0, in addition to those of our own.
const (
	headerStandardID        = "Webhook-Id"
	headerStandardTimestamp = "Webhook-Timestamp"
	headerStandardSignature = "Webhook-Signature"
)

// EndpointPoster posts events to the receivers that tenants have brought. Its client must not follow redirects, and
// must not connect to where the operator does not want it: the addresses are not the operator's choice.
type EndpointPoster struct {
	store  *store.Store
	client *http.Client
}

// NewEndpointPoster returns a poster. Its time-out is the client's, and 15 s at most.
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

// signEndpoint signs as for the send service, with the path of the URL, and by Standard Webhooks.
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

// TestEventType is the type of an event that only tries an endpoint.
const TestEventType = "webhook.test"

// Test posts a test event to an endpoint once, also to one that is switched off, and keeps what came of it in the
// endpoint's log. It returns core.ErrNotFound where there is no such endpoint.
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

// endpoints keeps a loop for each endpoint that is not switched off.
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

// Endpoints returns the loop that delivers events to the receivers that tenants have brought, each by a loop of its
// own: one that is slow or down holds up no other.
func Endpoints(s *store.Store, p *EndpointPoster, log *slog.Logger) *Loop {
	e := &endpoints{store: s, poster: p, log: log, running: map[string]*runningEndpoint{}}
	e.loop = &Loop{Name: "endpoints", Step: e.step, End: e.end}
	s.OnKick(db.TopicRecords, e.loop.Kick)
	s.OnKick(db.TopicEndpoints, e.kickAll)
	s.OnFed(e.kick)
	return e.loop
}

// step starts loops of new endpoints and stops those of the others.
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

// kick wakes the loops of some endpoints: however many others there are, an event costs them nothing.
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

// end stops all of them and waits for what is in flight.
func (e *endpoints) end(context.Context) {
	e.mu.Lock()
	for id, r := range e.running {
		close(r.stop)
		delete(e.running, id)
	}
	e.mu.Unlock()
	e.wg.Wait()
}
