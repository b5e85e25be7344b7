package schema

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

//go:embed 0*.sql
var files embed.FS

// whole is the SQL that creates the combined result of all migrations in an empty database. That is ten times as fast
// as applying them, because SQLite rereads the schema after each ALTER. TestGoldenSchema writes the file.
//
//go:embed whole.sql
var whole string

// ApplicationID identifies newsletterd's database files (PRAGMA application_id): "NLD1".
const ApplicationID = 0x4e4c4431

// Errors for a database that this program must not modify.
var (
	ErrNewer   = errors.New("the database was written by a newer version of newsletterd")
	ErrChanged = errors.New("a migration of the database has changed since it was applied")
	ErrForeign = errors.New("the file is a database of another program")
	ErrOlder   = errors.New("the database has an older schema: run `newsletterd migrate`")
)

// Migration is one migration file.
type Migration struct {
	Number   int    // number from the file name
	Name     string // file name without number and extension
	SQL      string
	Checksum string // hexadecimal SHA-256 of the file
}

// Migrations returns all embedded migrations, sorted by number.
func Migrations() []Migration {
	names, _ := fs.Glob(files, "*.sql")
	slices.Sort(names)
	all := make([]Migration, 0, len(names))
	for _, name := range names {
		body, err := files.ReadFile(name)
		if err != nil {
			panic(err) // can't happen, because the file is embedded
		}
		number, rest, _ := strings.Cut(strings.TrimSuffix(name, ".sql"), "_")
		n, err := strconv.Atoi(number)
		if err != nil {
			panic("schema: file without a number: " + name)
		}
		sum := sha256.Sum256(body)
		all = append(all, Migration{Number: n, Name: rest, SQL: string(body), Checksum: hex.EncodeToString(sum[:])})
	}
	return all
}

// Latest returns the number of this program's newest migration.
func Latest() int { all := Migrations(); return all[len(all)-1].Number }

const recordTable = `CREATE TABLE IF NOT EXISTS schema_migration (
  number     INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  checksum   TEXT NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT`

// Pending returns the migrations that have not been applied to the database, up to the one with the number to. If to is
// 0, it returns all of them. It changes nothing. If the database must not be modified, it returns ErrNewer, ErrChanged
// or ErrForeign.
func Pending(ctx context.Context, conn *sql.Conn, to int) ([]Migration, error) {
	applied, err := recorded(ctx, conn)
	if err != nil {
		return nil, err
	}
	var pending []Migration
	known := map[int]bool{}
	for _, m := range Migrations() {
		known[m.Number] = true
		sum, done := applied[m.Number]
		switch {
		case done && sum != m.Checksum:
			return nil, fmt.Errorf("%w: %04d_%s", ErrChanged, m.Number, m.Name)
		case !done && (to == 0 || m.Number <= to):
			pending = append(pending, m)
		}
	}
	for n := range applied {
		if !known[n] {
			return nil, fmt.Errorf("%w: it has migration %04d, but this version knows only up to %04d", ErrNewer, n,
				Latest())
		}
	}
	return pending, nil
}

// Check returns an error unless exactly this program's migrations have been applied to the database.
func Check(ctx context.Context, conn *sql.Conn) error {
	pending, err := Pending(ctx, conn, 0)
	if err == nil && len(pending) > 0 {
		err = fmt.Errorf("%w (%d to apply)", ErrOlder, len(pending))
	}
	return err
}

// Migrate applies the pending migrations up to the one with the number to, or all of them if to is 0. It returns the
// migrations that it applied. Each migration has its own transaction. In a database without tables, all share one
// transaction, because there is no earlier version to return to and each commit waits for the disk. If such a database
// gets all migrations, Migrate creates their combined result instead of applying them. now is in milliseconds. After a
// failure, the database has the state after the last complete transaction.
func Migrate(ctx context.Context, conn *sql.Conn, now int64, to int) ([]Migration, error) {
	applied, err := recorded(ctx, conn)
	if err != nil {
		return nil, err
	}
	pending, err := Pending(ctx, conn, to)
	if err != nil || len(pending) == 0 {
		return nil, err
	}
	if applied == nil {
		run := func() error { return applyAll(ctx, conn, now, pending) }
		if len(pending) == len(Migrations()) {
			run = func() error { return create(ctx, conn, now, pending) }
		}
		if err := inTransaction(ctx, conn, run); err != nil {
			return nil, err
		}
		return pending, nil
	}
	for i := range pending {
		err := inTransaction(ctx, conn, func() error { return applyAll(ctx, conn, now, pending[i:i+1]) })
		if err != nil {
			return pending[:i], err
		}
	}
	return pending, nil
}

// inTransaction runs fn in a transaction. If fn fails, it rolls the transaction back.
func inTransaction(ctx context.Context, conn *sql.Conn, fn func() error) (err error) {
	if _, err = conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		}
	}()
	if err = fn(); err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	return err
}

// create creates the combined result of all migrations in an empty database.
func create(ctx context.Context, conn *sql.Conn, now int64, all []Migration) error {
	if _, err := conn.ExecContext(ctx, whole); err != nil {
		return fmt.Errorf("create the schema: %w", err)
	}
	return record(ctx, conn, now, Latest(), all...)
}

// applyAll applies and records migrations in the current transaction. If an older migration is applied after newer
// ones, user_version keeps the newest number.
func applyAll(ctx context.Context, conn *sql.Conn, now int64, ms []Migration) error {
	var version int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	for _, m := range ms {
		version = max(version, m.Number)
		_, err := conn.ExecContext(ctx, recordTable+";\n"+m.SQL)
		if err == nil {
			err = record(ctx, conn, now, version, m)
		}
		if err != nil {
			return fmt.Errorf("migration %04d_%s: %w", m.Number, m.Name, err)
		}
	}
	return nil
}

// record records that the migrations ms were applied, and sets the application id and version of the database.
func record(ctx context.Context, conn *sql.Conn, now int64, version int, ms ...Migration) error {
	pragmas := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", ApplicationID, version)
	_, err := conn.ExecContext(ctx, pragmas)
	for _, m := range ms {
		if err != nil {
			break
		}
		_, err = conn.ExecContext(ctx,
			"INSERT INTO schema_migration (number, name, checksum, applied_at) VALUES (?, ?, ?, ?)",
			m.Number, m.Name, m.Checksum, now)
	}
	return err
}

// recorded returns the applied migrations as a map from number to checksum. A database without a migrations table must
// be empty, because another program's file must not be migrated.
func recorded(ctx context.Context, conn *sql.Conn) (map[int]string, error) {
	var tables, ours, version, app int
	row := conn.QueryRowContext(ctx,
		`SELECT count(*), coalesce(sum(name = 'schema_migration'), 0) FROM sqlite_schema WHERE type = 'table'`)
	if err := row.Scan(&tables, &ours); err != nil {
		return nil, err
	}
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return nil, err
	}
	if err := conn.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return nil, err
	}
	switch {
	case tables > 0 && (ours == 0 || app != ApplicationID):
		return nil, ErrForeign
	case version > Latest():
		return nil, fmt.Errorf("%w: it has migration %d, but this version knows only up to %d", ErrNewer, version,
			Latest())
	case tables == 0:
		return nil, nil
	}
	rows, err := conn.QueryContext(ctx, "SELECT number, checksum FROM schema_migration")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	applied := map[int]string{}
	for rows.Next() {
		var n int
		var sum string
		if err := rows.Scan(&n, &sum); err != nil {
			return nil, err
		}
		applied[n] = sum
	}
	return applied, rows.Err()
}
