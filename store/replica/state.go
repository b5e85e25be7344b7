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

// State describes the contents of a bucket. All times except Oldest use the clock of the storage.
type State struct {
	Holder    *Holder   // nil: no machine has taken the lease
	TXID      uint64    // last transaction that can be restored; 0: none
	Newest    time.Time // time at which the file of TXID was written
	Oldest    time.Time // earliest time that can be restored, by the clock of the machine that wrote it
	Files     int       // number of log files, including snapshots
	Snapshots int       // number of whole copies
	Bytes     int64     // total size of all files
	Gap       error     // an ErrGap if some or all of the log is missing, otherwise nil
	Holes     []Hole    // times after Oldest that can't be restored; a whole copy repaired the log after each
}

// Hole is a span of time that can't be restored, by the clock of the machine that wrote it.
type Hole struct {
	From, To time.Time // From itself and times after To can be restored
}

// Holder is the machine that holds or held the lease.
type Holder struct {
	Host       string
	Node       string // identifies its database file
	Generation uint64 // grows each time the lease is taken
	Log        string // name of the log, which never changes
	Made       string // creation time of the database; empty: unknown
	Renewed    time.Time
	TTL        time.Duration
	Released   bool // whether the machine gave up the lease, as it does when it stops
}

// Lapses returns the time after which another machine can take the lease if it has not been renewed.
func (h *Holder) Lapses() time.Time { return h.Renewed.Add(h.TTL) }

// Look returns the state of the bucket at url. It needs no lease and writes nothing. env looks up the keys.
func Look(ctx context.Context, url string, env func(string) string) (s State, err error) {
	bucket, err := objects.Open(url, env)
	if err != nil {
		return s, err
	}
	var least uint64 // the log reaches at least this, according to the holder of the lease
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
	if len(files) == 0 { // the start of the log is missing
		return s, nil
	}
	last := files[len(files)-1]
	s.TXID, s.Newest = last.max, last.modified
	err = l.past(ctx, all, &s)
	if errors.Is(err, ErrGap) {
		s.Gap, err = cmp.Or(s.Gap, err), nil
	} else if errors.Is(err, fs.ErrNotExist) { // removed in the meantime
		err = nil
	}
	return s, err
}

// past sets the fields of s that describe which past states can be restored. all holds the log files.
func (l logFiles) past(ctx context.Context, all []logFile, s *State) error {
	slices.SortFunc(all, func(a, b logFile) int { return cmp.Or(cmp.Compare(a.min, b.min), cmp.Compare(a.max, b.max)) })
	end := all[0] // last file of the chain without a hole; starts with the first file that a restore can start from
	h, err := l.header(ctx, end)
	if err != nil {
		return err
	}
	s.Oldest = time.UnixMilli(h.Timestamp)
	for _, next := range chain(all) {
		if next.min == 1 && next.max > end.max { // a whole copy, because no other file continues from end
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

// chain returns log files, each of which continues from the previous one. At a gap, it continues with the next whole
// copy. all is sorted by start and end, and its first file is one that a restore can start from.
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

// Reach returns an error if the bucket at url can't be read.
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

// holderOf returns the holder of the lease and a transaction that the log is known to reach. The holder is nil if there
// is no lock object.
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

// Fits returns ErrAnother if the machine of the database file at path would refuse to take over the replica at address.
// made is the function in Options.Made. Fits writes nothing.
func Fits(ctx context.Context, address, path string, made func(context.Context) (time.Time, error), s State) error {
	n, err := readNote(path)
	if err != nil || s.Holder == nil {
		return err
	}
	r := &Replica{path: path, opts: Options{URL: address, Made: made}}
	return r.fits(ctx, n, holder{Node: s.Holder.Node, Log: s.Holder.Log, Made: s.Holder.Made})
}

// Node returns the name of the machine that the database file at path belongs to, as in Holder.Node. It returns an
// empty string if the file was not kept in a replica.
func Node(path string) (string, error) {
	n, err := readNote(path)
	return n.Node, err
}
