package db

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/jmoiron/sqlx"
	"modernc.org/sqlite"

	"newsletterd/schema"
)

// ErrExists is returned when a backup would overwrite an existing file.
var ErrExists = errors.New("the file already exists")

// Backup writes a complete copy of the current database to a new file. to is the file's path. If the file already
// exists, Backup returns ErrExists. Backup doesn't block writers. The copy is checked and synced before it appears
// under its name. Its mode is 0600.
func (s *DB) Backup(ctx context.Context, to string) error {
	if err := s.readable(ctx); err != nil {
		return err
	}
	if err := unused(to); err != nil {
		return fmt.Errorf("backup to %s: %w", to, err)
	}
	if err := s.copyTo(ctx, to); err != nil {
		return fmt.Errorf("backup to %s: %w", to, err)
	}
	return nil
}

// Snapshot is like Backup, but replaces an existing file in one step. A program that reads the file during the
// replacement gets the complete old one. Snapshot returns core.ErrStorage or a file system error.
func (s *DB) Snapshot(ctx context.Context, to string) error {
	if err := s.readable(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := s.copyTo(ctx, to); err != nil {
		return fmt.Errorf("snapshot to %s: %w", to, err)
	}
	return nil
}

// WriteCopy creates a complete copy of a database. to is the path of the copy. write writes the database to a file with
// a temporary name. The file is marked as a copy, checked and synced before it gets its final name, with mode 0600. No
// other user can read it before that. If there is already a file at the final path, WriteCopy returns ErrExists.
func WriteCopy(ctx context.Context, to string, write func(path string) error) error {
	if err := PrepareProcess(); err != nil {
		return err
	}
	if err := unused(to); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(filepath.Dir(to), ".copy-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	tmp := filepath.Join(folder, filepath.Base(to))
	if err := write(tmp); err != nil {
		return err
	}
	if err := markCopy(ctx, tmp); err != nil {
		return err
	}
	if err := verifyCopy(ctx, tmp); err != nil {
		return err
	}
	return putInPlace(tmp, to)
}

// unused returns ErrExists if a file has the path to, or if there is a -wal or rollback journal that SQLite would apply
// to such a file.
func unused(to string) error {
	for _, end := range []string{"", "-wal", "-journal"} {
		_, err := os.Lstat(to + end)
		if err == nil {
			err = fmt.Errorf("%s: %w", to+end, ErrExists)
		}
		if !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// copyTo copies the database through its own connection, into a temporary file next to the target.
func (s *DB) copyTo(ctx context.Context, to string) error {
	tmp, err := tempNextTo(to)
	if err != nil {
		return err
	}
	defer removeDatabase(tmp)
	db, err := sqlx.Open("sqlite", dsn(s.path, readerPragmas))
	if err != nil {
		return err
	}
	defer db.Close()
	if err := backupPages(ctx, db, tmp); err != nil {
		return err
	}
	if err := markCopy(ctx, tmp); err != nil {
		return err
	}
	if err := verifyCopy(ctx, tmp); err != nil {
		return err
	}
	return putInPlace(tmp, to)
}

// backupPages runs the backup inside an open read transaction. Otherwise, each commit of another connection would
// restart the backup.
func backupPages(ctx context.Context, db *sqlx.DB, tmp string) error {
	c, err := db.Connx(ctx)
	if err != nil {
		return Translate(err)
	}
	defer c.Close()
	if _, err := c.ExecContext(ctx, "BEGIN"); err != nil {
		return Translate(err)
	}
	defer c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	var n int
	if err := c.GetContext(ctx, &n, "SELECT count(*) FROM sqlite_schema"); err != nil {
		return Translate(err)
	}
	return copyPages(ctx, c, tmp)
}

// copyPages copies the database in the state that the connection sees.
func copyPages(ctx context.Context, c *sqlx.Conn, tmp string) error {
	return Translate(c.Raw(func(driver any) error {
		b, err := driver.(interface {
			NewBackup(string) (*sqlite.Backup, error)
		}).NewBackup(dsn(tmp, nil, "_pragma=synchronous(OFF)"))
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			if more, err = b.Step(1000); err == nil {
				err = ctx.Err()
			}
		}
		return errors.Join(err, b.Finish())
	}))
}

// tempNextTo creates an empty file of mode 0600 in the target's folder, so that the rename stays in one file system.
func tempNextTo(to string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".*")
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

func removeDatabase(path string) {
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		_ = os.Remove(path + end)
	}
}

// verifyCopy checks that a file is an undamaged database of newsletterd.
func verifyCopy(ctx context.Context, path string) error {
	db, err := sqlx.Open("sqlite", dsn(path, nil, "mode=ro", "immutable=1"))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	var found []string
	if err := db.SelectContext(ctx, &found, "PRAGMA quick_check(10)"); err != nil {
		return fmt.Errorf("the copy is damaged: %w", err)
	}
	if len(found) != 1 || found[0] != "ok" {
		return fmt.Errorf("the copy is damaged: %q", found)
	}
	c, err := db.Connx(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := schema.Check(ctx, c.Conn); err != nil && !errors.Is(err, schema.ErrOlder) {
		return err
	}
	return nil
}

// putInPlace syncs a temporary file, renames it to its final path and syncs the folder, so that the result survives a
// power loss.
func putInPlace(tmp, to string) error {
	if err := syncPath(tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, to); err != nil {
		return err
	}
	return syncPath(filepath.Dir(to))
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// CheckBackup returns the error that Restore would return for a backup. If the restored database could not be opened
// with masterKey, it returns ErrMasterKey. It changes nothing.
func CheckBackup(ctx context.Context, from string, masterKey []byte) error {
	if err := PrepareProcess(); err != nil {
		return err
	}
	if err := noWAL(from); err != nil {
		return err
	}
	err := verifyCopy(ctx, from)
	var sealed []byte
	if err == nil {
		err = lookInto(ctx, from, &sealed, "purpose_key", "SELECT secret FROM purpose_key LIMIT 1")
	}
	if err == nil && len(sealed) > 0 {
		_, err = (&DB{opts: Options{MasterKey: masterKey}}).OpenSecret(sealed)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return nil
}

// noWAL returns an error for a file that has a -wal.
func noWAL(from string) error {
	if WalSize(from) > 0 {
		return fmt.Errorf("%s has a -wal file, so it is a live database, not a backup. To create a backup: "+
			"newsletterd backup",
			from)
	}
	return nil
}

// Restore replaces the database at path with a backup. It checks the backup first and never changes it. The previous
// files, including -wal, -shm and -journal, are renamed to names that end in .before-restore and the time, and returned
// in aside. If root runs Restore, the new file gets the owner of the previous database or, without one, of the folder.
// If another process has the database open, Restore returns ErrRunning or ErrInUse.
func Restore(ctx context.Context, from, path string, now time.Time) (aside []string, err error) {
	if err := PrepareProcess(); err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if err := noWAL(from); err != nil {
		return nil, err
	}
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return nil, errors.Join(ErrRunning, err)
	}
	defer lock.Close()
	like := path
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		like = filepath.Dir(path)
	}
	if used, err := inUse(path); err != nil || used {
		return nil, errors.Join(ErrInUse, err)
	}
	tmp, err := tempNextTo(path)
	if err != nil {
		return nil, err
	}
	defer removeDatabase(tmp)
	if err := copyFile(from, tmp); err != nil {
		return nil, err
	}
	if err := verifyCopy(ctx, tmp); err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	for _, name := range []string{tmp, path + ".lock"} {
		if err := giveTo(name, like); err != nil {
			return nil, err
		}
	}
	put, err := unusedName(path + now.UTC().Format(".before-restore-20060102T150405Z"))
	if err != nil {
		return nil, err
	}
	for _, end := range []string{"-wal", "-shm", "-journal", ""} {
		old, to := path+end, put+end
		switch err := os.Rename(old, to); {
		case err == nil:
			aside = append(aside, to)
		case !errors.Is(err, os.ErrNotExist):
			return aside, err
		}
	}
	return aside, putInPlace(tmp, path)
}

// unusedName returns name, or name with a number if another restore in the same second has used it.
func unusedName(name string) (string, error) {
	for n := 1; ; n++ {
		try := name
		if n > 1 {
			try = fmt.Sprintf("%s-%d", name, n)
		}
		taken := false
		for _, end := range []string{"-wal", "-shm", "-journal", ""} {
			_, err := os.Lstat(try + end)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return "", err
			}
			taken = taken || err == nil
		}
		if !taken {
			return try, nil
		}
	}
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
