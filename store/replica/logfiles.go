package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/superfly/ltx"
	"golang.org/x/sync/errgroup"

	"newsletterd/store/replica/objects"
)

// Levels of the log, as in Litestream 0.5: level 0 holds shipped files, each further level is compacted from the one
// before, and the last one holds whole copies.
const (
	levels        = 4 // 0 to 3
	snapshotLevel = 9
)

// logFile is a log file in the bucket. It holds the changes of the transactions min to max.
type logFile struct {
	level    int
	min, max uint64
	size     int64
	modified time.Time
}

// same reports whether both files have the same name.
func (f logFile) same(o logFile) bool { return f.level == o.level && f.min == o.min && f.max == o.max }

// logFiles reads and writes the log in a bucket, with the file names of Litestream 0.5.
type logFiles struct {
	bucket objects.Bucket
	bad    []logFile // damaged files, which are treated as missing
	known  *shipped  // result of shipped while it is still valid; nil: unknown
	least  uint64    // the log reaches this transaction, and maybe further; 0: unknown
}

// damagedError means that a log file exists but is unreadable. It is an ErrGap.
type damagedError struct {
	file  logFile
	key   string
	cause error
}

// Error implements error.
func (e *damagedError) Error() string {
	return fmt.Sprintf("%s: %s is damaged: %s", ErrGap, e.key, e.cause)
}

// Unwrap returns ErrGap and the cause.
func (e *damagedError) Unwrap() []error { return []error{ErrGap, e.cause} }

func (l logFiles) damaged(f logFile, cause error) error {
	return &damagedError{f, l.key(f.level, f.min, f.max), cause}
}

// isBad reports whether a file is known to be damaged.
func (l logFiles) isBad(level int, from, to uint64) bool {
	return slices.ContainsFunc(l.bad, logFile{level: level, min: from, max: to}.same)
}

func (l logFiles) folder(level int) string {
	if l.bucket.Type() == "file" {
		return path.Join("ltx", strconv.Itoa(level))
	}
	return fmt.Sprintf("%04x", level)
}

func (l logFiles) key(level int, from, to uint64) string {
	return l.folder(level) + "/" + ltx.FormatFilename(ltx.TXID(from), ltx.TXID(to))
}

// list returns the files that the bucket lists for a level, sorted by their first transaction. It leaves out files that
// are known to be damaged. Level 0 can have gaps, which list does not fill.
func (l logFiles) list(ctx context.Context, level int) (files []logFile, err error) {
	for info, err := range l.bucket.List(ctx, l.folder(level)+"/", "") {
		if err != nil {
			return nil, fmt.Errorf("list the log: %w", err)
		}
		from, to, err := ltx.ParseFilename(path.Base(info.Key))
		if err != nil || l.isBad(level, uint64(from), uint64(to)) {
			continue
		}
		files = append(files, logFile{level, uint64(from), uint64(to), info.Size, info.Modified})
	}
	return files, nil
}

// open returns a reader of the first size bytes of a log file; 0 means the whole file.
func (l logFiles) open(ctx context.Context, f logFile, size int64) (io.ReadCloser, error) {
	return l.bucket.Get(ctx, l.key(f.level, f.min, f.max), 0, size)
}

// header reads the header of a log file. If the file has no header, it returns a damagedError.
func (l logFiles) header(ctx context.Context, f logFile) (h ltx.Header, err error) {
	r, err := l.open(ctx, f, ltx.HeaderSize)
	if err != nil {
		return h, err
	}
	defer r.Close()
	b := make([]byte, ltx.HeaderSize)
	_, err = io.ReadFull(r, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return h, l.damaged(f, errors.New("it is too short"))
	}
	if err != nil {
		return h, err
	}
	if err := h.UnmarshalBinary(b); err != nil {
		return h, l.damaged(f, err)
	}
	return h, nil
}

// exists looks up a level 0 file by name, which is reliable even if listings are outdated.
func (l logFiles) exists(ctx context.Context, txid uint64) (logFile, bool, error) {
	info, err := l.bucket.Head(ctx, l.key(0, txid, txid))
	if errors.Is(err, fs.ErrNotExist) || err == nil && l.isBad(0, txid, txid) {
		return logFile{}, false, nil
	}
	return logFile{0, txid, txid, info.Size, info.Modified}, err == nil, err
}

