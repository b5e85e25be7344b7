package replica

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the driver of the connection that keeps other writers out

	"newsletterd/core"
	"newsletterd/store/replica/objects"
)

var zeroTime time.Time

// Options of New. URL and Path are needed.
type Options struct {
	URL string // of the bucket, as objects.Open takes it
	// Env is asked for the keys to the bucket; nil is os.Getenv.
	Env  func(string) string
	Path string // of the database file
	// TTL is how long the lease of a machine that has died is waited for; 0 is 10 s.
	TTL time.Duration
	// Keep is for how long the database can be restored as it was before: after each commit of the last minutes, further
	// back about every half minute. 0 is 72 h.
	Keep time.Duration
	Log  *slog.Logger
	// Supersede lets the database file take the place of what the bucket has, which stays restorable as it was before.
	Supersede bool
	// Begin lets the replica begin anew where the bucket is empty, though the database was kept in it before.
	Begin bool
	// Knows reports whether the database file says that it was kept at this URL before; nil: it says nothing.
	Knows func(ctx context.Context) (bool, error)
	// Made returns when the database was made that is at Path, which tells it from others; the zero time where there is
	// none. A machine takes over nothing that its own database is no copy of. nil: nothing tells them apart.
	Made func(ctx context.Context) (time.Time, error)
	// Waiting is called about every second while another machine holds the lease; host is its name, and alive whether it
	// has renewed the lease meanwhile. Prepare returns its error.
	Waiting func(host string, alive bool) error
	// Failed is called once when this machine must stop at once, with an error that is ErrLost.
	Failed func(error)
}

// Replica keeps the database in a bucket. Its methods may be called from any goroutine, once Prepare has returned.
type Replica struct {
	path  string
	log   logFiles
	lease *lease
	slog  *slog.Logger
	opts  Options

	restored  bool
	tidyEvery time.Duration // how often keepShort looks what is due
	compacted uint64        // of keepShort: the last transaction that level 1 has
	at        position
	note      note
	last      bool                    // no machine has served after this one did
	trouble   atomic.Pointer[trouble] // what was found wrong with the log
	mending   sync.Mutex
	bad       []logFile               // of keepShort: files of the log that are damaged
	copies    backoff                 // of keepShort: whole copies
	verified  time.Time               // of keepShort: when all of the log was there
	ship      *shipper                // since Start
	running   atomic.Pointer[shipper] // the same, for keepLease
	gate      *sql.DB                 // its only connection takes the write lock
	reader    *sql.DB                 // since Stop, where something was not shipped
	shipped   bool                    // of Stop: the log has all that the database file and its -wal have

	cancel context.CancelCauseFunc
	ctx    context.Context
	loops  sync.WaitGroup
	once   sync.Once // of Failed
}

