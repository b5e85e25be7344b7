//go:build !unix

package objects

import (
	"errors"
	"os"
)

// tryLock always fails: this system has no locks that are released when their process ends.
func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }
