package mailed

import (
	"encoding/binary"
	"encoding/hex"
	"sort"
)

// Size is the number of recipients of each page but the last one of a list. Writing a page takes about 2 ms, during
// which the writer does nothing else.
const Size = 2048

// The states of recipients in a page.
const (
	Nothing byte = iota // the email wasn't sent
	Perhaps             // it may have been sent
	Sent
)

// Recipient is an entry of a page.
type Recipient struct {
	ID    string // id of the subscriber; only a part of it if the subscriber was erased
	State byte
}

// Key is a subscriber id as a number. Keys have the order of the ids.
type Key struct{ high, low uint64 }

// Less reports whether k comes before other.
func (k Key) Less(other Key) bool {
	return k.high < other.high || k.high == other.high && k.low < other.low
}

const (
	idBytes = 16
	idText  = "00000000-0000-0000-0000-000000000000"
)

// KeyOf returns the key of an id. If the id is not a lowercase UUID, ok is false.
func KeyOf(id string) (k Key, ok bool) {
	if len(id) != len(idText) {
		return k, false
	}
	var b [idBytes]byte
	ok = putID(b[:], id)
	return keyAt(b[:], 0), ok
}

// putID writes the bytes of an id, or of a prefix of an id, to b. Missing digits become 0. It reports whether id has
// that form.
func putID(b []byte, id string) bool {
	var digits [2 * idBytes]byte
	n := copy(digits[:], "00000000000000000000000000000000") - 2*idBytes
	if len(id) > len(idText) {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case idText[i] == '-':
			if c != '-' {
				return false
			}
		case c >= '0' && c <= '9' || c >= 'a' && c <= 'f':
			digits[n] = c
			n++
		default:
			return false
		}
	}
	_, err := hex.Decode(b, digits[:])
	return err == nil
}

func keyAt(ids []byte, i int) Key {
	b := ids[i*idBytes : (i+1)*idBytes]
	return Key{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
}

// Page holds consecutive recipients of a job.
type Page struct {
	FirstSeq int64  `db:"first_seq"`
	States   []byte `db:"states"`
	IDs      []byte `db:"ids"`
}

// from returns the index of the first recipient whose key isn't below k, searching from index at. The index is usually
// near at.
func (p *Page) from(at int, k Key) int {
	n := len(p.States)
	step := 1
	for at+step <= n && keyAt(p.IDs, at+step-1).Less(k) {
		at += step
		step *= 2
	}
	left := min(step, n-at)
	return at + sort.Search(left, func(i int) bool { return !keyAt(p.IDs, at+i).Less(k) })
}
