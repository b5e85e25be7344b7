//go:build linux && (amd64 || arm64)

package db

import (
	"testing"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// TestMutexesOfConnections checks that connections have no mutex, and that all other mutexes still exclude each other.
func TestMutexesOfConnections(t *testing.T) {
	if err := PrepareProcess(); err != nil {
		t.Fatal(err)
	}
	a, b := libc.NewTLS(), libc.NewTLS()
	defer a.Close()
	defer b.Close()
	for kind, want := range map[int32]int32{
		sqlite3.SQLITE_MUTEX_RECURSIVE: sqlite3.SQLITE_OK, sqlite3.SQLITE_MUTEX_FAST: sqlite3.SQLITE_BUSY,
		sqlite3.SQLITE_MUTEX_STATIC_APP1: sqlite3.SQLITE_BUSY,
	} {
		p := sqlite3.Xsqlite3_mutex_alloc(a, kind)
		if connection := kind == sqlite3.SQLITE_MUTEX_RECURSIVE; p == 0 || connection != (p == noMutex()) {
			t.Fatalf("mutex of kind %d: %x", kind, p)
		}
		sqlite3.Xsqlite3_mutex_enter(a, p)
		if rc := sqlite3.Xsqlite3_mutex_try(b, p); rc != want {
			t.Errorf("kind %d, while another one has it: %d, want %d", kind, rc, want)
		}
		sqlite3.Xsqlite3_mutex_leave(a, p)
		if rc := sqlite3.Xsqlite3_mutex_try(b, p); rc != sqlite3.SQLITE_OK {
			t.Errorf("kind %d, free again: %d", kind, rc)
		}
		sqlite3.Xsqlite3_mutex_leave(b, p)
		if kind <= sqlite3.SQLITE_MUTEX_RECURSIVE {
			sqlite3.Xsqlite3_mutex_free(a, p)
		}
	}
}
