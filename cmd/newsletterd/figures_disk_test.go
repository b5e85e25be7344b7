package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// TestFiguresOfDisks prints what window and disk allow together: the database lies in memory, where a sync costs
// nothing, and a process of the test binary alone makes each take longer.
func TestFiguresOfDisks(t *testing.T) {
	if os.Getenv(figuresEnv) == "" {
		t.Skip("make bench")
	}
	dir, err := os.MkdirTemp("/dev/shm", "newsletterd-figures")
	if err != nil {
		t.Skipf("there is no file system in memory: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	f := newFiguresIn(t, dir)
	f.n = min(f.n, 100_000)
	f.serve()
	f.stop()
	f.records()
	f.importing(f.list, "reader", f.n)
	f.syncing(f.n)
	f.role = "slowdisk"
	for _, delay := range []time.Duration{0, time.Millisecond, 4 * time.Millisecond} {
		var rates []string
		for _, window := range []int{16, 64, 256} {
			rates = append(rates, fmt.Sprintf("%d: %.0f", window, f.onDisk(window, delay)))
		}
		f.line(fmt.Sprintf("campaign, a sync of %v", delay), "mails/s by window: %s", strings.Join(rates, ", "))
	}
}

// onDisk is the rate of a campaign over a disk whose syncs take that long: from its first mail, for two seconds at
// most.
func (f *figures) onDisk(window int, delay time.Duration) float64 {
	f.serve(fmt.Sprintf("NEWSLETTERD_SEND_MAX_UNRECORDED=%d", window), syncEnv+"="+delay.String())
	start := f.sink.stats().Count
	job := f.mailing(f.list)
	f.every(time.Millisecond, func() bool { return f.sink.stats().Count > start })
	began, first := time.Now(), f.sink.stats().Count
	var took time.Duration
	var sent int64
	f.every(5*time.Millisecond, func() bool {
		sent, took = f.sink.stats().Count-first, time.Since(began)
		return took > atMost(f, 2*time.Second, time.Second/4) || first+sent >= start+int64(f.n)
	})
	f.cancel(job)
	f.every(5*time.Millisecond, func() bool {
		return f.count("SELECT count(*) FROM send_job WHERE recipients > sent + failed + skipped OR status IN ('pending', "+
			"'running')") == 0
	})
	f.stop()
	return float64(sent) / took.Seconds()
}

// syncEnv is how much longer each sync of the database takes in a daemon that runOnSlowDisk is.
const syncEnv = "NEWSLETTERD_FIGURES_SYNC"

var slowDisk struct {
	delay time.Duration
	sync  func(*libc.TLS, uintptr, int32) int32 // SQLite's own
}

// runOnSlowDisk is the daemon with another xSync in SQLite's tables of file methods. There is one table for databases
// and one for all other files; another file that is opened shows where. Before the first connection there is nothing to
// look at.
func runOnSlowDisk() {
	var err error
	if slowDisk.delay, err = time.ParseDuration(os.Getenv(syncEnv)); err != nil || slowDisk.delay == 0 {
		main()
		return
	}
	replace := sync.OnceValue(func() error {
		return errors.Join(replaceSync(sqlite3.SQLITE_OPEN_MAIN_DB), replaceSync(sqlite3.SQLITE_OPEN_TRANSIENT_DB))
	})
	sqlite.RegisterConnectionHook(func(sqlite.ExecQuerierContext, string) error { return replace() })
	main()
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
	slowDisk.sync = calledAt[func(*libc.TLS, uintptr, int32) int32](methods.FxSync) // the same of both
	slow := slowSync
	methods.FxSync = *(*uintptr)(unsafe.Pointer(&slow))
	calledAt[func(*libc.TLS, uintptr) int32](methods.FxClose)(tls, file)
	return nil
}

// slowSync waits as a disk does: in the kernel.
func slowSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	rc := slowDisk.sync(tls, file, flags)
	ts := syscall.NsecToTimespec(int64(slowDisk.delay))
	_ = syscall.Nanosleep(&ts, nil)
	return rc
}

// addressed and calledAt read an address as translated C keeps it.
func addressed(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }

func calledAt[F any](at uintptr) F { return *(*F)(unsafe.Pointer(&at)) }
