//go:build unix

package replica

import (
	"os"

	"golang.org/x/sys/unix"
)

func markOf(path string) (m mark, err error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return m, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return mark{Size: st.Size, Inode: st.Ino, Changed: st.Ctim.Nano()}, nil
}
