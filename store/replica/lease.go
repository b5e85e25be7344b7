package replica

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"newsletterd/core"
	"newsletterd/store/replica/objects"
)

const lockKey = "lock.json"

// ErrLost is returned once another machine holds the lease: this one must not answer, send or write any more.
var ErrLost = errors.New("the lease is lost")

// ErrStale is returned while the lease could not be renewed for so long that another machine may take it.
var ErrStale = errors.New("the lease couldn't be renewed in time")

// holder is the content of the lock object: who may write to the replica.
type holder struct {
	Generation uint64 `json:"generation"` // grows with each taking
	Node       string `json:"node"`       // which database file, of which machine
	Place      string `json:"place"`      // where the file lies, since which start of the machine
	Host       string `json:"host"`       // for people
	Renewal    uint64 `json:"renewal"`    // another one for each try, so that the ETag changes
	TTL        int64  `json:"ttl_ms"`
	TXID       uint64 `json:"txid"`           // the log goes to there at least
	Log        string `json:"log"`            // a name of the log, from its beginning on
	Made       string `json:"made,omitempty"` // when the database was made; empty: not known
	Released   bool   `json:"released,omitempty"`
	At         string `json:"at"` // RFC 3339, for people: no machine believes another's clock
}

// same reports whether two contents are of one try to write them.
func (h holder) same(o holder) bool {
	return h.of(o) && h.Renewal == o.Renewal && h.Released == o.Released
}

// of reports whether two contents are of one taking of the lease.
func (h holder) of(o holder) bool {
	return h.Generation == o.Generation && h.Node == o.Node && h.Place == o.Place
}

// lease is the right to write to the replica. It is renewed by conditional writes of the lock object, so that of two
// machines that try only one succeeds. It is fresh for four fifths of the TTL after the start of the last renewal that
// succeeded; another machine takes it only after the object stood still for a whole TTL of that machine's clock.
type lease struct {
	bucket objects.Bucket
	node   string
	place  string // two copies of a disk have the same node, and differ in this
	host   string
	ttl    time.Duration
	clock  func() time.Duration
	log    *slog.Logger

	until atomic.Int64 // of clock, in nanoseconds: the end of freshness
	lost  atomic.Bool
	taken atomic.Uint64 // the generation of mine, which a renewal under way keeps no one from reading
	txid  atomic.Uint64 // the last transaction that the log has

	mu    sync.Mutex // of what follows
	mine  holder
	etag  string
	tries uint64 // writes of the lock object
}

// check returns nil while no other machine can hold the lease, else ErrStale or ErrLost. It costs an atomic load and a
// look at the clock.
func (l *lease) check() error {
	switch {
	case l.lost.Load():
		return ErrLost
	case int64(l.clock()) >= l.until.Load():
		return ErrStale
	}
	return nil
}

// read returns the lock object; fs.ErrNotExist where there is none.
func (l *lease) read(ctx context.Context) (h holder, etag string, err error) {
	// Head before Get: content that is newer than its ETag only makes the next conditional write fail.
	info, err := l.bucket.Head(ctx, lockKey)
	if err != nil {
		return h, "", err
	}
	r, err := l.bucket.Get(ctx, lockKey, 0, 0)
	if err != nil {
		return h, "", err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, 64<<10))
	if err != nil {
		return h, "", err
	}
	if err := json.Unmarshal(b, &h); err != nil || h.Generation == 0 {
		return h, "", fmt.Errorf("the lock %s in the bucket is unreadable (%.80q). Stop newsletterd on all machines, "+
			"find out what wrote it, and delete it: the log in the bucket has the same information",
			lockKey, b)
	}
	return h, info.ETag, nil
}

// errEarlier says that an earlier try to write the lock object, whose answer was lost, had its effect: the next write
// goes on from there. It is no renewal: others have seen the object stand still since that try, not since this one.
var errEarlier = errors.New("an earlier attempt to renew the lease succeeded after all")

