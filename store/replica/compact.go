package replica

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/superfly/ltx"
	"golang.org/x/sync/errgroup"
)

// Limits that keep the log short, because a restore should read few files.
const (
	// readMost is the maximum time that a restore should take to read the level 0 files. It reads each file twice, and
	// fetchAtOnce files at a time. The number of files that can be read in this time triggers an early compaction. It
	// is at least compactMany and at most compactMost.
	readMost    = 2 * time.Second
	compactMany = 1024
	compactMost = 8192
	// keepShipped is how long level 0 files stay after compaction, because a restore may be reading them.
	keepShipped = 5 * time.Minute
	// compactAtOnce is the maximum number of files that one compaction reads.
	compactAtOnce = 1024
	// compactBytes is the maximum size of these files in memory.
	compactBytes = 16 << 20
)

// compactEvery is how often each level is compacted from the one below.
var compactEvery = [levels]time.Duration{1: 30 * time.Second, 2: 5 * time.Minute, 3: time.Hour}

const (
	// busyBytes is the minimum number of bytes shipped between two checks for the daemon to count as busy. A busy
	// daemon postpones compaction, which takes about as much CPU as shipping.
	busyBytes = 8 << 20
	// busyPeriods is the maximum number of periods that a level is postponed.
	busyPeriods = 4
)

// snapshotEvery is how often the whole database is written. Older files can then be removed.
const snapshotEvery = 24 * time.Hour

// compact merges those files of the level below that a level does not cover yet into one new file. It leaves out
// transactions after through, because the next holder of the lease might not know about them. It returns the new file,
// or the zero value if there was nothing to do. recent returns the content of a recently shipped level 0 file, or nil.
func (l logFiles) compact(
	ctx context.Context, level int, through uint64, recent func(txid uint64) []byte,
) (made logFile, err error) {
	covered, err := l.list(ctx, level)
	if err != nil {
		return made, err
	}
	end := uint64(0)
	for _, f := range covered {
		end = max(end, f.max)
	}
	below, err := l.list(ctx, level-1)
	if err != nil {
		return made, err
	}
	from := following(below, end, through, level)
	if len(from) == 0 && end < through {
		from, err = l.followingGap(ctx, level, below, end, through)
	}
	if err == nil && len(from) == 1 {
		from, err = l.beforeHole(ctx, level, below, from, through)
	}
	if len(from) == 0 || err != nil {
		return made, err
	}
	readers, err := l.fetchAll(ctx, from, func(f logFile) []byte {
		if level > 1 {
			return nil
		}
		return recent(f.max)
	})
	defer func() {
		for _, r := range readers {
			if c, ok := r.(io.Closer); ok {
				_ = c.Close()
			}
		}
	}()
	if err != nil {
		return made, err
	}
	pr, pw := io.Pipe()
	go func() {
		pw.CloseWithError(decode(func() error {
			c, err := ltx.NewCompactor(pw, readers)
			if err != nil {
				return err
			}
			c.HeaderFlags = ltx.HeaderFlagNoChecksum
			return c.Compact(ctx)
		}))
	}()
	whole := logFile{level: level, min: from[0].min, max: from[len(from)-1].max}
	_, err = l.bucket.PutStream(ctx, l.key(level, whole.min, whole.max), pr)
	_ = pr.CloseWithError(io.ErrClosedPipe)
	if err != nil {
		err = fmt.Errorf("compact to level %d: %w", level, err)
		return made, cmp.Or(l.findDamaged(ctx, from), err)
	}
	return whole, nil
}

// fetchAll opens log files, several at once. It doesn't open files whose content the function known returns. The caller
// closes the readers that implement io.Closer, even after an error, when some readers are nil.
func (l logFiles) fetchAll(
	ctx context.Context, files []logFile, known func(logFile) []byte,
) (readers []io.Reader, err error) {
	readers = make([]io.Reader, len(files))
	var group errgroup.Group
	group.SetLimit(fetchAtOnce)
	for i, f := range files {
		if b := known(f); b != nil {
			readers[i] = bytes.NewReader(b)
			continue
		}
		group.Go(func() error {
			r, err := l.fetch(ctx, f)
			if err == nil {
				readers[i] = r
			}
			return err
		})
	}
	return readers, group.Wait()
}

