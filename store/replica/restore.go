package replica

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/superfly/ltx"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

const (
	fetchAtOnce = 64       // number of log files read at once, because each takes long from a remote bucket
	fetchWhole  = 8 << 20  // maximum size in bytes of a file that is read into memory
	fetchMemory = 64 << 20 // maximum number of bytes of files that a restore holds in memory
)

// restore writes the database to a new file of mode 0600, and returns its last transaction after the file is synced to
// the disk.
func (l logFiles) restore(ctx context.Context, to string, through uint64, at time.Time) (end uint64, err error) {
	got, err := l.restoreAround(ctx, to, through, at, false)
	return got.end.max, err
}

// restored describes the result of a restore.
type restored struct {
	end     logFile // last file that was applied
	gap     error   // an ErrGap if everything after the gap was left out, otherwise nil
	damaged error   // a file found to be damaged; if gap is nil, other files hold the same changes
}

// restoreAround writes the database to a new file. It treats files that turn out to be damaged as missing, because
// other files may hold the same changes. If the log has a gap, it restores the part before the gap if toGap is set,
// otherwise it returns ErrGap.
func (l logFiles) restoreAround(
	ctx context.Context, to string, through uint64, at time.Time, toGap bool,
) (got restored, err error) {
	for {
		files, err := l.plan(ctx, through, at)
		if through == 0 && at.IsZero() {
			err = reached(files, err, l.least)
		}
		got.gap = nil
		switch {
		case errors.Is(err, ErrGap) && toGap && len(files) > 0:
			got.gap = err
		case err != nil && got.damaged != nil:
			return got, got.damaged
		case err != nil:
			return got, err
		}
		err = l.restoreFiles(ctx, to, files)
		if bad := (*damagedError)(nil); errors.As(err, &bad) {
			got.damaged = cmp.Or(got.damaged, err)
			l.bad, l.known = append(slices.Clone(l.bad), bad.file), nil
			continue
		}
		if err != nil {
			return got, err
		}
		got.end = files[len(files)-1]
		if slices.ContainsFunc(l.bad, func(f logFile) bool { return f.max > got.end.max }) {
			got.gap = cmp.Or(got.damaged, got.gap)
		}
		if got.gap != nil && !toGap {
			return got, errors.Join(got.gap, os.Remove(to))
		}
		return got, nil
	}
}

// restoreFiles restores the database from the given log files to a new file of mode 0600, and syncs the file.
func (l logFiles) restoreFiles(ctx context.Context, to string, files []logFile) error {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	err = l.apply(ctx, f, files)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(to)
		return err
	}
	return syncFolder(filepath.Dir(to))
}

// apply writes the pages of the files into f in order, and reads some files ahead.
func (l logFiles) apply(ctx context.Context, f *os.File, files []logFile) error {
	group, ctx := errgroup.WithContext(ctx)
	type next struct {
		file logFile
		r    io.ReadCloser
	}
	queue := make(chan chan next, fetchAtOnce)
	memory := semaphore.NewWeighted(fetchMemory)
	size := func(file logFile) int64 { return min(max(file.size, 1), fetchWhole) }
	group.Go(func() error {
		defer close(queue)
		for _, file := range files {
			// The shares are acquired in order, so that the file that is applied next always gets its share.
			if err := memory.Acquire(ctx, size(file)); err != nil {
				return err
			}
			one := make(chan next, 1)
			select {
			case queue <- one:
			case <-ctx.Done():
				return ctx.Err()
			}
			group.Go(func() error {
				defer close(one)
				r, err := l.fetch(ctx, file)
				if err == nil {
					one <- next{file, r}
				}
				return err
			})
		}
		return nil
	})
	group.Go(func() error {
		for one := range queue {
			select {
			case n, ok := <-one:
				if !ok {
					return nil // fetch failed
				}
				source := &sourceReader{r: n.r}
				err := applyOne(f, source)
				if err != nil && source.err == nil && !errors.Is(err, errWrite) {
					err = l.damaged(n.file, err)
				}
				if err = errors.Join(err, n.r.Close()); err != nil {
					return err
				}
				memory.Release(size(n.file))
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return group.Wait()
}

// sourceReader keeps the error of the underlying reader.
type sourceReader struct {
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (s *sourceReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// errWrite wraps errors from writing a restored file, as opposed to errors in a log file.
var errWrite = errors.New("write")

// fetch opens a log file. It reads small files into memory.
func (l logFiles) fetch(ctx context.Context, file logFile) (io.ReadCloser, error) {
	r, err := l.open(ctx, file, 0)
	if err != nil || file.size > fetchWhole {
		return r, err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", l.key(file.level, file.min, file.max), err)
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

// decode calls fn, which reads log files with ltx, and turns a panic into an error. ltx panics if a file is cut off
// right after its pages.
func decode(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it is unreadable: %v", p)
		}
	}()
	return fn()
}

// applyOne writes the pages of one log file, and verifies its checksum.
func applyOne(f *os.File, r io.Reader) error {
	dec := ltx.NewDecoder(r)
	if err := dec.DecodeHeader(); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	h := dec.Header()
	if h.PageSize != pageSize {
		return fmt.Errorf("the log has a page size of %d bytes, not %d", h.PageSize, pageSize)
	}
	page := make([]byte, pageSize)
	for {
		var p ltx.PageHeader
		err := dec.DecodePage(&p, page)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && p.Pgno > h.Commit {
			err = fmt.Errorf("it contains page %d, but the database has only %d pages", p.Pgno, h.Commit)
		}
		if err == nil {
			if _, err := f.WriteAt(page, int64(p.Pgno-1)*pageSize); err != nil {
				return fmt.Errorf("%w: %w", errWrite, err)
			}
		}
		if err != nil {
			return fmt.Errorf("log at %s: %w", h.MaxTXID, err)
		}
	}
	if err := decode(dec.Close); err != nil {
		return fmt.Errorf("log at %s: %w", h.MaxTXID, err)
	}
	if err := f.Truncate(int64(h.Commit) * pageSize); err != nil {
		return fmt.Errorf("%w: %w", errWrite, err)
	}
	return nil
}

// restoreInPlace restores into a private folder next to path, calls before, and then moves the file to path.
func (l logFiles) restoreInPlace(ctx context.Context, path string, before func() error) (end uint64, err error) {
	folder, err := os.MkdirTemp(filepath.Dir(path), ".restore-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	tmp := filepath.Join(folder, filepath.Base(path))
	if end, err = l.restore(ctx, tmp, 0, time.Time{}); err != nil {
		return 0, err
	}
	if err := before(); err != nil {
		return 0, err
	}
	if err := os.Rename(tmp, path); err != nil {
		return 0, err
	}
	return end, syncFolder(filepath.Dir(path))
}

// moveAside renames a database file that the replica supersedes. It also renames the -wal and the rollback journal,
// because SQLite would apply them to any file at path. They may exist without the file, if a kill interrupted moveAside
// or someone moved the file. moveAside returns the new name, or an empty string if all of these files are empty or
// missing.
func moveAside(path string) (aside string, err error) {
	name := fmt.Sprintf("%s.superseded-%s", path, time.Now().UTC().Format("20060102T150405.000"))
	for _, ending := range []string{"", "-wal", "-journal"} {
		fi, err := os.Stat(path + ending)
		if errors.Is(err, os.ErrNotExist) || err == nil && fi.Size() == 0 {
			continue
		}
		if err == nil {
			err = os.Rename(path+ending, name+ending)
		}
		if err != nil {
			return "", err
		}
		aside = name
	}
	if err := os.Remove(path + "-shm"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	return aside, syncFolder(filepath.Dir(path))
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
