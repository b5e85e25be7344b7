//go:build unix

package objects

import (
	"errors"
	"os"
	"syscall"
)

// tryLock tries to lock the file and reports whether it succeeded. The lock lasts until the file is closed.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}
