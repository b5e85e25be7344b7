package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/replica"
)

// replicate sets the store options that keep the database in the configured replica, if there is one. While another
// machine serves the database, the store waits and calls waiting, whose error ends the wait.
func replicate(o *db.Options, cfg *config.Config, log *slog.Logger, waiting func(host string, alive bool) error,
	change ...func(*replica.Options),
) error {
	if cfg.Replica.URL == "" {
		return nil
	}
	ro := replica.Options{
		URL: cfg.Replica.URL, Path: cfg.Database.Path, TTL: cfg.Replica.TTL.Std(), Keep: cfg.Replica.Keep.Std(),
		Log: log, Waiting: waiting,
		Knows: func(ctx context.Context) (bool, error) { return keptHere(ctx, cfg) },
		Made:  madeAt(cfg.Database.Path),
		// The other machine already responds and sends, so don't spend time on finishing this one's writes.
		Failed: func(error) { os.Exit(cli.ExitLost) },
	}
	for _, fn := range change {
		fn(&ro)
	}
	r, err := replica.New(ro)
	if err != nil {
		return fmt.Errorf("replica.url: %w", err)
	}
	o.Replica, o.ReplicaLags = r, !cfg.Replica.Acknowledge
	return nil
}

// madeAt returns a function that returns the creation time of the database in a file, or the zero time if there is no
// database.
func madeAt(path string) func(context.Context) (time.Time, error) {
	return func(ctx context.Context) (at time.Time, err error) {
		made, err := db.MadeAt(ctx, path)
		if made > 0 {
			at = made.Time()
		}
		return at, err
	}
}

// keptHere reports whether the database file records that it is kept in the configured replica.
func keptHere(ctx context.Context, cfg *config.Config) (bool, error) {
	name, err := db.KeptIn(ctx, cfg.Database.Path)
	return name != "" && name == replica.Name(cfg.Replica.URL), err
}

// servedError is returned if another machine currently serves the database.
type servedError struct{ host string }

func (e servedError) Error() string {
	return e.host + " serves this database. Run the command there, or stop newsletterd there first"
}

// unlessServed ends the wait for a lease that its holder still renews. It lets the wait for any other lease continue
// until that expires.
func unlessServed(host string, alive bool) error {
	if alive {
		return servedError{host}
	}
	return nil
}

// errStandby is returned if the daemon on this machine does not serve the database.
var errStandby = errors.New("the daemon on this machine is a standby or starting. Run the command on the machine " +
	"that serves the database")

var errLooks = errors.New("this command can only read the database")

// errNotKept is returned if a database file may be a copy: the replica contains a database, but this machine has never
// replicated a file with this name to it.
var errNotKept = errors.New("this file was never replicated, so it may be a copy and can't be changed. If " +
	"the database is another file, pass --database. To change this file and leave the replica alone, set " +
	"" + config.EnvPrefix + "REPLICA_URL to an empty value. newsletterd serve continues with the replica's " +
	"database")

// leaseWait is the maximum time that a command tries to reach the replica and waits for the lease of a dead machine.
const leaseWait = 90 * time.Second

// openForCommand opens the database for a command. With a replica, the command changes the database that this machine's
// daemon serves. If no daemon runs, it takes the lease like a daemon. If another machine serves the database, or this
// machine's file may be a copy, the command can only read the file. look is true for a command that only reads this
// machine's file.
func openForCommand(ctx context.Context, cfg *config.Config, log *slog.Logger, look bool) (*store.Store, error) {
	o, err := storeOptions(cfg, log)
	if err != nil {
		return nil, err
	}
	o.Mode = db.Command
	if cfg.Replica.URL == "" {
		if !look && replica.Noted(o.Path) && !db.DaemonRuns(o.Path) {
			log.Warn("this database belongs to a replica that doesn't get these changes; the file is moved aside " +
				"when the replica is used again. If you no longer use the replica, delete " + o.Path + ".replica")
		}
		return store.Open(ctx, o)
	}
	alone := o
	switch {
	case db.DaemonWaits(o.Path):
		alone.ReadOnly = errStandby
		s, err := store.Open(ctx, alone)
		if errors.Is(err, os.ErrNotExist) {
			return nil, errStandby
		}
		if err == nil {
			log.Warn("showing this machine's last state: its daemon is a standby or starting")
		}
		return s, err
	case db.DaemonRuns(o.Path):
		o.DaemonReplica = true
		return store.Open(ctx, o)
	case look:
		alone.ReadOnly = errLooks
		return store.Open(ctx, alone)
	case mayBeCopy(ctx, cfg):
		alone.ReadOnly = errNotKept
		s, err := store.Open(ctx, alone)
		if err == nil {
			log.Warn("this file was never replicated; showing it as it is")
		}
		return s, err
	}
	return openWithLease(ctx, cfg, log)
}

