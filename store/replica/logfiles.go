package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"time"

	"github.com/superfly/ltx"

	"newsletterd/store/replica/objects"
)

// Levels of the log, as Litestream 0.5 has them: 0 is what was shipped, each further one what was compacted of the one
// before, and the last one whole databases.
const (
	levels        = 4 // 0 to 3
	snapshotLevel = 9
)

// logFile is one file of the log in the bucket: the changes of the transactions min to max.
type logFile struct {
	level    int
	min, max uint64
	size     int64
	modified time.Time
}

// logFiles reads and writes the log in a bucket, under the names that Litestream 0.5 gives its files.
type logFiles struct{ bucket objects.Bucket }

func (l logFiles) folder(level int) string {
	if l.bucket.Type() == "file" {
		return path.Join("ltx", strconv.Itoa(level))
	}
	return fmt.Sprintf("%04x", level)
}

func (l logFiles) key(level int, from, to uint64) string {
	return l.folder(level) + "/" + ltx.FormatFilename(ltx.TXID(from), ltx.TXID(to))
}

// list returns the files of a level by their first transactions. Of a level 0 that is not whole the result is what the
// bucket lists.
func (l logFiles) list(ctx context.Context, level int) (files []logFile, err error) {
	for info, err := range l.bucket.List(ctx, l.folder(level)+"/", "") {
		if err != nil {
			return nil, fmt.Errorf("list the log: %w", err)
		}
		from, to, err := ltx.ParseFilename(path.Base(info.Key))
		if err != nil {
			continue
		}
		files = append(files, logFile{level, uint64(from), uint64(to), info.Size, info.Modified})
	}
	return files, nil
}

// open reads a file of the log, at most size bytes of it; 0: all.
func (l logFiles) open(ctx context.Context, f logFile, size int64) (io.ReadCloser, error) {
	return l.bucket.Get(ctx, l.key(f.level, f.min, f.max), 0, size)
}

// header reads the header of a file of the log.
func (l logFiles) header(ctx context.Context, f logFile) (h ltx.Header, err error) {
	r, err := l.open(ctx, f, ltx.HeaderSize)
	if err != nil {
		return h, err
	}
	defer r.Close()
	b := make([]byte, ltx.HeaderSize)
	if _, err := io.ReadFull(r, b); err != nil {
		return h, err
	}
	err = h.UnmarshalBinary(b)
	return h, err
}

// exists asks for a file of level 0 by its name, which is sure also where a listing is late.
func (l logFiles) exists(ctx context.Context, txid uint64) (logFile, bool, error) {
	info, err := l.bucket.Head(ctx, l.key(0, txid, txid))
	if errors.Is(err, fs.ErrNotExist) {
		return logFile{}, false, nil
	}
	return logFile{0, txid, txid, info.Size, info.Modified}, err == nil, err
}

// shipped is the part of the log at level 0 that can be restored.
type shipped struct {
	files  []logFile // without a gap
	strays []logFile // after a gap: of Puts that overtook one that failed. No one was told of what they hold
}

// head is the last transaction; 0 where there is none.
func (s shipped) head() uint64 {
	if len(s.files) == 0 {
		return 0
	}
	return s.files[len(s.files)-1].max
}

// shipped finds the end of the log. It does not trust the listing alone: what is missing in it, and what may come after
// its end, is asked for by name. After a gap at most depth files can be strays; more are a log that was damaged, and
// the error is ErrGap.
func (l logFiles) shipped(ctx context.Context) (s shipped, err error) {
	listed, err := l.list(ctx, 0)
	if err != nil {
		return s, err
	}
	for i := 0; ; {
		next := s.head() + 1
		for i < len(listed) && listed[i].max < next {
			i++
		}
		switch {
		case len(s.files) == 0 && i < len(listed): // earlier ones were compacted
			s.files = append(s.files, listed[i])
			continue
		case len(s.files) > 0 && i < len(listed) && listed[i].min == next:
			s.files = append(s.files, listed[i])
			continue
		case len(s.files) == 0:
			next = 1
		}
		f, there, err := l.exists(ctx, next)
		if err != nil {
			return s, err
		}
		if there {
			s.files = append(s.files, f)
			continue
		}
		break
	}
	for txid := s.head() + 2; txid <= s.head()+depth; txid++ {
		f, there, err := l.exists(ctx, txid)
		if err != nil {
			return s, err
		}
		if there {
			s.strays = append(s.strays, f)
		}
	}
	if n := len(listed); n > 0 && listed[n-1].max > s.head()+depth {
		return s, fmt.Errorf("%w: the log goes to %d, then it misses %d, and goes on to %d", ErrGap, s.head(), s.head()+1,
			listed[n-1].max)
	}
	return s, nil
}

