package auth

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"

	"newsletterd/core/coretest"
)

// TestWorkOfPasskeys measures the browser responses that are known to take the most CPU time. They arrive in a form of
// at most 16 KiB. The ones in this test are 64 times as large, because shorter times can't be measured.
func TestWorkOfPasskeys(t *testing.T) {
	const most = 1 << 20
	filled := func(piece string, n int) string { return strings.Repeat(piece, max(0, n)/len(piece)) }
	b64 := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	client := b64(`{"type":"webauthn.create","challenge":"AAAA","origin":"https://a.example"}`)
	answer := func(attestation string) string {
		return `{"id":"AAAA","rawId":"AAAA","type":"public-key","response":{"clientDataJSON":"` + client +
			`","attestationObject":"` + b64(attestation) + `","authenticatorData":"` + b64(attestation) +
			`","signature":"AAAA"}}`
	}
	// the authenticator data for a key: a hash, flags, a counter, an id of 16 bytes, then the key
	authData := func(key string) string {
		data := strings.Repeat("h", 32) + "\x45\x00\x00\x00\x01" + strings.Repeat("g", 16) + "\x00\x10" +
			strings.Repeat("i", 16) + key
		return "\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData" + fmt.Sprintf("\x5a%s%s",
			[]byte{byte(len(data) >> 24), byte(len(data) >> 16), byte(len(data) >> 8), byte(len(data))}, data)
	}
	ids := func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, "\x1a%c%c%c%c\x00", byte(i>>24), byte(i>>16), byte(i>>8), byte(i))
		}
		return b.String()
	}
	for name, make := range map[string]func(n int) string{
		"JSON, deep":         func(n int) string { return `{"id":` + filled("[", n) },
		"JSON, keys":         func(n int) string { return `{` + filled(`"a":1,`, n) + `"id":"AAAA"}` },
		"JSON, extensions":   func(n int) string { return `{"clientExtensionResults":{` + filled(`"a":{},`, n) + `"a":1}}` },
		"JSON, transports":   func(n int) string { return `{"response":{"transports":[` + filled(`"",`, n) + `""]}}` },
		"CBOR, deep":         func(n int) string { return answer(filled("\x81", n*3/8)) },
		"CBOR, of any size":  func(n int) string { return answer(filled("\x9f", n*3/8)) },
		"CBOR, arrays":       func(n int) string { return answer("\xa1\x67attStmt\x9f" + filled("\x80", n*3/8)) },
		"CBOR, tags":         func(n int) string { return answer(filled("\xc1", n*3/8)) },
		"CBOR, pairs":        func(n int) string { return answer("\xbf" + ids(n*3/8) + "\xff") },
		"CBOR, long arrays":  func(n int) string { return answer(filled("\x9a\x7f\xff\xff\xff", n*3/8)) },
		"CBOR, pieces":       func(n int) string { return answer("\x5f" + filled("\x40", n*3/8) + "\xff") },
		"CBOR, key, deep":    func(n int) string { return answer(authData(filled("\x81", n*3/8))) },
		"CBOR, key of pairs": func(n int) string { return answer(authData("\xbf" + ids(n*3/8) + "\xff")) },
		"CBOR, many keys":    func(n int) string { return answer(authData(filled("\xa0", n*3/8))) },
		"client data": func(n int) string {
			return strings.Replace(answer(""), client, b64(filled("[", n*3/4)), 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			coretest.Work(t, "passkey: "+name, func(part float64) ([]byte, int) {
				s := make(int(most * part))
				return []byte(s), len(s)
			}, func(s []byte) {
				if c, err := protocol.ParseCredentialCreationResponseBytes(s); err == nil {
					_, _ = webauthncose.ParsePublicKey(c.Response.AttestationObject.AuthData.AttData.CredentialPublicKey)
				}
				_, _ = protocol.ParseCredentialRequestResponseBytes(s)
			})
		})
	}
}