// New returns a replica that has done nothing yet. Errors are those of the address.
func New(o Options) (*Replica, error) {
	if o.Env == nil {
		o.Env = os.Getenv
	}
	if o.TTL == 0 {
		o.TTL = 10 * time.Second
	}
	if o.Keep == 0 {
		o.Keep = 72 * time.Hour
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Waiting == nil {
		o.Waiting = func(string, bool) error { return nil }
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	bucket, err := objects.Open(o.URL, o.Env)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	r := &Replica{path: o.Path, log: logFiles{bucket: bucket}, slog: o.Log, opts: o, tidyEvery: compactEvery[1] / 6}
	r.lease = &lease{bucket: bucket, host: host, ttl: o.TTL, clock: bootTime, log: o.Log}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	return r, nil
}

// Prepare takes the lease, for which it may have to wait, and makes the database file the newest that the replica has.
// The caller holds the lock of the file, so that no other process of this machine serves it, and has not opened it. It
// returns ErrMissing where the bucket has lost what it had, ErrAnother where what is kept there is another database than
// that of the file, ErrGap where the log is damaged, and errors of the bucket and of the file system.
func (r *Replica) Prepare(ctx context.Context) error {
	n, err := readNote(r.path)
	if err != nil {
		return err
	}
	used, err := r.missing(ctx, n) // before anything is written to what may be another folder
	if err == nil && used {
		err = r.another(ctx, n)
	}
	if err == nil && n.Node == "" {
		n = note{Node: core.NewID()}
		err = writeNote(r.path, n)
	}
	if err == nil && used {
		err = r.remember(&n, holder{})
	}
	if err != nil {
		return err
	}
	if err := objects.Probe(ctx, r.log.bucket); err != nil {
		return err
	}
	r.lease.node, r.lease.place = n.Node, placeOf(r.path)
	before, err := r.takeLease(ctx, &n)
	if err != nil {
		return err
	}
	if n.URL != "" && n.URL != r.Name() { // it says nothing of the log that is there
		n.TXID, n.File = 0, mark{}
	}
	r.loops.Go(r.keepLease)
	if n.URL != r.Name() || n.Log != r.lease.logName() { // what it had begun is not there any more
		n.Confirmed = 0
	}
	if r.last = n.served(before); r.last && n.Confirmed > 0 { // also where this start is cut short
		n.Generation = r.lease.generation()
		if err := writeNote(r.path, n); err != nil {
			return err
		}
	}
	r.note = n
	if r.at, err = r.settleAgain(ctx, n); err != nil {
		return err
	}
	return r.keepNote(n.Node)
}

// takeLease waits for the lease, and remembers what it waits for.
func (r *Replica) takeLease(ctx context.Context, n *note) (before holder, err error) {
	return r.lease.take(ctx, func(h holder, alive bool) error {
		if err := r.remember(n, h); err != nil {
			return err
		}
		return r.opts.Waiting(h.Host, alive)
	})
}

// ErrAnother is returned where the bucket has another database than this machine.
var ErrAnother = errors.New("it contains a different database")

// another is fits of the holder of the lease. Where there is none, or it can't be read, the wait for the lease says so.
func (r *Replica) another(ctx context.Context, n note) error {
	h, _, err := r.lease.read(ctx)
	if err != nil {
		return nil
	}
	return r.fits(ctx, n, h)
}

// fits returns ErrAnother where the holder of the lease keeps a database that the file of this machine is no copy of. A
// machine that has kept what is there, or has waited for it, may have any other file: that was put there since.
func (r *Replica) fits(ctx context.Context, n note, h holder) error {
	if r.opts.Supersede || r.opts.Begin || r.opts.Made == nil || h.Made == "" || n.URL == r.Name() || n.Seen == r.Name() ||
		n.Log != "" && n.Log == h.Log {
		return nil
	}
	made, err := r.opts.Made(ctx)
	here := madeText(made)
	if err != nil || here == "" || here == h.Made { // a file that can't be read is set aside
		return nil
	}
	return fmt.Errorf("%w: the replica's was created on %s, and %s on %s. Correct the address. To serve the "+
		"replica's database on this machine, move the file away. To read the file without the replica, set "+
		"NEWSLETTERD_REPLICA_URL to an empty value", ErrAnother, h.Made, r.path, here)
}

// madeText is how the lock object has a time; empty for the zero time.
func madeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// keepNote records that the database file, without its -wal, matches the end of the log.
func (r *Replica) keepNote(node string) error {
	confirmed := r.note.Confirmed
	if r.lease.check() == nil { // after all of it has arrived: the next holder finds it
		confirmed = r.at.txid
	}
	r.note = note{
		Node: node, Generation: r.lease.generation(), TXID: r.at.txid, Pages: r.at.pages, URL: r.Name(),
		Log: r.lease.logName(), Confirmed: confirmed,
	}
	m, err := markOf(r.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	r.note.File = m
	return writeNote(r.path, r.note)
}

// Restored reports whether Prepare has brought the database from the bucket.
func (r *Replica) Restored() bool { return r.restored }

// Generation grows each time that a machine takes the lease.
func (r *Replica) Generation() uint64 { return r.lease.generation() }

// keepLease renews the lease three times in a TTL, and tries again after a twelfth of one where that failed.
func (r *Replica) keepLease() {
	failed := 0
	for wait := r.opts.TTL / 3; pause(r.ctx, wait) == nil; {
		err := r.lease.renew(r.ctx)
		wait = r.opts.TTL / 3
		if err == nil {
			failed = 0
		} else {
			wait = r.opts.TTL / 12
			failed++
		}
		switch {
		case errors.Is(err, ErrLost):
			r.fail(err)
			return
		case err != nil && r.ctx.Err() == nil:
			if failed%4 == 1 {
				r.slog.Warn("replica: the lease can't be renewed", slog.Any("error", err))
			}
		case r.shipper() != nil:
			r.shipper().release()
		}
	}
}

func (r *Replica) shipper() *shipper { return r.running.Load() }

// fail ends everything after the lease is lost.
func (r *Replica) fail(err error) {
	r.lease.lost.Store(true)
	r.once.Do(func() {
		r.slog.Error("replica: this machine stops", slog.Any("error", err))
		if s := r.shipper(); s != nil {
			s.release()
		}
		r.opts.Failed(err)
	})
}

// Start ships what is committed from now on. The database is open, and may have been written to since Prepare.
func (r *Replica) Start(ctx context.Context) (err error) {
	if m, err := markOf(r.path); err != nil {
		return err
	} else if r.at.txid > 0 && m != r.note.File {
		r.at.pages, r.note.File = 0, mark{} // a migration: the whole is copied
	}
	if r.opts.Made != nil {
		made, err := r.opts.Made(ctx)
		if err != nil {
			return err
		}
		r.lease.setMade(madeText(made))
	}
	r.gate, err = sql.Open("sqlite", "file:"+(&url.URL{Path: r.path}).EscapedPath()+
		"?_pragma=busy_timeout(1000)&_pragma=wal_autocheckpoint(0)")
	if err != nil {
		return err
	}
	r.gate.SetMaxOpenConns(1)
	r.gate.SetMaxIdleConns(1)
	if err := r.gate.PingContext(ctx); err != nil {
		return err
	}
	s := newShipper(r.path, r.log, r.lease, r.slog, r.fail)
	if err := s.start(r.ctx, r.at.txid, r.at.pages); err != nil {
		return err
	}
	if r.note.File == (mark{}) || r.at.txid == 0 {
		s.captureMu.Lock()
		s.whole = true
		s.captureMu.Unlock()
	}
	r.ship = s
	r.running.Store(s)
	r.loops.Go(r.keepShort)
	s.note()
	return nil
}

// Committed says that something was committed. It costs next to nothing.
func (r *Replica) Committed() { r.ship.note() }

// After calls fn once all that was committed so far is in the bucket and the lease was held after that; with ErrLost
// once another machine has taken over. fn must not block; it may be called before After returns.
func (r *Replica) After(fn func(error)) { r.ship.after(fn) }

// Wait returns when After would call its function, or ctx is done. The lease is looked at by the goroutine that waits,
// too: a machine that is frozen just when that would go on does not find out before.
func (r *Replica) Wait(ctx context.Context) error {
	done := make(chan error, 1)
	for {
		r.After(func(err error) { done <- err })
		select {
		case err := <-done:
			if err == nil {
				err = r.Check()
			}
			if !errors.Is(err, ErrStale) {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Check returns nil while no other machine can have taken over, else ErrStale or ErrLost: then nothing may be answered
// or sent. It costs an atomic load and a look at the clock.
func (r *Replica) Check() error { return r.lease.check() }

// Checkpoint runs a checkpoint so that the replica loses nothing by it; run must be a PASSIVE one. It fails without
// having called run while the bucket lacks a part or another process holds the write lock.
func (r *Replica) Checkpoint(ctx context.Context, run func() error) error {
	return r.ship.checkpoint(ctx, func() (func(), error) {
		c, err := r.gate.Conn(ctx)
		if err != nil {
			return nil, err
		}
		if _, err := c.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
			return nil, errors.Join(fmt.Errorf("keep other writers out: %w", err), c.Close())
		}
		return func() {
			_, _ = c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			_ = c.Close()
		}, nil
	}, run)
}

// Stop ends shipping. What was not shipped stays in the -wal, beyond the closing of the file, and is shipped at the
// next start.
func (r *Replica) Stop() error {
	if r.gate == nil {
		return nil
	}
	if s := r.ship; s != nil {
		s.endCopies()
		s.captureMu.Lock()
		r.at = position{s.txid, s.end.pages}
		s.mu.Lock()
		r.shipped = s.arrived == s.txid && !s.whole
		s.mu.Unlock()
		if r.shipped {
			now, err := readIndex(r.path)
			r.shipped = err == nil && s.upTo(now)
		}
		if err := s.files.reopen(r.path); err != nil && !errors.Is(err, os.ErrNotExist) {
			r.shipped = false
		}
		s.captureMu.Unlock()
	}
	if !r.shipped {
		r.keepWAL()
	}
	return r.gate.Close()
}

// keepWAL keeps SQLite from moving the -wal into the database file when the last connection is closed: one that can't
// write is the last.
func (r *Replica) keepWAL() {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: r.path}).EscapedPath()+"?mode=ro")
	if err == nil {
		r.reader = db
		db.SetMaxOpenConns(1)
		_, err = db.Exec("SELECT count(*) FROM sqlite_schema")
	}
	if err != nil {
		r.slog.Warn("replica: commits missing in the bucket can't be uploaded later", slog.Any("error", err))
	}
}

// Close releases the lease after the database was closed. Where there is no -wal any more, and all was shipped, the
// file is noted to be what the log ends with, so that the next start need not copy anything.
func (r *Replica) Close(ctx context.Context) error {
	var err error
	if r.reader != nil {
		err = r.reader.Close()
	}
	if s := r.ship; s != nil && r.shipped {
		more, readErr := s.files.hasMore(s.end)
		if _, statErr := os.Stat(r.path + "-wal"); readErr == nil && !more && errors.Is(statErr, os.ErrNotExist) {
			err = errors.Join(err, r.keepNote(r.note.Node))
		}
	}
	r.cancel(errors.New("closed"))
	r.loops.Wait()
	if r.ship != nil {
		r.ship.loops.Wait()
		r.ship.files.close()
	}
	return errors.Join(err, r.lease.release(ctx))
}