// ErrGap is returned where the log in the bucket is damaged: a file in the middle of it is missing.
var ErrGap = errors.New("the replica misses a part of its log")

// ErrNothing is returned where the replica holds no database.
var ErrNothing = errors.New("the replica holds no database")

// plan returns the files from which the database is restored as it was after the transaction through, or before the
// instant at; zero values mean as it is now. It returns ErrNothing, or ErrGap, together with the files before the gap.
func (l logFiles) plan(ctx context.Context, through uint64, at time.Time) (files []logFile, err error) {
	usable := func(f logFile) (bool, error) {
		if through != 0 && f.max > through {
			return false, nil
		}
		if at.IsZero() {
			return true, nil
		}
		h, err := l.header(ctx, f)
		return err == nil && h.Timestamp < at.UnixMilli(), err
	}
	snapshots, err := l.list(ctx, snapshotLevel)
	if err != nil {
		return nil, err
	}
	for i := len(snapshots) - 1; i >= 0 && len(files) == 0; i-- { // newest of those that begin with 1: by max
		ok, err := usable(snapshots[i])
		if err != nil {
			return nil, err
		}
		if ok {
			files = append(files, snapshots[i])
		}
	}
	var all []logFile
	for level := levels - 1; level > 0; level-- {
		more, err := l.list(ctx, level)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	s, gap := l.shipped(ctx)
	if gap != nil && !errors.Is(gap, ErrGap) {
		return nil, gap
	}
	all = append(all, s.files...)
	end := uint64(0)
	if len(files) > 0 {
		end = files[0].max
	}
	for {
		best := -1
		for i, f := range all {
			if f.min <= end+1 && f.max > end && (best < 0 || f.max > all[best].max) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		ok, err := usable(all[best])
		if err != nil {
			return nil, err
		}
		if ok {
			files = append(files, all[best])
			end = all[best].max
		}
		all = append(all[:best], all[best+1:]...)
	}
	switch {
	case len(files) == 0 && through == 0 && at.IsZero() && s.head() > 0:
		return nil, fmt.Errorf("%w: it begins with %d", ErrGap, s.files[0].min)
	case len(files) == 0:
		return nil, ErrNothing
	case through != 0 && end < through:
		return files, fmt.Errorf("%w: it can be restored up to %d, not to %d", ErrGap, end, through)
	case through != 0:
		return files, nil
	case !at.IsZero():
		return files, l.gapBefore(ctx, end, at)
	case s.head() > end:
		return files, fmt.Errorf("%w: it can be restored up to %d and goes on at %d", ErrGap, end, s.files[0].min)
	}
	return files, gap
}

// gapBefore returns ErrGap where nothing goes on from the transaction end, but the log has a later file of before the
// instant at.
func (l logFiles) gapBefore(ctx context.Context, end uint64, at time.Time) error {
	var later []logFile
	for level := range levels {
		files, err := l.list(ctx, level)
		if err != nil {
			return err
		}
		for _, f := range files {
			if f.min <= end+1 && f.max > end {
				return nil
			}
			if f.min > end+1 {
				later = append(later, f)
				break // those after it are newer
			}
		}
	}
	for _, f := range later {
		h, err := l.header(ctx, f)
		if err == nil && h.Timestamp < at.UnixMilli() {
			return fmt.Errorf("%w: it can be restored up to %d and goes on at %d", ErrGap, end, f.min)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // not there: compacted and removed meanwhile
			return err
		}
	}
	return nil
}
