package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"newsletterd/core"
)

const (
	// CheckpointAt is the size of the -wal, in bytes, at which its contents are moved into the main file.
	CheckpointAt = 16 << 20
	// CheckpointFile is like CheckpointAt, while files are uploaded. Uploads fill the -wal quickly, and all writers
	// wait for each checkpoint.
	CheckpointFile = 4 << 20
	// checkpointPart and checkpointFar make checkpoints rarer with a slow replica, because a checkpoint blocks all
	// writers until the replica has everything. For each checkpointPart that a write to the replica takes, the -wal
	// may grow by the same size again, up to checkpointFar times the size in total.
	checkpointPart  = 10 * time.Millisecond
	checkpointFar   = 4
	checkpointEvery = 60 * time.Second // interval while there is a -wal
	truncateAt      = 256 << 20        // -wal size in bytes at which a checkpoint truncates it, if no reader holds it
	walFrame        = 4096 + 24        // bytes of a frame
	maxIDs          = 16               // ids of one checkpoint; if it takes more attempts, the newest are kept
	lookEvery       = 16               // operations between checks of the -wal's size
	askEvery        = 128              // operations between queries for the used part of a large -wal
	askGrown        = 256 << 10        // bytes of growth after which the query runs sooner
	roomStep        = 1 << 20          // minimum number of bytes by which a growing -wal is extended in advance
	roomBeyond      = 4 << 20          // bytes that it may grow by after a checkpoint is due
	roomEnough      = CheckpointAt + roomBeyond
)

// checkpointState is the state of the writer's checkpoints.
//
// Before each checkpoint of its own, the writer commits a fresh checkpoint_id. Immediately after the checkpoint it
// commits that id as wal_base, so that no command can begin the new -wal without it. The main file alone therefore
// shows the id that its -wal grew from. In the middle of a checkpoint, it may instead show the id that the -wal itself
// contains. Any other id means an older copy of the file.
//
// A checkpoint stays open if a reader kept it from finishing or a kill may have interrupted it. The next attempt also
// uses a fresh id, because the file may have been copied in the meantime. checkpoint_id then also lists the earlier
// ids, because the main file may show any of them. A command next to a daemon doesn't change the marks; it only writes
// their page into the -wal.
type checkpointState struct {
	last  time.Time
	ids   []string // checkpoint_id: ids of the last checkpoint and of the attempts before it, newest first
	based bool     // whether wal_base holds the newest id, or must not hold it yet
	open  bool     // whether a checkpoint has begun and is not complete
	touch bool     // whether the next transaction must rewrite the page of the marks, unchanged
	seen  uint64   // DB.Changes at the last complete checkpoint; an idle database gets none
	ops   int      // operations since the last check of the -wal's size
	asked int      // operations since SQLite was asked for the used part of the -wal
	size  int64    // size of the -wal when SQLite was asked
	// no checkpoint before this time, because the replica is too far from complete
	pausedTill time.Time
	file       bool  // whether a part of an uploaded file was written since the last complete checkpoint
	room       int64 // size of the -wal when it was last extended, or could not be
}

// at returns the size of the -wal in bytes at which a checkpoint is due without a replica.
func (c *checkpointState) at() int64 {
	if c.file {
		return CheckpointFile
	}
	return CheckpointAt
}

// due is like at, for a replica whose writes take latency. A latency of 0 means that there is no replica.
func (c *checkpointState) due(latency time.Duration) int64 {
	parts := min(float64(latency)/float64(checkpointPart), checkpointFar-1)
	return c.at() + int64(parts*float64(c.at()))
}

// checkpointDue returns the size of the -wal in bytes at which a checkpoint is due.
func (w *writer) checkpointDue() int64 {
	var latency time.Duration
	if r := w.store.opts.Replica; r != nil {
		_, latency, _ = r.Progress()
	}
	return w.checkpoint.due(latency)
}

// leftover describes what an unclean stop left next to the main file.
type leftover struct {
	wal  bool              // whether there is a -wal that is not empty and that no daemon uses
	main map[string]string // marks of the main file alone
}

// resume sets the state for a file that was just opened. through holds the marks as read through the -wal. daemon is
// true if a daemon runs.
func (c *checkpointState) resume(left leftover, daemon bool, through map[string]string) {
	c.last = time.Now()
	c.ids = strings.Fields(through["checkpoint_id"])
	switch {
	case left.wal:
		// The main file may show wal_base or checkpoint_id, so both stay until a checkpoint is complete.
		c.based, c.open, c.touch = true, true, true
	case daemon:
		// A daemon may be running a checkpoint or start one. The marks belong to it.
		c.based, c.touch = true, true
	default:
		c.based = len(c.ids) > 0 && through["wal_base"] == c.ids[0]
	}
}

