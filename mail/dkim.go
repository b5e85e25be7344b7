package mail

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"newsletterd/core"
)

// NewDKIMKey draws a key of an algorithm of core. private is PKCS #8; public is what stands behind p= in the DNS.
func NewDKIMKey(algorithm string) (private []byte, public string, err error) {
	var key crypto.Signer
	var pub []byte
	switch algorithm {
	case core.DKIMRSA:
		k, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return nil, "", fmt.Errorf("dkim: %w", err)
		}
		if pub, err = x509.MarshalPKIXPublicKey(&k.PublicKey); err != nil {
			return nil, "", fmt.Errorf("dkim: %w", err)
		}
		key = k
	case core.DKIMEd25519:
		p, k, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil, "", fmt.Errorf("dkim: %w", err)
		}
		key, pub = k, p // RFC 8463 section 3: the bare 32 octets
	default:
		return nil, "", fmt.Errorf("dkim: unknown algorithm %q", algorithm)
	}
	if private, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
		return nil, "", fmt.Errorf("dkim: %w", err)
	}
	return private, base64.StdEncoding.EncodeToString(pub), nil
}

// DKIMKey is one key of a Signer.
type DKIMKey struct {
	Domain, Selector string
	Private          []byte // PKCS #8
}

// signedFields are the header fields that a signature covers where they are there. oversigned ones are named once more than
// they occur, so that nobody can add another (RFC 6376 section 8.15); Feedback-ID isn't, because relays add their own.
var signedFields = []struct {
	name       string
	oversigned bool
}{
	{"From", true},
	{"To", true},
	{"Cc", true},
	{"Subject", true},
	{"Date", true},
	{"Message-ID", true},
	{"Reply-To", true},
	{"MIME-Version", true},
	{"Content-Type", true},
	{"Content-Transfer-Encoding", true},
	{"List-Unsubscribe", true},
	{"List-Unsubscribe-Post", true},
	{"List-Id", true},
	{"Feedback-ID", false},
	{"Auto-Submitted", false},
}

// Signer puts DKIM signatures before messages (RFC 6376; relaxed/relaxed, SHA-256, the whole body). Safe for concurrent use.
type Signer struct {
	keys []signingKey
	room sync.Pool // of *signRoom
}

// signRoom is what one signature needs, used again for the next.
type signRoom struct {
	canon, head, text []byte
	fields            [][]byte
	names             []string
}

type signingKey struct {
	signer crypto.Signer
	hash   crypto.Hash // 0 of Ed25519, which signs the hash as a message (RFC 8463 section 3)
	begin  string      // of the field: what is the same for all messages
}

// NewSigner makes a signer of one or two keys.
func NewSigner(keys []DKIMKey) (*Signer, error) {
	s := &Signer{}
	s.room.New = func() any { return new(signRoom) }
	for _, k := range keys {
		key, err := x509.ParsePKCS8PrivateKey(k.Private)
		if err != nil {
			return nil, fmt.Errorf("dkim: key %s of %s: %w", k.Selector, k.Domain, err)
		}
		signing, algorithm := signingKey{}, ""
		switch key := key.(type) {
		case *rsa.PrivateKey:
			signing.signer, signing.hash, algorithm = key, crypto.SHA256, "rsa-sha256"
		case ed25519.PrivateKey:
			signing.signer, algorithm = key, "ed25519-sha256"
		default:
			return nil, fmt.Errorf("dkim: key %s of %s can't sign", k.Selector, k.Domain)
		}
		signing.begin = "DKIM-Signature: v=1; a=" + algorithm + "; c=relaxed/relaxed;\r\n d=" + k.Domain + ";\r\n s=" + k.Selector + ";\r\n t="
		s.keys = append(s.keys, signing)
	}
	return s, nil
}

// Sign returns the message with its signatures in front, in the room that data has if it suffices. data must be whole lines
// that end CRLF. skip names header fields, in any case, that are left out because the relay changes them; From never is.
func (s *Signer) Sign(data []byte, skip []string) ([]byte, error) {
	end := bytes.Index(data, []byte("\r\n\r\n"))
	if end < 0 {
		return data, fmt.Errorf("%w: no end of the header", ErrMessage)
	}
	r := s.room.Get().(*signRoom)
	defer s.room.Put(r)
	body := data[end+4:]
	if !relaxed(body) {
		r.canon = appendRelaxedBody(r.canon[:0], body)
		body = r.canon
	}
	sum := sha256.Sum256(body)
	r.fields = headerFields(r.fields[:0], data[:end+2])
	r.appendSigned(skip)
	now := time.Now().Unix()
	r.head = r.head[:0]
	for i := range s.keys {
		k, from := &s.keys[i], len(r.head)
		r.head = strconv.AppendInt(append(r.head, k.begin...), now, 10)
		r.head = base64.StdEncoding.AppendEncode(append(r.head, "; bh="...), sum[:])
		r.head = append(appendNames(append(r.head, ";\r\n h="...), r.names), ";\r\n b="...)
		signed := len(r.canon)
		r.canon = appendRelaxedField(r.canon, r.head[from:])
		sum := sha256.Sum256(bytes.TrimSuffix(r.canon, []byte("\r\n")))
		r.canon = r.canon[:signed]
		signature, err := k.signer.Sign(rand.Reader, sum[:], k.hash)
		if err != nil {
			return data, fmt.Errorf("dkim: %w", err)
		}
		r.text = base64.StdEncoding.AppendEncode(r.text[:0], signature)
		r.head = append(appendLines(r.head, r.text), "\r\n"...)
	}
	return slices.Insert(data, 0, r.head...), nil
}

