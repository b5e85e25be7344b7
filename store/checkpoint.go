package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jmoiron/sqlx"

	"newsletterd/core"
)

const (
	checkpointAt    = 16 << 20         // bytes of -wal
	checkpointEvery = 60 * time.Second // while there is a -wal
	truncateAt      = 256 << 20        // bytes of -wal: then shrink the file too, when no reader holds it
	walFrame        = 4096 + 24        // bytes of one frame
	askEvery        = 16               // commits between questions for the part of a large -wal that is in use
)

// checkpointState is what the writer knows of its checkpoints.
//
// Each owned checkpoint is preceded by a transaction that stores a fresh checkpoint_id, and the first transaction after it
// stores that id as wal_base. So the main file alone shows the id that the -wal beside it grew from, or, in the middle
// of a checkpoint, the id that the -wal itself brings: any other id is that of an older copy. A checkpoint that a reader
// kept from its end is still open: the next one goes on under the same id, so that no third id can ever be seen.
type checkpointState struct {
	last  time.Time
	id    string // of the last one
	based bool   // wal_base holds it, or must not hold it yet
	open  bool   // begun and not yet complete
	seen  uint64 // Store.Changes at the last complete one: an idle database is left alone
	asked int    // commits since SQLite was asked how full the -wal is
	size  int64  // of the -wal then
}

// leftover is what an unclean stop left beside the main file.
type leftover struct {
	wal  bool              // a -wal with something in it, and no daemon that works with it
	main map[string]string // marks of the main file alone
}

// resume takes up the state that a file was left in; through are its marks as read through the -wal.
func (c *checkpointState) resume(left leftover, through map[string]string) {
	c.last = time.Now()
	c.id = through["checkpoint_id"]
	c.based = left.wal || through["wal_base"] == c.id
	c.open = left.wal && left.main["checkpoint_id"] != c.id
}

// lookBeside finds what an unclean stop left, and refuses an old copy beside a newer -wal before anything could change
// either: a connection that may write moves the -wal into the file when it closes.
func (s *Store) lookBeside() (leftover, error) {
	left := leftover{wal: walSize(s.path) > 0 && !s.daemonRuns()}
	if !left.wal {
		return left, nil
	}
	var err error
	if left.main, err = fileMarks(s.path, "mode=ro", "immutable=1"); err != nil {
		// In the middle of a checkpoint the main file alone may be unreadable; with the -wal it is whole.
		s.log.Warn("database: the main file alone cannot be read", slog.Any("error", err))
		return leftover{}, nil
	}
	through, err := fileMarks(s.path, "mode=ro", "_pragma=busy_timeout(5000)")
	if err != nil {
		return left, translate(err)
	}
	id := left.main["checkpoint_id"]
	if id == through["wal_base"] || id == through["checkpoint_id"] {
		return left, nil
	}
	return left, fmt.Errorf("%w: %s does not belong to %s-wal; move both aside and put a whole backup in place with `newsletterd restore`", ErrOldCopy, s.path, s.path)
}

// markBase stores wal_base in the first transaction after a checkpoint.
func (w *writer) markBase() error {
	if w.checkpoint.based || w.checkpoint.id == "" {
		return nil
	}
	return w.setMark("wal_base", w.checkpoint.id)
}