// findDamaged returns a damagedError for the first unreadable file, or nil if all are readable.
func (l logFiles) findDamaged(ctx context.Context, files []logFile) error {
	for _, f := range files {
		r, err := l.fetch(ctx, f)
		if err != nil {
			return nil
		}
		source := &sourceReader{r: r}
		err = decode(ltx.NewDecoder(source).Verify)
		_ = r.Close()
		if err != nil && source.err == nil {
			return l.damaged(f, err)
		}
	}
	return nil
}

// following returns the files with the transactions after end and up to through, without a gap. If there are many
// files, or large ones, it returns only some of them. If the first one is missing, which a late listing can cause, it
// returns none: files that compaction skips would be removed.
func following(files []logFile, end, through uint64, level int) (from []logFile) {
	size, most := int64(0), int64(compactBytes)
	if level > 1 {
		most *= 16 // large files are only partly in memory
	}
	for len(from) < compactAtOnce && (len(from) < 2 || size < most) {
		best := -1
		for i, f := range files {
			if f.min > end+1 {
				break
			}
			if f.max > end && f.max <= through && (best < 0 || f.max > files[best].max) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		from = append(from, files[best])
		end, size = files[best].max, size+files[best].size
		files = files[best+1:]
	}
	return from
}

// beforeHole returns from, which contains one file, if the next file is missing. In that case, no other file will ever
// be compacted with it. Otherwise beforeHole returns nil.
func (l logFiles) beforeHole(
	ctx context.Context, level int, below, from []logFile, through uint64,
) ([]logFile, error) {
	end := from[0].max
	if end >= through {
		return nil, nil
	}
	if level == 1 { // a listing can be outdated
		if _, there, err := l.exists(ctx, end+1); there || err != nil {
			return nil, err
		}
		return from, nil
	}
	goesOn := func(f logFile) bool { return f.min <= end+1 && f.max > end }
	later := func(f logFile) bool { return f.min > end+1 }
	if slices.ContainsFunc(below, goesOn) || !slices.ContainsFunc(below, later) {
		return nil, nil
	}
	return from, nil
}

// lateListing is assumed to be longer than any delay of a listing.
const lateListing = time.Hour

// followingGap returns the files that continue from a whole copy newer than end, for a level that lacks the file after
// end. It returns ErrGap if that file is missing at level 0 and there is no later whole copy.
func (l logFiles) followingGap(
	ctx context.Context, level int, below []logFile, end, through uint64,
) (from []logFile, err error) {
	if level == 1 {
		if _, there, err := l.exists(ctx, end+1); there || err != nil { // the listing is outdated
			return nil, err
		}
	} else if !slices.ContainsFunc(below, func(f logFile) bool { return f.min > end+1 }) {
		return nil, nil
	}
	wholes, err := l.list(ctx, snapshotLevel)
	if err != nil {
		return nil, err
	}
	after := false
	for _, f := range wholes {
		if f.max <= end || level > 1 && time.Since(f.modified) < lateListing {
			continue
		}
		after = true
		if from = following(below, f.max, through, level); len(from) > 0 {
			return from, nil
		}
	}
	if level == 1 && !after {
		return nil, fmt.Errorf("%w: after %d, it continues at %d", ErrGap, end, through)
	}
	return nil, nil
}

// sweep removes log files that are not needed to restore any state from keep to now. These are level 0 files that level
// 1 covers, and everything older than the snapshot that keep needs. The newest file of each level stays.
func (l logFiles) sweep(ctx context.Context, now, keep time.Time) error {
	snapshots, err := l.list(ctx, snapshotLevel)
	if err != nil {
		return err
	}
	needed := uint64(0) // last transaction of the newest snapshot before keep
	for _, f := range snapshots {
		if f.modified.Before(keep) {
			needed = max(needed, f.max)
		}
	}
	old := func(f logFile) bool { return f.max < needed }
	if err := l.remove(ctx, snapshots, old); err != nil {
		return err
	}
	covered := uint64(0)
	for level := levels - 1; level >= 0; level-- {
		files, err := l.list(ctx, level)
		if err != nil {
			return err
		}
		if level == 1 {
			for _, f := range files {
				covered = max(covered, f.max)
			}
		}
		gone := old
		if level == 0 {
			gone = func(f logFile) bool { return f.max <= covered && f.modified.Before(now.Add(-keepShipped)) }
		}
		if err := l.remove(ctx, files, gone); err != nil {
			return err
		}
	}
	return nil
}

// remove removes the files of a level for which gone returns true. It starts with the oldest, so that an interruption
// leaves no gap. The newest file stays.
func (l logFiles) remove(ctx context.Context, files []logFile, gone func(logFile) bool) error {
	var keys []string
	for i, f := range files {
		if i == len(files)-1 || !gone(f) {
			break
		}
		keys = append(keys, l.key(f.level, f.min, f.max))
	}
	if len(keys) == 0 {
		return nil
	}
	return l.bucket.Delete(ctx, keys...)
}

// keepShort regularly compacts the log, writes whole copies, and removes files that are no longer needed. It logs
// errors and tries again; no caller waits for it. If the machine may have lost the lease, keepShort does nothing.
func (r *Replica) keepShort() {
	var last [levels]time.Time
	for level := 1; level < levels; level++ {
		if last[level] = r.newest(level); last[level].IsZero() {
			last[level] = time.Now()
		}
	}
	snapshot := r.lastWhole()
	for pause(r.ctx, r.tidyEvery) == nil {
		err := r.upkeep(&last, &snapshot)
		if err != nil && r.ctx.Err() == nil {
			r.slog.Warn("replica: the log can't be compacted now", slog.Any("error", err))
		}
	}
}

// newest returns the time when the last file of a level was written, or the zero time if unknown.
func (r *Replica) newest(level int) (at time.Time) {
	files, err := r.log.list(r.ctx, level)
	if err == nil && len(files) > 0 {
		at = files[len(files)-1].modified
	}
	return at
}

// lastWhole returns the time of the last whole copy, or the zero time if unknown. If there is no copy, it returns the
// time when the log started, because a log starts with the whole database.
func (r *Replica) lastWhole() (at time.Time) {
	if at = r.newest(snapshotLevel); !at.IsZero() {
		return at
	}
	for level := range levels {
		files, err := r.log.list(r.ctx, level)
		if err != nil {
			return time.Time{}
		}
		if len(files) > 0 && (at.IsZero() || files[0].modified.Before(at)) {
			at = files[0].modified
		}
	}
	if at.IsZero() {
		at = time.Now() // the log is about to start
	}
	return at
}

// upkeep does the maintenance that is due: it compacts the log, writes a whole copy, verifies the log, and removes
// files.
func (r *Replica) upkeep(last *[levels]time.Time, snapshot *time.Time) error {
	now := time.Now()
	r.ship.mu.Lock()
	arrived, many, busy := r.ship.arrived, r.ship.puts >= manyFiles(r.ship.latency), r.ship.bytes >= busyBytes
	r.ship.bytes = 0
	r.ship.mu.Unlock()
	broken, _ := r.Broken()
	if err := r.lease.check(); err != nil { // after reading arrived: those files arrived under a fresh lease
		return err
	}
	unverified := r.verify(r.ctx)
	if arrived == r.compacted && broken == nil {
		return unverified
	}
	tidied := false
	for level := 1; level < levels; level++ {
		wait := compactEvery[level]
		if busy {
			wait *= busyPeriods
		}
		if now.Sub(last[level]) < wait && !(level == 1 && many) {
			continue
		}
		whole, err := r.compactLevel(level, arrived)
		if err != nil {
			return errors.Join(unverified, err)
		}
		last[level], tidied = now, true
		if level != 1 {
			continue
		}
		r.ship.mu.Lock()
		r.ship.puts = 0
		r.ship.mu.Unlock()
		if whole {
			r.compacted = arrived
		}
	}
	if broken, _ := r.Broken(); unverified != nil || broken != nil { // keep all files that a restore might need
		return unverified
	}
	if now.Sub(*snapshot) >= snapshotEvery && r.copies.due() {
		if err := r.copies.tried(r.ship.snapshot(r.ctx)); err != nil {
			return err
		}
		*snapshot, tidied = now, true
	}
	if !tidied {
		return nil
	}
	// Before files are removed, the lock object must record how far the log reaches. Otherwise the next holder might
	// get an outdated listing of level 1 and take the log to be shorter.
	if err := r.lease.renew(r.ctx); err != nil {
		return err
	}
	return r.log.sweep(r.ctx, now, now.Add(-r.opts.Keep))
}

// manyFiles returns the number of level 0 files that triggers an early compaction. latency is the time to read a file.
func manyFiles(latency time.Duration) uint64 {
	read := readMost * fetchAtOnce / 2 / max(latency, 1)
	return uint64(min(max(read, compactMany), compactMost))
}

// compactLevel compacts a level from the one below it, without transactions after through. If a file is damaged or
// missing, it repairs the log. whole is false if the repair has to wait.
func (r *Replica) compactLevel(level int, through uint64) (whole bool, err error) {
	for {
		l := r.log
		l.bad = r.bad
		made, err := l.compact(r.ctx, level, through, r.ship.recentBody)
		again := made.max > 0
		if again { // the new file replaces damaged ones of the same name
			r.bad = slices.DeleteFunc(r.bad, made.same)
		}
		if bad := (*damagedError)(nil); errors.As(err, &bad) {
			r.bad = append(r.bad, bad.file)
			again = true
		}
		if errors.Is(err, ErrGap) {
			whole, err = r.mendNow(r.ctx, err)
			if err == nil && !whole {
				return false, nil
			}
		}
		if err != nil || !again {
			return true, err
		}
	}
}

// recentBody returns the content of a recently shipped file, or nil if it is no longer in memory.
func (s *shipper) recentBody(txid uint64) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.recent {
		if p.txid == txid {
			return p.body
		}
	}
	return nil
}

