package handlers

import (
	"context"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
	"newsletterd/store/people"
	"newsletterd/store/tenants"
)

// SnapshotState describes the copy of the database. Other programs can copy this file at any time.
type SnapshotState struct {
	Path  string       `json:"path,omitempty"`   // empty: off
	At    core.Instant `json:"at" is:"nullable"` // time of the last write; null: not written yet
	Bytes int64        `json:"bytes"`
}

// ReplicaState is the state of the database's replica, which is outside this machine.
type ReplicaState struct {
	Generation uint64      `json:"generation"`       // increases each time a machine takes over
	TXID       uint64      `json:"txid"`             // last transaction up to which the replica is complete
	LagMS      int64       `json:"lag_ms"`           // age of the oldest commit that the replica doesn't have
	PutMS      int64       `json:"put_ms"`           // recent duration of a write to the replica
	Fresh      bool        `json:"fresh"`            // whether no other machine can have taken over
	Broken     string      `json:"broken,omitempty"` // why the replica can't be restored, as far as known
	Mended     string      `json:"mended,omitempty"` // last repair since the start
	Drill      *core.Drill `json:"drill,omitempty"`  // the last restore test
}

// SystemStatus is an overview of the server for server administrators.
type SystemStatus struct {
	Database string `json:"database"` // path of the file
	people.Overview
	Snapshot SnapshotState `json:"snapshot"`
	Replica  *ReplicaState `json:"replica,omitempty"` // nil: there is none
	Versions Versions      `json:"versions"`
}

// Versions holds the versions of the program and its components.
type Versions struct {
	Program string `json:"program"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go,omitempty"`
	SQLite  string `json:"sqlite_driver,omitempty"`
}

// system serves /api/admin/status.
type system struct {
	store    *store.Store
	snapshot func() SnapshotState // nil: off
	doctor   func(ctx context.Context, dns bool) []core.Finding
	versions Versions
	turn     web.Turn // held while queues are counted or the machine is examined
}

// systemRoutes adds the routes for the state of the server and the audit log.
func (h *Handler) systemRoutes(t *web.Table) {
	trail := audit{h.options.Store}
	t.Add("GET", "/api/admin/audit", web.Admin(core.ActionAuditRead), web.Member, web.Search(trail.list),
		"List audit log entries, newest first; a page can be short even if another follows").Named("listAudit")
	s := h.system()
	t.Add("GET", "/api/admin/status", web.Admin(core.ActionSystemRead), web.Member, web.Get(s.status),
		"Show the status of send jobs, queues, disk and backup").Named("getSystemStatus")
	t.Add("GET", "/api/admin/doctor", web.Admin(core.ActionSystemRead), web.Member, web.Query(s.examine),
		"Diagnose configuration and deliverability problems").Named("examine")
}

func (h *Handler) system() system {
	return system{h.options.Store, h.options.Snapshot, h.options.Doctor, h.options.Versions, h.queues}
}

// doctorQuery selects checks in addition to those of the machine.
type doctorQuery struct {
	DNS bool `query:"dns"`
}

// examine returns the errors and warnings about the server. Because it sends requests to other machines and tests the
// disk, requests take turns.
func (a system) examine(c *web.Call, in doctorQuery) ([]core.Finding, error) {
	if err := a.turn.Take(c); err != nil {
		return nil, err
	}
	defer a.turn.End()
	if a.doctor == nil {
		return []core.Finding{}, nil
	}
	return a.doctor(c, in.DNS), nil
}

// status returns the state of the server. Because it counts whole queues, requests take turns.
func (a system) status(c *web.Call) (s SystemStatus, err error) {
	if err := a.turn.Take(c); err != nil {
		return s, err
	}
	defer a.turn.End()
	if a.snapshot != nil {
		s.Snapshot = a.snapshot()
	}
	if s.Replica, err = a.replica(c); err != nil {
		return s, err
	}
	s.Database, s.Versions = a.store.Path(), a.versions
	s.Overview, err = a.store.Overview(c)
	s.DaemonRuns = true // this daemon runs, because it responds; the store checks for another process
	if s.Jobs == nil {
		s.Jobs = []people.JobState{}
	}
	if s.JobCounts == nil {
		s.JobCounts = []people.StatusCount{}
	}
	if s.Lists == nil {
		s.Lists = []tenants.ListState{}
	}
	return s, err
}

// replica returns the state of the replica, or nil if there is none.
func (a system) replica(ctx context.Context) (*ReplicaState, error) {
	r, ok := a.store.ReplicaState()
	if !ok {
		return nil, nil
	}
	last, err := a.store.LastDrill(ctx)
	state := &ReplicaState{
		Generation: r.Generation, TXID: r.TXID, LagMS: r.Lag.Milliseconds(), PutMS: r.Latency.Milliseconds(),
		Fresh: r.Fresh, Drill: last,
	}
	if r.Broken != nil {
		state.Broken = r.Broken.Error()
	}
	if r.Mended != nil {
		state.Mended = r.Mended.Error()
	}
	return state, err
}
