package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/replica"
	"newsletterd/worker"
)

const (
	// drillReaches is how long a restore test tries to reach the bucket before it gives up.
	drillReaches = 10 * time.Second
	// drillArrives is how long a restore test waits for its own writes to reach the replica.
	drillArrives = 20 * time.Second
	// drillRoom is the number of bytes that must stay free on the disk in addition to the restored file.
	drillRoom = 256 << 20
	// drillLeft is the age at which a killed restore test's folder is removed.
	drillLeft = 24 * time.Hour
)

// drill is a restore test. It restores the replica to a temporary file next to the database, checks that file, and
// compares it with the database.
type drill struct {
	cfg     *config.Config
	env     func(string) string
	store   *store.Store                // the database, if serves is true
	serves  bool                        // the replica is a copy of store: compare with it, and record the result in it
	arrived func(context.Context) error // waits until earlier commits are in the replica; nil: look there
	mends   bool                        // this process ships the database, so it can repair the replica
}

// servedHere reports whether a daemon on this machine serves the database and no other machine does.
func servedHere(ctx context.Context, cfg *config.Config, env func(string) string) (bool, error) {
	if !db.DaemonRuns(cfg.Database.Path) {
		return false, nil
	}
	s, err := replica.Look(ctx, cfg.Replica.URL, env)
	if err != nil || s.Holder == nil || s.Holder.Released {
		return false, err
	}
	node, err := replica.Node(cfg.Database.Path)
	return node != "" && node == s.Holder.Node, err
}

// run runs the restore test and returns the findings. If the database is served here, it also records them. If the test
// could not run, it returns an error, which is not a finding.
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
			return d, fmt.Errorf("only %s free, not enough to restore %s next to the database. Free some space",
				bytesText(disk.Free),
				bytesText(disk.Database))
		}
	}
	if err := r.try(ctx, folder, &d); err != nil {
		return d, err
	}
	if len(d.Findings) > 0 && r.mends {
		if err := r.mend(ctx, folder, &d); err != nil {
			return d, err
		}
	}
	d.Whole, d.TookMS = len(d.Findings) == 0, time.Since(begin).Milliseconds()
	if r.serves {
		err = r.store.KeepDrill(ctx, d)
	}
	return d, err
}

// try restores and checks the replica once, and adds the findings to d. If the test could not run, it returns an error.
func (r *drill) try(ctx context.Context, folder string, d *core.Drill) error {
	path := filepath.Join(folder, "drill.db")
	err := r.restoreInto(ctx, path, d)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil && errors.Is(err, errNotMade) {
		return err
	}
	if err != nil {
		d.Findings = append(d.Findings, err.Error())
	}
	return os.RemoveAll(path)
}

// errNotMade is returned if the replica could not be tested. It is not a finding.
var errNotMade = errors.New("the restore test could not run")

// mend ships the whole database to the replica again if the database is undamaged, and repeats the test.
func (r *drill) mend(ctx context.Context, folder string, d *core.Drill) error {
	faults, err := r.store.Check(ctx)
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		d.Findings = append(d.Findings, "the replica is not repaired, because the database itself is damaged: "+
			""+strings.Join(faults, "; "))
		return nil
	}
	found := d.Findings
	if err := r.store.MendReplica(ctx, errors.New(strings.Join(found, "; "))); err != nil {
		d.Findings = append(d.Findings, "the replica could not be repaired: "+err.Error())
		return nil
	}
	d.Findings, d.Mended = []string{}, found
	return r.try(ctx, folder, d)
}

// restoreInto restores the database to path, checks it, and compares it with the one in use. Unless ctx is done, its
// errors are findings.
func (r *drill) restoreInto(ctx context.Context, path string, d *core.Drill) (err error) {
	var text string
	var before core.DrillCounts
	limited, cancel := context.WithTimeout(ctx, drillReaches)
	defer cancel()
	if err := replica.Reach(limited, r.cfg.Replica.URL, r.env); err != nil {
		return fmt.Errorf("%w: the storage is not reachable: %w", errNotMade, err)
	}
	if r.serves {
		if before, err = r.store.DrillCounts(ctx); err != nil {
			return err
		}
		if text, err = r.store.StartDrill(ctx); err != nil {
			return err
		}
		if err := r.wait(ctx); err != nil {
			return fmt.Errorf("%w: the storage doesn't receive what is written: %w", errNotMade, err)
		}
	}
	got, err := replica.Copy(ctx, replica.CopyOptions{URL: r.cfg.Replica.URL, Env: r.env, To: path})
	if err != nil && !errors.Is(err, replica.ErrGap) && !errors.Is(err, replica.ErrNothing) {
		err = fmt.Errorf("%w: %w", errNotMade, err)
	}
	if err != nil {
		return err
	}
	if got.Damaged != nil { // the next compaction may remove other intact copies
		d.Findings = append(d.Findings, got.Damaged.Error())
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
	o.Mode, o.Path = db.Command, path
	s, err := store.Open(ctx, o)
	if err != nil {
		return fmt.Errorf("the restored file can't be opened: %w", err)
	}
	findings, err := r.compare(ctx, s, text, before)
	d.Findings = append(d.Findings, findings...)
	return errors.Join(err, s.Close())
}

// wait waits until the replica contains everything that was committed before the call.
func (r *drill) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, drillArrives)
	defer cancel()
	if r.arrived != nil {
		return r.arrived(ctx)
	}
	_, err := replica.Lag(ctx, r.cfg.Replica.URL, r.env, r.store.Path())
	return err
}

// compare checks the restored database s and compares it with the database in use.
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
		findings = append(findings, "the restored file lacks the last write")
	}
	counts, err := s.DrillCounts(ctx)
	if err != nil {
		return findings, err
	}
	after, err := r.store.DrillCounts(ctx)
	return append(findings, counts.Differ(before, after)...), err
}

// replicaKeepers returns the loops that maintain the replica, or none if there is no replica.
func (d *daemon) replicaKeepers() []*worker.Loop {
	if d.cfg.Replica.URL == "" {
		return nil
	}
	d.registry.MustRegister(replicaCollector{d.store})
	try := &drill{cfg: d.cfg, env: os.Getenv, store: d.store, serves: true, mends: true}
	return []*worker.Loop{worker.Drill(d.store, drillEvery, try.run, d.log)}
}

const drillFolder = ".drill-"

// removeOldDrills removes the files of killed restore tests.
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
