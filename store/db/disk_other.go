//go:build !unix

package db

import "math"

// DiskOf reports unlimited space, because the free space of a disk can't be read on this system.
func DiskOf(string) (free, total int64, readOnly bool, err error) {
	return math.MaxInt64, math.MaxInt64, false, nil
}

// giveTo does nothing on this system.
func giveTo(string, string) error { return nil }

// mayRead does nothing on this system. SQLite reports the error instead.
func mayRead(string) error { return nil }
