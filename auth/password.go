package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"newsletterd/core"
)

// Argon2 holds the cost parameters of a password hash (RFC 9106).
type Argon2 struct {
	Memory  uint32 // KiB
	Passes  uint32
	Threads uint8
}

// DefaultArgon2 uses 19 MiB, two passes and one lane, and takes 16 ms on one core.
var DefaultArgon2 = Argon2{Memory: 19 * 1024, Passes: 2, Threads: 1}

const (
	saltSize      = 16
	hashSize      = 32
	hashQueue     = 64              // passwords that may wait for a core; any more fail with a busy error
	hashWait      = 2 * time.Second // maximum wait for a core
	minPassword   = 8               // characters
	maxPassword   = 256             // characters
	maxPasswordIn = 4 << 10         // bytes before normalization
)

var (
	errBusy = &core.Error{
		Kind: core.Unavailable, Code: "busy",
		Message: "The server is busy. Try again in a moment.", RetryAfter: 2,
	}
	errWeak = &core.Error{Kind: core.Invalid, Code: "weak_password", Field: "password"}
)

// Hasher hashes and verifies passwords, at most one per core at a time: each hash takes Argon2.Memory, and more
// concurrent hashes would be slower. The next 64 wait for up to 2 s. All others fail with a busy error (503).
type Hasher struct {
	cost  Argon2
	cores chan struct{}
	queue chan struct{}
	dummy string // hash without a password, so that unknown users cost the same work
	count atomic.Int64

	smallHeap func() (release func()) // from Config.SmallHeap
}

// NewHasher returns a Hasher. A zero cost means DefaultArgon2. A lower cost is accepted only in a test binary.
func NewHasher(cost Argon2) (*Hasher, error) {
	if cost == (Argon2{}) {
		cost = DefaultArgon2
	}
	cheap := cost.Memory < DefaultArgon2.Memory || cost.Passes < DefaultArgon2.Passes || cost.Threads < 1
	if cheap && flag.Lookup("test.v") == nil {
		return nil, fmt.Errorf("argon2 m=%d t=%d p=%d is too weak", cost.Memory, cost.Passes, cost.Threads)
	}
	n := runtime.GOMAXPROCS(0)
	h := &Hasher{cost: cost, cores: make(chan struct{}, n), queue: make(chan struct{}, hashQueue+n)}
	h.dummy = h.encode(make([]byte, saltSize), make([]byte, hashSize))
	return h, nil
}

// Hash returns the PHC string of a password, which must have passed PasswordRules.Check. It returns a busy error (503),
// or the error of ctx.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltSize)
	rand.Read(salt)
	key, err := h.derive(ctx, normalize(password), salt, h.cost, hashSize)
	if err != nil {
		return "", err
	}
	return h.encode(salt, key), nil
}

// Verify checks a password against a PHC string. rehash reports whether the password should be hashed again because the
// configured cost has changed. An empty phc (for an unknown user or one without a password) costs the same work and
// never matches.
func (h *Hasher) Verify(ctx context.Context, phc, password string) (ok, rehash bool, err error) {
	known := phc != ""
	if !known {
		phc = h.dummy
	}
	cost, salt, want, err := parsePHC(phc)
	if err != nil {
		return false, false, err
	}
	// Longer passwords can't be set, so don't spend work on them here.
	fits := len(password) <= maxPasswordIn
	if !fits {
		password = ""
	}
	key, err := h.derive(ctx, normalize(password), salt, cost, uint32(len(want)))
	if err != nil {
		return false, false, err
	}
	ok = subtle.ConstantTimeCompare(key, want) == 1 && known && fits
	return ok, ok && cost != h.cost, nil
}

// Load returns how many passwords are being hashed, and how many are waiting for a core.
func (h *Hasher) Load() (running, waiting int) {
	running = len(h.cores)
	return running, max(0, len(h.queue)-running)
}

// derive waits for a free core and then runs argon2id.
func (h *Hasher) derive(ctx context.Context, password, salt []byte, cost Argon2, size uint32) ([]byte, error) {
	select {
	case h.queue <- struct{}{}:
		defer func() { <-h.queue }()
	default:
		return nil, errBusy
	}
	wait := time.NewTimer(hashWait)
	defer wait.Stop()
	select {
	case h.cores <- struct{}{}:
		defer func() { <-h.cores }()
	case <-wait.C:
		return nil, errBusy
	case <-ctx.Done():
		return nil, errBusy.With(ctx.Err())
	}
	h.count.Add(1)
	if h.smallHeap != nil {
		defer h.smallHeap()()
	}
	return argon2.IDKey(password, salt, cost.Passes, cost.Memory, cost.Threads, size), nil
}

var phcText = base64.RawStdEncoding

func (h *Hasher) encode(salt, key []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version,
		h.cost.Memory, h.cost.Passes, h.cost.Threads, phcText.EncodeToString(salt), phcText.EncodeToString(key))
}

// parsePHC parses a stored hash. It limits the cost, so that no stored hash can exhaust the memory.
func parsePHC(phc string) (cost Argon2, salt, key []byte, err error) {
	bad := fmt.Errorf("password hash: not an argon2id PHC string")
	part := strings.Split(phc, "$")
	if len(part) != 6 || part[0] != "" || part[1] != "argon2id" || part[2] != "v="+strconv.Itoa(argon2.Version) {
		return cost, nil, nil, bad
	}
	var m, t, p uint64
	for i, text := range strings.Split(part[3], ",") {
		dest := [...]*uint64{&m, &t, &p}
		if i >= len(dest) || len(text) < 3 || text[:2] != [...]string{"m=", "t=", "p="}[i] {
			return cost, nil, nil, bad
		}
		if *dest[i], err = strconv.ParseUint(text[2:], 10, 32); err != nil {
			return cost, nil, nil, bad
		}
	}
	if m < 8 || m > 1<<20 || t < 1 || t > 64 || p < 1 || p > 16 {
		return cost, nil, nil, bad
	}
	salt, err1 := phcText.DecodeString(part[4])
	key, err2 := phcText.DecodeString(part[5])
	if err1 != nil || err2 != nil || len(salt) < 8 || len(key) < 16 || len(key) > 64 {
		return cost, nil, nil, bad
	}
	return Argon2{Memory: uint32(m), Passes: uint32(t), Threads: uint8(p)}, salt, key, nil
}

// normalize applies NFKC to a password, so that the same characters typed on different systems are the same password.
// RFC 8265 requires NFC, but NFKC also merges compatibility forms, of which keyboards for the same script produce
// different ones.
func normalize(password string) []byte { return norm.NFKC.Bytes([]byte(password)) }

// PasswordRules holds the configurable rules for new passwords.
type PasswordRules struct {
	RefuseCommon bool // refuses the ten thousand most common passwords
}

// Check validates a new password, which must have 8 to 256 characters of any kind. The error has the code
// weak_password and names the field.
func (r PasswordRules) Check(field, password string) error {
	e := errWeak.On(field)
	if !utf8.ValidString(password) {
		e.Message = "The password is not valid UTF-8."
		return e
	}
	if len(password) > maxPasswordIn {
		e.Message = "The password must have at most 256 characters."
		return e
	}
	p := normalize(password)
	switch n := utf8.RuneCount(p); {
	case n < minPassword:
		e.Message = "The password must have at least 8 characters."
	case n > maxPassword:
		e.Message = "The password must have at most 256 characters."
	case r.RefuseCommon && isCommon(string(p)):
		e.Message = "This password is too common. Choose another one."
	default:
		return nil
	}
	return e
}
