package db

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// The range of SQLite's shared locks (see "lockingv3" in its file format). Each connection in WAL mode holds a shared
// lock there.
const (
	sharedFirst = 0x40000000 + 2
	sharedSize  = 510
)

// inUse reports whether any process has the database open. It only queries the locks. Opening the file through SQLite
// would move a -wal into it on close, and the files must stay unchanged.
func inUse(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: sharedFirst, Len: sharedSize}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock); err != nil {
		return false, err
	}
	return lock.Type != unix.F_UNLCK, nil
}
