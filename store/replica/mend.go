package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"
)

// The code below repairs a log that has a missing or damaged part: it adds a whole copy of the database, and a restore
// starts from that copy. Everything before the copy stays, because earlier states can still be restored from it.

// trouble holds the problems found in the log since the start; the zero value means none.
type trouble struct {
	broken error // reason why the log can't be restored now; nil: none known
	mended error // last problem that a whole copy has repaired
}

// Broken returns the known reason why the replica can't be restored, and the last problem repaired since the start.
func (r *Replica) Broken() (broken, mended error) {
	if t := r.trouble.Load(); t != nil {
		return t.broken, t.mended
	}
	return nil, nil
}

// Mend ships a whole copy of the database; a restore then doesn't need the part that found reports as missing. Until
// the copy is there, Broken returns found. If Mend fails, keepShort tries again later. If this machine doesn't hold the
// lease, it returns ErrStale or ErrLost. It also returns bucket errors.
func (r *Replica) Mend(ctx context.Context, found error) error {
	r.mending.Lock()
	defer r.mending.Unlock()
	_, before := r.Broken()
	r.trouble.Store(&trouble{broken: found, mended: before})
	r.slog.Error("replica: it can't be restored; uploading a full copy", slog.Any("found", found))
	if err := r.lease.check(); err != nil {
		return err
	}
	if err := r.ship.snapshot(ctx); err != nil {
		return fmt.Errorf("a full copy of the database can't be uploaded: %w", err)
	}
	if err := r.log.reaches(ctx, r.lease.txid.Load()); err != nil {
		return err
	}
	r.mended(found)
	return nil
}

func (r *Replica) mended(found error) {
	r.trouble.Store(&trouble{mended: found})
	r.slog.Warn("replica: repaired by a full copy of the database", slog.Any("found", found))
}

// verifyEvery is how often a daemon checks that all files needed for a restore exist.
const verifyEvery = time.Hour

// copyAgain is how long to wait after a whole copy failed, because each copy reads and ships the entire database and
// delays checkpoints. The wait doubles with each failure, up to copyAgainMost.
const (
	copyAgain     = time.Minute
	copyAgainMost = time.Hour
)

// backoff spaces out attempts that fail. With the zero value, the first attempt is due immediately.
type backoff struct {
	wait  time.Duration // wait after the last failure
	after time.Time     // time at which the next attempt is due
}

// due reports whether the next attempt may start.
func (b *backoff) due() bool { return !time.Now().Before(b.after) }

// tried records the result of an attempt and returns err.
func (b *backoff) tried(err error) error {
	if err == nil {
		*b = backoff{}
		return nil
	}
	b.wait = min(max(copyAgain, 2*b.wait), copyAgainMost)
	b.after = time.Now().Add(b.wait)
	return fmt.Errorf("%w; retrying in %s", err, b.wait)
}

// mendNow calls Mend, unless a whole copy has failed recently: then verify repairs the log later. It reports whether
// the log was repaired.
func (r *Replica) mendNow(ctx context.Context, found error) (bool, error) {
	if !r.copies.due() {
		if broken, mended := r.Broken(); broken == nil {
			r.trouble.Store(&trouble{broken: found, mended: mended})
		}
		return false, nil
	}
	err := r.copies.tried(r.Mend(ctx, found))
	return err == nil, err
}

// verify repairs the log if a file is missing or an earlier problem is not repaired yet.
func (r *Replica) verify(ctx context.Context) error {
	if broken, _ := r.Broken(); broken != nil {
		_, err := r.mendNow(ctx, broken)
		return err
	}
	if time.Since(r.verified) < verifyEvery {
		return nil
	}
	found, err := r.gap(ctx)
	if err == nil && found != nil {
		_, err = r.mendNow(ctx, found)
	}
	if err == nil {
		r.verified = time.Now()
	}
	return err
}

// gap returns an ErrGap that names what a restore lacks, or nil. A listing can be outdated, so it checks several times.
func (r *Replica) gap(ctx context.Context) (found, err error) {
	for range 3 {
		least := r.lease.txid.Load()
		err = r.log.reaches(ctx, least)
		if errors.Is(err, ErrNothing) && least == 0 {
			return nil, nil // no file has arrived yet
		}
		if !errors.Is(err, ErrGap) {
			return nil, err
		}
		if stopped := pause(ctx, r.opts.TTL/5); stopped != nil {
			return nil, stopped
		}
	}
	return err, nil
}

// reaches returns ErrGap if the log can't be restored up to the transaction least, which the log is known to have had.
// It returns ErrNothing if the log holds no database and least is 0.
func (l logFiles) reaches(ctx context.Context, least uint64) error {
	files, err := l.plan(ctx, 0, zeroTime)
	return reached(files, err, least)
}

// reached is like reaches, for files and err, the results of plan.
func reached(files []logFile, err error, least uint64) error {
	switch {
	case errors.Is(err, ErrNothing) && least > 0:
		return fmt.Errorf("%w: none of it is left, and it had reached %d", ErrGap, least)
	case err == nil && files[len(files)-1].max < least:
		return fmt.Errorf("%w: it ends at %d, but had reached %d", ErrGap, files[len(files)-1].max, least)
	}
	return err
}

