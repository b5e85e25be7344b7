package handlers

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"newsletterd/handlers/web"
	"newsletterd/store"
	"newsletterd/store/db"
)

// healthReply is the response of the health check. Error and RequestID are set if the check fails.
type healthReply struct {
	Status       string   `json:"status" about:"ok, degraded (see degraded), unavailable or draining"`
	Database     string   `json:"database" about:"ok, or what is wrong with the database"`
	SessionStore string   `json:"session_store" about:"ok, or what is wrong with the session store"`
	QuickCheck   string   `json:"quick_check,omitempty" about:"Check for damage after an unclean stop: running, damaged or failed; absent: no damage"`
	Replica      string   `json:"replica,omitempty" about:"ok, replica_behind or replica_broken; absent: there is no replica"`
	RestoredJobs int64    `json:"restored_jobs,omitempty" about:"Send jobs paused because the database was copied or restored; absent: none"`
	Degraded     []string `json:"degraded,omitempty" about:"disk_reserve: the disk is almost full, so newsletterd refuses public writes"`
	Error        string   `json:"error,omitempty" about:"Machine-readable code of the problem; absent: none"`
	RequestID    string   `json:"request_id,omitempty" about:"Request ID, also in the log; absent unless something fails"`
}

const (
	healthEvery   = time.Second            // minimum time between two checks, for all callers
	healthTimeout = 800 * time.Millisecond // respond within a second even if a check hangs
)

// replicaBroken means that the replica can't be restored until the server has repaired it. The server continues to
// respond and send, because no other machine could take over.
const replicaBroken = "replica_broken"

// diskReserve means that only the reserve of disk space is left.
const diskReserve = "disk_reserve"

// operationRoutes adds the routes for server administrators.
func (h *Handler) operationRoutes(t *web.Table) {
	t.Add("GET", "/healthz", web.Public(), web.Send,
		web.Get(h.health).Quiet().DescribesFailure(503, "Part of the server isn't working"), "Show the health of "+
			"the server").
		Named("getHealth")
	t.Add("GET", "/openapi", web.Public(), web.Page, web.Query(h.reference), "Show the API reference")
	for _, d := range documents {
		t.Add("GET", d.Path, web.Public(), web.Member, web.Get(h.openAPI(d.Name)).Answers("application/json"),
			"OpenAPI document: "+d.Title).
			Named(d.Operation)
	}
}

// health responds with the state of the server and its parts. The status is 503 if the server can't do its work.
func (h *Handler) health(c *web.Call) (healthReply, error) {
	database, sessions := h.prober.look(c.Now.Time())
	reply := healthReply{
		Status: "ok", Database: h.part(c, "database", database),
		SessionStore: h.part(c, "session_store", sessions),
	}
	reply.RestoredJobs = h.prober.held()
	check := h.prober.store.CheckState()
	reply.QuickCheck = string(check)
	if check == db.CheckDamaged && database == nil {
		database, reply.Database = errDamaged, "damaged"
	}
	replica, replicated := h.prober.store.ReplicaState()
	if replicated {
		reply.Replica = "ok"
		if replica.Broken != nil {
			reply.Replica = replicaBroken
		}
		if replica.Late() {
			reply.Replica = web.ErrReplicaBehind.Code
		}
	}
	switch {
	case database != nil || sessions != nil:
		reply.Status, reply.Error = "unavailable", "storage_unavailable"
	case replica.Late() && h.prober.store.Acknowledges():
		reply.Status, reply.Error = "unavailable", web.ErrReplicaBehind.Code
	case h.draining.Load():
		reply.Status, reply.Error = "draining", "busy"
	case h.prober.store.InReserve():
		reply.Status, reply.Degraded = "degraded", []string{diskReserve}
		return reply, nil
	default:
		return reply, nil
	}
	c.SetStatus(http.StatusServiceUnavailable)
	c.Header().Set("Retry-After", "2")
	reply.RequestID = c.RequestID
	return reply, nil
}

var errDamaged = errors.New("the database is damaged")

func (h *Handler) part(c *web.Call, name string, err error) string {
	if err == nil {
		return "ok"
	}
	h.log.LogAttrs(c, slog.LevelWarn, "health", slog.String("part", name), slog.Any("error", err))
	if errors.Is(err, db.ErrReplaced) {
		return "database_replaced"
	}
	return "unavailable"
}

// prober checks the store, at most once a second for all callers. A check that hangs counts as failed until it returns.
type prober struct {
	store *store.Store

	mu       sync.Mutex // guards the fields below
	at       time.Time  // time at which the last check started
	running  chan struct{}
	database error
	sessions error
	restored int64 // number of held jobs
}

func (p *prober) held() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.restored
}

func (p *prober) look(now time.Time) (database, sessions error) {
	p.mu.Lock()
	if p.running == nil && now.Sub(p.at) < healthEvery && now.Sub(p.at) >= 0 {
		defer p.mu.Unlock()
		return p.database, p.sessions
	}
	if p.running == nil {
		p.at, p.running = now, make(chan struct{})
		go p.ping(p.running)
	}
	running := p.running
	p.mu.Unlock()
	timer := time.NewTimer(healthTimeout)
	defer timer.Stop()
	select {
	case <-running:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.database, p.sessions
	case <-timer.C:
		return context.DeadlineExceeded, context.DeadlineExceeded
	}
}

func (p *prober) ping(done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*healthTimeout)
	defer cancel()
	database, sessions := p.store.Ping(ctx)
	restored, err := p.store.RestoredJobs(ctx)
	p.mu.Lock()
	if err == nil {
		p.restored = restored
	}
	p.database, p.sessions, p.running = database, sessions, nil
	p.mu.Unlock()
	close(done)
}
