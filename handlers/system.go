package handlers

import (
	"context"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
	"newsletterd/store/people"
	"newsletterd/store/tenants"
)

// SnapshotState describes the database snapshot, a file that other programs can copy at any time.
type SnapshotState struct {
	Path  string       `json:"path,omitempty" about:"Path of the copy on the server; absent: no copy is made"`
	At    core.Instant `json:"at" is:"nullable" about:"Time of the last copy; null: none yet"`
	Bytes int64        `json:"bytes"`
}

// ReplicaState is the state of the database's replica outside this machine.
type ReplicaState struct {
	Generation uint64      `json:"generation" about:"Increases each time another machine takes over"`
	TXID       uint64      `json:"txid" about:"Last transaction up to which the replica is complete"`
	LagMS      int64       `json:"lag_ms" about:"Age of the oldest change that the replica doesn't have, in milliseconds"`
	PutMS      int64       `json:"put_ms" about:"Duration of recent writes to the replica, in milliseconds"`
	Fresh      bool        `json:"fresh" about:"Whether no other machine can have taken over"`
	Broken     string      `json:"broken,omitempty" about:"Why the replica can't be restored; absent: no reason is known"`
	Mended     string      `json:"mended,omitempty" about:"Last repair since the start; absent: none"`
	Drill      *core.Drill `json:"drill,omitempty" about:"Last restore test; absent: none yet"`
}

// SystemStatus is an overview of the server for server administrators.
type SystemStatus struct {
	Database string `json:"database" about:"Path of the database file on the server"`
	people.Overview
	Snapshot SnapshotState `json:"snapshot" about:"Copy of the database for backup programs"`
	Replica  *ReplicaState `json:"replica,omitempty" about:"Replica of the database on other storage; absent: there is none"`
	Versions Versions      `json:"versions" about:"Versions of newsletterd and its components"`
}

// Versions holds the versions of the program and its components.
type Versions struct {
	Program string `json:"program" about:"Version of newsletterd"`
	Commit  string `json:"commit,omitempty" about:"Commit that it was built from; absent: unknown"`
	Go      string `json:"go,omitempty" about:"Version of Go that it was built with; absent: unknown"`
	SQLite  string `json:"sqlite_driver,omitempty" about:"Version of the SQLite driver; absent: unknown"`
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

// doctorQuery selects additional checks, which leave the machine.
type doctorQuery struct {
	DNS bool `query:"dns" about:"Also run the checks that ask DNS and other servers"`
}

// examine returns the errors and warnings about the server. Requests take turns, because an examination contacts other
// machines and tests the disk.
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

// status returns the state of the server. Requests take turns, because it counts whole queues.
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
	s.DaemonRuns = true // this daemon runs, since it responds; the store looks for another process
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
