package replica

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// depth is how many files of the log may be on their way at once.
	depth = 8
	// overtake is how long a Put must take, at least, before the next one does not wait for it.
	overtake = 3 * time.Millisecond
	// lazy is how long a commit that no one waits for may wait for others.
	lazy = time.Second
	// memory is how many bytes of shipped files are kept for compaction, so that they need not be read back.
	memory = 16 << 20
	// paceMost bounds how long making a file of the log counts.
	paceMost = 20 * time.Millisecond
	// share bounds the time spent on making files of the log to 1/share of all time. What is committed in between goes
	// into one file, with a page that was changed several times only once.
	share = 2
)

// shipper copies what is committed from the -wal into the log of the bucket, and tells those who wait for it. While no
// file is on its way the next one leaves at once; else as soon as one arrives, or, where that takes long, after a part
// of that time: so a near bucket gets few files and a far one does not slow down those who wait.
type shipper struct {
	log     logFiles
	lease   *lease
	slog    *slog.Logger
	path    string
	failed  func(error) // what ends the daemon
	context context.Context
	loops   sync.WaitGroup
	wake    chan struct{}

	copies    context.Context // of the copies of the whole database
	endCopies context.CancelFunc

	committed atomic.Uint64 // notes of commits
	firstNote atomic.Int64  // of lease.clock: the first note that no file has yet; 0: none
	copySince atomic.Int64  // of lease.clock: the first note that a copy of the whole under way brings; 0: none
	urgent    atomic.Uint64 // the note that someone waits for

	still     sync.Mutex  // held while no checkpoint may run; before captureMu
	copying   atomic.Bool // the whole database is being copied, with captureMu held
	captureMu turn        // of the -wal: held while it is read, and while a checkpoint runs
	files     *walFiles
	end       walEnd // what was read of the -wal
	sealed    walEnd // what a checkpoint may have moved away
	txid      uint64 // of the last file of the log
	whole     bool   // the whole database is copied next
	begun     int    // parts of a copy of the whole that was given up: no next one may have fewer
	alone     int    // so many files more go one by one: a Put of the holder before may still arrive
	buffer    []byte
	encoded   bytes.Buffer  // reused
	pace      time.Duration // of lease.clock: before that nothing is captured

	mu        sync.Mutex
	inFlight  map[uint64]*parcel
	arrived   uint64 // the last transaction up to which all files have arrived
	confirmed uint64 // the note that they cover
	waiting   []waiter
	latency   time.Duration // of a Put, as a moving average
	lastStart time.Duration // of lease.clock
	changed   chan struct{} // closed and made anew when a file has arrived
	recent    []*parcel     // arrived, the oldest first; see memory
	kept      int           // bytes of recent
	puts      uint64        // that arrived since level 1 was made
	bytes     int           // that arrived since keepShort has looked
	wholes    int           // copies of the whole database; of captureMu
}

// errSnapshot says that a checkpoint has to wait.
var errSnapshot = errors.New("a full copy is being uploaded to the replica")

// walFiles are the database file and its -wal, open as long as the shipper runs.
type walFiles struct{ main, wal *os.File }

// parcel is one file of the log.
type parcel struct {
	txid  uint64
	note  uint64 // of the commits that it covers
	body  []byte
	start time.Duration // of lease.clock
	done  bool

	context context.Context // of its Put
	part    bool            // of a whole database: it may replace one that this process has given up
}

// turn is a lock that can be waited for until a context ends.
type turn chan struct{}

// Lock implements sync.Locker.
func (t turn) Lock() { t <- struct{}{} }

// Unlock implements sync.Locker.
func (t turn) Unlock() { <-t }

