package objects

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"time"
)

const (
	// privateFolder holds the lock and files that are being written. No key leads into this folder.
	privateFolder = ".newsletterd"
	lockFile      = privateFolder + "/lock"
	// staleAfter is the age at which an unfinished file is removed. A file that is still being written is never that
	// old.
	staleAfter = time.Hour
)

// folder is a bucket in a folder. Each object is a file named after its key. Other processes can use the folder at the
// same time if it is on a local file system.
type folder struct {
	root *os.Root
	now  func() time.Time
}

// openFolder opens a folder. The folder must exist: a new folder in place of a missing disk would look valid.
// openFolder creates nothing, so read-only commands leave the folder unchanged.
func openFolder(name string) (*folder, error) {
	root, err := os.OpenRoot(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the folder %s doesn't exist. Mount its disk, or create the folder if it is new: "+
			"mkdir -m 700 %[1]s",
			name)
	}
	if err != nil {
		return nil, fmt.Errorf("the folder can't be opened: %w", err)
	}
	b := &folder{root: root, now: time.Now}
	if err := b.sweep(); err != nil {
		root.Close()
		return nil, fmt.Errorf("the folder can't be read: %w", err)
	}
	return b, nil
}

// sweep removes unfinished files that ended processes have left.
func (b *folder) sweep() error {
	entries, err := b.entries(privateFolder)
	if errors.Is(err, fs.ErrNotExist) { // no object was written yet
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := privateFolder + "/" + e.Name()
		info, err := b.root.Lstat(name)
		if err == nil && name != lockFile && b.now().Sub(info.ModTime()) > staleAfter {
			_ = b.root.Remove(name) // another process may have removed it first
		}
	}
	return nil
}

// Type implements Bucket.
func (b *folder) Type() string { return "file" }

// Put implements Bucket. The ETag is the SHA-256 of the content.
func (b *folder) Put(ctx context.Context, key string, body []byte, cond Condition) (string, error) {
	info, err := b.write(ctx, key, bytes.NewReader(body), cond)
	return info.ETag, err
}

// PutStream implements Bucket.
func (b *folder) PutStream(ctx context.Context, key string, r io.Reader) (Info, error) {
	return b.write(ctx, key, contextReader{ctx, r}, Condition{})
}

func (b *folder) write(ctx context.Context, key string, r io.Reader, cond Condition) (info Info, err error) {
	if err := cmp.Or(checkKey(key), ctx.Err()); err != nil {
		return Info{}, err
	}
	defer func() {
		if err != nil {
			info, err = Info{}, fmt.Errorf("put %s: %w", key, err)
		}
	}()
	temp := privateFolder + "/" + rand.Text()
	f, err := b.openPrivate(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return Info{}, err
	}
	defer func() {
		if cond.Absent || err != nil { // otherwise it has been renamed
			_ = b.root.Remove(temp) // sweep removes it later
		}
	}()
	sum := sha256.New()
	info, err = fillFile(f, r, sum)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return Info{}, err
	}
	if err := b.makeFolders(path.Dir(key)); err != nil {
		return Info{}, err
	}
	if err := b.place(ctx, temp, key, cond); err != nil {
		return Info{}, err
	}
	info.Key = key
	if err = b.syncFolder(path.Dir(key)); err != nil && cond != (Condition{}) {
		err = fmt.Errorf("%w: %w", ErrAmbiguous, err)
	}
	return info, err
}

