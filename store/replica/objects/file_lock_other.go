//go:build !unix

package objects

import (
	"errors"
	"os"
)

// tryLock returns an error: there are no locks that end with their process.
func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }
