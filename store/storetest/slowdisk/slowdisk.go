// Package slowdisk makes SQLite's syncs take longer, as on a slow disk.
package slowdisk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Env is the environment variable for the additional duration of each sync, in a process that calls FromEnv.
const Env = "NEWSLETTERD_FIGURES_SYNC"

var slowDisk struct {
	delay time.Duration
	sync  func(*libc.TLS, uintptr, int32) int32 // SQLite's own function
}

// FromEnv replaces xSync in SQLite's tables of file methods if Env is set. There is one table for databases and one
// for all other files. They are found through files opened for this purpose when the first connection opens, because
// SQLite has no such tables before that.
func FromEnv() {
	var err error
	if slowDisk.delay, err = time.ParseDuration(os.Getenv(Env)); err != nil || slowDisk.delay == 0 {
		return
	}
	replace := sync.OnceValue(func() error {
		return errors.Join(replaceSync(sqlite3.SQLITE_OPEN_MAIN_DB), replaceSync(sqlite3.SQLITE_OPEN_TRANSIENT_DB))
	})
	sqlite.RegisterConnectionHook(func(sqlite.ExecQuerierContext, string) error { return replace() })
}

// replaceSync puts slowSync into the methods of one kind of file.
func replaceSync(kind int32) error {
	tls := libc.NewTLS()
	defer tls.Close()
	at := sqlite3.Xsqlite3_vfs_find(tls, 0)
	vfs := (*sqlite3.Tsqlite3_vfs)(addressed(at))
	path, err := libc.CString(filepath.Join(os.TempDir(), fmt.Sprint("newsletterd-figures-", os.Getpid())))
	if err != nil {
		return err
	}
	defer libc.Xfree(tls, path)
	file := libc.Xcalloc(tls, 1, libc.Tsize_t(vfs.FszOsFile))
	defer libc.Xfree(tls, file)
	open := calledAt[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](vfs.FxOpen)
	flags := kind | sqlite3.SQLITE_OPEN_READWRITE | sqlite3.SQLITE_OPEN_CREATE | sqlite3.SQLITE_OPEN_DELETEONCLOSE
	if rc := open(tls, at, path, file, flags, 0); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("a file to look at: %d", rc)
	}
	methods := (*sqlite3.Tsqlite3_io_methods)(addressed((*sqlite3.Tsqlite3_file)(addressed(file)).FpMethods))
	slowDisk.sync = calledAt[func(*libc.TLS, uintptr, int32) int32](methods.FxSync) // the same for both kinds
	slow := slowSync
	methods.FxSync = *(*uintptr)(unsafe.Pointer(&slow))
	calledAt[func(*libc.TLS, uintptr) int32](methods.FxClose)(tls, file)
	return nil
}

// slowSync waits in the kernel, as a disk does.
func slowSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	rc := slowDisk.sync(tls, file, flags)
	ts := syscall.NsecToTimespec(int64(slowDisk.delay))
	_ = syscall.Nanosleep(&ts, nil)
	return rc
}

// addressed and calledAt read an address as translated C stores it.
func addressed(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }

func calledAt[F any](at uintptr) F { return *(*F)(unsafe.Pointer(&at)) }
