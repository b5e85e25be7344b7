package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/jmoiron/sqlx"

	"newsletterd/core"
	"newsletterd/schema"
)

// noDatabase is the error for a missing database file. It matches os.ErrNotExist.
type noDatabase struct{}

func (noDatabase) Error() string {
	return "there is no database. Create it with newsletterd serve or newsletterd migrate"
}

func (noDatabase) Is(err error) bool { return err == os.ErrNotExist }

// createFile creates the file with mode 0600. SQLite would use the umask. The -wal and -shm files get the same mode.
func createFile(path string, may bool) error {
	switch fi, err := os.Stat(path); {
	case err == nil && fi.IsDir():
		return errors.New("it is a folder, not a file")
	case err == nil:
		return mayRead(path)
	case !errors.Is(err, os.ErrNotExist):
		return err
	case !may:
		return noDatabase{}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// takeLock takes the lock that keeps a second daemon out. A command may hold it for a few microseconds, so takeLock
// retries.
func (s *DB) takeLock() error {
	s.lock = flock.New(s.path+".lock", flock.SetPermissions(0o600))
	for range 20 {
		ok, err := s.lock.TryLock()
		if err != nil {
			return err
		}
		if ok {
			return os.Truncate(s.path+".lock", 0)
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.lock = nil
	return ErrRunning
}

// serving is the content of the lock file while the lock's owner has the database open.
const serving = "serving\n"

// saysServing writes the constant serving to the lock file. If the disk is full, the daemon serves anyway.
func (s *DB) saysServing() {
	if err := os.WriteFile(s.path+".lock", []byte(serving), 0o600); err != nil {
		s.log.Warn("the lock file can't be written", slog.Any("error", err))
	}
}

// DaemonRuns reports whether a daemon serves the file. It is meant for commands, and checks at most once a second.
func (s *DB) DaemonRuns() bool {
	if s.lock != nil { // this process holds the lock
		return false
	}
	now := time.Now().UnixMilli()
	if seen := s.daemonSeen.Load(); seen != 0 && now-max(seen, -seen) < 1000 {
		return seen < 0
	}
	if !DaemonRuns(s.path) {
		s.daemonSeen.Store(now)
		return false
	}
	s.daemonSeen.Store(-now)
	return true
}

// The pragmas of each kind of connection, with the values that SQLite must return for them. SQLite ignores pragmas that
// it doesn't know.
var (
	writerPragmas = []pragma{
		{"busy_timeout(0)", "busy_timeout", "0"},
		{"journal_mode(WAL)", "journal_mode", "wal"},
		{"synchronous(FULL)", "synchronous", "2"},
		{"foreign_keys(1)", "foreign_keys", "1"},
		{"wal_autocheckpoint(0)", "wal_autocheckpoint", "0"},
		{"cache_size(-8192)", "cache_size", "-8192"},
		{"journal_size_limit(67108864)", "journal_size_limit", "67108864"},
		{"trusted_schema(0)", "trusted_schema", "0"},
		{"cell_size_check(1)", "cell_size_check", "1"},
		{"temp_store(2)", "temp_store", "2"},
		{"secure_delete(fast)", "secure_delete", "2"},
		{"analysis_limit(" + analysisLimit + ")", "analysis_limit", analysisLimit},
	}
	readerPragmas = []pragma{
		{"busy_timeout(5000)", "busy_timeout", "5000"},
		{"cache_size(-4096)", "cache_size", "-4096"},
		{"trusted_schema(0)", "trusted_schema", "0"},
		{"cell_size_check(1)", "cell_size_check", "1"},
		{"temp_store(2)", "temp_store", "2"},
		{"query_only(1)", "query_only", "1"},
		{"wal_autocheckpoint(0)", "wal_autocheckpoint", "0"},
	}
)

type pragma struct{ set, name, value string }

func dsn(path string, pragmas []pragma, extra ...string) string {
	return looseDSN(path, pragmas, append(extra, "_defensive=1")...)
}

// looseDSN is like dsn, but for migrations, which may rewrite the schema text of a table.
func looseDSN(path string, pragmas []pragma, extra ...string) string {
	var b strings.Builder
	b.WriteString("file:" + (&url.URL{Path: path}).EscapedPath() + "?_dqs=0&_error_rc=1")
	for _, p := range pragmas {
		b.WriteString("&_pragma=" + p.set)
	}
	for _, e := range extra {
		b.WriteString("&" + e)
	}
	return b.String()
}

func (s *DB) connect(ctx context.Context) (err error) {
	var extra []string
	if s.opts.ReadOnly != nil && WalSize(s.path) > 0 {
		// SQLite runs a checkpoint when the last writable connection closes. The replica would not recognize the file
		// after that.
		extra = []string{"mode=ro"}
	}
	if s.writerD, err = openDB(ctx, s.opts.Driver, dsn(s.path, writerPragmas, extra...), 1, writerPragmas); err != nil {
		return err
	}
	if s.readers, err = openDB(ctx, s.opts.Driver, dsn(s.path, readerPragmas, extra...), s.opts.Readers,
		readerPragmas); err != nil {
		return err
	}
	if s.file, err = os.Stat(s.path); err != nil {
		return err
	}
	c, err := s.writerD.Connx(ctx)
	if err != nil {
		return Translate(err)
	}
	defer c.Close()
	return retryBusy(daemonTries, func() error { return schema.Check(ctx, c.Conn) })
}

// openDB opens a pool of n connections and checks that its pragmas took effect.
func openDB(ctx context.Context, driver, dsn string, n int, pragmas []pragma) (*sqlx.DB, error) {
	db, err := sqlx.Open(driver, dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	for _, p := range pragmas {
		var got string
		// Another process may be recovering the -wal of a killed process.
		err := retryBusy(daemonTries, func() error { return db.GetContext(ctx, &got, "PRAGMA "+p.name) })
		if err != nil {
			db.Close()
			return nil, Translate(err)
		}
		if got != p.value {
			db.Close()
			return nil, fmt.Errorf("pragma %s is %s, not %s", p.name, got, p.value)
		}
	}
	return db, nil
}

// checkFile returns an error if the path no longer names the file that was opened. It only calls stat, because opening
// the file a second time could cost SQLite its locks.
func (s *DB) checkFile() error {
	if s.replaced.Load() {
		return core.ErrStorage.With(ErrReplaced)
	}
	fi, err := os.Stat(s.path)
	if err == nil && os.SameFile(fi, s.file) {
		return nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return core.ErrStorage.With(err)
	}
	s.replaced.Store(true)
	return core.ErrStorage.With(ErrReplaced)
}