func (t turn) lock(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

type waiter struct {
	note uint64
	fn   func(error)
}

func newShipper(path string, log logFiles, l *lease, logger *slog.Logger, failed func(error)) *shipper {
	return &shipper{
		log: log, lease: l, slog: logger, path: path, failed: failed, wake: make(chan struct{}, 1),
		inFlight: map[uint64]*parcel{}, changed: make(chan struct{}), captureMu: make(turn, 1),
	}
}

// start begins shipping after the transaction txid. The database file must contain that transaction without its -wal.
func (s *shipper) start(ctx context.Context, txid uint64, pages uint32) error {
	main, err := os.Open(s.path)
	if err != nil {
		return err
	}
	s.files = &walFiles{main: main}
	s.context, s.txid, s.arrived, s.alone = ctx, txid, txid, depth
	s.copies, s.endCopies = context.WithCancel(ctx)
	s.end, s.sealed = walEnd{pages: pages}, walEnd{pages: pages}
	s.loops.Go(s.run)
	return nil
}

// note says that something was committed, and returns the number to wait for.
func (s *shipper) note() uint64 {
	n := s.committed.Add(1)
	s.firstNote.CompareAndSwap(0, int64(s.lease.clock()))
	s.poke()
	return n
}

func (s *shipper) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// after calls fn once everything that was noted so far is in the bucket and the lease was held after that; with an
// error where it is lost. fn must not block.
func (s *shipper) after(fn func(error)) {
	s.mu.Lock()
	note := s.committed.Load()
	if note <= s.confirmed && s.lease.check() == nil {
		s.mu.Unlock()
		fn(nil)
		return
	}
	if s.lease.lost.Load() {
		s.mu.Unlock()
		fn(ErrLost)
		return
	}
	s.waiting = append(s.waiting, waiter{note, fn})
	s.urgent.Store(max(s.urgent.Load(), note))
	s.mu.Unlock()
	s.poke()
}

// release answers those who wait for what has arrived, while the lease is fresh; all of them once it is lost.
func (s *shipper) release() {
	s.mu.Lock()
	err := s.lease.check()
	n := 0
	switch {
	case errors.Is(err, ErrLost):
		n = len(s.waiting)
	case err == nil:
		for n < len(s.waiting) && s.waiting[n].note <= s.confirmed {
			n++
		}
	}
	ready := s.waiting[:n:n]
	s.waiting = s.waiting[n:]
	s.mu.Unlock()
	for _, w := range ready {
		w.fn(err)
	}
}

// run ships until its context ends.
func (s *shipper) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-s.wake:
		case <-timer.C:
		case <-s.context.Done():
			return
		}
		wait := s.pump()
		timer.Reset(wait)
	}
}

// pump ships what is due and returns when to look again.
func (s *shipper) pump() time.Duration {
	s.captureMu.Lock()
	defer s.captureMu.Unlock()
	for s.context.Err() == nil {
		first := time.Duration(s.firstNote.Load())
		if first == 0 {
			return time.Hour
		}
		s.mu.Lock()
		idle := s.urgent.Load() <= s.confirmed
		busy := s.busy()
		s.mu.Unlock()
		if rest := first + lazy - s.lease.clock(); idle && rest > 0 {
			return rest
		}
		if busy > 0 {
			return busy
		}
		err := s.capture()
		if errors.Is(err, errBroken) {
			err = s.captureWhole()
		}
		if err != nil {
			if s.context.Err() == nil && !s.lease.lost.Load() {
				s.slog.Error("replica: commits can't be uploaded", slog.Any("error", err))
			}
			return lazy
		}
	}
	return time.Hour
}

// busy returns how long the next file has to wait for those on their way; 0: it may leave. An hour means until one has
// arrived. mu is held.
func (s *shipper) busy() time.Duration {
	n := len(s.inFlight)
	if rest := s.pace - s.lease.clock(); rest > 0 {
		return rest
	}
	switch {
	case n == 0:
		return 0
	case s.alone > 0 || n >= depth || s.latency < overtake:
		return time.Hour
	}
	return max(0, s.lastStart+max(overtake/4, s.latency/6)-s.lease.clock())
}

// capture makes one file of the log of what is new in the -wal, and sends it on its way. It fails with errBroken where
// the whole database has to be copied. captureMu is held.
func (s *shipper) capture() (err error) {
	if s.whole {
		return errBroken
	}
	note := s.committed.Load()
	s.firstNote.Store(0)
	began := s.lease.clock()
	defer func() {
		now := s.lease.clock()
		s.pace = now + (share-1)*min(now-began, paceMost)
		if err != nil {
			s.whole = s.whole || errors.Is(err, errBroken)
			s.firstNote.CompareAndSwap(0, int64(s.lease.clock()))
		}
	}()
	now, err := readIndex(s.path)
	if err != nil {
		return err
	}
	if s.upTo(now) {
		s.covered(note)
		return nil
	}
	p := &parcel{note: note}
	if err := s.captureFrames(p, now); err != nil {
		return err
	}
	if s.end != now { // there are more frames than one file takes
		s.firstNote.CompareAndSwap(0, int64(s.lease.clock()))
		s.mu.Lock()
		p.note = s.lastNote()
		s.mu.Unlock()
	}
	s.send(p)
	return nil
}

// upTo reports whether the log goes up to now. A -wal without a frame has no pages either: it was all moved into the
// file, or a kill came between its header and the first commit. captureMu is held.
func (s *shipper) upTo(now walEnd) bool {
	return now.salt == s.end.salt && now.frames == s.end.frames || now.frames == 0 && s.end == s.sealed
}

// captureWhole copies the whole database. captureMu is held.
func (s *shipper) captureWhole() error {
	note := s.committed.Load()
	s.copySince.Store(s.firstNote.Swap(0))
	defer s.copySince.Store(0)
	now, err := readIndex(s.path)
	if err == nil && now.pages == 0 {
		return nil // nothing was written yet
	}
	if s.wholes > 0 || s.txid > 0 {
		s.slog.Warn("replica: the log doesn't continue from the database file; uploading a full copy")
	}
	if err == nil {
		err = s.sendWhole(note, now)
	}
	if err != nil {
		s.firstNote.CompareAndSwap(0, int64(s.lease.clock()))
	}
	return err
}

