package objects

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"sync"
)

// mount is a bucket in the folder of a given path. If its disk is unmounted and mounted again, mount continues with the
// new contents. In between every operation fails: mount neither writes to the underlying disk nor reports that an
// object doesn't exist.
type mount struct {
	name string

	mu   sync.Mutex // guards here
	here *folder
}

func openMount(name string) (Bucket, error) {
	f, err := openFolder(name)
	if err != nil {
		return nil, err
	}
	return &mount{name: name, here: f}, nil
}

// folder returns the folder currently at the path. If it is not the same folder as before, it must contain
// privateFolder, which newsletterd creates with its first write. The folder below an unmounted disk lacks it.
func (m *mount) folder() (*folder, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, err := os.Stat(m.name)
	if err != nil {
		return nil, fmt.Errorf("the folder is missing; check that its disk is mounted "+
			"(%v)", err) // not fs.ErrNotExist, which would mean a missing object
	}
	then, err := m.here.root.Stat(".")
	if err == nil && os.SameFile(now, then) {
		return m.here, nil
	}
	next, err := openFolder(m.name)
	if err != nil {
		return nil, fmt.Errorf("the folder is missing; check that its disk is mounted (%v)", err)
	}
	if _, err := next.root.Stat(privateFolder); err != nil {
		next.root.Close()
		return nil, fmt.Errorf("the folder %s has changed and is empty; check that its disk is mounted", m.name)
	}
	m.here = next // operations in the previous folder can finish there
	return next, nil
}

// Type implements Bucket.
func (m *mount) Type() string { return "file" }

// Put implements Bucket.
func (m *mount) Put(ctx context.Context, key string, body []byte, cond Condition) (string, error) {
	f, err := m.folder()
	if err != nil {
		return "", err
	}
	return f.Put(ctx, key, body, cond)
}

// PutStream implements Bucket.
func (m *mount) PutStream(ctx context.Context, key string, r io.Reader) (Info, error) {
	f, err := m.folder()
	if err != nil {
		return Info{}, err
	}
	return f.PutStream(ctx, key, r)
}

// Get implements Bucket.
func (m *mount) Get(ctx context.Context, key string, offset, size int64) (io.ReadCloser, error) {
	f, err := m.folder()
	if err != nil {
		return nil, err
	}
	return f.Get(ctx, key, offset, size)
}

// Head implements Bucket.
func (m *mount) Head(ctx context.Context, key string) (Info, error) {
	f, err := m.folder()
	if err != nil {
		return Info{}, err
	}
	return f.Head(ctx, key)
}

// List implements Bucket.
func (m *mount) List(ctx context.Context, prefix, after string) iter.Seq2[Info, error] {
	f, err := m.folder()
	if err != nil {
		return func(yield func(Info, error) bool) { yield(Info{}, fmt.Errorf("list: %w", err)) }
	}
	return f.List(ctx, prefix, after)
}

// Delete implements Bucket.
func (m *mount) Delete(ctx context.Context, keys ...string) error {
	f, err := m.folder()
	if err != nil {
		return err
	}
	return f.Delete(ctx, keys...)
}

// Remove implements Bucket.
func (m *mount) Remove(ctx context.Context, key, etag string) error {
	f, err := m.folder()
	if err != nil {
		return err
	}
	return f.Remove(ctx, key, etag)
}
