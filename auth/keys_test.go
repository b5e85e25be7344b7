package auth

import (
	"bytes"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"newsletterd/auth/authtest"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

// TestJWSVector checks that the library that verifies our tokens verifies the example of RFC 7515 appendix A.3.
func TestJWSVector(t *testing.T) {
	v := vectorFile(t, "jose.txt")
	jws, err := jose.ParseSignedCompact(v["rfc7515-a3-jws"], accessAlgs)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := jws.Verify(authtest.P256(t, v["rfc7515-a3-x"], v["rfc7515-a3-y"]))
	if err != nil || !bytes.Contains(payload, []byte("http://example.com/is_root")) {
		t.Errorf("%s, %v", payload, err)
	}
	if _, err := jws.Verify(authtest.P256(t, v["rfc7517-a1-x"], v["rfc7517-a1-y"])); err == nil {
		t.Error("another key verified it")
	}
}

// TestSign checks that a signature is made by the right key, that the header names the key and the type, and that the
// same text always has the same signature (RFC 8725 section 3.2). Some of its 600 signatures contain a number shorter
// than 32 bytes.
func TestSign(t *testing.T) {
	for alg, n := range map[string]int{algES256: 600, algRS256: 2} {
		row, err := generate(alg, 1)
		if err != nil {
			t.Fatal(err)
		}
		k := &signingKey{SigningKey: row}
		if err := k.open(); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			payload := fmt.Appendf(nil, `{"n":%d}`, i)
			token, err := k.sign(typAccess, payload)
			if again, _ := k.sign(typAccess, payload); err != nil || again != token {
				t.Fatalf("%s %v, then %s", token, err, again)
			}
			jws, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(alg)})
			if err != nil {
				t.Fatal(err)
			}
			h := jws.Signatures[0].Protected
			got, err := jws.Verify(k.public)
			if err != nil || !bytes.Equal(got, payload) || h.KeyID != row.KID || h.ExtraHeaders[jose.HeaderType] != typAccess {
				t.Fatalf("%s: %s %v %+v", token, got, err, h)
			}
		}
	}
	for _, der := range []string{"", "\x30\x03\x02\x01\x01", "\x30\x06\x02\x01\xff\x02\x01\x01"} {
		if sig, err := fixedWidth([]byte(der)); err == nil {
			t.Errorf("%x became %x", der, sig)
		}
	}
}

// TestPublicKeyVectors tests the examples of RFC 7517 appendix A.1, RFC 7518 sections 6.2 and 6.3, and RFC 7638 section
// 3.1.
func TestPublicKeyVectors(t *testing.T) {
	v := vectorFile(t, "jose.txt")
	ec, err := publicKey("1", authtest.P256(t, v["rfc7517-a1-x"], v["rfc7517-a1-y"]))
	if want := (PublicKey{
		Kty: "EC", Use: "sig", Alg: "ES256", Kid: "1", Crv: "P-256", X: v["rfc7517-a1-x"],
		Y: v["rfc7517-a1-y"],
	}); err != nil || ec != want {
		t.Errorf("%+v, %v", ec, err)
	}
	pub := &rsa.PublicKey{N: new(big.Int).SetBytes(authtest.Base64(t, v["rfc7517-a1-n"])), E: 65537}
	rs, err := publicKey("2", pub)
	if want := (PublicKey{Kty: "RSA", Use: "sig", Alg: "RS256", Kid: "2", N: v["rfc7517-a1-n"], E: "AQAB"}); err != nil ||
		rs != want {
		t.Errorf("%+v, %v", rs, err)
	}
	if got, err := thumbprint(pub); err != nil || got != v["rfc7638-thumbprint"] {
		t.Errorf("thumbprint %s, %v", got, err)
	}
	if _, err := publicKey("3", "a text"); err == nil {
		t.Error("a text was published")
	}
}

// TestKeySetVerifiesTokens does the same as a relying party: it reads the key set and verifies our tokens with it.
func TestKeySetVerifiesTokens(t *testing.T) {
	p, _ := testProvider(t, nil)
	addUser(t, p, "ann@example.org")
	r := mustLogin(t, p, "ann@example.org", "openid", t0)
	set, err := p.KeySet(t.Context(), t0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte(`"d"`)) || bytes.Contains(b, []byte(`"p"`)) {
		t.Fatalf("private parts: %s", b)
	}
	var keys jose.JSONWebKeySet
	if err := json.Unmarshal(b, &keys); err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{r.AccessToken, r.IDToken} {
		jws, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.ES256, jose.RS256})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := jws.Verify(keys); err != nil {
			t.Errorf("%v with %s", err, b)
		}
		k := keys.Key(jws.Signatures[0].Header.KeyID)
		if len(k) != 1 || !k[0].Valid() || k[0].Use != "sig" || k[0].Algorithm != jws.Signatures[0].Header.Algorithm {
			t.Errorf("key %+v", k)
		}
	}
}