// write puts the lock object. After a refusal or a lost answer it reads what is there: its own content is success, that
// of an earlier try errEarlier, any other one ErrLost, and the one before it the error as it was.
func (l *lease) write(ctx context.Context, next *holder, cond objects.Condition) (etag string, err error) {
	l.tries++
	next.Renewal, next.At = l.tries, time.Now().UTC().Format(time.RFC3339)
	b, err := json.Marshal(next)
	if err != nil {
		return "", err
	}
	etag, err = l.bucket.Put(ctx, lockKey, b, cond)
	if err == nil || !errors.Is(err, objects.ErrPrecondition) && !errors.Is(err, objects.ErrAmbiguous) {
		return etag, err
	}
	there, tag, readErr := l.read(ctx)
	switch {
	case errors.Is(readErr, fs.ErrNotExist):
		return "", fmt.Errorf("%w: %s was removed from the bucket", ErrLost, lockKey)
	case readErr != nil:
		return "", errors.Join(err, readErr)
	case there.same(*next):
		return tag, nil
	case there.of(l.mine) && there.Renewal != l.mine.Renewal:
		l.mine, l.etag = there, tag
		return "", errEarlier
	case there.Generation > l.mine.Generation || there.Node != l.node || there.Place != l.place:
		return "", fmt.Errorf("%w: %s has taken over", ErrLost, cmp.Or(there.Host, "another machine"))
	}
	return "", err
}

// sight is what a wait for the lease has seen so far.
type sight struct {
	etag   string        // of the lock object; empty: none was there at the last look
	since  time.Duration // when that was seen first
	holder holder        // the last one that was seen; the zero value: none was
	log    bool          // no lock object was there, but a log
	warned bool          // the log of the daemon says that what was seen is gone
}

// warnEvery is how often the log says that the lease still can't be read.
const warnEvery = time.Minute

// take waits until the lease is this node's, and returns the holder before it; the zero value where there was none.
// waiting is called with the holder that was seen last each time that it has to wait, and whether it has renewed the
// lease meanwhile. The caller must hold the lock of the database file: a lease of the same node at the same place is
// taken at once, for its process can't run any more.
func (l *lease) take(ctx context.Context, waiting func(h holder, alive bool) error) (before holder, err error) {
	var seen sight
	var first holder         // that was waited for
	var warned time.Duration // of clock: when the log said last that the bucket can't be reached
	for failed := false; ; {
		l.mu.Lock()
		before, taken, err := l.tryTake(ctx, &seen)
		l.mu.Unlock()
		switch {
		case taken:
			return before, nil
		case ctx.Err() != nil:
			return before, context.Cause(ctx)
		case err != nil:
			if !failed || l.clock()-warned >= warnEvery {
				l.log.Warn("replica: the lease can't be read or taken; this machine goes on trying", slog.Any("error", err))
				failed, warned = true, l.clock()
			}
		default:
			failed = false
			if first == (holder{}) {
				first = seen.holder
			}
			if err := waiting(seen.holder, seen.holder != first); err != nil {
				return before, err
			}
		}
		if err := pause(ctx, l.ttl/10); err != nil {
			return before, err
		}
	}
}

// tryTake looks at the lock object once and takes it where it may. l.mu is held.
func (l *lease) tryTake(ctx context.Context, seen *sight) (before holder, taken bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.ttl)
	defer cancel()
	before, etag, err := l.read(ctx)
	cond := objects.Condition{Match: etag}
	if err == nil {
		seen.holder = before
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		cond = objects.Condition{Absent: true}
		if free, err := l.absent(ctx, seen); !free {
			return before, false, err
		}
	case err != nil:
		return before, false, err
	case before.Released || before.Node == l.node && before.Place == l.place:
	case seen.etag != etag:
		seen.etag, seen.since = etag, l.clock()
		return before, false, nil
	case l.clock()-seen.since < max(l.ttl, time.Duration(before.TTL)*time.Millisecond):
		return before, false, nil
	}
	next := holder{
		Generation: before.Generation + 1, Node: l.node, Place: l.place, Host: l.host, TTL: l.ttl.Milliseconds(),
		TXID: before.TXID, Log: cmp.Or(before.Log, core.NewID()), Made: before.Made,
	}
	start := l.clock()
	if etag, err = l.write(ctx, &next, cond); err != nil {
		if errors.Is(err, ErrLost) || errors.Is(err, objects.ErrPrecondition) { // another one was quicker
			seen.etag, seen.since, err = "", l.clock(), nil
		}
		return before, false, err
	}
	l.mine, l.etag = next, etag
	l.taken.Store(next.Generation)
	l.txid.Store(next.TXID)
	l.until.Store(int64(start + l.ttl*4/5))
	return before, true, nil
}

