package smtp

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// mechanisms lists the supported SASL mechanisms in order of preference.
var mechanisms = []struct {
	name string
	make func(user, pass string) saslStep
}{
	{"SCRAM-SHA-256", scramSHA256},
	{"PLAIN", plainAuth},
	{"LOGIN", loginAuth},
	{"CRAM-MD5", cramMD5},
}

// saslStep answers a challenge according to a SASL mechanism (RFC 4422). The first call gets a nil challenge and
// returns the initial response, or nil if there is none. The last call, after the server's 235, has final set. If it
// returns an error, the client rejects the server.
type saslStep func(challenge []byte, final bool) (answer []byte, err error)

var errCleartext = errors.New("the connection has no TLS, so the password isn't sent")

// login authenticates (RFC 4954) with the best mechanism that the server offers. After a refusal it does not try
// another one, because that could lock the account.
func (h *handshake) login() *RelayError {
	if !h.secure && !h.local {
		return h.fail(FaultAuth, "AUTH", errCleartext)
	}
	c := h.session.client
	for _, m := range mechanisms {
		if slices.Contains(h.auth, m.name) {
			return h.authenticate(m.name, m.make(c.Username, c.Password))
		}
	}
	return h.fail(FaultAuth, "AUTH", fmt.Errorf("the server offers no supported sign-in method: %q", h.auth))
}

// authenticate runs one mechanism.
func (h *handshake) authenticate(name string, step saslStep) *RelayError {
	c, timeout := h.wire, h.session.timeouts.Greeting
	initial, err := step(nil, false)
	if err != nil {
		return h.fail(FaultAuth, "AUTH", err)
	}
	line := "AUTH " + name
	if initial != nil {
		line += " " + base64.StdEncoding.EncodeToString(initial)
	}
	if err := c.ask(timeout, line); err != nil {
		return h.fail(FaultConnect, "AUTH", err)
	}
	for rounds := 0; c.reply.code == 334 && rounds < 8; rounds++ {
		challenge, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(c.reply.text)))
		var answer []byte
		if err == nil {
			answer, err = step(challenge, false)
		}
		if err != nil {
			_ = c.ask(timeout, "*") // RFC 4954 section 4: cancel
			return h.fail(FaultAuth, "AUTH", err)
		}
		if err := c.ask(timeout, base64.StdEncoding.EncodeToString(answer)); err != nil {
			return h.fail(FaultConnect, "AUTH", err)
		}
	}
	switch {
	case c.reply.code == 421 || c.reply.code/100 == 4 && !authDemand(c.reply.code, c.reply.enhanced):
		return h.fail(FaultRefused, "AUTH", nil)
	case c.reply.code != 235:
		return h.fail(FaultAuth, "AUTH", nil)
	}
	if _, err := step(nil, true); err != nil {
		return h.fail(FaultAuth, "AUTH", err)
	}
	return nil
}

// plainAuth returns the PLAIN mechanism (RFC 4616).
func plainAuth(user, pass string) saslStep {
	return func(_ []byte, _ bool) ([]byte, error) {
		if strings.ContainsRune(user+pass, 0) {
			return nil, errors.New("the username or password contains a NUL character")
		}
		return []byte("\x00" + user + "\x00" + pass), nil
	}
}

// loginAuth returns the LOGIN mechanism, which no RFC describes. It answers two prompts with name and password,
// whatever their text.
func loginAuth(user, pass string) saslStep {
	n := 0
	return func(challenge []byte, final bool) ([]byte, error) {
		if challenge == nil || final {
			return nil, nil
		}
		if n++; n == 1 {
			return []byte(user), nil
		}
		return []byte(pass), nil
	}
}

// cramMD5 returns the CRAM-MD5 mechanism (RFC 2195).
func cramMD5(user, pass string) saslStep {
	return func(challenge []byte, final bool) ([]byte, error) {
		if challenge == nil || final {
			return nil, nil
		}
		m := hmac.New(md5.New, []byte(pass))
		m.Write(challenge)
		return []byte(user + " " + hex.EncodeToString(m.Sum(nil))), nil
	}
}

// scramSHA256 returns the SCRAM-SHA-256 mechanism (RFC 5802, RFC 7677) without channel binding.
func scramSHA256(user, pass string) saslStep {
	var (
		nonce     = base64.RawStdEncoding.EncodeToString(random(18))
		bare      = "n=" + strings.NewReplacer("=", "=3D", ",", "=2C").Replace(user) + ",r=" + nonce
		signature []byte // signature that the server must return
		verified  bool
	)
	return func(challenge []byte, final bool) ([]byte, error) {
		switch {
		case final && !verified:
			return nil, errors.New("SCRAM: the server didn't prove that it knows the password")
		case final:
			return nil, nil
		case challenge == nil:
			return []byte("n,," + bare), nil
		case signature == nil:
			answer, sig, err := scramAnswer(bare, nonce, pass, string(challenge))
			signature = sig
			return answer, err
		}
		v, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(string(challenge), "v="))
		if err != nil || !hmac.Equal(v, signature) {
			return nil, errors.New("SCRAM: the server's signature is wrong")
		}
		verified = true
		return []byte{}, nil
	}
}

// scramAnswer returns the client-final message that answers first, the server-first message. It also returns the
// signature that the server must send.
func scramAnswer(bare, nonce, pass, first string) (answer, signature []byte, err error) {
	field := map[byte]string{}
	for part := range strings.SplitSeq(first, ",") {
		if len(part) > 2 && part[1] == '=' {
			field[part[0]] = part[2:]
		}
	}
	salt, err := base64.StdEncoding.DecodeString(field['s'])
	n, errN := strconv.Atoi(field['i'])
	if err != nil || errN != nil || len(salt) == 0 || field['m'] != "" ||
		!strings.HasPrefix(field['r'], nonce) || len(field['r']) == len(nonce) {
		return nil, nil, errors.New("SCRAM: the server's first message is invalid")
	}
	if n < 4096 || n > 1_000_000 {
		return nil, nil, fmt.Errorf("SCRAM: %d iterations are not allowed", n)
	}
	salted, err := pbkdf2.Key(sha256.New, pass, salt, n, sha256.Size)
	if err != nil {
		return nil, nil, err
	}
	clientKey := hmacSum(salted, "Client Key")
	stored := sha256.Sum256(clientKey)
	without := "c=biws,r=" + field['r']
	message := bare + "," + first + "," + without
	proof := hmacSum(stored[:], message)
	for i := range proof {
		proof[i] ^= clientKey[i]
	}
	signature = hmacSum(hmacSum(salted, "Server Key"), message)
	return []byte(without + ",p=" + base64.StdEncoding.EncodeToString(proof)), signature, nil
}

// hmacSum returns the HMAC-SHA256 of message.
func hmacSum(key []byte, message string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(message))
	return m.Sum(nil)
}

// random returns n random bytes.
func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return b
}
