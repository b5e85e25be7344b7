package mail

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"hash"
	"strings"
	"sync"
)

// Ident creates and parses the identifiers that link a message to its recipient row: the Message-ID, the bounce address
// (VERP) and the mailto unsubscribe address. Each consists of numbers and a MAC in lower-case base32. The same numbers
// always result in the same identifier. Without the key, no one can create one. An Ident is safe for concurrent use.
type Ident struct {
	macs sync.Pool // pool of *identMAC
}

// identMAC is a hash with buffers for one identifier.
type identMAC struct {
	hash.Hash
	in  [maxName + 1]byte
	sum [sha256.Size]byte
}

// Track returns the token for link number no, starting at 1, in a recipient's email. For no = 0, it returns the token
// for the pixel.
func (n *Ident) Track(job, seq, no int64) string { return string(n.appendTrack(nil, job, seq, no)) }

func (n *Ident) appendTrack(dst []byte, job, seq, no int64) []byte {
	return n.append(dst, kindTrack, addressMAC, job, seq, no)
}

// ParseTrack parses a token created by Track. ok is false for any string that this key didn't create.
func (n *Ident) ParseTrack(token string) (job, seq, no int64, ok bool) {
	var v [3]int64
	ok = n.parse(token, kindTrack, addressMAC, v[:])
	return v[0], v[1], v[2], ok
}

// The kinds of identifiers. The MAC covers the kind, so an identifier for one purpose isn't accepted for another.
const (
	kindMessage     = 'm'
	kindBounce      = 'b'
	kindUnsubscribe = 'u'
	kindTrack       = 't'
	kindPoll        = 'p'
)

// The lengths of the MACs in bytes. A Message-ID has 128 bits, the required minimum. Local parts have 80 bits, because
// they are limited to 64 octets in total (RFC 5321 section 4.5.3.1.1).
const (
	messageMAC = 16
	addressMAC = 10
)

var nameEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewIdent returns an Ident for a 32-byte key. The key must have no other use and must never change.
func NewIdent(key []byte) *Ident {
	key = append([]byte(nil), key...)
	return &Ident{macs: sync.Pool{New: func() any { return &identMAC{Hash: hmac.New(sha256.New, key)} }}}
}

// Message returns the token of the Message-ID for recipient seq of job number job.
func (n *Ident) Message(job, seq int64) string { return string(n.AppendMessage(nil, job, seq)) }

// AppendMessage appends the result of Message to dst.
func (n *Ident) AppendMessage(dst []byte, job, seq int64) []byte {
	return n.append(dst, kindMessage, messageMAC, job, seq)
}

// ParseMessage parses a Message-ID with or without its angle brackets and domain. ok is false for any string that this
// key didn't create.
func (n *Ident) ParseMessage(id string) (job, seq int64, ok bool) {
	id = strings.TrimPrefix(strings.TrimSpace(id), "<")
	id, _, _ = strings.Cut(id, "@")
	id, _, _ = strings.Cut(id, ">")
	var v [2]int64
	ok = n.parse(id, kindMessage, messageMAC, v[:])
	return v[0], v[1], ok
}

// Bounce returns the local part of MAIL FROM: b+<id>.<mac>.
func (n *Ident) Bounce(job, seq int64) string { return n.local(kindBounce, job, seq) }

// Unsubscribe returns the local part of the mailto address in List-Unsubscribe: u+<id>.<mac>.
func (n *Ident) Unsubscribe(job, seq int64) string { return n.local(kindUnsubscribe, job, seq) }

// ParseLocal parses the local part of a bounce (kind 'b') or unsubscribe (kind 'u') address, ignoring case.
func (n *Ident) ParseLocal(local string) (kind byte, job, seq int64, ok bool) {
	local = strings.ToLower(local)
	if len(local) < 3 || local[1] != '+' || local[0] != kindBounce && local[0] != kindUnsubscribe {
		return 0, 0, 0, false
	}
	var v [2]int64
	ok = n.parse(strings.Replace(local[2:], ".", "", 1), local[0], addressMAC, v[:])
	return local[0], v[0], v[1], ok
}

// Recipient returns the recipient row for the first name that was created with this key. A name is a token or
// Message-ID from Message, or an address from Bounce or Unsubscribe. If there is no such name, Recipient returns 0, 0.
func (n *Ident) Recipient(names ...string) (job, seq int64) {
	for _, name := range names {
		name = strings.Trim(strings.TrimSpace(name), "<>")
		if job, seq, ok := n.ParseMessage(name); ok {
			return job, seq
		}
		local, _, _ := strings.Cut(name, "@")
		if _, job, seq, ok := n.ParseLocal(local); ok {
			return job, seq
		}
	}
	return 0, 0
}

func (n *Ident) local(kind byte, job, seq int64) string {
	var b [64]byte
	name := n.append(b[:0], kind, addressMAC, job, seq)
	cut := len(name) - nameEncoding.EncodedLen(addressMAC)
	return string(kind) + "+" + string(name[:cut]) + "." + string(name[cut:])
}

// append appends an identifier: base32(numbers) and base32(mac) without a separator. The fixed length of the MAC shows
// where it starts.
func (n *Ident) append(dst []byte, kind byte, mac int, numbers ...int64) []byte {
	var raw [maxName]byte
	id := raw[:0]
	for _, v := range numbers {
		id = binary.AppendUvarint(id, uint64(v))
	}
	h := n.macs.Get().(*identMAC)
	dst = nameEncoding.AppendEncode(dst, id)
	dst = nameEncoding.AppendEncode(dst, h.mac(kind, id)[:mac])
	n.macs.Put(h)
	return dst
}

// maxName is the maximum length in bytes of the numbers in an identifier. There are at most three.
const maxName = 3 * binary.MaxVarintLen64

// mac returns the MAC of an identifier. The result is valid until the next call.
func (h *identMAC) mac(kind byte, id []byte) []byte {
	h.Reset()
	h.in[0] = kind
	h.Write(h.in[:1+copy(h.in[1:], id)])
	return h.Sum(h.sum[:0])
}

// parse parses an identifier into numbers. ok reports whether the key created it with exactly that many numbers.
func (n *Ident) parse(name string, kind byte, mac int, numbers []int64) (ok bool) {
	cut := len(name) - nameEncoding.EncodedLen(mac)
	if cut < 1 || len(name) > 80 {
		return false
	}
	id, err := nameEncoding.DecodeString(name[:cut])
	if err != nil || len(id) > maxName {
		return false
	}
	got, err := nameEncoding.DecodeString(name[cut:])
	if err != nil {
		return false
	}
	h := n.macs.Get().(*identMAC)
	ours := subtle.ConstantTimeCompare(got, h.mac(kind, id)[:mac]) == 1
	n.macs.Put(h)
	if !ours {
		return false
	}
	var again [80]byte // unused bits must be zero, or an identifier would have several spellings
	if string(nameEncoding.AppendEncode(nameEncoding.AppendEncode(again[:0], id), got)) != name {
		return false
	}
	for i := range numbers {
		v, l := binary.Uvarint(id)
		if l <= 0 {
			return false
		}
		numbers[i], id = int64(v), id[l:]
	}
	return len(id) == 0
}
