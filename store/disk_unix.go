//go:build unix

package store

import (
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
