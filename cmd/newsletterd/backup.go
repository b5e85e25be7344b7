package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/replica"
)

func (p *program) backupCommand() *cli.Command {
	c := p.Command("backup", "back up the database, even while the daemon runs", []cli.Flag{
		cli.String("to", "new `FILE` to write"),
	}, []string{"to"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		if err := s.Backup(c.Context, c.String("to")); err != nil {
			return err
		}
		return p.Done(c, "Backed up %[2]s to %[1]s.", c.String("to"), s.Path())
	})
	c.Description = `The backup contains everything that was committed before the command
started. The file only appears after the backup is verified.

   newsletterd backup --to /backup/newsletterd-$(date +%F).db`
	return c
}

func (p *program) restoreCommand() *cli.Command {
	return &cli.Command{
		Name: "restore", Usage: "restore a backup",
		Description: `Stop the daemon first. The command verifies the backup and moves the current
database aside without deleting it. If [replica] is configured, the backup
also replaces the replica's content for all machines. The command fails while
another machine serves the database.

   newsletterd restore --from /backup/newsletterd-2026-11-21.db`,
		Flags: []cli.Flag{cli.String("from", "backup `FILE` to restore; it isn't changed")},
		Action: func(c *cli.Context) error {
			if err := cli.Need(c, "from"); err != nil {
				return err
			}
			cfg, err := p.Config(c)
			if err != nil {
				return err
			}
			if err := mayRestore(c, cfg); err != nil {
				return err
			}
			log := newLog(config.Log{Level: "warn", Format: "text", PII: cfg.Log.PII}, p.Err)
			if err := checkBackup(c, cfg, log); err != nil {
				return err
			}
			if err := bringNewest(c.Context, cfg, log); err != nil {
				return err
			}
			aside, err := db.Restore(c.Context, c.String("from"), cfg.Database.Path, time.Now())
			if err != nil {
				return err
			}
			if cfg.Replica.URL != "" {
				if err := supersede(c.Context, cfg, log); err != nil {
					return err
				}
			}
			text := "there was no database before"
			if len(aside) > 0 {
				text = "the previous database is now " + strings.Join(aside, ", ")
			}
			return p.Done(c, "Restored %s from %s; %s.", cfg.Database.Path, c.String("from"), text)
		},
	}
}

// checkBackup returns an error if a backup can't be restored, before it replaces the contents of a replica. Without a
// replica, Restore checks the backup.
func checkBackup(c *cli.Context, cfg *config.Config, log *slog.Logger) error {
	if cfg.Replica.URL == "" {
		return nil
	}
	o, err := storeOptions(cfg, log)
	if err == nil {
		err = db.CheckBackup(c.Context, c.String("from"), o.MasterKey)
	}
	return err
}

// mayRestore returns an error if there is no backup. It also returns one if the backup would replace the contents of a
// replica, but --database names a file that is not the replicated one: the caller probably only wants to look at the
// backup.
func mayRestore(c *cli.Context, cfg *config.Config) error {
	if _, err := os.Stat(c.String("from")); err != nil {
		return err
	}
	if _, named := cli.Nearest(c, "database"); !named || cfg.Replica.URL == "" || replica.Noted(cfg.Database.Path) {
		return nil
	}
	return fmt.Errorf("%s was never replicated. The backup would replace the database in the replica, which all "+
		"machines serve. To do that, leave out --database. To leave the replica alone, set "+
		"NEWSLETTERD_REPLICA_URL to an empty value",
		cfg.Database.Path)
}

// settleHome pauses the jobs if the database file has been moved, copied or restored since the last start, and logs
// that. If takeOver is set, the jobs continue.
func settleHome(ctx context.Context, s *store.Store, takeOver bool, log *slog.Logger) error {
	away, err := s.SettleHome(ctx, takeOver, now())
	if err != nil {
		return err
	}
	if away {
		log.Warn("the database was copied or restored", slog.Bool("take_over", takeOver))
	}
	held, err := s.RestoredJobs(ctx)
	if err == nil && held > 0 {
		log.Warn("send jobs are paused, because emails sent since the copy are unknown; check them, then run "+
			"newsletterd admin job resume", slog.Int64("jobs", held), slog.String("reason", core.PauseRestored))
	}
	return err
}

// checkedFirst is the maximum size in bytes of a database that is completely checked before the daemon listens. The
// check takes a few tenths of a second.
const checkedFirst = 32 << 20

// checkAfterCrash looks for damage if the previous process did not close the database. It checks a database of up to
// first bytes immediately, and returns an error if it is damaged. It checks a larger one while the daemon runs. The log
// and /healthz show the result, and /healthz returns 503 if there is damage.
func checkAfterCrash(ctx context.Context, s *store.Store, first int64, log *slog.Logger) error {
	if !s.Unclean() {
		return nil
	}
	file, err := os.Stat(s.Path())
	if err != nil {
		return err
	}
	begin := time.Now()
	intact := func() {
		log.Info("the last stop was unclean; the database is intact",
			slog.Float64("ms", float64(time.Since(begin).Microseconds())/1000))
	}
	if file.Size() > first {
		log.Warn("the last stop was unclean; the database is checked in the background",
			slog.Int64("bytes", file.Size()))
		s.QuickCheckInBackground(func(found []string, err error) {
			if err := errors.Join(err, damage(found)); err != nil {
				log.Error("quick_check", slog.Any("error", err))
				return
			}
			intact()
		})
		return nil
	}
	found, err := s.QuickCheck(ctx)
	if err == nil {
		err = damage(found)
	}
	if err == nil {
		intact()
	}
	return err
}

func damage(found []string) error {
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("the database is damaged. Restore a backup. Damage found: %s", strings.Join(found, "; "))
}