// openPrivate creates a file in the private folder, and the folder if it is missing.
func (b *folder) openPrivate(name string, flag int) (*os.File, error) {
	f, err := b.root.OpenFile(name, flag, 0o600)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := b.root.Mkdir(privateFolder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return b.root.OpenFile(name, flag, 0o600)
}

// fillFile writes r to the file and syncs it to the disk.
func fillFile(f *os.File, r io.Reader, sum hash.Hash) (Info, error) {
	size, err := io.Copy(io.MultiWriter(f, sum), r)
	if err != nil {
		return Info{}, err
	}
	if err := f.Sync(); err != nil {
		return Info{}, err
	}
	st, err := f.Stat()
	if err != nil {
		return Info{}, err
	}
	return Info{Size: size, ETag: hex.EncodeToString(sum.Sum(nil)), Modified: st.ModTime()}, nil
}

// place renames a finished file to its key if the condition holds.
func (b *folder) place(ctx context.Context, temp, key string, cond Condition) error {
	if cond.Absent && cond.Match == "" {
		err := b.root.Link(temp, key) // atomic, needs no lock
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		// The file there may be our own, from a Put that failed after the link. Sync the folder for that case too.
		return cmp.Or(b.syncFolder(path.Dir(key)), ErrPrecondition)
	}
	unlock, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if cond.Match != "" {
		info, err := b.Head(ctx, key)
		if errors.Is(err, fs.ErrNotExist) || err == nil && (info.ETag != cond.Match || cond.Absent) {
			return ErrPrecondition
		}
		if err != nil {
			return err
		}
	}
	return b.root.Rename(temp, key)
}

// makeFolders creates a folder and its parents, and syncs them to survive a power failure.
func (b *folder) makeFolders(name string) error {
	if st, err := b.root.Lstat(name); err == nil && st.IsDir() {
		return nil
	}
	above := path.Dir(name)
	if err := b.makeFolders(above); err != nil {
		return err
	}
	if err := b.root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return b.syncFolder(above)
}

func (b *folder) syncFolder(name string) error {
	f, err := b.root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// lock keeps out other writers of this and other processes until unlock is called.
func (b *folder) lock(ctx context.Context) (unlock func(), err error) {
	f, err := b.openPrivate(lockFile, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	for {
		locked, err := tryLock(f)
		if locked {
			return func() { f.Close() }, nil
		}
		if err == nil {
			err = pause(ctx, time.Millisecond)
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock: %w", err)
		}
	}
}

// open opens the file of an object.
func (b *folder) open(key string) (*os.File, fs.FileInfo, error) {
	if err := checkKey(key); err != nil {
		return nil, nil, err
	}
	f, err := b.root.Open(key)
	if err != nil {
		return nil, nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() { // a folder is not an object
		err = &fs.PathError{Op: "open", Path: key, Err: fs.ErrNotExist}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, st, nil
}

// Head implements Bucket. It reads the whole file for the ETag.
func (b *folder) Head(ctx context.Context, key string) (Info, error) {
	f, st, err := b.open(key)
	if err != nil {
		return Info{}, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, contextReader{ctx, f}); err != nil {
		return Info{}, fmt.Errorf("head %s: %w", key, err)
	}
	return Info{Key: key, Size: st.Size(), ETag: hex.EncodeToString(sum.Sum(nil)), Modified: st.ModTime()}, nil
}

// Get implements Bucket.
func (b *folder) Get(ctx context.Context, key string, offset, size int64) (io.ReadCloser, error) {
	if offset < 0 || size < 0 {
		return nil, fmt.Errorf("get %s: invalid range of %d bytes at offset %d", key, size, offset)
	}
	f, st, err := b.open(key)
	if err != nil {
		return nil, err
	}
	rest := max(st.Size()-offset, 0)
	if size == 0 || size > rest {
		size = rest
	}
	return &fileRange{contextReader{ctx, io.NewSectionReader(f, offset, size)}, f}, nil
}

// Delete implements Bucket.
func (b *folder) Delete(ctx context.Context, keys ...string) error {
	unlock, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	folders := map[string]bool{}
	for _, key := range keys {
		if err := checkKey(key); err != nil {
			return err
		}
		st, err := b.root.Lstat(key)
		if err == nil && !st.Mode().IsRegular() { // a folder is not an object
			continue
		}
		if err == nil {
			err = b.root.Remove(key)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		folders[path.Dir(key)] = true
	}
	for name := range folders {
		if err := b.syncFolder(name); err != nil {
			return fmt.Errorf("delete: %w", err)
		}
	}
	return nil
}

// Remove implements Bucket.
func (b *folder) Remove(ctx context.Context, key, etag string) error {
	unlock, err := b.lock(ctx)
	if err != nil {
		return err
	}
	info, err := b.Head(ctx, key)
	if err == nil && info.ETag == etag {
		err = b.root.Remove(key)
	} else if err == nil {
		err = fmt.Errorf("remove %s: %w", key, ErrPrecondition)
	}
	unlock()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return cmp.Or(err, b.syncFolder(path.Dir(key)))
}

// fileRange is a section of an open file.
type fileRange struct {
	contextReader
	f *os.File
}

// Close implements io.Closer.
func (r *fileRange) Close() error { return r.f.Close() }

// contextReader reads until ctx is done.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
