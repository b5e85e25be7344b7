package storetest

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	_ "modernc.org/sqlite" // the SQLite driver, for connections from outside newsletterd
)

// Foreign runs SQL on its own connection, like another program that has the database open. It returns a function that
// closes the connection.
func Foreign(t testing.TB, path, query string) (end func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(context.Background(), query); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// SmallDisk mounts a file system of mib MiB and returns its folder. If mounting is not allowed, it skips the test.
func SmallDisk(t testing.TB, mib string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+mib+"m"); err != nil {
		t.Skip("a disk of its own needs the right to mount:", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// ReadOnly makes the files of a database immutable, so that every write to them fails. It returns a function that
// makes them writable again. If that is not allowed, it skips the test.
func ReadOnly(t testing.TB, path string) (end func()) {
	t.Helper()
	set := func(flag string) error {
		return exec.Command("chattr", flag, path, path+"-wal", path+"-shm").Run()
	}
	if err := set("+i"); err != nil {
		_ = set("-i")
		t.Skip("files are made immutable by root, on some file systems:", err)
	}
	end = func() {
		if err := set("-i"); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { _ = set("-i") })
	return end
}
