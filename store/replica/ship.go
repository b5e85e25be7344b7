package replica

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// depth is the maximum number of log files that are uploaded at once.
	depth = 8
	// overtake is the minimum duration of Puts at which the next Put starts without waiting for the previous one.
	overtake = 3 * time.Millisecond
	// lazy is how long a commit that no caller waits for is held back, so that others can share its file.
	lazy = time.Second
	// memory is how many bytes of shipped files are kept in memory, so that compaction needn't read them from the
	// bucket.
	memory = 16 << 20
	// paceMost is the maximum time for making a file that share takes into account.
	paceMost = 20 * time.Millisecond
	// share limits the time spent on making log files to 1/share of the total time. Commits made between two files
	// share the next one, which contains each changed page only once.
	share = 2
)

// shipper copies commits from the -wal to the log in the bucket, and wakes the callers that wait for them. If no file
// is being uploaded, the next one leaves immediately. Otherwise it leaves when one arrives or, if uploads take long,
// after a fraction of that time. A nearby bucket thus gets few files, and a remote one doesn't delay callers.
type shipper struct {
	log     logFiles
	lease   *lease
	slog    *slog.Logger
	path    string
	failed  func(error) // stops the daemon
	context context.Context
	loops   sync.WaitGroup
	wake    chan struct{}

	copies    context.Context // context for copies of the whole database
	endCopies context.CancelFunc

	committed atomic.Uint64 // number of notes, one per commit
	firstNote atomic.Int64  // by lease.clock: time of the first note that no file covers; 0: none
	copySince atomic.Int64  // by lease.clock: time of the first note that the running whole copy covers; 0: none
	urgent    atomic.Uint64 // latest note that a caller waits for

	still     sync.Mutex  // held while no checkpoint may run; locked before captureMu
	copying   atomic.Bool // whether a whole copy is running and holds captureMu
	captureMu turn        // guards the -wal: held while it is read and during a checkpoint
	files     *walFiles
	end       walEnd // end of what was read from the -wal
	sealed    walEnd // a checkpoint may have moved the -wal up to here
	txid      uint64 // transaction of the last log file
	whole     bool   // whether the next capture copies the whole database
	begun     int    // number of parts of a whole copy that was given up; the next copy must not have fewer
	alone     int    // number of further files to send one by one: the previous holder's last Put may still arrive
	buffer    []byte
	encoded   bytes.Buffer  // reused between files
	pace      time.Duration // by lease.clock: nothing is captured before this time

	mu        sync.Mutex
	inFlight  map[uint64]*parcel
	arrived   uint64 // last transaction up to which all files have arrived
	confirmed uint64 // latest note that the arrived files cover
	waiting   []waiter
	latency   time.Duration // moving average of the duration of a Put
	lastStart time.Duration // start of the last Put, by lease.clock
	changed   chan struct{} // closed and replaced when a file has arrived
	recent    []*parcel     // arrived files, oldest first; see memory
	kept      int           // total size of recent
	puts      uint64        // number of files that arrived since level 1 was made
	bytes     int           // number of bytes that arrived since keepShort last checked
	wholes    int           // number of whole copies; guarded by captureMu
}

// errSnapshot means that a checkpoint has to wait for a whole copy.
var errSnapshot = errors.New("a full copy is being uploaded to the replica")

// parcel is a log file that is being uploaded or has arrived.
type parcel struct {
	txid  uint64
	note  uint64 // latest note of the commits that it covers
	body  []byte
	start time.Duration // start of its Put, by lease.clock
	done  bool

	context context.Context // context for its Put
	part    bool            // part of a whole copy; it may replace a part that this process gave up
}

// turn is a lock whose wait can be ended by a context.
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

// start starts shipping with the commits after the transaction txid. The database file alone, without its -wal, must
// contain that transaction.
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

// note records that something was committed, and returns its number, which callers can wait for.
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

// after calls fn when all notes so far are in the bucket and the lease was still held afterwards, or with an error if
// the lease is lost. fn must not block.
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

// release notifies the callers whose files have arrived, as long as the lease is fresh. After the lease is lost, it
// notifies all waiting callers.
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

// pump ships the files that are due and returns the time until the next check.
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

// busy returns how long the next file must wait for those being uploaded. 0 means that it can be sent now, and an hour
// that it waits until a file has arrived. The caller holds mu.
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

// capture makes one log file from the new frames in the -wal, and sends it. It returns errBroken if the whole database
// has to be copied. The caller holds captureMu.
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
	if s.end != now { // one file does not hold all new frames
		s.firstNote.CompareAndSwap(0, int64(s.lease.clock()))
		s.mu.Lock()
		p.note = s.lastNote()
		s.mu.Unlock()
	}
	s.send(p)
	return nil
}

// upTo reports whether the log reaches now. A -wal without frames also has 0 pages: either all of it was moved into the
// file, or a kill came between its header and the first commit. The caller holds captureMu.
func (s *shipper) upTo(now walEnd) bool {
	return now.salt == s.end.salt && now.frames == s.end.frames || now.frames == 0 && s.end == s.sealed
}

// captureWhole sends a copy of the whole database. The caller holds captureMu.
func (s *shipper) captureWhole() error {
	note := s.committed.Load()
	s.copySince.Store(s.firstNote.Swap(0))
	defer s.copySince.Store(0)
	now, err := readIndex(s.path)
	if err == nil && now.pages == 0 {
		return nil // the database is still empty
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

// lastNote returns the note of the previous file, for a file that does not cover all recorded commits. The caller holds
// mu.
func (s *shipper) lastNote() uint64 {
	note := s.confirmed
	for _, p := range s.inFlight {
		note = max(note, p.note)
	}
	return note
}

// covered records that the files sent so far hold all commits up to note, because there was nothing new to ship.
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

// captureFrames fills p with the frames after those already read.
func (s *shipper) captureFrames(p *parcel, now walEnd) error {
	from := s.end
	if now.salt != from.salt || now.frames < from.frames {
		if s.end != s.sealed {
			return errBroken
		}
		from = walEnd{salt: now.salt, pages: from.pages}
	}
	if from.frames == 0 || s.files.wal == nil { // the -wal can be a different file now
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
	p.body = bytes.Clone(s.encoded.Bytes()) // recent keeps it for a while, so it must not hold spare capacity
	s.end = c.to
	return nil
}

// flush ships everything that is committed and waits until it has arrived. The caller holds captureMu.
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

// settle waits until all files sent have arrived and the lease was still held afterwards.
func (s *shipper) settle(ctx context.Context) error {
	return s.until(ctx, func() bool { return s.arrived == s.txid })
}

// room waits until one more file can be uploaded.
func (s *shipper) room(ctx context.Context) error {
	return s.until(ctx, func() bool { return len(s.inFlight) < depth && (s.alone == 0 || len(s.inFlight) == 0) })
}

// emptied waits until no file is being uploaded, whether or not the lease is fresh.
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

// checkpoint runs a checkpoint of the -wal in such a way that the replica loses no data. It calls lock to keep all
// writers out, ships everything committed, and then calls run to move it into the database file. After that, the -wal
// can restart. checkpoint fails without calling run if the bucket lacks some commits or a whole copy is running.
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
	if err := s.flush(ctx); err != nil { // ships most of it while others can still write
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