// lastNote is that of the file before, for one that does not cover all commits that were noted. mu is held.
func (s *shipper) lastNote() uint64 {
	note := s.confirmed
	for _, p := range s.inFlight {
		note = max(note, p.note)
	}
	return note
}

// covered notes that the files up to the last one hold all commits up to note: nothing was new.
func (s *shipper) covered(note uint64) {
	s.mu.Lock()
	if last := s.inFlight[s.txid]; last != nil {
		last.note = max(last.note, note)
	} else if s.arrived == s.txid {
		s.confirmed = max(s.confirmed, note)
	}
	s.mu.Unlock()
	s.release()
}

// captureFrames fills a file with the frames after those that were read.
func (s *shipper) captureFrames(p *parcel, now walEnd) error {
	from := s.end
	if now.salt != from.salt || now.frames < from.frames {
		if s.end != s.sealed {
			return errBroken
		}
		from = walEnd{salt: now.salt, pages: from.pages}
	}
	if from.frames == 0 || s.files.wal == nil { // the -wal may be another file
		if err := s.files.reopen(s.path); err != nil {
			return err
		}
	}
	c, err := readWAL(s.files.wal, from, now, &s.buffer)
	if err != nil {
		return err
	}
	s.encoded.Reset()
	if err := c.encode(&s.encoded, s.files.main, s.txid+1, s.lease.generation()); err != nil {
		return err
	}
	p.body = bytes.Clone(s.encoded.Bytes()) // it is kept for a while, and should not be larger than it is
	s.end = c.to
	return nil
}

// reopen opens the -wal that is there now.
func (f *walFiles) reopen(path string) error {
	wal, err := os.Open(path + "-wal")
	if err != nil {
		return err
	}
	if f.wal != nil {
		_ = f.wal.Close()
	}
	f.wal = wal
	return nil
}

// hasMore reports whether something was written to the -wal after end, which may have been removed since: a frame that
// goes on from there, or a -wal that was begun anew.
func (f *walFiles) hasMore(end walEnd) (bool, error) {
	if f.wal == nil {
		return end.frames > 0, nil
	}
	var h [walHeader]byte
	if n, err := f.wal.ReadAt(h[:], 0); n == 0 && errors.Is(err, io.EOF) {
		return end.frames > 0, nil
	} else if err != nil {
		return true, err
	}
	if end.salt != saltOf(h[16:]) {
		return true, nil
	}
	n, err := f.wal.ReadAt(h[:frameHeader], end.offset())
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n == frameHeader && end.salt == saltOf(h[8:]), err
}

func (f *walFiles) close() {
	if f == nil {
		return
	}
	_ = f.main.Close()
	if f.wal != nil {
		_ = f.wal.Close()
	}
}

// flush ships all that is committed, and waits until it has arrived. captureMu is held.
func (s *shipper) flush(ctx context.Context) error {
	for {
		before := s.txid
		if err := s.capture(); err != nil {
			return err
		}
		if s.txid == before {
			return s.settle(ctx)
		}
		if err := s.room(ctx); err != nil {
			return err
		}
	}
}

// settle waits until all that was sent has arrived and the lease was held after that.
func (s *shipper) settle(ctx context.Context) error {
	return s.until(ctx, func() bool { return s.arrived == s.txid })
}

// room waits until one more file may leave.
func (s *shipper) room(ctx context.Context) error {
	return s.until(ctx, func() bool { return len(s.inFlight) < depth && (s.alone == 0 || len(s.inFlight) == 0) })
}

// emptied waits until no file is on its way, with or without the lease.
func (s *shipper) emptied(ctx context.Context) error {
	err := s.until(ctx, func() bool { return s.arrived == s.txid })
	if errors.Is(err, ErrStale) {
		err = nil
	}
	return err
}

func (s *shipper) until(ctx context.Context, reached func() bool) error {
	for {
		s.mu.Lock()
		ok, changed := reached(), s.changed
		s.mu.Unlock()
		if ok {
			return s.lease.check()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.context.Done():
			return context.Cause(s.context)
		}
	}
}

// checkpoint runs a checkpoint of the -wal that loses the replica nothing: lock keeps all writers out, then all that is
// committed is shipped, and only then run may move it into the database file, after which the -wal may begin anew. It
// fails without having called run where the bucket lacks a part, or a whole database is being copied.
func (s *shipper) checkpoint(ctx context.Context, lock func() (unlock func(), err error), run func() error) error {
	if !s.still.TryLock() {
		return errSnapshot
	}
	defer s.still.Unlock()
	if s.copying.Load() {
		return errSnapshot
	}
	if err := s.captureMu.lock(ctx); err != nil {
		return err
	}
	defer s.captureMu.Unlock()
	if err := s.flush(ctx); err != nil { // most of it while others may write
		return err
	}
	unlock, err := lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.flush(ctx); err != nil {
		return err
	}
	s.sealed = s.end
	return run()
}
