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

// ErrLost is returned after another machine has taken the lease. This machine must not respond, send or write anymore.
var ErrLost = errors.New("the lease is lost")

// ErrStale is returned if the lease was not renewed for so long that another machine may take it.
var ErrStale = errors.New("the lease couldn't be renewed in time")

// holder is the content of the lock object. It names the machine that may write to the replica.
type holder struct {
	Generation uint64 `json:"generation"` // grows each time the lease is taken
	Node       string `json:"node"`       // identifies the database file and its machine
	Place      string `json:"place"`      // identifies the path of the file and the current boot of the machine
	Host       string `json:"host"`       // host name, only for display
	Renewal    uint64 `json:"renewal"`    // changes with each attempt, which changes the ETag
	TTL        int64  `json:"ttl_ms"`
	TXID       uint64 `json:"txid"`           // the log reaches this transaction, and maybe further
	Log        string `json:"log"`            // name of the log, which never changes
	Made       string `json:"made,omitempty"` // creation time of the database; empty: unknown
	Released   bool   `json:"released,omitempty"`
	At         string `json:"at"` // RFC 3339, only for display: no machine trusts another's clock
}

// same reports whether h and o come from the same attempt to write the lock object.
func (h holder) same(o holder) bool {
	return h.of(o) && h.Renewal == o.Renewal && h.Released == o.Released
}

// of reports whether h and o come from the same machine and the same generation of the lease.
func (h holder) of(o holder) bool {
	return h.Generation == o.Generation && h.Node == o.Node && h.Place == o.Place
}

// lease is the right to write to the replica. It is renewed by conditional writes of the lock object: if two machines
// try, only one succeeds. It stays fresh for four fifths of the TTL after the start of the last successful renewal.
// Another machine takes it only if the object did not change for a whole TTL by that machine's clock.
type lease struct {
	bucket objects.Bucket
	node   string
	place  string // differs between two copies of a disk, which have the same node
	host   string
	ttl    time.Duration
	clock  func() time.Duration
	log    *slog.Logger

	until atomic.Int64 // time by clock until which the lease is fresh, in nanoseconds
	lost  atomic.Bool
	taken atomic.Uint64 // generation of mine, readable during a renewal
	txid  atomic.Uint64 // last transaction in the log

	mu    sync.Mutex // guards the fields below
	mine  holder
	etag  string
	tries uint64 // number of writes of the lock object
}

// check returns nil as long as no other machine can hold the lease, otherwise ErrStale or ErrLost. It costs an atomic
// load and a read of the clock.
func (l *lease) check() error {
	switch {
	case l.lost.Load():
		return ErrLost
	case int64(l.clock()) >= l.until.Load():
		return ErrStale
	}
	return nil
}

// read returns the lock object and its ETag. It returns fs.ErrNotExist if there is no lock object.
func (l *lease) read(ctx context.Context) (h holder, etag string, err error) {
	// Head comes before Get: if the content is newer than the ETag, only the next conditional write fails.
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
		return h, "", fmt.Errorf("the lock %s in the bucket can't be read (%.80q). Stop newsletterd on all machines, "+
			"find out what wrote the lock, and delete it. The log in the bucket has the same information",
			lockKey, b)
	}
	return h, info.ETag, nil
}

// errEarlier means that an earlier attempt to write the lock object succeeded although its response was lost. The next
// write continues from there. It does not count as a renewal, because other machines have seen the object unchanged
// since that attempt.
var errEarlier = errors.New("an earlier attempt to renew the lease succeeded after all")

// write writes the lock object. If the storage refuses or its response is lost, write reads the object. It returns nil
// if the object has the content just written, errEarlier if the content comes from an earlier attempt, the original
// error if the object is unchanged, and ErrLost otherwise.
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

// sight records what this machine has seen of the lock object while it waits for the lease.
type sight struct {
	etag   string        // ETag of the lock object; empty: there was none at the last look
	since  time.Duration // time at which etag was first seen
	holder holder        // last holder seen; zero: none
	log    bool          // whether there was a log, but no lock object
	warned bool          // whether the daemon has already logged that the lock object is gone
}

// warnEvery is the interval of warnings about a lease that can't be read.
const warnEvery = time.Minute

// take waits until this node has the lease. It returns the previous holder, or the zero value if there was none. While
// it waits, it calls waiting with the last holder seen; alive reports whether that holder has renewed the lease in the
// meantime. The caller must hold the lock of the database file. take takes a lease of the same node at the same place
// immediately, because its process can't be running anymore.
func (l *lease) take(ctx context.Context, waiting func(h holder, alive bool) error) (before holder, err error) {
	var seen sight
	var first holder         // first holder that this call waited for
	var warned time.Duration // clock time of the last warning that the bucket can't be reached
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
				l.log.Warn("replica: the lease can't be read or taken; this machine keeps trying",
					slog.Any("error", err))
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

// tryTake looks at the lock object once and takes the lease if it may. The caller holds l.mu.
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
		if errors.Is(err, ErrLost) || errors.Is(err, objects.ErrPrecondition) { // another machine was faster
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

// absent reports whether the lease may be taken if there is no lock object. In a bucket that was never used it may be
// taken immediately. If there is a log, it may be taken after a TTL, because the holder may not have noticed yet that
// the object was removed. If this machine has seen the object while it waited, someone has removed the object since.
// The holder may still be serving a newer database than this machine has, so absent returns false until the object is
// back.
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

// renew renews the lease once. After a bucket error, the lease stays fresh as long as before. After ErrLost it never
// becomes fresh again.
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

// raise sets the generation to a number that no log file has. Generations start over if the lock object was deleted.
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

// release gives up the lease, so that another machine needn't wait for it to expire. The lock object stays, because it
// stores the generation.
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

// setMade sets the creation time of the database. The next renewal writes it to the lock object.
func (l *lease) setMade(made string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mine.Made = made
}

// generation returns the generation of the lease that this machine took.
func (l *lease) generation() uint64 { return l.taken.Load() }

// logName returns the name of the log. It is empty until the lease is taken.
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
