//go:build linux && (amd64 || arm64)

package db

import (
	"fmt"
	"sync"
	"syscall"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	arenaSlot  = 4368     // bytes of a page of 4096 with SQLite's header; checked by a test
	arenaBytes = 48 << 20 // address space for the page caches of a daemon and some reserve
)

// pageArena holds the pages of SQLite's caches. SQLite's allocator rounds up to powers of two, so a page of 4096 bytes
// with its header would take 9 KiB. The full caches of a daemon would take 55 MB instead of the 24 MiB set by
// cache_size. In the arena, pages lie next to each other, and memory is filled from its start. Pages that don't fit,
// and blocks of any other size, go to the allocator.
type pageArena struct {
	sync.Mutex
	begin uintptr // start of the memory, which is never unmapped
	end   uintptr
	next  uintptr   // address after the slots that were ever in use
	free  []uintptr // unused slots before next

	malloc  func(*libc.TLS, int32) uintptr
	release func(*libc.TLS, uintptr)
	realloc func(*libc.TLS, uintptr, int32) uintptr
	size    func(*libc.TLS, uintptr) int32

	methods sqlite3.Tsqlite3_mem_methods // methods as passed to SQLite; a field, because C needs a stable address
}

var arena pageArena

// useArena installs connMutexes, and puts the arena in front of SQLite's allocator. It must run before any other use of
// SQLite.
var useArena = sync.OnceValue(func() error {
	mem, err := syscall.Mmap(-1, 0, arenaBytes, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		return nil // without enough address space, SQLite keeps its own allocator
	}
	_ = syscall.Madvise(mem, madvNoHugePage)
	arena.begin = uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	arena.next, arena.end = arena.begin, arena.begin+arenaBytes/arenaSlot*arenaSlot

	tls := libc.NewTLS()
	defer tls.Close()
	// SQLite copies both structures, so they need not outlive the calls.
	methods := &arena.methods
	at := uintptr(unsafe.Pointer(methods))
	args := libc.NewVaList(at)
	if args == 0 {
		return fmt.Errorf("store: out of memory")
	}
	defer libc.Xfree(tls, args)
	if rc := sqlite3.Xsqlite3_config(tls, sqlite3.SQLITE_CONFIG_GETMALLOC, args); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("store: SQLITE_CONFIG_GETMALLOC: %d", rc)
	}
	arena.malloc = goFunc[func(*libc.TLS, int32) uintptr](methods.FxMalloc)
	arena.release = goFunc[func(*libc.TLS, uintptr)](methods.FxFree)
	arena.realloc = goFunc[func(*libc.TLS, uintptr, int32) uintptr](methods.FxRealloc)
	arena.size = goFunc[func(*libc.TLS, uintptr) int32](methods.FxSize)
	methods.FxMalloc, methods.FxFree = cFunc(arenaMalloc), cFunc(arenaFree)
	methods.FxRealloc, methods.FxSize = cFunc(arenaRealloc), cFunc(arenaSize)
	if rc := sqlite3.Xsqlite3_config(tls, sqlite3.SQLITE_CONFIG_MALLOC, args); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("store: SQLITE_CONFIG_MALLOC: %d", rc)
	}
	return useConnMutexes(tls)
})

const madvNoHugePage = 15

// goFunc and cFunc convert between a Go function and the function address that translated C stores. Only functions
// that are not closures have such an address.
func goFunc[F any](at uintptr) F { return *(*F)(unsafe.Pointer(&at)) }

func cFunc[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

func (a *pageArena) holds(p uintptr) bool { return p >= a.begin && p < a.end }

func (a *pageArena) take() uintptr {
	a.Lock()
	defer a.Unlock()
	if n := len(a.free); n > 0 {
		p := a.free[n-1]
		a.free = a.free[:n-1]
		return p
	}
	if a.next == a.end {
		return 0
	}
	p := a.next
	a.next += arenaSlot
	return p
}

func arenaMalloc(tls *libc.TLS, n int32) uintptr {
	if n > 4096 && n <= arenaSlot {
		if p := arena.take(); p != 0 {
			return p
		}
	}
	return arena.malloc(tls, n)
}

func arenaFree(tls *libc.TLS, p uintptr) {
	if !arena.holds(p) {
		arena.release(tls, p)
		return
	}
	arena.Lock()
	arena.free = append(arena.free, p)
	arena.Unlock()
}

func arenaRealloc(tls *libc.TLS, p uintptr, n int32) uintptr {
	if !arena.holds(p) {
		return arena.realloc(tls, p, n)
	}
	if n <= arenaSlot {
		return p
	}
	grown := arena.malloc(tls, n)
	if grown != 0 {
		libc.Xmemcpy(tls, grown, p, arenaSlot)
		arenaFree(tls, p)
	}
	return grown
}

func arenaSize(tls *libc.TLS, p uintptr) int32 {
	if arena.holds(p) {
		return arenaSlot
	}
	return arena.size(tls, p)
}
