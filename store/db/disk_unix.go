//go:build unix

package db

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// DiskOf returns the free and total bytes of the disk that holds a file, and whether it is mounted read-only.
func DiskOf(path string) (free, total int64, readOnly bool, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &st); err != nil {
		return 0, 0, false, err
	}
	const readOnlyFlag = 1 // ST_RDONLY, MNT_RDONLY
	block := int64(st.Bsize)
	return int64(st.Bavail) * block, int64(st.Blocks) * block, st.Flags&readOnlyFlag != 0, nil
}

// mayRead returns a clear error if this user may not read the file, because SQLite's error doesn't mention that.
func mayRead(path string) error {
	if err := unix.Access(path, unix.R_OK); !errors.Is(err, os.ErrPermission) {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return err
	}
	id := strconv.Itoa(int(st.Uid))
	if owner, err := user.LookupId(id); err == nil {
		return fmt.Errorf("%w: it belongs to %s. Run the command as that user: sudo -u %[2]s newsletterd …",
			os.ErrPermission, owner.Username)
	}
	return fmt.Errorf("%w: it belongs to the user %s. Run the command as that user", os.ErrPermission, id)
}

// giveTo changes the owner of a file that root created to the owner of the file like, as SQLite does for a -wal.
// Otherwise a daemon without root privileges could not open the file. If the process doesn't run as root, giveTo does
// nothing.
func giveTo(name, like string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	var want, is unix.Stat_t
	if err := unix.Stat(like, &want); err != nil {
		return &os.PathError{Op: "stat", Path: like, Err: err}
	}
	if err := unix.Lstat(name, &is); err == nil && is.Uid == want.Uid && is.Gid == want.Gid {
		return nil // some file systems have no owners
	}
	return os.Lchown(name, int(want.Uid), int(want.Gid))
}
