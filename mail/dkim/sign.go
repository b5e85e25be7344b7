package dkim

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ErrMessage is returned by Signer.Sign for a message whose header is not terminated.
var ErrMessage = errors.New("dkim: the header of the message has no end")

// softLine is the maximum length of a line of the signature field, in octets (RFC 5322 section 2.1.1).
const softLine = 78

// signedFields lists the header fields to sign if a message has them. Oversigned fields are named once more than they
// occur, so that adding another one breaks the signature (RFC 6376 section 8.15). Feedback-ID is not oversigned,
// because relays add their own.
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

// Signer signs messages with each of its keys (RFC 6376; relaxed/relaxed, SHA-256, the whole body). It is safe for
// concurrent use.
type Signer struct {
	keys []signingKey
	pool sync.Pool // pool of *workspace
}

// workspace holds the buffers for signing one message.
type workspace struct {
	canon, head, text []byte
	fields            [][]byte
	names             []string
}

type signingKey struct {
	signer crypto.Signer
	hash   crypto.Hash // 0 for Ed25519, which signs the hash as a message (RFC 8463 section 3)
	begin  string      // start of the field, the same for all messages
}

// NewSigner returns a signer that uses the given RSA and Ed25519 keys. If a key has another type or is not in PKCS #8
// form, NewSigner returns an error.
func NewSigner(keys []Key) (*Signer, error) {
	s := &Signer{}
	s.pool.New = func() any { return new(workspace) }
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
		signing.begin = "DKIM-Signature: v=1; a=" + algorithm + "; c=relaxed/relaxed;\r\n d=" + k.Domain +
			";\r\n s=" + k.Selector + ";\r\n t="
		s.keys = append(s.keys, signing)
	}
	return s, nil
}

// Sign returns the message data with its signatures prepended. If the capacity of data suffices, the result uses the
// same array. data must consist of whole lines that end with CRLF. skip names header fields (ignoring case) that the
// relay changes, which are not signed. From is always signed. If the header is not terminated, Sign returns ErrMessage.
func (s *Signer) Sign(data []byte, skip []string) ([]byte, error) { return s.SignAll(data, nil, skip) }

// SignAll is like Sign for a message split into data and tail. tail must be in relaxed form (RFC 6376 section 3.4.4),
// and data must end with a non-empty line.
func (s *Signer) SignAll(data, tail []byte, skip []string) ([]byte, error) {
	end := bytes.Index(data, []byte("\r\n\r\n"))
	if end < 0 {
		return data, ErrMessage
	}
	r := s.pool.Get().(*workspace)
	defer s.pool.Put(r)
	body := data[end+4:]
	if !relaxed(body) {
		r.canon = appendRelaxedBody(r.canon[:0], body)
		body = r.canon
	}
	var sum [sha256.Size]byte
	if len(tail) == 0 {
		sum = sha256.Sum256(body)
	} else {
		h := sha256.New()
		h.Write(body)
		h.Write(tail)
		h.Sum(sum[:0])
	}
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

// appendSigned sets r.canon to the canonical form of the signed fields, and r.names to their names in the order of h=.
// Repeated fields are listed once for each occurrence, from the last one up (RFC 6376 section 5.4.2). Oversigned fields
// are listed once more.
func (r *workspace) appendSigned(skip []string) {
	r.canon, r.names = r.canon[:0], r.names[:0]
	for _, f := range signedFields {
		skipped := func(name string) bool { return strings.EqualFold(name, f.name) }
		if f.name != "From" && slices.ContainsFunc(skip, skipped) {
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

// appendNames appends the value of h=: names separated by colons, after which lines are folded.
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

// appendLines appends text, the base64 value of b=, in folded lines.
func appendLines(dst, text []byte) []byte {
	for room := 70; len(text) > room; room = 72 {
		dst = append(append(dst, text[:room]...), "\r\n "...)
		text = text[room:]
	}
	return append(dst, text...)
}