// checkLeftoverWAL returns what an unclean stop left. It refuses an old copy next to a newer -wal before either can
// change: a writable connection moves the -wal into the file when it closes.
func (s *DB) checkLeftoverWAL() (leftover, error) {
	left := leftover{wal: WalSize(s.path) > 0 && !s.DaemonRuns()}
	if !left.wal {
		return left, nil
	}
	var err error
	if left.main, err = fileMarks(s.path, "mode=ro", "immutable=1"); err != nil {
		// In the middle of a checkpoint, the main file alone may be unreadable. Together with the -wal it is
		// complete.
		s.log.Warn("database: the main file alone cannot be read", slog.Any("error", err))
		return left, nil
	}
	through, err := fileMarks(s.path, "mode=ro", "_pragma=busy_timeout(5000)")
	if err != nil {
		return left, Translate(err)
	}
	id, _, _ := strings.Cut(left.main["checkpoint_id"], " ")
	if id == through["wal_base"] || slices.Contains(strings.Fields(through["checkpoint_id"]), id) {
		return left, nil
	}
	return left,
		fmt.Errorf("%w: %s doesn't match %s-wal. Move both aside and restore a backup with newsletterd "+
			"restore", ErrOldCopy, s.path, s.path)
}

// markBase stores wal_base in the first transaction after a checkpoint. The main file shows the newest id of the
// checkpoint.
func (w *writer) markBase() error {
	c := &w.checkpoint
	switch {
	case len(c.ids) == 0:
		return nil
	case c.touch || !c.based && w.store.DaemonRuns():
		return w.setMark("touched", core.NewID())
	case c.based:
		return nil
	}
	var ids string
	if err := w.tx.Get(&ids, "SELECT value FROM mark WHERE name = 'checkpoint_id'"); err != nil {
		return err
	}
	if id, _, _ := strings.Cut(ids, " "); id != c.ids[0] { // a daemon ran since this command last looked
		return w.setMark("touched", core.NewID())
	}
	if err := w.setMark("wal_base", c.ids[0]); err != nil {
		return err
	}
	return w.setMark("checkpoint_id", c.ids[0])
}

func (w *writer) setMark(name, value string) error {
	_, err := w.tx.Exec("INSERT INTO mark (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = "+
		"excluded.value", name, value)
	return err
}

// lookAtWAL calls maybeCheckpoint after a commit. After a few small operations, it skips the call, because the call
// costs as much as recording the outcomes of several emails.
func (w *writer) lookAtWAL() {
	c := &w.checkpoint
	c.ops += len(w.batch)
	large := c.file || slices.ContainsFunc(w.batch, func(o *op) bool { return o.bulk })
	if c.ops >= lookEvery || large {
		w.maybeCheckpoint()
	}
}

// maybeCheckpoint runs a checkpoint if one is due and this process is responsible for checkpoints.
func (w *writer) maybeCheckpoint() {
	if w.store.opts.Mode != Daemon || w.store.opts.ExternalCheckpoints || w.store.replaced.Load() {
		return
	}
	w.tx.upkeep = true
	defer func() { w.tx.upkeep = false }()
	size := WalSize(w.store.path)
	w.store.stats.wal.Store(size)
	w.giveRoom(size)
	c := &w.checkpoint
	c.asked, c.ops = c.asked+c.ops, 0
	if time.Now().Before(c.pausedTill) || size == 0 || !c.open && c.seen == w.store.Changes() && len(c.ids) > 0 ||
		time.Since(c.last) < checkpointEvery && !w.walFull(size) {
		return
	}
	mode := "PRAGMA wal_checkpoint(PASSIVE)"
	if size >= truncateAt {
		mode = "PRAGMA wal_checkpoint(TRUNCATE)" // gives up immediately if a reader holds the -wal
	}
	if _, err := w.runCheckpoint(mode); err != nil {
		w.store.log.Warn("database: checkpoint", slog.Any("error", err))
	}
}

// walFull reports whether the used part of the -wal is large enough for a checkpoint. The file size alone does not show
// that: after a checkpoint, the -wal is overwritten from the start and keeps its size. Asking SQLite for the used part
// costs as much as recording the outcomes of ten emails, so walFull asks only at intervals or after the -wal has grown
// a lot.
func (w *writer) walFull(size int64) bool {
	c := &w.checkpoint
	due := c.at()
	if size >= due {
		due = w.checkpointDue()
	}
	if size < due {
		return false
	}
	if size >= c.size && size < c.size+askGrown && c.asked < askEvery && !c.file {
		return false
	}
	c.asked, c.size = 0, size
	var res checkpointResult
	if err := w.tx.Get(&res, "PRAGMA wal_checkpoint(NOOP)"); err != nil {
		return true
	}
	return (res.Log-res.Checkpointed)*walFrame >= due
}

