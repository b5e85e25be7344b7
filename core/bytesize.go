package core

import (
	"strconv"
	"strings"
)

// ByteSize is a number of bytes that a message names: a limit, or what is used of it.
type ByteSize int64

// Unit returns the size in a unit that people read: whole bytes below a mebibyte ("bytes"), and from there on
// mebibytes or gibibytes with one decimal at most, called "MB" and "GB" as in file managers. The number has no trailing
// zero.
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

// String returns the size in English: "2000 bytes", "10 MB", "1.5 GB".
func (n ByteSize) String() string {
	number, unit := n.Unit()
	return number + " " + unit
}