// absent reports whether the lease may be taken where there is no lock object: at once in a bucket that was never used;
// after a TTL where a log is there, for its holder may not have noticed yet that the object was removed. What this wait
// has seen and is gone was removed under a machine that may serve, whose database is newer than what this one has: it
// waits until the lock object is back.
func (l *lease) absent(ctx context.Context, seen *sight) (free bool, err error) {
	seen.etag = ""
	unused, err := logFiles{bucket: l.bucket}.unused(ctx)
	switch {
	case err != nil:
		return false, err
	case seen.holder != (holder{}) || seen.log && unused:
		if !seen.warned {
			seen.warned = true
			l.log.Warn("replica: "+lockKey+", the lock that names the serving machine, was deleted from the bucket; "+
				"this machine waits until it is back. Start the machine that served last or, if it is lost, restart "+
				"this one",
				slog.String("host", seen.holder.Host), slog.Bool("empty", unused))
		}
		return false, nil
	case unused:
		return true, nil
	case !seen.log:
		seen.log, seen.since = true, l.clock()
		return false, nil
	}
	return l.clock()-seen.since >= l.ttl, nil
}

// renew renews the lease once. An error of the bucket leaves it fresh as long as it was. After ErrLost it is not fresh
// any more, for good.
func (l *lease) renew(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost.Load() {
		return ErrLost
	}
	ctx, cancel := context.WithTimeout(ctx, l.ttl/3)
	defer cancel()
	next := l.mine
	next.TXID = max(next.TXID, l.txid.Load())
	start := l.clock()
	etag, err := l.write(ctx, &next, objects.Condition{Match: l.etag})
	if errors.Is(err, errEarlier) {
		start = l.clock()
		etag, err = l.write(ctx, &next, objects.Condition{Match: l.etag})
	}
	switch {
	case err == nil:
		l.mine, l.etag = next, etag
		l.until.Store(int64(start + l.ttl*4/5))
	case errors.Is(err, ErrLost):
		l.lost.Store(true)
	}
	return err
}

// raise makes the generation one that no file of the log has: it began anew where the lock object was removed by hand.
func (l *lease) raise(ctx context.Context, generation uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, l.ttl)
	defer cancel()
	next := l.mine
	next.Generation = generation
	start := l.clock()
	etag, err := l.write(ctx, &next, objects.Condition{Match: l.etag})
	if err == nil {
		l.mine, l.etag = next, etag
		l.taken.Store(generation)
		l.until.Store(int64(start + l.ttl*4/5))
	}
	return err
}

// release gives the lease up, so that another machine need not wait. The object stays: removing it would forget the
// generation.
func (l *lease) release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mine.Generation == 0 || l.lost.Load() {
		return nil
	}
	l.until.Store(0)
	next := l.mine
	next.TXID, next.Released = max(next.TXID, l.txid.Load()), true
	_, err := l.write(ctx, &next, objects.Condition{Match: l.etag})
	if errors.Is(err, errEarlier) {
		_, err = l.write(ctx, &next, objects.Condition{Match: l.etag})
	}
	if err == nil {
		l.lost.Store(true)
	}
	return err
}

// setMade has the lock object say when the database was made, from its next renewal on.
func (l *lease) setMade(made string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mine.Made = made
}

// generation is the number of this taking.
func (l *lease) generation() uint64 { return l.taken.Load() }

// logName is the name of the log, once the lease was taken.
func (l *lease) logName() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mine.Log
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
