package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
)

// List implements Bucket. It skips everything except regular files.
func (b *folder) List(ctx context.Context, prefix, after string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		_, err := b.walk(ctx, "", prefix, after, func(info Info) bool { return yield(info, nil) })
		if err != nil {
			yield(Info{}, fmt.Errorf("list: %w", err))
		}
	}
}

// walk yields the objects in a folder and its subfolders. name is empty or ends in a slash. walk reports whether to
// continue.
func (b *folder) walk(ctx context.Context, name, prefix, after string, yield func(Info) bool) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	entries, err := b.entries(strings.TrimSuffix("./"+name, "/"))
	if errors.Is(err, fs.ErrNotExist) { // it may disappear during the walk
		return true, nil
	}
	if err != nil {
		return false, err
	}
	keys := make([]string, 0, len(entries)) // folders end in a slash, which affects the order
	for _, e := range entries {
		key := name + e.Name()
		switch {
		case e.IsDir() && e.Name() != privateFolder:
			if key += "/"; !strings.HasPrefix(key, prefix) && !strings.HasPrefix(prefix, key) ||
				key < after && !strings.HasPrefix(after, key) {
				continue
			}
		case !e.Type().IsRegular(), !strings.HasPrefix(key, prefix), key <= after, checkKey(key) != nil:
			continue
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if strings.HasSuffix(key, "/") {
			if goOn, err := b.walk(ctx, key, prefix, after, yield); err != nil || !goOn {
				return false, err
			}
			continue
		}
		info, err := b.root.Lstat(key)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		if !yield(Info{Key: key, Size: info.Size(), Modified: info.ModTime()}) {
			return false, nil
		}
	}
	return true, nil
}

// entries returns the entries of a folder, unsorted.
func (b *folder) entries(name string) ([]fs.DirEntry, error) {
	f, err := b.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}
