package auth

import (
	"bufio"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"newsletterd/core"
)

// vectorFile parses the lines "name value" of a file in testdata/vectors.
func vectorFile(t testing.TB, name string) map[string]string {
	t.Helper()
	f, err := os.Open("../testdata/vectors/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m := map[string]string{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if k, v, ok := strings.Cut(sc.Text(), " "); ok && !strings.HasPrefix(k, "#") {
			m[k] = v
		}
	}
	return m
}

func TestSignVector(t *testing.T) {
	v := vectorFile(t, "webhook_signature.txt")
	key, err := ParseSecret(v["secret"])
	if err != nil {
		t.Fatal(err)
	}
	ts, _ := strconv.ParseInt(v["timestamp"], 10, 64)
	if got := Sign(key, v["path"], v["client"], ts, v["nonce"], []byte(v["body"])); got != v["signature"] {
		t.Errorf("Sign = %s, want %s", got, v["signature"])
	}
}

var testKey = []byte("0123456789abcdef0123456789abcdef")

const testSec = 1700000000

func signedHeader(sig ...string) map[string][]string {
	return map[string][]string{
		HeaderSignature: {strings.Join(sig, ",")}, HeaderTimestamp: {strconv.Itoa(testSec)},
		HeaderNonce: {"0123456789abcdef"}, HeaderClientID: {"c1"},
	}
}

var goodSignature = Sign(testKey, "/webhooks/subscriptions", "c1", testSec, "0123456789abcdef", []byte(`{"a":1}`))

func TestParseSignature(t *testing.T) {
	good := goodSignature
	set := func(name string, values ...string) map[string][]string {
		h := signedHeader(good)
		h[name] = values
		return h
	}
	for _, c := range []struct {
		name   string
		header map[string][]string
		now    int64
		ok     bool
	}{
		{"as sent", signedHeader(good), testSec, true},
		{"four signatures", signedHeader(good, good, good, good), testSec, true},
		{"five signatures", signedHeader(good, good, good, good, good), testSec, false},
		{"space behind the comma", set(HeaderSignature, good+", "+good), testSec, false},
		{"trailing comma", set(HeaderSignature, good+","), testSec, false},
		{"no version", set(HeaderSignature, good[3:]), testSec, false},
		{"other version", set(HeaderSignature, "v2"+good[2:]), testSec, false},
		{"upper-case hex", set(HeaderSignature, "v1="+strings.ToUpper(good[3:])), testSec, false},
		{"short hex", set(HeaderSignature, good[:len(good)-2]), testSec, false},
		{"not hex", set(HeaderSignature, "v1="+strings.Repeat("x", 64)), testSec, false},
		{"no signature", set(HeaderSignature), testSec, false},
		{"signature twice", set(HeaderSignature, good, good), testSec, false},
		{"client twice", set(HeaderClientID, "c1", "c2"), testSec, false},
		{"empty client", set(HeaderClientID, ""), testSec, false},
		{"client of 65", set(HeaderClientID, strings.Repeat("c", 65)), testSec, false},
		{"client with LF", set(HeaderClientID, "c\n1"), testSec, false},
		{"nonce of 15", set(HeaderNonce, "0123456789abcde"), testSec, false},
		{"nonce of 64", set(HeaderNonce, strings.Repeat("n", 64)), testSec, true},
		{"nonce of 65", set(HeaderNonce, strings.Repeat("n", 65)), testSec, false},
		{"nonce with a dot", set(HeaderNonce, "0123456789abcde."), testSec, false},
		{"timestamp in ms", set(HeaderTimestamp, "1700000000000"), testSec, false},
		{"timestamp signed", set(HeaderTimestamp, "+700000000"), testSec, false},
		{"timestamp with space", set(HeaderTimestamp, " 1700000000"), testSec, false},
		{"300 s late", signedHeader(good), testSec + 300, true},
		{"301 s late", signedHeader(good), testSec + 301, false},
		{"300 s early", signedHeader(good), testSec - 300, true},
		{"301 s early", signedHeader(good), testSec - 301, false},
	} {
		s, err := ParseSignature(c.header, core.Instant(c.now*1000))
		if (err == nil) != c.ok {
			t.Errorf("%s: error %v, want ok %v", c.name, err, c.ok)
		}
		if err != nil && (!errors.Is(err, core.ErrInvalidSignature) || s.ClientID != "") {
			t.Errorf("%s: got %v %+v", c.name, err, s)
		}
	}
}

