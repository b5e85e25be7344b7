package replica

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"

	"github.com/superfly/ltx"
)

// position is the place in the log that a database file without a -wal corresponds to.
type position struct {
	txid  uint64
	pages uint32
}

// settleAgain retries settle for up to a TTL while the log seems damaged: a listing can be outdated, and the previous
// holder may still be removing compacted files.
func (r *Replica) settleAgain(ctx context.Context, n note) (at position, err error) {
	for range 6 {
		if at, err = r.settle(ctx, n); !errors.Is(err, ErrGap) {
			return at, err
		}
		r.slog.Warn("replica: the log can't be read without a gap", slog.Any("error", err))
		if pause(ctx, r.opts.TTL/5) != nil {
			break
		}
	}
	if ctx.Err() != nil {
		return at, err
	}
	return r.settleDamaged(ctx, n, err)
}

// settle makes sure that the log can continue from the database file. If the file matches the log, settle ships its
// -wal and moves it into the file. Otherwise it moves the file aside and restores the database from the bucket. An
// empty bucket gets the file as it is. The caller must hold the lease and the lock of the file.
func (r *Replica) settle(ctx context.Context, n note) (at position, err error) {
	s, err := r.log.shipped(ctx)
	if err != nil {
		return at, err
	}
	if s.head() < n.Confirmed {
		return at, fmt.Errorf("%w: it ends at %d, but this machine had already written up to %d",
			ErrGap, s.head(),
			n.Confirmed)
	}
	if least := r.lease.txid.Load(); s.head() < least {
		return at, fmt.Errorf("%w: it ends at %d, but according to %s it reaches %d",
			ErrGap, s.head(), lockKey, least)
	}
	if s.generation >= r.lease.generation() {
		if err := r.lease.raise(ctx, s.generation+1); err != nil {
			return at, err
		}
	}
	for _, f := range s.strays {
		r.slog.Warn("replica: removed a file after the end of the log; its content was never acknowledged",
			slog.Uint64("txid", f.min))
		if err := r.removeStray(ctx, f); err != nil {
			return at, err
		}
	}
	empty, err := r.empty(ctx, s)
	if err != nil {
		return at, err
	}
	fi, err := os.Stat(r.path)
	there := err == nil && fi.Size() > 0
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return at, err
	case there && empty:
		return r.adopt(ctx, 0)
	case there && r.opts.Supersede:
		files, err := r.log.plan(ctx, 0, zeroTime)
		if err != nil && (s.head() == 0 || errors.Is(err, ErrGap)) {
			return at, err
		}
		head := s.head()
		for _, f := range files {
			head = max(head, f.max)
		}
		r.slog.Warn("replica: the database file replaces the replica's content", slog.Uint64("txid", head))
		return r.adopt(ctx, head)
	case there:
		at, fits, err := r.continues(ctx, n, s)
		if err != nil || fits {
			return at, err
		}
	case empty:
		return at, nil
	}
	return r.fetch(ctx, s)
}

// empty reports whether the bucket holds no database at all.
func (r *Replica) empty(ctx context.Context, s shipped) (bool, error) {
	if s.head() > 0 {
		return false, nil
	}
	_, err := r.log.plan(ctx, 0, zeroTime)
	if errors.Is(err, ErrNothing) {
		return true, nil
	}
	return false, err
}

// fetch moves the file at the path aside and restores the database from the bucket. s is the listing of the bucket. It
// is still valid, because the strays in it have been removed and this machine holds the lease.
func (r *Replica) fetch(ctx context.Context, s shipped) (at position, err error) {
	before := func() error {
		aside, err := moveAside(r.path)
		if aside != "" {
			r.slog.Warn("replica: the database file differs from the replica; it is kept under another name",
				slog.String("file", aside))
		}
		return err
	}
	l := r.log
	s.strays, l.known = nil, &s
	at.txid, err = l.restoreInPlace(ctx, r.path, before)
	if errors.Is(err, fs.ErrNotExist) { // the previous holder was still compacting
		l.known = nil
		at.txid, err = l.restoreInPlace(ctx, r.path, before)
	}
	if err != nil {
		return at, fmt.Errorf("restore from the replica: %w", err)
	}
	r.restored = true
	at.pages, err = pagesOf(r.path)
	r.slog.Info("replica: the database was restored", slog.Uint64("txid", at.txid))
	return at, err
}

// adopt ships the whole database file as the log file after the transaction head.
func (r *Replica) adopt(ctx context.Context, head uint64) (at position, err error) {
	if err := withDatabase(ctx, r.path, func(c *sql.Conn) error { return fold(ctx, c) }); err != nil {
		return at, err
	}
	if at.pages, err = pagesOf(r.path); err != nil || at.pages == 0 && head == 0 { // a kill interrupted a first start
		return at, err
	}
	at.txid, err = r.shipWith(ctx, head, walEnd{pages: at.pages}, func(s *shipper) error {
		return s.sendWhole(0, walEnd{pages: at.pages})
	})
	return at, err
}

