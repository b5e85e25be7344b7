package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // RFC 6238's default, the one algorithm that every authenticator app knows
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"newsletterd/core"
)

// The parameters of one-time codes are the defaults of authenticator apps (RFC 6238 section 4).
const (
	totpPeriod     = 30 * time.Second
	totpDigits     = 6
	totpWindow     = 1  // tolerated clock difference in steps, in both directions
	totpSecretSize = 20 // bytes, as RFC 4226 section 4 recommends
)

// totpText is the encoding of secrets: base32 without padding.
var totpText = base32.StdEncoding.WithPadding(base32.NoPadding)

func newTOTPSecret() []byte {
	secret := make([]byte, totpSecretSize)
	rand.Read(secret)
	return secret
}

// totpStep returns the number of the time step that contains now.
func totpStep(now core.Instant) int64 { return now.Time().Unix() / int64(totpPeriod/time.Second) }

// totpCode returns the code for a time step (RFC 4226 section 5.3).
func totpCode(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(step)))
	sum := mac.Sum(nil)
	n := binary.BigEndian.Uint32(sum[sum[len(sum)-1]&15:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", totpDigits, n%1_000_000)
}

// matchTOTP returns the time step that a code belongs to. ok is true only if that step is close to now and later than
// last, the step of the last accepted code. Each code is thus accepted only once (RFC 6238 section 5.2).
func matchTOTP(secret []byte, code string, last int64, now core.Instant) (step int64, ok bool) {
	at := totpStep(now)
	for s := at - totpWindow; s <= at+totpWindow; s++ {
		if subtle.ConstantTimeCompare([]byte(code), []byte(totpCode(secret, s))) == 1 && s > last {
			step, ok = s, true
		}
	}
	return step, ok
}

// totpURI returns the URI that authenticator apps read from a QR code (otpauth, as described in Google
// Authenticator's wiki). The parts of the label must not contain a colon, which separates them.
func totpURI(issuer, account string, secret []byte) string {
	issuer = strings.ReplaceAll(issuer, ":", " ")
	return "otpauth://totp/" + url.PathEscape(issuer) + ":" + url.PathEscape(strings.ReplaceAll(account, ":", " ")) +
		"?secret=" + totpText.EncodeToString(secret) + "&issuer=" + url.PathEscape(issuer)
}

// A recovery code has 80 random bits: sixteen characters of base32, displayed in groups of four.
const (
	recoveryCodes = 10
	recoveryBytes = 10
	recoveryGroup = 4 // characters
)

// newRecoveryCodes returns new recovery codes, which must be shown once, and their hashes, which are stored.
func newRecoveryCodes() (codes []string, hashes [][]byte) {
	random := make([]byte, recoveryBytes)
	for range recoveryCodes {
		rand.Read(random)
		code := strings.ToLower(totpText.EncodeToString(random))
		hashes = append(hashes, core.HashToken(code))
		var groups []string
		for group := range slices.Chunk([]byte(code), recoveryGroup) {
			groups = append(groups, string(group))
		}
		codes = append(codes, strings.Join(groups, "-"))
	}
	return codes, hashes
}

// typedCode removes the separators from a code that a user typed.
func typedCode(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, text)
}
