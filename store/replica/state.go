package replica

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"newsletterd/store/replica/objects"
)

// State is what a bucket holds. Times are by the clock of the storage, but for Oldest.
type State struct {
	Holder    *Holder   // nil: no machine has taken the lease yet
	TXID      uint64    // the last transaction that can be restored; 0: none
	Newest    time.Time // when its file was written
	Oldest    time.Time // the earliest instant that can be restored, by the clock of the machine that wrote it
	Files     int       // of the log, snapshots among them
	Snapshots int       // whole databases among them
	Bytes     int64     // of all files
	Gap       error     // ErrGap: a part of the log is missing, or all of it; nil: none is
	Holes     []Hole    // times after Oldest that can't be restored, for what was missing was mended by a whole copy
}

// Hole is a part of the time that can't be restored, by the clock of the machine that wrote it.
type Hole struct {
	From, To time.Time // From itself can be restored, and what comes after To
}

// Holder is the machine that has, or had, the lease.
type Holder struct {
	Host       string
	Node       string // of its database file
	Generation uint64 // grows with each taking
	Log        string // name of the log, from its beginning on
	Made       string // when the database was made; empty: not known
	Renewed    time.Time
	TTL        time.Duration
	Released   bool // it was given up, as at a stop
}

// Lapses returns when another machine may take the lease, unless it is renewed.
func (h *Holder) Lapses() time.Time { return h.Renewed.Add(h.TTL) }

// Look returns what the bucket at url holds. It needs no lease and writes nothing; env is asked for the keys.
func Look(ctx context.Context, url string, env func(string) string) (s State, err error) {
	bucket, err := objects.Open(url, env)
	if err != nil {
		return s, err
	}
	var least uint64 // the log goes to there, as the holder of the lease says
	if s.Holder, least, err = holderOf(ctx, bucket); err != nil {
		return s, err
	}
	l := logFiles{bucket: bucket}
	var all []logFile
	for level := range snapshotLevel + 1 {
		if level >= levels && level < snapshotLevel {
			continue
		}
		files, err := l.list(ctx, level)
		if err != nil {
			return s, err
		}
		for _, f := range files {
			s.Files++
			s.Bytes += f.size
			if level == snapshotLevel {
				s.Snapshots++
			}
		}
		all = append(all, files...)
	}
	files, err := l.plan(ctx, 0, zeroTime)
	err = reached(files, err, least)
	switch {
	case errors.Is(err, ErrNothing):
		return s, nil
	case errors.Is(err, ErrGap):
		s.Gap = err
	case err != nil:
		return s, err
	}
	if len(files) == 0 { // what the log begins with is missing
		return s, nil
	}
	last := files[len(files)-1]
	s.TXID, s.Newest = last.max, last.modified
	err = l.past(ctx, all, &s)
	if errors.Is(err, ErrGap) {
		s.Gap, err = cmp.Or(s.Gap, err), nil
	} else if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
		err = nil
	}
	return s, err
}

// past finds out which times can be restored from files of a log.
func (l logFiles) past(ctx context.Context, all []logFile, s *State) error {
	slices.SortFunc(all, func(a, b logFile) int { return cmp.Or(cmp.Compare(a.min, b.min), cmp.Compare(a.max, b.max)) })
	end := all[0] // of what can be restored without a hole: the first that a restore can begin with
	h, err := l.header(ctx, end)
	if err != nil {
		return err
	}
	s.Oldest = time.UnixMilli(h.Timestamp)
	for _, next := range chain(all) {
		if next.min == 1 && next.max > end.max { // a whole copy, for nothing else goes on from there
			from, err := l.header(ctx, end)
			if err != nil {
				return err
			}
			to, err := l.header(ctx, next)
			if err != nil {
				return err
			}
			s.Holes = append(s.Holes, Hole{time.UnixMilli(from.Timestamp), time.UnixMilli(to.Timestamp)})
		}
		end = next
	}
	return nil
}

// chain returns files of a log, each of which goes on from the one before; or where none does, it begins anew with the
// next whole copy. all is sorted by where the files begin and end, and begins with one that a restore can begin with.
func chain(all []logFile) (files []logFile) {
	var whole, rest []logFile
	for _, f := range all[1:] {
		if f.min == 1 {
			whole = append(whole, f)
		} else {
			rest = append(rest, f)
		}
	}
	var next logFile
	for end := all[0].max; ; end = next.max {
		for len(rest) > 0 && rest[0].min <= end+1 {
			if rest[0].max > next.max {
				next = rest[0]
			}
			rest = rest[1:]
		}
		for len(whole) > 0 && whole[0].max <= end {
			whole = whole[1:]
		}
		if next.max <= end && len(whole) > 0 {
			next = whole[0]
		}
		if next.max <= end {
			return files
		}
		files = append(files, next)
	}
}

// Reach returns an error where the bucket at url can't be read.
func Reach(ctx context.Context, url string, env func(string) string) error {
	bucket, err := objects.Open(url, env)
	if err == nil {
		_, err = bucket.Head(ctx, lockKey)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// holderOf returns who holds the lease, and a transaction that the log goes to at least; nil where there is no lock
// object.
func holderOf(ctx context.Context, bucket objects.Bucket) (*Holder, uint64, error) {
	info, err := bucket.Head(ctx, lockKey)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	h, _, err := (&lease{bucket: bucket}).read(ctx)
	if err != nil {
		return nil, 0, err
	}
	return &Holder{
		Host: h.Host, Node: h.Node, Generation: h.Generation, Log: h.Log, Made: h.Made, Renewed: info.Modified, Released: h.Released,
		TTL: time.Duration(h.TTL) * time.Millisecond,
	}, h.TXID, nil
}

// Fits returns ErrAnother where the machine of the database file at path would not take over what address has; made is as
// Options.Made returns it. It writes nothing.
func Fits(ctx context.Context, address, path string, made func(context.Context) (time.Time, error), s State) error {
	n, err := readNote(path)
	if err != nil || s.Holder == nil {
		return err
	}
	r := &Replica{path: path, opts: Options{URL: address, Made: made}}
	return r.fits(ctx, n, holder{Node: s.Holder.Node, Log: s.Holder.Log, Made: s.Holder.Made})
}

// Node returns the name of the machine that the database file at path is of, as Holder has it; empty where no replica
// was kept of it.
func Node(path string) (string, error) {
	n, err := readNote(path)
	return n.Node, err
}
