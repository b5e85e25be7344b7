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

	_ "modernc.org/sqlite" // driver for gate, the connection that keeps other writers out

	"newsletterd/core"
	"newsletterd/store/replica/objects"
)

var zeroTime time.Time

// Options configures New. URL and Path are required.
type Options struct {
	URL string // address of the bucket, in the form that objects.Open takes
	// Env looks up the keys to the bucket; nil means os.Getenv.
	Env  func(string) string
	Path string // path of the database file
	// TTL is the lifetime of the lease. If a machine dies, another one can take over after that time. 0 means 10 s.
	TTL time.Duration
	// Keep is how far back the database can be restored. For the last minutes, any commit can be restored; before that,
	// about one state every 30 seconds. 0 means 72 h.
	Keep time.Duration
	Log  *slog.Logger
	// Supersede lets the database file replace the contents of the bucket. Earlier states can still be restored.
	Supersede bool
	// Begin lets the replica start over if the bucket is empty, even if the database was kept in it before.
	Begin bool
	// Knows reports whether the database file records that it was kept at this URL before. nil means false.
	Knows func(ctx context.Context) (bool, error)
	// Made returns the creation time of the database at Path, which identifies the database. If there is no database,
	// it returns the zero time. A machine that has a different database than the replica doesn't take over the replica.
	// If Made is nil, this check is skipped.
	Made func(ctx context.Context) (time.Time, error)
	// Waiting is called about every second while another machine holds the lease. host is the name of that machine;
	// alive reports whether it has renewed the lease during the wait. If Waiting returns an error, Prepare returns it.
	Waiting func(host string, alive bool) error
	// Failed is called once, with an error that wraps ErrLost, if this machine must stop immediately.
	Failed func(error)
}

// Replica keeps the database in a bucket. After Prepare returns, its methods are safe for concurrent use.
type Replica struct {
	path  string
	log   logFiles
	lease *lease
	slog  *slog.Logger
	opts  Options

	restored  bool
	tidyEvery time.Duration // interval at which keepShort checks what is due
	compacted uint64        // last transaction in level 1; used by keepShort
	at        position
	note      note
	last      bool                    // no machine served after this one did
	trouble   atomic.Pointer[trouble] // problems found in the log
	mending   sync.Mutex
	bad       []logFile               // damaged log files; used by keepShort
	copies    backoff                 // spaces out whole copies; used by keepShort
	verified  time.Time               // when the log was last found complete; used by keepShort
	ship      *shipper                // set by Start
	running   atomic.Pointer[shipper] // same as ship, for keepLease
	gate      *sql.DB                 // its only connection takes the write lock
	reader    *sql.DB                 // set by Stop if some commits were not shipped
	shipped   bool                    // set by Stop: the log has everything in the database file and its -wal

	cancel context.CancelCauseFunc
	ctx    context.Context
	loops  sync.WaitGroup
	once   sync.Once // guards Options.Failed
}

// New returns a replica. It returns an error if the URL is invalid. New doesn't contact the bucket; Prepare does.
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