// appendSigned makes the canonical form of the fields that are signed, and their names as h= has them: those that occur, from the last
// one up (RFC 6376 section 5.4.2), then once more where they are oversigned.
func (r *signRoom) appendSigned(skip []string) {
	r.canon, r.names = r.canon[:0], r.names[:0]
	for _, f := range signedFields {
		if f.name != "From" && slices.ContainsFunc(skip, func(name string) bool { return strings.EqualFold(name, f.name) }) {
			continue
		}
		for _, raw := range slices.Backward(r.fields) {
			if len(raw) > len(f.name) && raw[len(f.name)] == ':' && bytes.EqualFold(raw[:len(f.name)], []byte(f.name)) {
				r.names = append(r.names, f.name)
				r.canon = appendRelaxedField(r.canon, raw)
			}
		}
		if f.oversigned {
			r.names = append(r.names, f.name)
		}
	}
}

// headerFields appends the fields of a header, with the lines that they are folded into.
func headerFields(fields [][]byte, header []byte) [][]byte {
	for start, i := 0, 0; i < len(header); {
		n := bytes.IndexByte(header[i:], '\n')
		if n < 0 {
			n = len(header) - i - 1
		}
		i += n + 1
		if i == len(header) || header[i] != ' ' && header[i] != '\t' {
			fields = append(fields, header[start:i])
			start = i
		}
	}
	return fields
}

// appendRelaxedField appends a field in the form of RFC 6376 section 3.4.2: the name in lower case, one line, white space
// cut and made one blank.
func appendRelaxedField(dst, field []byte) []byte {
	colon := bytes.IndexByte(field, ':')
	for _, c := range bytes.TrimRight(field[:colon], " \t") {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	dst = append(dst, ':')
	blank, begun := false, false
	for value := field[colon+1:]; len(value) > 0; {
		n := 0 // octets before the next blank
		for n+8 <= len(value) && graphic(eight(value[n:]), '!') {
			n += 8
		}
		for n < len(value) && value[n] != ' ' && value[n] != '\t' && value[n] != '\r' && value[n] != '\n' {
			n++
		}
		if n == 0 {
			blank, value = true, value[1:]
			continue
		}
		if blank && begun {
			dst = append(dst, ' ')
		}
		dst = append(dst, value[:n]...)
		blank, begun, value = false, true, value[n:]
	}
	return append(dst, '\r', '\n')
}

// relaxed tells whether a body of lines that end CRLF is its own canonical form, as most that we compose are: a look, eight octets
// at a time, costs a fraction of the copy. It may say no of one that is, and never yes of one that is not.
func relaxed(body []byte) bool {
	const blanks, returns = 0x2020202020202020, 0x0d0d0d0d0d0d0d0d
	if len(body) <= 2 || !bytes.HasSuffix(body, []byte("\r\n")) || bytes.HasSuffix(body, []byte("\r\n\r\n")) || bytes.IndexByte(body, '\t') >= 0 {
		return false
	}
	for ; len(body) > 8; body = body[8:] {
		here, next := binary.LittleEndian.Uint64(body), binary.LittleEndian.Uint64(body[1:])
		if zeros(here^blanks)&(zeros(next^blanks)|zeros(next^returns)) != 0 {
			return false
		}
	}
	return !bytes.Contains(body, []byte("  ")) && !bytes.Contains(body, []byte(" \r"))
}

// zeros marks the octets of a word that are zero, and perhaps a few above them.
func zeros(word uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	return (word - ones) &^ word & tops
}

// appendRelaxedBody appends a body in the form of RFC 6376 section 3.4.4: runs of white space are one blank, none at the end of a
// line, no empty lines at the end.
func appendRelaxedBody(dst, body []byte) []byte {
	start := len(dst)
	end := start // behind the last line that is not empty
	for len(body) > 0 {
		i := bytes.IndexByte(body, '\n')
		line := body
		if i >= 0 {
			line, body = body[:i], body[i+1:]
		} else {
			body = nil
		}
		line = bytes.TrimRight(line, " \t\r")
		if bytes.IndexByte(line, '\t') >= 0 || bytes.Contains(line, []byte("  ")) { // rare: what we compose has none
			for {
				k := bytes.IndexAny(line, " \t")
				if k < 0 {
					break
				}
				dst = append(append(dst, line[:k]...), ' ')
				line = bytes.TrimLeft(line[k:], " \t")
			}
		}
		dst = append(dst, line...)
		if n := len(dst); n > start && dst[n-1] != '\n' {
			end = n + 2
		}
		dst = append(dst, '\r', '\n')
	}
	return dst[:end]
}

// appendNames writes h=, folded behind the colons.
func appendNames(dst []byte, names []string) []byte {
	col := len(" h=")
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ':')
			col++
		}
		if col+len(name)+1 > softLine {
			dst = append(dst, "\r\n "...)
			col = 1
		}
		dst = append(dst, name...)
		col += len(name)
	}
	return dst
}

// appendLines writes the base64 of b= in lines.
func appendLines(dst, text []byte) []byte {
	for room := 70; len(text) > room; room = 72 {
		dst = append(append(dst, text[:room]...), "\r\n "...)
		text = text[room:]
	}
	return append(dst, text...)
}
