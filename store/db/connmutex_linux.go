//go:build linux && (amd64 || arm64)

package db

import (
	"fmt"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// connMutexes replaces the mutex that each connection has. The driver opens connections in SQLite's serialized mode,
// which locks that mutex several times for each statement and column. database/sql already uses a connection in one
// goroutine at a time, which is all that SQLite's multi-thread mode requires. So these mutexes do nothing. Mutexes for
// data that connections share, such as caches, stay.
var connMutexes struct {
	methods sqlite3.Tsqlite3_mutex_methods // as passed to SQLite; a field, because C needs a stable address
	none    uint64                         // its address stands for the mutex of any connection

	alloc        func(*libc.TLS, int32) uintptr
	free         func(*libc.TLS, uintptr)
	enter, leave func(*libc.TLS, uintptr)
	try          func(*libc.TLS, uintptr) int32
}

// useConnMutexes installs connMutexes. It initializes SQLite twice, because only the first time sets SQLite's own mutex
// functions, which the new ones call.
func useConnMutexes(tls *libc.TLS) error {
	args := libc.NewVaList(uintptr(unsafe.Pointer(&connMutexes.methods)))
	if args == 0 {
		return fmt.Errorf("store: out of memory")
	}
	defer libc.Xfree(tls, args)
	for _, step := range []struct {
		name string
		do   func() int32
	}{
		{"sqlite3_initialize", func() int32 { return sqlite3.Xsqlite3_initialize(tls) }},
		{"sqlite3_shutdown", func() int32 { return sqlite3.Xsqlite3_shutdown(tls) }},
		{"SQLITE_CONFIG_GETMUTEX", func() int32 {
			return sqlite3.Xsqlite3_config(tls, sqlite3.SQLITE_CONFIG_GETMUTEX, args)
		}},
		{"SQLITE_CONFIG_MUTEX", func() int32 {
			replaceMutexes()
			return sqlite3.Xsqlite3_config(tls, sqlite3.SQLITE_CONFIG_MUTEX, args)
		}},
		// Now, while there is one goroutine, because the mutex of the initialization is of the same kind.
		{"sqlite3_initialize", func() int32 { return sqlite3.Xsqlite3_initialize(tls) }},
	} {
		if rc := step.do(); rc != sqlite3.SQLITE_OK {
			return fmt.Errorf("store: %s: %d", step.name, rc)
		}
	}
	return nil
}

// replaceMutexes replaces SQLite's mutex functions with functions that call the originals.
func replaceMutexes() {
	m, f := &connMutexes, &connMutexes.methods
	m.alloc = goFunc[func(*libc.TLS, int32) uintptr](f.FxMutexAlloc)
	m.free = goFunc[func(*libc.TLS, uintptr)](f.FxMutexFree)
	m.enter = goFunc[func(*libc.TLS, uintptr)](f.FxMutexEnter)
	m.leave = goFunc[func(*libc.TLS, uintptr)](f.FxMutexLeave)
	m.try = goFunc[func(*libc.TLS, uintptr) int32](f.FxMutexTry)
	f.FxMutexAlloc, f.FxMutexFree = cFunc(mutexAlloc), cFunc(mutexFree)
	f.FxMutexEnter, f.FxMutexLeave, f.FxMutexTry = cFunc(mutexEnter), cFunc(mutexLeave), cFunc(mutexTry)
}

func noMutex() uintptr { return uintptr(unsafe.Pointer(&connMutexes.none)) }

// mutexAlloc recognizes a connection's mutex by its kind: nothing else in this program has a recursive mutex.
func mutexAlloc(tls *libc.TLS, kind int32) uintptr {
	if kind == sqlite3.SQLITE_MUTEX_RECURSIVE {
		return noMutex()
	}
	return connMutexes.alloc(tls, kind)
}

func mutexFree(tls *libc.TLS, p uintptr) {
	if p != noMutex() {
		connMutexes.free(tls, p)
	}
}

func mutexEnter(tls *libc.TLS, p uintptr) {
	if p != noMutex() {
		connMutexes.enter(tls, p)
	}
}

func mutexTry(tls *libc.TLS, p uintptr) int32 {
	if p == noMutex() {
		return sqlite3.SQLITE_OK
	}
	return connMutexes.try(tls, p)
}

func mutexLeave(tls *libc.TLS, p uintptr) {
	if p != noMutex() {
		connMutexes.leave(tls, p)
	}
}
