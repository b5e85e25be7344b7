package authtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"
)

// Passkey is an authenticator with one key (ES256), together with its browser. A test can make both of them lie.
type Passkey struct {
	Origin   string // origin of the page, according to the browser
	RPID     string // RP id that the authenticator signs
	Count    uint32 // signature counter; each signature increases it unless it is 0
	Synced   bool   // the key can be synced
	NoVerify bool   // the authenticator has not verified its user

	id, user []byte
	key      *ecdsa.PrivateKey
}

// NewPasskey returns an authenticator without a key.
func NewPasskey(t testing.TB, origin, rpID string) *Passkey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &Passkey{Origin: origin, RPID: rpID, Count: 1, id: []byte(rand.Text()), key: key}
}

// Copy returns another authenticator with the same key.
func (k *Passkey) Copy() *Passkey { other := *k; return &other }

// Create returns the authenticator's response to the options of navigator.credentials.create.
func (k *Passkey) Create(t testing.TB, options string) string {
	t.Helper()
	var o struct {
		Challenge string
		User      struct{ ID string }
	}
	if err := json.Unmarshal([]byte(options), &o); err != nil {
		t.Fatal(err, options)
	}
	k.user = Base64(t, o.User.ID)
	point, err := k.key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	data := k.authenticatorData(0x40) // including the key
	data = append(data, make([]byte, 16)...)
	data = binary.BigEndian.AppendUint16(data, uint16(len(k.id)))
	data = append(data, k.id...)
	data = append(data, 0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32) // COSE: EC2, ES256, P-256, x, y
	data = append(data, point[1:33]...)
	data = append(append(data, 0x22, 0x58, 32), point[33:]...)
	object := []byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59") // CBOR
	object = append(binary.BigEndian.AppendUint16(object, uint16(len(data))), data...)
	return k.answer(t, map[string][]byte{
		"clientDataJSON": k.clientData(t, "webauthn.create", o.Challenge), "attestationObject": object,
	})
}

// Get returns the authenticator's response to the options of navigator.credentials.get.
func (k *Passkey) Get(t testing.TB, options string) string {
	t.Helper()
	var o struct{ Challenge string }
	if err := json.Unmarshal([]byte(options), &o); err != nil {
		t.Fatal(err, options)
	}
	if k.Count > 0 {
		k.Count++
	}
	data, client := k.authenticatorData(0), k.clientData(t, "webauthn.get", o.Challenge)
	hash := sha256.Sum256(client)
	signed := sha256.Sum256(append(data[:len(data):len(data)], hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, k.key, signed[:])
	if err != nil {
		t.Fatal(err)
	}
	return k.answer(t, map[string][]byte{
		"clientDataJSON": client, "authenticatorData": data, "signature": signature, "userHandle": k.user,
	})
}

func (k *Passkey) authenticatorData(flags byte) []byte {
	hash := sha256.Sum256([]byte(k.RPID))
	flags |= 0x01 // the user is present
	if !k.NoVerify {
		flags |= 0x04
	}
	if k.Synced {
		flags |= 0x18
	}
	return binary.BigEndian.AppendUint32(append(hash[:], flags), k.Count)
}

func (k *Passkey) clientData(t testing.TB, kind, challenge string) []byte {
	t.Helper()
	b, err := json.Marshal(map[string]any{
		"type": kind, "challenge": challenge, "origin": k.Origin, "crossOrigin": false,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (k *Passkey) answer(t testing.TB, response map[string][]byte) string {
	t.Helper()
	text := map[string]string{}
	for name, value := range response {
		text[name] = base64.RawURLEncoding.EncodeToString(value)
	}
	id := base64.RawURLEncoding.EncodeToString(k.id)
	b, err := json.Marshal(map[string]any{"id": id, "rawId": id, "type": "public-key", "response": text})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