// TestKeysAreMadeOnce checks that keys survive a restart, and that concurrent requests create each key only once.
func TestKeysAreMadeOnce(t *testing.T) {
	s := storetest.Open(t)
	providers := make([]*Provider, 4)
	for i := range providers {
		p, err := New(t.Context(), s, Config{Issuer: "https://id.example/api", PasswordCost: cheapCost}, t0)
		if err != nil {
			t.Fatal(err)
		}
		providers[i] = p
	}
	var wg sync.WaitGroup
	sets := make([]KeySet, 4)
	for i, p := range providers {
		wg.Go(func() {
			var err error
			if sets[i], err = p.KeySet(t.Context(), t0); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, set := range sets {
		if len(set.Keys) != 2 || set.Keys[0] != sets[0].Keys[0] || set.Keys[1] != sets[0].Keys[1] {
			t.Errorf("key sets differ: %+v", set)
		}
	}
}

// TestActiveKey checks the plan of a rotation: the key that became active last signs, and older ones verify until they
// expire.
func TestActiveKey(t *testing.T) {
	at := func(kid, alg string, active, retired core.Instant) *signingKey {
		return &signingKey{SigningKey: core.SigningKey{KID: kid, Alg: alg, ActiveAt: active, RetiredAt: retired}}
	}
	keys := []*signingKey{
		at("next", algES256, 50, 0), at("old", algES256, 10, 0), at("gone", algES256, 45, 48),
		at("rsa", algRS256, 10, 0),
	}
	for _, c := range []struct {
		now  core.Instant
		alg  string
		want string
	}{
		{9, algES256, "old"},
		{9, "none", ""},
		{10, algES256, "old"},
		{45, algES256, "gone"},
		{48, algES256, "old"},
		{49, algES256, "old"},
		{50, algES256, "next"},
		{50, algRS256, "rsa"},
	} {
		got := ""
		if k := active(keys, c.alg, c.now); k != nil {
			got = k.KID
		}
		if got != c.want {
			t.Errorf("at %d %s signs with %q, want %q", c.now, c.alg, got, c.want)
		}
	}
}

// TestKeysAreSealedAtRest checks that, with a master key, the file contains no unencrypted private key and can't be
// opened with another master key.
func TestKeysAreSealedAtRest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	open := func(master []byte) (*Provider, *store.Store, error) {
		s, err := store.Open(t.Context(), db.Options{Path: path, Migrate: true, MasterKey: master})
		if err != nil {
			return nil, nil, err
		}
		p, err := New(t.Context(), s, Config{Issuer: "https://id.example/api", PasswordCost: cheapCost}, t0)
		return p, s, err
	}
	p, s, err := open(testKey)
	if err != nil {
		t.Fatal(err)
	}
	_, key := privateKey(t, p)
	secret, err := key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil || bytes.Contains(file, secret) {
		t.Errorf("the private key is in the file (%v)", err)
	}
	_, s, err = open([]byte("another key of 32 bytes ........"))
	if err == nil {
		t.Error("opened with another master key")
	}
	if s != nil {
		s.Close()
	}
	p, s, err = open(testKey)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, again := privateKey(t, p); !again.Equal(key) {
		t.Error("another key after a restart")
	}
}

func TestUnknownKidIsNotAskedForAgain(t *testing.T) {
	p, _ := testProvider(t, nil)
	if k, err := p.keys.byID(t.Context(), "nobody", t0); k != nil || err != nil {
		t.Errorf("%v, %v", k, err)
	}
	loaded := p.keys.loaded
	if k, err := p.keys.byID(t.Context(), "nobody", t0.Add(time.Second/2)); k != nil || err != nil ||
		p.keys.loaded != loaded {
		t.Errorf("%v, %v: read again", k, err)
	}
	if _, err := p.keys.byID(t.Context(), "nobody", t0.Add(2*time.Second)); err != nil || p.keys.loaded == loaded {
		t.Errorf("%v: not read again", err)
	}
}

// TestFirstKeySignsForEarlierRequests checks that only one of several concurrent requests creates the first key. The
// key must also sign for requests that arrived before it was created.
func TestFirstKeySignsForEarlierRequests(t *testing.T) {
	p, _ := testProvider(t, nil)
	if _, err := p.keys.signer(t.Context(), algRS256, t0.Add(10*time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.keys.signer(t.Context(), algRS256, t0); err != nil {
		t.Error(err)
	}
}
