//go:build unix

package store

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// diskOf tells how many bytes are free and in all on the disk of a file, and whether it is read-only.
func diskOf(path string) (free, total int64, readOnly bool, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &st); err != nil {
		return 0, 0, false, err
	}
	const readOnlyFlag = 1 // ST_RDONLY, MNT_RDONLY
	block := int64(st.Bsize)
	return int64(st.Bavail) * block, int64(st.Blocks) * block, st.Flags&readOnlyFlag != 0, nil
}

// giveTo gives a file that root has made to the owner of another one, as SQLite does with a -wal: a daemon that runs without
// rights could not open it. Nobody but root can give files away.
func giveTo(name, like string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	var want, is unix.Stat_t
	if err := unix.Stat(like, &want); err != nil {
		return &os.PathError{Op: "stat", Path: like, Err: err}
	}
	if err := unix.Lstat(name, &is); err == nil && is.Uid == want.Uid && is.Gid == want.Gid {
		return nil // also on disks that know no owners
	}
	return os.Lchown(name, int(want.Uid), int(want.Gid))
}
