package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/replica"
	"newsletterd/worker"
)

const (
	// drillArrives is how long a drill waits until the replica has what the drill has written.
	drillArrives = time.Minute
	// drillRoom is what must stay free on the disk, besides the restored file.
	drillRoom = 256 << 20
	// drillLeft is after how long the folder of a drill that was killed is removed.
	drillLeft = 24 * time.Hour
)

// drill restores the replica to a temporary file next to the database, checks it, and compares it.
type drill struct {
	cfg     *config.Config
	env     func(string) string
	store   *store.Store                // of the database, where serves
	serves  bool                        // it is what the replica is of: compare with it, and keep the result in it
	arrived func(context.Context) error // returns when the replica has what was committed before; nil: it is asked
}

// servedHere reports whether a daemon of this machine serves the database, and no other machine does.
func servedHere(ctx context.Context, cfg *config.Config, env func(string) string) (bool, error) {
	if !store.DaemonRuns(cfg.Database.Path) {
		return false, nil
	}
	s, err := replica.Look(ctx, cfg.Replica.URL, env)
	if err != nil || s.Holder == nil || s.Holder.Released {
		return false, err
	}
	node, err := replica.Node(cfg.Database.Path)
	return node != "" && node == s.Holder.Node, err
}

// run returns what was found, and has recorded it where the database is served here. Its error says that no drill could
// be made, which is no finding.
func (r *drill) run(ctx context.Context) (d core.Drill, err error) {
	begin := time.Now()
	d = core.Drill{At: core.At(begin), Findings: []string{}}
	folder := filepath.Dir(r.cfg.Database.Path)
	removeOldDrills(folder)
	if folder, err = os.MkdirTemp(folder, drillFolder); err != nil {
		return d, err
	}
	defer os.RemoveAll(folder)
	if r.serves {
		disk, err := r.store.DiskState()
		if err != nil {
			return d, err
		}
		if disk.Free < disk.Database+disk.WAL+drillRoom {
			return d, fmt.Errorf("%s free are too little room to restore %s beside the database", bytesText(disk.Free),
				bytesText(disk.Database))
		}
	}
	if err := r.restoreInto(ctx, filepath.Join(folder, "drill.db"), &d); err != nil {
		if ctx.Err() != nil {
			return d, context.Cause(ctx)
		}
		d.Findings = append(d.Findings, err.Error())
	}
	d.Whole, d.TookMS = len(d.Findings) == 0, time.Since(begin).Milliseconds()
	if r.serves {
		err = r.store.KeepDrill(ctx, d)
	}
	return d, err
}

// restoreInto restores, checks and compares. Its error is a finding, unless ctx is done.
func (r *drill) restoreInto(ctx context.Context, path string, d *core.Drill) (err error) {
	var text string
	var before core.DrillCounts
	if r.serves {
		if before, err = r.store.DrillCounts(ctx); err != nil {
			return err
		}
		if text, err = r.store.StartDrill(ctx); err != nil {
			return err
		}
		if err := r.wait(ctx); err != nil {
			return fmt.Errorf("the replica does not get what is written: %w", err)
		}
	}
	got, err := replica.Copy(ctx, replica.CopyOptions{URL: r.cfg.Replica.URL, Env: r.env, To: path})
	if err != nil {
		return err
	}
	d.TXID = got.TXID
	fi, err := os.Stat(path)
	if err != nil {
		return err
	}
	d.Bytes = fi.Size()
	o, err := storeOptions(r.cfg, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		return err
	}
	o.Mode, o.Path = store.Command, path
	s, err := store.Open(ctx, o)
	if err != nil {
		return fmt.Errorf("what was restored can't be opened: %w", err)
	}
	findings, err := r.compare(ctx, s, text, before)
	d.Findings = append(d.Findings, findings...)
	return errors.Join(err, s.Close())
}

// wait returns when the replica has what was committed before.
func (r *drill) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, drillArrives)
	defer cancel()
	if r.arrived != nil {
		return r.arrived(ctx)
	}
	_, err := replica.Lag(ctx, r.cfg.Replica.URL, r.env, r.store.Path())
	return err
}

// compare looks at what was restored, and for what the daemon's database has.
func (r *drill) compare(ctx context.Context, s *store.Store, text string, before core.DrillCounts) ([]string, error) {
	findings, err := s.Check(ctx)
	if err != nil || !r.serves {
		return findings, err
	}
	found, err := s.DrillStarted(ctx)
	if err != nil {
		return findings, err
	}
	if found != text {
		findings = append(findings, "what was written just before is not in what was restored")
	}
	counts, err := s.DrillCounts(ctx)
	if err != nil {
		return findings, err
	}
	after, err := r.store.DrillCounts(ctx)
	return append(findings, counts.Differ(before, after)...), err
}

// replicaKeepers are what looks after the replica, where there is one.
func (d *daemon) replicaKeepers() []*worker.Loop {
	if d.cfg.Replica.URL == "" {
		return nil
	}
	d.registry.MustRegister(replicaCollector{d.store})
	try := &drill{cfg: d.cfg, env: os.Getenv, store: d.store, serves: true}
	return []*worker.Loop{worker.Drill(d.store, drillEvery, try.run, d.log)}
}

const drillFolder = ".drill-"

// removeOldDrills removes what drills have left that were killed.
func removeOldDrills(folder string) {
	left, err := filepath.Glob(filepath.Join(folder, drillFolder+"*"))
	if err != nil {
		return
	}
	for _, f := range left {
		if fi, err := os.Stat(f); err == nil && time.Since(fi.ModTime()) > drillLeft {
			_ = os.RemoveAll(f)
		}
	}
}