// snapshot writes the whole database in its state after the last file. Meanwhile it blocks checkpoints, so the -wal
// grows, but it doesn't block callers. endCopies interrupts it.
func (s *shipper) snapshot(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.copies, cancel)()
	s.still.Lock()
	defer s.still.Unlock()
	if err := s.captureMu.lock(ctx); err != nil {
		return err
	}
	end, txid := s.end, s.txid
	files := &walFiles{main: s.files.main}
	err := s.settle(ctx)
	var w whole
	if err == nil && end.frames > 0 {
		err = files.reopen(s.path)
	}
	if err == nil {
		w, err = s.wholeAt(files, end)
	}
	s.captureMu.Unlock()
	if files.wal != nil {
		defer files.wal.Close()
	}
	if err != nil || end.pages == 0 || txid == 0 {
		return err
	}
	w.end = end
	return s.log.putWhole(ctx, w, txid, s.lease.generation())
}

// wholeAt returns the database in its state at the end of the last file. Pages that a checkpoint has moved into the
// database file are read from there, because the -wal can restart at any time.
func (s *shipper) wholeAt(files *walFiles, end walEnd) (w whole, err error) {
	if end == s.sealed {
		now, err := readIndex(s.path)
		if err != nil {
			return w, err
		}
		moved, err := readBackfill(s.path)
		if err != nil {
			return w, err
		}
		if now.salt != end.salt || moved >= end.frames {
			return readWhole(files, end, end.frames)
		}
	}
	return readWhole(files, end, 0)
}
