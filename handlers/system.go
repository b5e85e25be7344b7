package handlers

import (
	"context"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
	"newsletterd/store/people"
	"newsletterd/store/tenants"
)

// SnapshotState is the file that may be copied at any moment.
type SnapshotState struct {
	Path  string       `json:"path,omitempty"`   // empty: off
	At    core.Instant `json:"at" is:"nullable"` // null: not yet written
	Bytes int64        `json:"bytes"`
}

// ReplicaState is how the database is kept outside this machine.
type ReplicaState struct {
	Generation uint64      `json:"generation"`       // grows each time that a machine takes over
	TXID       uint64      `json:"txid"`             // the last transaction up to which the replica has all
	LagMS      int64       `json:"lag_ms"`           // for how long the oldest commit that it lacks has waited
	PutMS      int64       `json:"put_ms"`           // what writing to it took lately
	Fresh      bool        `json:"fresh"`            // no other machine can have taken over
	Broken     string      `json:"broken,omitempty"` // why it can't be restored, as far as is known
	Mended     string      `json:"mended,omitempty"` // what was mended last since the start
	Drill      *core.Drill `json:"drill,omitempty"`  // the last try to restore it
}

// SystemStatus is what an operator wants to know at a glance.
type SystemStatus struct {
	Database string `json:"database"` // path of the file
	people.Overview
	Snapshot SnapshotState `json:"snapshot"`
	Replica  *ReplicaState `json:"replica,omitempty"` // where one is kept
	Versions Versions      `json:"versions"`
}

// Versions are of the program and what it is made with.
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
	turn     web.Turn // held while queues are counted, or the machine is looked at
}

// systemRoutes are what happens in the daemon, and by whom.
func (h *Handler) systemRoutes(t *web.Table) {
	trail := audit{h.options.Store}
	t.Add("GET", "/api/admin/audit", web.Admin(core.ActionAuditRead), web.Member, web.Search(trail.list),
		"List audit log entries, newest first; a page can be short even if another follows").Named("listAudit")
	s := system{h.options.Store, h.options.Snapshot, h.options.Doctor, h.options.Versions, h.queues}
	t.Add("GET", "/api/admin/status", web.Admin(core.ActionSystemRead), web.Member, web.Get(s.status),
		"Show the status of send jobs, queues, disk and backup").Named("getSystemStatus")
	t.Add("GET", "/api/admin/doctor", web.Admin(core.ActionSystemRead), web.Member, web.Query(s.examine),
		"Diagnose configuration and deliverability problems").Named("examine")
}

// doctorQuery says what doctor looks at beyond the machine.
type doctorQuery struct {
	DNS bool `query:"dns"`
}

// examine looks for what is wrong. It asks other machines and tries the disk, so that requests take turns.
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

// status reads the figures. It counts whole queues, so that requests take turns.
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
	s.DaemonRuns = true // it answers; the store looks for that of another process
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

// replica returns how the replica is; nil where there is none.
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