// giveRoom doubles the size of a growing -wal with zeros until there is room for everything between two checkpoints. A
// commit that overwrites these zeros takes half the time and CPU of one that appends, because the file system has no
// new size to store. Readers and recovery stop at the last frame with a valid checksum, so the zeros do no harm.
func (w *writer) giveRoom(size int64) {
	c := &w.checkpoint
	if size < c.room { // the -wal was truncated
		c.room = 0
	}
	if size <= c.room || size < roomStep/4 {
		return
	}
	enough := max(roomEnough, w.checkpointDue()+roomBeyond)
	if size >= enough {
		return
	}
	c.room = size
	step := min(max(size, roomStep), enough-size)
	if free, _, _, err := DiskOf(w.store.path); err != nil || free < 64*step {
		return
	}
	// No other process appends while this one holds the write lock.
	if err := w.lock(); err != nil {
		return
	}
	if size == WalSize(w.store.path) && appendZeros(w.store.path+"-wal", size, step) == nil {
		c.room = size + step
	}
	w.rollback()
}

// appendZeros writes n zeros at the end of a file. If that fails, it restores the previous size.
func appendZeros(path string, size, n int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	zeros := make([]byte, 256<<10)
	for at := size; at < size+n && err == nil; at += int64(len(zeros)) {
		_, err = f.WriteAt(zeros[:min(int64(len(zeros)), size+n-at)], at)
	}
	if err != nil {
		_ = f.Truncate(size)
	}
	return errors.Join(err, f.Close())
}

// checkpointResult is the row that PRAGMA wal_checkpoint returns: frames in the -wal and frames already in the file.
type checkpointResult struct {
	Busy         int64 `db:"busy"`
	Log          int64 `db:"log"`
	Checkpointed int64 `db:"checkpointed"`
}

// runCheckpoint runs a checkpoint and stores the marks before and after it. busy reports whether a reader held back a
// part of the -wal.
func (w *writer) runCheckpoint(mode string) (busy bool, err error) {
	if busy, err = w.moveWAL(mode); err == nil && !busy {
		err = w.transactMarks(w.markBase)
	}
	if err == nil && !busy {
		w.checkpoint.based = true
	}
	return busy, err
}

// moveWAL is like runCheckpoint, but doesn't store the mark afterwards. The -wal may no longer exist when it returns.
func (w *writer) moveWAL(mode string) (busy bool, err error) {
	w.checkpoint.last = time.Now()
	if err := w.announceCheckpoint(); err != nil {
		return false, err
	}
	var res checkpointResult
	if err := w.runCheckpointPragma(mode, &res); err != nil {
		return false, err
	}
	if res.Busy != 0 || res.Log != res.Checkpointed {
		return true, nil
	}
	w.checkpoint.based, w.checkpoint.open, w.checkpoint.seen, w.checkpoint.file = false, false, w.store.Changes(), false
	return false, nil
}

// announceCheckpoint stores the mark of the checkpoint that is about to begin or continue.
func (w *writer) announceCheckpoint() error {
	ids := []string{core.NewID()}
	if w.checkpoint.open {
		ids = append(ids, w.checkpoint.ids...)
	}
	if len(ids) > maxIDs {
		ids = w.checkpoint.ids
	}
	err := w.transactMarks(func() error {
		if err := w.markBase(); err != nil {
			return err
		}
		return w.setMark("checkpoint_id", strings.Join(ids, " "))
	})
	if err != nil {
		return err
	}
	w.checkpoint.ids, w.checkpoint.based, w.checkpoint.open, w.checkpoint.touch = ids, true, true, false
	return nil
}

// transactMarks runs a transaction that writes only marks.
func (w *writer) transactMarks(marks func() error) error {
	if err := w.begin(); err != nil {
		return err
	}
	err := marks()
	if err == nil {
		_, err = w.tx.Exec("COMMIT")
	}
	if err != nil {
		w.rollback()
		return err
	}
	w.committed()
	return nil
}

// WalSize returns the size of a database's -wal file in bytes, or 0 if there is none.
func WalSize(path string) int64 {
	fi, err := os.Stat(path + "-wal")
	if err != nil {
		return 0
	}
	return fi.Size()
}

// ErrOldCopy is returned when the main file is older than the -wal next to it, because an old copy was put there.
// Together they would mix two states, and an integrity check may not notice that.
var ErrOldCopy = errors.New("the database file is older than its -wal file")

// fileMarks reads the marks in a database file through a separate read-only connection.
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
