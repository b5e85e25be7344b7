//go:build unix

package replica

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func markOf(path string) (m mark, err error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return m, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return mark{Size: st.Size, Inode: st.Ino, Changed: st.Ctim.Nano()}, nil
}

// folderOf returns an identifier that differs between a folder and its copies.
func folderOf(path string) string {
	var st unix.Stat_t
	if unix.Stat(filepath.Dir(path), &st) != nil {
		return ""
	}
	return fmt.Sprint(st.Dev, " ", st.Ino)
}
