package objects

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFilesAreOfTheirOwner checks that only the owner can read stored files, whatever the umask is.
func TestFilesAreOfTheirOwner(t *testing.T) {
	b := inFolder(t)
	put(t, b, "ltx/0/file", "1")
	if _, err := b.Put(t.Context(), "ltx/0/absent", nil, Condition{Absent: true}); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(b.root.Name(), func(name string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		want := os.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s: %v", name, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestWhatWasBeingWrittenIsSwept checks that opening a folder removes only the unfinished files of processes that have
// ended.
func TestWhatWasBeingWrittenIsSwept(t *testing.T) {
	b := inFolder(t)
	put(t, b, "file", "1")
	private := filepath.Join(b.root.Name(), privateFolder)
	for name, age := range map[string]time.Duration{"old": 2 * time.Hour, "new": time.Minute, "lock": 2 * time.Hour} {
		if err := os.WriteFile(filepath.Join(private, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(filepath.Join(private, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(filepath.Join(b.root.Name(), "file"), at, at); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("file://"+b.root.Name(), nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"old": false, "new": true, "lock": true, "../file": true} {
		if _, err := os.Stat(filepath.Join(private, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPutsLeaveNothingElse checks that a Put leaves only its object, whether it succeeds, is refused or fails.
func TestPutsLeaveNothingElse(t *testing.T) {
	b := inFolder(t)
	etag := put(t, b, "file", "1")
	if _, err := b.Put(t.Context(), "absent", nil, Condition{Absent: true}); err != nil {
		t.Fatal(err)
	}
	for _, cond := range []Condition{{Absent: true}, {Match: "0"}, {Absent: true, Match: etag}} {
		if _, err := b.Put(t.Context(), "file", []byte("2"), cond); !errors.Is(err, ErrPrecondition) {
			t.Errorf("%+v: %v", cond, err)
		}
	}
	if _, err := b.Put(t.Context(), "file/below", nil, Condition{}); err == nil {
		t.Error("a file is taken for a folder")
	}
	entries, err := b.entries(privateFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "lock" {
			t.Errorf("left: %s", e.Name())
		}
	}
}

// TestLocksAreWaitedFor checks that a Put with Match waits for the holder of the lock, but not beyond its deadline.
func TestLocksAreWaitedFor(t *testing.T) {
	b := inFolder(t)
	etag := put(t, b, "file", "1")
	unlock, err := b.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := b.Put(ctx, "file", []byte("2"), Condition{Match: etag}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	done := make(chan error)
	go func() {
		_, err := b.Put(t.Context(), "file", []byte("3"), Condition{Match: etag})
		done <- err
	}()
	unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestLinksAreNotFollowedOut checks that symbolic links can't lead out of the folder and don't count as objects.
func TestLinksAreNotFollowedOut(t *testing.T) {
	b := inFolder(t)
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(b.root.Name(), "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get(t.Context(), "link", 0, 0); err == nil {
		t.Error("a link leads out of the folder")
	}
	if got := keysOf(t, b, "", ""); got != nil {
		t.Errorf("%q", got)
	}
}

// TestFoldersAreNotMade checks that opening creates no folder, and that reading leaves an existing folder unchanged.
func TestFoldersAreNotMade(t *testing.T) {
	name := filepath.Join(t.TempDir(), "replica")
	if _, err := Open("file://"+name, nil); err == nil || !strings.Contains(err.Error(), "Mount its disk, or create") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	b, err := Open("file://"+name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := keysOf(t, b, "", ""); got != nil {
		t.Errorf("%q", got)
	}
	if left, err := os.ReadDir(name); err != nil || len(left) > 0 {
		t.Errorf("a look has left %v, %v", left, err)
	}
}

// TestFoldersThatAreUnmounted checks that every operation fails while the disk of a folder is not mounted, without
// claiming that an object is missing. Afterwards the bucket works again.
func TestFoldersThatAreUnmounted(t *testing.T) {
	name := filepath.Join(t.TempDir(), "replica")
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	b, err := Open("file://"+name, nil)
	if err != nil {
		t.Fatal(err)
	}
	put(t, b, "object", "1")
	fails := func(below string) {
		t.Helper()
		_, putErr := b.Put(t.Context(), "other", []byte("2"), Condition{Absent: true})
		_, headErr := b.Head(t.Context(), "object")
		for _, err := range []error{putErr, headErr, b.Delete(t.Context(), "object")} {
			if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(),
				"that its disk is mounted") {
				t.Errorf("%s: %v", below, err)
			}
		}
		for _, err := range b.List(t.Context(), "", "") {
			if err == nil {
				t.Errorf("%s: a listing", below)
			}
		}
	}
	if err := os.Rename(name, name+".unmounted"); err != nil {
		t.Fatal(err)
	}
	fails("no folder")
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	fails("an empty one")
	if left, err := os.ReadDir(name); err != nil || len(left) > 0 {
		t.Errorf("in the folder below: %v, %v", left, err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".unmounted", name); err != nil {
		t.Fatal(err)
	}
	put(t, b, "other", "2")
	if got := keysOf(t, b, "", ""); len(got) != 2 {
		t.Errorf("%q", got)
	}
}