// continues reports whether the database file matches the end of the log, or continues it with frames in its -wal. It
// ships those frames and moves them into the file.
func (r *Replica) continues(ctx context.Context, n note, s shipped) (at position, fits bool, err error) {
	m, err := markOf(r.path)
	if err != nil {
		return at, false, err
	}
	unchanged := n.File == m
	if fi, err := os.Stat(r.path + "-wal"); errors.Is(err, os.ErrNotExist) || err == nil && fi.Size() == 0 {
		return position{n.TXID, n.Pages}, unchanged && n.TXID == s.head(), nil
	} else if err != nil {
		return at, false, err
	}
	if s.head() == 0 {
		return at, false, nil
	}
	last := logFile{max: s.head()}
	var h ltx.Header
	if len(s.files) > 0 { // otherwise the log ends with a whole copy
		last = s.files[len(s.files)-1]
		if h, err = r.log.header(ctx, last); err != nil {
			return at, false, err
		}
	}
	err = withDatabase(ctx, r.path, func(c *sql.Conn) error {
		now, err := readIndex(r.path)
		if err != nil {
			return err
		}
		from := walEndOf(h)
		switch {
		case h.WALOffset != 0 && now.salt == from.salt && now.frames >= from.frames:
			fits, err = r.samePage(ctx, last, from)
		case h.WALOffset != 0 && now.salt[0] == from.salt[0]+1:
			// A checkpoint ran after the last file was shipped, and the -wal restarted.
			from, fits = walEnd{salt: now.salt, pages: h.Commit}, true
		case unchanged && n.TXID == last.max:
			// The previous process shipped none of its commits.
			from, fits = walEnd{salt: now.salt, pages: n.Pages}, true
		}
		if err != nil || !fits {
			return err
		}
		if at.txid, err = r.shipRest(ctx, last.max, from); err != nil {
			return err
		}
		return fold(ctx, c)
	})
	if err == nil && fits {
		at.pages, err = pagesOf(r.path)
	}
	return at, fits, err
}

// samePage reports whether the last log file has the same page content as the -wal frame before end. If not, the -wal
// has the right salts but belongs to a different history.
func (r *Replica) samePage(ctx context.Context, last logFile, end walEnd) (bool, error) {
	wal, err := os.Open(r.path + "-wal")
	if err != nil {
		return false, err
	}
	defer wal.Close()
	if end.frames == 0 {
		return true, nil
	}
	frame := make([]byte, frameSize)
	if _, err := wal.ReadAt(frame, end.offset()-frameSize); err != nil {
		return false, err
	}
	file, err := r.log.fetch(ctx, last)
	if err != nil {
		return false, err
	}
	defer file.Close()
	dec := ltx.NewDecoder(file)
	if err := dec.DecodeHeader(); err != nil {
		return false, r.log.damaged(last, err)
	}
	page := make([]byte, pageSize)
	for {
		var p ltx.PageHeader
		if err := dec.DecodePage(&p, page); errors.Is(err, io.EOF) {
			return false, nil
		} else if err != nil {
			return false, r.log.damaged(last, err)
		}
		if p.Pgno == binary.BigEndian.Uint32(frame) {
			return string(page) == string(frame[frameHeader:]), nil
		}
	}
}

// shipRest ships the frames of the -wal after from, and returns the last transaction of the log afterwards.
func (r *Replica) shipRest(ctx context.Context, txid uint64, from walEnd) (uint64, error) {
	return r.shipWith(ctx, txid, from, func(s *shipper) error {
		s.end = from
		return s.flush(ctx)
	})
}

// shipWith calls ship with a shipper, before the database is open, and returns the last transaction of the log
// afterwards.
func (r *Replica) shipWith(ctx context.Context, txid uint64, from walEnd, ship func(*shipper) error) (uint64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := newShipper(r.path, r.log, r.lease, r.slog, cancel)
	if err := s.start(ctx, txid, from.pages); err != nil {
		cancel(nil)
		return 0, err
	}
	s.captureMu.Lock()
	err := ship(s)
	txid = s.txid
	s.captureMu.Unlock()
	cancel(nil)
	s.loops.Wait()
	s.files.close()
	return txid, err
}

// withDatabase opens the database file and calls fn with a connection. SQLite rebuilds the index of a -wal left by a
// kill.
func withDatabase(ctx context.Context, path string, fn func(*sql.Conn) error) error {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+
		"?_pragma=busy_timeout(5000)&_pragma=wal_autocheckpoint(0)&_pragma=synchronous(FULL)")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	var tables int
	if err := c.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return err
	}
	return fn(c)
}

// fold moves the contents of the -wal into the database file with a checkpoint.
func fold(ctx context.Context, c *sql.Conn) error {
	var busy, frames, moved int
	err := c.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved)
	if err == nil && busy != 0 {
		err = errors.New("another process has the database open")
	}
	return err
}

// pagesOf returns the number of pages of a database file without a -wal.
func pagesOf(path string) (uint32, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if fi.Size()%pageSize != 0 {
		return 0, fmt.Errorf("the size of %s is not a multiple of the page size, %d bytes", path, pageSize)
	}
	return uint32(fi.Size() / pageSize), nil
}
