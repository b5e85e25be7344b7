package replica

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
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
}

// Holder is the machine that has, or had, the lease.
type Holder struct {
	Host       string
	Node       string // of its database file
	Generation uint64 // grows with each taking
	Log        string // name of the log, from its beginning on
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
	var first logFile // of those that a restore can begin with, the one that ends first
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
			if f.min == 1 && (first.max == 0 || f.max < first.max) {
				first = f
			}
		}
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
	if h, err := l.header(ctx, first); err == nil {
		s.Oldest = time.UnixMilli(h.Timestamp)
	} else if errors.Is(err, ErrGap) {
		s.Gap = cmp.Or(s.Gap, err)
	} else if !errors.Is(err, fs.ErrNotExist) { // not there: removed meanwhile
		return s, err
	}
	return s, nil
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
		Host: h.Host, Node: h.Node, Generation: h.Generation, Log: h.Log, Renewed: info.Modified, Released: h.Released,
		TTL: time.Duration(h.TTL) * time.Millisecond,
	}, h.TXID, nil
}

// Node returns the name of the machine that the database file at path is of, as Holder has it; empty where no replica
// was kept of it.
func Node(path string) (string, error) {
	n, err := readNote(path)
	return n.Node, err
}