// shipped is the part of the log at level 0 that can be restored.
type shipped struct {
	covered    uint64    // last transaction of level 1 or of a whole copy
	older      []logFile // files before that; some can be missing
	files      []logFile // files without a gap, starting with the last one that level 1 covers
	strays     []logFile // files whose Put overtook a failed one or came too late; never acknowledged
	generation uint64    // latest generation of the files examined: those at the end of the log, and strays
}

// head returns the last transaction, or 0 if there is none.
func (s shipped) head() uint64 {
	if len(s.files) == 0 {
		return s.covered
	}
	return s.files[len(s.files)-1].max
}

// shipped finds the end of the log. It does not trust the listing: it looks up by name the files that are missing from
// the listing or might follow the end. Strays are at most depth files after a gap, the parts of a whole copy whose
// first file is missing, files of an earlier holder of the lease after a gap, and files of an earlier holder right
// after the end of the log, if a later holder wrote that end. Any other file after a gap means that the log is damaged,
// and shipped returns ErrGap. An unreadable file is treated as missing if level 1 or a whole copy holds the same
// changes.
func (l logFiles) shipped(ctx context.Context) (s shipped, err error) {
	if l.known != nil {
		return *l.known, nil
	}
	for _, level := range []int{1, snapshotLevel} {
		files, err := l.list(ctx, level)
		if err != nil {
			return s, err
		}
		for _, f := range files {
			s.covered = max(s.covered, f.max)
		}
	}
	listed, err := l.list(ctx, 0)
	if err != nil {
		return s, err
	}
	for len(listed) > 0 && listed[0].max < s.covered {
		s.older, listed = append(s.older, listed[0]), listed[1:]
	}
	for next := max(s.covered, 1); ; next++ {
		for len(listed) > 0 && listed[0].min < next {
			listed = listed[1:]
		}
		if len(listed) > 0 && listed[0].min == next {
			s.files = append(s.files, listed[0])
			continue
		}
		f, there, err := l.exists(ctx, next)
		if err != nil {
			return s, err
		}
		if there {
			s.files = append(s.files, f)
			continue
		}
		if next > s.covered { // otherwise the last file that level 1 covers was deleted
			break
		}
	}
	err = l.findStrays(ctx, &s, listed)
	return s, err
}

// findStrays finds the strays among the files that level 1 does not cover, and among those listed after a gap.
func (l logFiles) findStrays(ctx context.Context, s *shipped, listed []logFile) error {
	headers, damaged, err := l.headers(ctx, s.files)
	if err != nil {
		return err
	}
	if len(s.files) > 0 && damaged[0] != nil && s.files[0].max <= s.covered { // other files hold the same changes
		s.files, headers, damaged = s.files[1:], headers[1:], damaged[1:]
	}
	generation := uint64(0) // generation of the end of the log
	for i, h := range headers {
		if damaged[i] != nil {
			return damaged[i]
		}
		s.generation = max(s.generation, h.NodeID)
		if h.NodeID < generation && s.files[i].min > s.covered {
			s.strays = append(s.strays, s.files[i:]...)
			s.files = s.files[:i]
			break
		}
		generation = max(generation, h.NodeID)
	}
	head := s.head()
	var after []logFile
	for txid := head + 2; txid <= head+depth; txid++ {
		f, there, err := l.exists(ctx, txid)
		if err != nil {
			return err
		}
		if there {
			after = append(after, f)
		}
	}
	for _, f := range listed {
		if f.min > head+depth {
			after = append(after, f)
		}
	}
	if headers, damaged, err = l.headers(ctx, after); err != nil {
		return err
	}
	part := uint64(0) // the file after a part of a whole copy is a part too
	for i, f := range after {
		s.generation = max(s.generation, headers[i].NodeID)
		switch {
		case damaged[i] != nil && f.min > head+depth && f.min != part: // its holder is unknown
			return damaged[i]
		case damaged[i] == nil && headers[i].WALOffset == 0:
			part = f.max + 1
		}
		inLog := damaged[i] == nil && headers[i].WALOffset != 0 && f.min != part && headers[i].NodeID >= generation
		if f.min > head+depth && inLog {
			return fmt.Errorf("%w: the log reaches %d, lacks %d and continues to %d", ErrGap, head, head+1,
				after[len(after)-1].max)
		}
		if !slices.ContainsFunc(s.strays, func(o logFile) bool { return o.min == f.min }) {
			s.strays = append(s.strays, f)
		}
	}
	return nil
}

