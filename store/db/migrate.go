package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"newsletterd/schema"
)

// MigrateOptions holds the options of Migrate. Now is required.
type MigrateOptions struct {
	To     int  // number of the last migration to apply; 0 means all
	DryRun bool // only list the migrations
	NoCopy bool // don't keep a copy of the previous database
	Now    time.Time
}

// Migrated holds the result of Migrate. For a dry run, it holds what Migrate would do.
type Migrated struct {
	Migrations []schema.Migration
	Copy       string // previous database; empty if it had no tables or there was nothing to do
}

// Migrate applies pending migrations. If another process has the file open, it returns ErrInUse. If the -wal next to
// the file belongs to another copy, it returns ErrOldCopy, even in a dry run. Before the first migration, it copies
// the database into the folder backup next to it. The name of the copy contains the number of that migration.
func Migrate(ctx context.Context, path string, o MigrateOptions) (done Migrated, err error) {
	if err := createFile(path, !o.DryRun); o.DryRun && errors.Is(err, os.ErrNotExist) {
		done.Migrations = slices.DeleteFunc(schema.Migrations(), func(m schema.Migration) bool {
			return o.To != 0 &&
				m.Number > o.To
		})
		return done, nil
	} else if err != nil {
		return done, err
	}
	if err := PrepareProcess(); err != nil {
		return done, err
	}
	// The connections below would move a foreign -wal into the file when they close.
	if _, err := (&DB{path: path, log: slog.New(slog.DiscardHandler)}).checkLeftoverWAL(); err != nil {
		return done, err
	}
	err = withConn(ctx, dsn(path, nil, "_pragma=busy_timeout(2000)"), func(c *sqlx.Conn) error {
		done.Migrations, err = schema.Pending(ctx, c.Conn, o.To)
		return err
	})
	if err != nil || len(done.Migrations) == 0 || o.DryRun {
		return done, err
	}
	first := done.Migrations[0].Number
	alone := looseDSN(path, []pragma{
		{set: "locking_mode(EXCLUSIVE)"},
		{set: "auto_vacuum(INCREMENTAL)"},
		{set: "journal_mode(WAL)"},
		{set: "foreign_keys(1)"},
	})
	err = withConn(ctx, alone, func(c *sqlx.Conn) error {
		if first > 1 && !o.NoCopy {
			if done.Copy, err = keepBefore(ctx, c, path, first); err != nil {
				return err
			}
		}
		done.Migrations, err = schema.Migrate(ctx, c.Conn, o.Now.UnixMilli(), o.To)
		return err
	})
	switch {
	case isBusy(err):
		err = fmt.Errorf("%w. Stop it first", ErrInUse)
	case err != nil:
		err = fmt.Errorf("migrate %s: %w", path, err)
	}
	return done, err
}

// keepBefore copies the database through the connection that is about to migrate it. An empty transaction takes the
// exclusive lock first, so that nothing can change between the copy and the migration.
func keepBefore(ctx context.Context, c *sqlx.Conn, path string, next int) (string, error) {
	for _, q := range []string{"BEGIN IMMEDIATE", "COMMIT"} {
		if _, err := c.ExecContext(ctx, q); err != nil {
			return "", err
		}
	}
	to := filepath.Join(filepath.Dir(path), "backup", fmt.Sprintf("%s.before-%04d", filepath.Base(path), next))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	tmp, err := tempNextTo(to)
	if err != nil {
		return "", err
	}
	defer removeDatabase(tmp)
	if err := copyPages(ctx, c, tmp); err != nil {
		return "", fmt.Errorf("copy the database before the migration: %w", err)
	}
	if err := verifyCopy(ctx, tmp); err != nil {
		return "", err
	}
	for _, name := range []string{filepath.Dir(to), tmp} {
		if err := giveTo(name, path); err != nil {
			return "", err
		}
	}
	return to, putInPlace(tmp, to)
}

func withConn(ctx context.Context, dsn string, fn func(*sqlx.Conn) error) error {
	db, err := sqlx.Open("sqlite", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	c, err := db.Connx(ctx)
	if isBusy(err) {
		return fmt.Errorf("%w. Stop it first", ErrInUse)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	return fn(c)
}