// usedLimit is the timeout for finding out whether a replica contains a database.
const usedLimit = 10 * time.Second

// mayBeCopy reports whether the database file may be a copy: this machine has never replicated it, and the replica
// contains a database or can't be reached. Taking the lease would replace such a file with the replica's contents.
func mayBeCopy(ctx context.Context, cfg *config.Config) bool {
	fi, err := os.Stat(cfg.Database.Path)
	if err != nil || fi.Size() == 0 || replica.Noted(cfg.Database.Path) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, usedLimit)
	defer cancel()
	used, err := replica.Used(ctx, cfg.Replica.URL, os.Getenv)
	return used || err != nil
}

// openWithLease takes the lease and opens the replica's database. If another machine serves the database, openWithLease
// opens this machine's file read-only.
func openWithLease(ctx context.Context, cfg *config.Config, log *slog.Logger) (*store.Store, error) {
	o, err := storeOptions(cfg, log)
	if err != nil {
		return nil, err
	}
	o.Mode = db.Command
	alone := o
	if err := replicate(&o, cfg, log, unlessServed); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, leaseWait)
	defer cancel()
	s, err := store.Open(limited, o)
	served, is := errors.AsType[servedError](err)
	if !is {
		return s, err
	}
	alone.ReadOnly = served
	if s, err = store.Open(ctx, alone); errors.Is(err, os.ErrNotExist) {
		return nil, served
	}
	log.Warn("showing this machine's last state: another machine serves", slog.String("host", served.host))
	return s, err
}

// bringNewest replaces the database file with the replica's contents, so that restoring a backup sets the newest
// version aside. If that fails, the backup can still be restored.
func bringNewest(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	if cfg.Replica.URL == "" || db.DaemonRuns(cfg.Database.Path) {
		return nil // Restore reports that the daemon runs
	}
	s, err := openWithLease(ctx, cfg, log)
	if err == nil {
		_, served := errors.AsType[servedError](s.MayWrite())
		if err := s.Close(); err != nil || !served {
			return err
		}
		err = s.MayWrite()
	}
	_, served := errors.AsType[servedError](err)
	if served || ctx.Err() != nil || errors.Is(err, replica.ErrAnother) {
		return err
	}
	if !errors.Is(err, os.ErrNotExist) {
		log.Warn("the replica's latest state could not be read", slog.Any("error", err))
	}
	return nil
}

// supersede ships the restored database file to the replica as the next generation, so that all machines continue from
// it.
func supersede(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	err := giveReplica(ctx, cfg, log, func(r *replica.Options) { r.Supersede = true })
	if err != nil {
		return fmt.Errorf("the replica doesn't have this change and would overwrite it at the next start: %w", err)
	}
	return nil
}

// giveReplica ships the database file to the replica with the options that change sets.
func giveReplica(ctx context.Context, cfg *config.Config, log *slog.Logger, change func(*replica.Options)) error {
	o, err := storeOptions(cfg, log)
	if err != nil {
		return err
	}
	o.Mode, o.Migrate = db.Command, true
	if err := replicate(&o, cfg, log, unlessServed, change); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, supersedeWait)
	defer cancel()
	s, err := store.Open(ctx, o)
	if err != nil {
		return err
	}
	return s.Close()
}

// supersedeWait is the timeout for uploading a database.
const supersedeWait = 6 * time.Hour