// Prepare takes the lease, waiting for it if necessary, and brings the database file up to the newest state in the
// replica. The caller must hold the lock of the file, which keeps other processes of this machine from serving it, and
// must not have opened it. Prepare returns ErrMissing if the bucket has lost its contents, ErrAnother if the bucket
// holds a different database, ErrGap if the log is damaged, as well as bucket and file system errors.
func (r *Replica) Prepare(ctx context.Context) error {
	n, err := readNote(r.path)
	if err != nil {
		return err
	}
	used, err := r.missing(ctx, n) // before anything is written, because the folder may be the wrong one
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
	if n.URL != "" && n.URL != r.Name() { // the note is about the log at another URL
		n.TXID, n.File = 0, mark{}
	}
	r.loops.Go(r.keepLease)
	if n.URL != r.Name() || n.Log != r.lease.logName() { // the log that the note describes no longer exists
		n.Confirmed = 0
	}
	if r.last = n.served(before); r.last && n.Confirmed > 0 { // written now in case this start is interrupted
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

// takeLease waits for the lease and records each holder that it waits for in the note.
func (r *Replica) takeLease(ctx context.Context, n *note) (before holder, err error) {
	return r.lease.take(ctx, func(h holder, alive bool) error {
		if err := r.remember(n, h); err != nil {
			return err
		}
		return r.opts.Waiting(h.Host, alive)
	})
}

// ErrAnother is returned if the bucket holds a different database than this machine has.
var ErrAnother = errors.New("it contains a different database")

// another calls fits with the holder of the lease. It returns nil if there is no holder or the lock object can't be
// read; the wait for the lease reports those cases.
func (r *Replica) another(ctx context.Context, n note) error {
	h, _, err := r.lease.read(ctx)
	if err != nil {
		return nil
	}
	return r.fits(ctx, n, h)
}

// fits returns ErrAnother if this machine's file is not a copy of the lease holder's database. A machine that has used
// this replica or waited for it before may have any file, because the file was put there later.
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

// madeText formats a time for the lock object; the zero time is the empty string.
func madeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// keepNote records that the database file, without its -wal, matches the end of the log.
func (r *Replica) keepNote(node string) error {
	confirmed := r.note.Confirmed
	if r.lease.check() == nil { // checked after everything has arrived, so the next holder finds it
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

// Restored reports whether Prepare restored the database from the bucket.
func (r *Replica) Restored() bool { return r.restored }

// Generation returns the generation of the lease, which grows each time a machine takes it.
func (r *Replica) Generation() uint64 { return r.lease.generation() }

// keepLease renews the lease three times per TTL. After a failure it tries again after a twelfth of the TTL.
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

// fail makes this machine stop after it has lost the lease.
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

// Start starts shipping commits. The database must be open; it may have been changed since Prepare.
func (r *Replica) Start(ctx context.Context) (err error) {
	if m, err := markOf(r.path); err != nil {
		return err
	} else if r.at.txid > 0 && m != r.note.File {
		r.at.pages, r.note.File = 0, mark{} // a migration changed the file: copy the whole database
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

// Committed notifies the replica of a commit. It is cheap to call.
func (r *Replica) Committed() { r.ship.note() }

// After calls fn when everything committed so far is in the bucket and the lease was still held afterwards. It calls fn
// with ErrLost if another machine has taken over. fn must not block; it can be called before After returns.
func (r *Replica) After(fn func(error)) { r.ship.after(fn) }

// Wait waits until After would call its function, or until ctx is done. Afterwards the waiting goroutine checks the
// lease again, because the machine can freeze just before the goroutine continues.
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

// Check returns nil as long as no other machine can have taken over. Otherwise it returns ErrStale or ErrLost, and the
// caller must not respond or send anything. It costs an atomic load and a read of the clock.
func (r *Replica) Check() error { return r.lease.check() }

// Checkpoint runs a checkpoint in such a way that the replica loses no data. run must run a PASSIVE checkpoint.
// Checkpoint fails without calling run if the bucket lacks some commits or another process holds the write lock.
func (r *Replica) Checkpoint(ctx context.Context, run func() error) error {
	return r.ship.checkpoint(ctx, func() (func(), error) {
		c, err := r.gate.Conn(ctx)
		if err != nil {
			return nil, err
		}
		if _, err := c.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
			return nil, errors.Join(fmt.Errorf("lock out other writers: %w", err), c.Close())
		}
		return func() {
			_, _ = c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			_ = c.Close()
		}, nil
	}, run)
}

// Stop ends shipping. Commits that were not shipped stay in the -wal after the database is closed, and are shipped at
// the next start.
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

// keepWAL stops SQLite from moving the -wal into the database file when the last connection closes. It opens a
// read-only connection that is closed last: such a connection can't checkpoint.
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

// Close releases the lease. The database must be closed. If everything was shipped and there is no -wal, Close records
// that the file matches the end of the log, which saves the next start a copy.
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