// headers reads the headers of files, several at once. For a file that was removed in the meantime or is damaged, all
// has the zero value; for a damaged file, damaged has the error.
func (l logFiles) headers(ctx context.Context, files []logFile) (all []ltx.Header, damaged []error, err error) {
	all, damaged = make([]ltx.Header, len(files)), make([]error, len(files))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(fetchAtOnce)
	for i, f := range files {
		group.Go(func() (err error) {
			switch all[i], err = l.header(ctx, f); {
			case errors.Is(err, ErrGap):
				all[i], damaged[i], err = ltx.Header{}, err, nil
			case errors.Is(err, fs.ErrNotExist):
				err = nil
			}
			return err
		})
	}
	return all, damaged, group.Wait()
}

// ErrGap is returned if the log in the bucket is damaged, for example because a file in the middle is missing.
var ErrGap = errors.New("the replica's log has a gap")

// ErrNothing is returned if the replica holds no database.
var ErrNothing = errors.New("the replica has no database")

// plan returns the files needed to restore the database to its state after the transaction through, or to its last
// state before at. Zero values mean the newest state. It returns ErrNothing, or ErrGap together with the files before
// the gap.
func (l logFiles) plan(ctx context.Context, through uint64, at time.Time) (files []logFile, err error) {
	var damage error // damage of a file that may have been written before at
	usable := func(f logFile) (bool, error) {
		if through != 0 && f.max > through {
			return false, nil
		}
		if at.IsZero() {
			return true, nil
		}
		h, err := l.header(ctx, f)
		if errors.Is(err, ErrGap) {
			damage, err = err, nil
			return false, nil
		}
		return err == nil && h.Timestamp < at.UnixMilli(), err
	}
	snapshots, err := l.list(ctx, snapshotLevel)
	if err != nil {
		return nil, err
	}
	for i := len(snapshots) - 1; i >= 0 && len(files) == 0; i-- { // all begin with 1, so the last is the newest
		ok, err := usable(snapshots[i])
		if err != nil {
			return nil, err
		}
		if ok {
			files = append(files, snapshots[i])
		}
	}
	all, err := l.compacted(ctx)
	if err != nil {
		return nil, err
	}
	s, gap := l.shipped(ctx)
	if gap != nil && !errors.Is(gap, ErrGap) {
		return nil, gap
	}
	all = append(append(all, s.older...), s.files...)
	begin := beginsLate(all)
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
	case len(files) == 0 && !at.IsZero():
		return nil, cmp.Or(l.gapBefore(ctx, 0, at, s.strays), damage, ErrNothing)
	case len(files) == 0:
		return nil, cmp.Or(gap, begin, ErrNothing)
	case through != 0 && end < through:
		return files, fmt.Errorf("%w: it can only be restored up to %d, not %d", ErrGap, end, through)
	case through != 0:
		return files, nil
	case !at.IsZero():
		return files, cmp.Or(l.gapBefore(ctx, end, at, s.strays), damage)
	case s.head() > end:
		return files, fmt.Errorf("%w: it can be restored up to %d, but continues to %d", ErrGap, end, s.head())
	}
	return files, gap
}

// beginsLate returns ErrGap if a restore can't start from any file in all, the files of a log. If there are no files,
// it returns nil.
func beginsLate(all []logFile) error {
	if len(all) == 0 {
		return nil
	}
	first := slices.MinFunc(all, func(a, b logFile) int { return cmp.Compare(a.min, b.min) })
	return fmt.Errorf("%w: it starts at %d", ErrGap, first.min)
}

// compacted returns the files of the levels above 0 except whole copies, highest level first.
func (l logFiles) compacted(ctx context.Context) (all []logFile, err error) {
	for level := levels - 1; level > 0; level-- {
		more, err := l.list(ctx, level)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// gapBefore returns ErrGap if the log ends at the transaction end but has a later file that is not a stray. In that
// case, the missing file may have been written before at. If end is 0, the later file must have been written before at;
// otherwise the log simply doesn't go back that far.
func (l logFiles) gapBefore(ctx context.Context, end uint64, at time.Time, strays []logFile) error {
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
			stray := level == 0 && slices.ContainsFunc(strays, func(o logFile) bool { return o.min == f.min })
			if f.min > end+1 && !stray {
				later = append(later, f)
				break // the files after it are newer
			}
		}
	}
	for _, f := range later {
		h, err := l.header(ctx, f)
		if err == nil && (end > 0 || h.Timestamp < at.UnixMilli()) {
			return fmt.Errorf("%w: it can be restored up to %d, but continues at %d", ErrGap, end, f.min)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a missing file was compacted and removed meanwhile
			return err
		}
	}
	return nil
}