func (w *writer) setMark(name, value string) error {
	_, err := w.tx.exec("INSERT INTO mark (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value)
	return err
}

// maybeCheckpoint runs a checkpoint when one is due and ours to run.
func (w *writer) maybeCheckpoint() {
	if w.store.opts.Mode != Daemon || w.store.opts.ExternalCheckpoints || w.store.replaced.Load() {
		return
	}
	size := walSize(w.store.path)
	w.store.stats.wal.Store(size)
	c := &w.checkpoint
	if size == 0 || !c.open && c.seen == w.store.Changes() && c.id != "" || (time.Since(c.last) < checkpointEvery && !w.walFull(size)) {
		return
	}
	mode := "PRAGMA wal_checkpoint(PASSIVE)"
	if size >= truncateAt {
		mode = "PRAGMA wal_checkpoint(TRUNCATE)" // busy_timeout is 0: where a reader is held it gives up at once
	}
	if _, err := w.runCheckpoint(mode); err != nil {
		w.store.log.Warn("database: checkpoint", slog.Any("error", err))
	}
}

// walFull tells whether the -wal holds so much that a checkpoint is due. Its size alone does not say: a -wal that was moved
// into the file is written anew from its beginning and keeps its size. SQLite is asked for the part in use: when the -wal
// has grown, else not after each commit.
func (w *writer) walFull(size int64) bool {
	if size < checkpointAt {
		return false
	}
	c := &w.checkpoint
	if c.asked++; size == c.size && c.asked < askEvery {
		return false
	}
	c.asked, c.size = 0, size
	var res checkpointResult
	if err := w.tx.get(&res, "PRAGMA wal_checkpoint(NOOP)"); err != nil {
		return true
	}
	return (res.Log-res.Checkpointed)*walFrame >= checkpointAt
}

// checkpointResult is the row that PRAGMA wal_checkpoint answers: frames of the -wal, and those in the file already.
type checkpointResult struct {
	Busy         int64 `db:"busy"`
	Log          int64 `db:"log"`
	Checkpointed int64 `db:"checkpointed"`
}

// runCheckpoint stores the mark and moves the -wal into the main file. busy tells that a reader kept a part of it.
func (w *writer) runCheckpoint(mode string) (busy bool, err error) {
	w.checkpoint.last = time.Now()
	if err := w.begin(); err != nil {
		return false, err
	}
	id := w.checkpoint.id
	if !w.checkpoint.open {
		id = core.NewID()
	}
	if err = w.markBase(); err == nil {
		err = w.setMark("checkpoint_id", id)
	}
	if err == nil {
		_, err = w.tx.exec("COMMIT")
	}
	if err != nil {
		_, _ = w.tx.exec("ROLLBACK")
		return false, err
	}
	w.checkpoint.id, w.checkpoint.based, w.checkpoint.open = id, true, true
	var res checkpointResult
	if err := w.tx.get(&res, mode); err != nil {
		return false, err
	}
	if res.Busy != 0 || res.Log != res.Checkpointed {
		return true, nil
	}
	w.checkpoint.based, w.checkpoint.open, w.checkpoint.seen = false, false, w.store.Changes()
	return false, nil
}

func walSize(path string) int64 {
	fi, err := os.Stat(path + "-wal")
	if err != nil {
		return 0
	}
	return fi.Size()
}

// ErrOldCopy says that the main file is older than the -wal beside it: an old copy was put there. Together they would
// mix two states, and no integrity check is sure to notice.
var ErrOldCopy = errors.New("the database file is an older copy than the -wal beside it")

// fileMarks reads the marks through a connection of its own that cannot write.
func fileMarks(path string, mode ...string) (map[string]string, error) {
	if fi, err := os.Stat(path); err != nil || fi.Size() == 0 {
		return map[string]string{}, err
	}
	db, err := sqlx.Open("sqlite", dsn(path, nil, mode...))
	if err != nil {
		return nil, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	var n int
	if err := db.Get(&n, "SELECT count(*) FROM sqlite_schema WHERE name = 'mark'"); err != nil || n == 0 {
		return map[string]string{}, err
	}
	return marks(context.Background(), db)
}

func marks(ctx context.Context, q sqlx.QueryerContext) (map[string]string, error) {
	var all []struct {
		Name  string `db:"name"`
		Value string `db:"value"`
	}
	m := map[string]string{}
	err := sqlx.SelectContext(ctx, q, &all, "SELECT name, value FROM mark")
	for _, r := range all {
		m[r.Name] = r.Value
	}
	return m, err
}
