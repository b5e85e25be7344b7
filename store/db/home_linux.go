package db

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// homeMark returns a mark that distinguishes a file from every copy of it: its inode and birth time. If the file
// system has no birth time, the mark contains the device instead. An empty mark means that the kernel doesn't report
// these values.
func homeMark(path string) (string, error) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &st)
	switch {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM): // an old kernel, a sandbox
		return "", nil
	case err != nil:
		return "", fmt.Errorf("statx %s: %w", path, err)
	case st.Mask&unix.STATX_BTIME != 0:
		return fmt.Sprintf("inode %d born %d.%09d", st.Ino, st.Btime.Sec, st.Btime.Nsec), nil
	}
	return fmt.Sprintf("inode %d device %d:%d", st.Ino, st.Dev_major, st.Dev_minor), nil
}
