package core

import (
	"strconv"
	"strings"
)

// ByteSize is a size in bytes that messages show in a readable form.
type ByteSize int64

// Unit returns the size as a number and a unit: bytes below 1 MiB, otherwise MiB or GiB with at most one decimal and no
// trailing zero. MiB and GiB are called "MB" and "GB", as in file managers.
func (n ByteSize) Unit() (number, unit string) {
	if n < 1<<20 {
		return strconv.FormatInt(int64(n), 10), "bytes"
	}
	size, unit := float64(n)/(1<<20), "MB"
	if n >= 1<<30 {
		size, unit = size/1024, "GB"
	}
	return strings.TrimSuffix(strconv.FormatFloat(size, 'f', 1, 64), ".0"), unit
}

// String returns the size in English, for example "2000 bytes", "10 MB" or "1.5 GB".
func (n ByteSize) String() string {
	number, unit := n.Unit()
	return number + " " + unit
}