func TestVerifySignature(t *testing.T) {
	good, other := goodSignature, "v1="+strings.Repeat("0", 64)
	flipped := good[:len(good)-1] + map[bool]string{true: "1", false: "0"}[good[len(good)-1] == '0']
	otherKey := []byte("another key of 32 bytes ........")
	body := `{"a":1}`
	for _, c := range []struct {
		name, path, body string
		sigs             []string
		keys             [][]byte
		ok               bool
	}{
		{"one key", "/webhooks/subscriptions", body, []string{good}, [][]byte{testKey}, true},
		{"second key", "/webhooks/subscriptions", body, []string{good}, [][]byte{otherKey, testKey}, true},
		{
			"fourth signature", "/webhooks/subscriptions", body,
			[]string{other, other, other, good},
			[][]byte{testKey},
			true,
		},
		{"wrong key", "/webhooks/subscriptions", body, []string{good}, [][]byte{otherKey}, false},
		{"unknown client", "/webhooks/subscriptions", body, []string{good}, nil, false},
		{"other path", "/webhooks/lists/full-sync", body, []string{good}, [][]byte{testKey}, false},
		{"body changed", "/webhooks/subscriptions", `{"a":2}`, []string{good}, [][]byte{testKey}, false},
		{"body reformatted", "/webhooks/subscriptions", `{"a": 1}`, []string{good}, [][]byte{testKey}, false},
		{"bit flipped", "/webhooks/subscriptions", body, []string{flipped}, [][]byte{testKey}, false},
	} {
		s, err := ParseSignature(signedHeader(c.sigs...), testSec*1000)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if err := VerifySignature(s, c.path, []byte(c.body), c.keys...); (err == nil) != c.ok {
			t.Errorf("%s: %v, want ok %v", c.name, err, c.ok)
		}
	}
}

func TestSecret(t *testing.T) {
	s := NewSecret()
	if k, err := ParseSecret(s); err != nil || len(k) != 32 {
		t.Errorf("ParseSecret(%q) = %d bytes, %v", s, len(k), err)
	}
	for _, bad := range []string{
		"", "whsec_", s[6:], "whsec_" + "AAAA", s + "A", s[:len(s)-1], strings.Replace(s, "whsec_", "WHSEC_", 1),
	} {
		if _, err := ParseSecret(bad); err == nil {
			t.Errorf("ParseSecret(%q) succeeded", bad)
		}
	}
	if n := NewNonce(); !word(n, 16, 64) {
		t.Errorf("NewNonce() = %q", n)
	}
}

func FuzzParseSignature(f *testing.F) {
	f.Add(goodSignature, "1700000000", "0123456789abcdef", "c1")
	f.Add("v1=,v1=", "0", "", "\x00")
	f.Fuzz(func(t *testing.T, sig, ts, nonce, client string) {
		h := map[string][]string{
			HeaderSignature: {sig}, HeaderTimestamp: {ts}, HeaderNonce: {nonce},
			HeaderClientID: {client},
		}
		s, err := ParseSignature(h, testSec*1000)
		if err != nil {
			return
		}
		if VerifySignature(s, "/p", []byte(sig), testKey) == nil {
			t.Error("a guessed signature was accepted")
		}
		good := Sign(testKey, "/p", s.ClientID, int64(s.At/1000), s.Nonce, []byte(sig))
		h[HeaderSignature] = []string{good}
		s, err = ParseSignature(h, testSec*1000)
		if err != nil || VerifySignature(s, "/p", []byte(sig), testKey) != nil {
			t.Errorf("our own signature was refused: %v", err)
		}
	})
}