// settleDamaged is like settle, for a damaged log; found describes the damage. The database file replaces the log if it
// has everything that was in the log, or if Options allow it. Otherwise settleDamaged returns found and changes
// nothing.
func (r *Replica) settleDamaged(ctx context.Context, n note, found error) (at position, err error) {
	advice := fmt.Errorf("%w. Start the machine that served last; it repairs the replica. If its disk is lost, "+
		"newsletterd replica restore --to-last-contiguous restores everything before the gap, and newsletterd replica "+
		"begin replaces the replica with this machine's database", found)
	if fi, err := os.Stat(r.path); errors.Is(err, os.ErrNotExist) || err == nil && fi.Size() == 0 {
		return at, advice
	} else if err != nil {
		return at, err
	}
	last, generation, newest, err := r.lastFile(ctx)
	if err != nil {
		return at, err
	}
	s := shipped{covered: max(newest, r.lease.txid.Load())}
	instead := r.opts.Supersede || r.opts.Begin
	if s.covered < n.Confirmed {
		advice = fmt.Errorf("%w; it was reset to an earlier state. To replace the replica with this machine's "+
			"database, run newsletterd replica begin. To keep the replica, delete %s; the next start keeps this "+
			"database under another name", found, notePath(r.path))
		if !r.last && !instead { // another machine may have continued from there
			return at, advice
		}
		s.covered = n.Confirmed
	}
	if last.max == s.covered && last.max > 0 && !instead {
		s.files = []logFile{last} // otherwise only the note can identify the file
	}
	if generation >= r.lease.generation() {
		if err := r.lease.raise(ctx, generation+1); err != nil {
			return at, err
		}
	}
	if instead {
		at, err = r.adopt(ctx, s.head())
	} else {
		var fits bool
		at, fits, err = r.continues(ctx, n, s)
		if err == nil && !fits || errors.Is(err, ErrGap) {
			return at, advice
		}
	}
	if err != nil {
		return at, err
	}
	if err := r.copyWhole(ctx, at); err != nil {
		return at, err
	}
	if err := r.log.reaches(ctx, at.txid); err != nil {
		return at, err
	}
	r.mended(found)
	return at, nil
}

// lastFile returns the last level 0 file by the latest holder that has any, even if files before it are missing. newest
// is the last transaction that the log had, which can be later: in a damaged file or at a higher level. Both ignore
// files that an earlier holder sent too late. last is the zero value if there is no file.
func (r *Replica) lastFile(ctx context.Context) (last logFile, generation, newest uint64, err error) {
	listed, err := r.log.list(ctx, 0)
	if err != nil {
		return last, 0, 0, err
	}
	end := uint64(0)
	for _, f := range listed {
		end = max(end, f.max)
	}
	for txid := end + 1; txid <= end+depth; txid++ {
		f, there, err := r.log.exists(ctx, txid)
		if err != nil {
			return last, 0, 0, err
		}
		if there {
			listed = append(listed, f)
		}
	}
	headers, damaged, err := r.log.headers(ctx, listed)
	if err != nil {
		return last, 0, 0, err
	}
	for i, f := range listed {
		h := headers[i]
		if damaged[i] != nil {
			newest = max(newest, f.max)
			continue
		}
		if h.NodeID > generation || h.NodeID == generation && f.max > last.max {
			last, generation = f, h.NodeID
		}
	}
	above, err := r.log.compacted(ctx)
	if err != nil {
		return last, 0, 0, err
	}
	wholes, err := r.log.list(ctx, snapshotLevel)
	if err != nil {
		return last, 0, 0, err
	}
	for _, f := range append(append(above, wholes...), last) {
		newest = max(newest, f.max)
	}
	return last, generation, newest, nil
}

// copyWhole writes a whole copy of the database file, which has no -wal, to the log. The copy has the last transaction
// of the log.
func (r *Replica) copyWhole(ctx context.Context, at position) error {
	main, err := os.Open(r.path)
	if err != nil {
		return err
	}
	defer main.Close()
	if err := r.lease.check(); err != nil {
		return err
	}
	return r.log.putWhole(ctx, whole{main: main, end: walEnd{pages: at.pages}}, at.txid, r.lease.generation())
}

// putWhole writes w, the database after the transaction txid of the log, to the log as a whole copy.
func (l logFiles) putWhole(ctx context.Context, w whole, txid, generation uint64) error {
	c := changed{to: w.end}
	h := c.header(txid, generation)
	h.MinTXID, h.WALOffset, h.WALSize, h.WALSalt1, h.WALSalt2 = 1, 0, 0, 0, 0
	pr, pw := io.Pipe()
	go func() { pw.CloseWithError(w.encode(pw, h, pagesFrom(1, w.end.pages))) }()
	_, err := l.bucket.PutStream(ctx, l.key(snapshotLevel, 1, txid), pr)
	_ = pr.CloseWithError(io.ErrClosedPipe)
	return err
}
