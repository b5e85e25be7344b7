package auth

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
)

func testSealer(t testing.TB) *Sealer {
	t.Helper()
	s, err := NewSealer(testKey)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealer(t *testing.T) {
	s := testSealer(t)
	plain := []byte("some words")
	token := s.Seal(7, plain)
	if got, err := s.Open(7, token); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("Open = %q, %v", got, err)
	}
	if s.Seal(7, plain) != token || testSealer(t).Seal(7, plain) != token {
		t.Error("the same plaintext gave another token")
	}
	if s.Seal(8, plain) == token || s.Seal(7, []byte("some wordt")) == token {
		t.Error("another purpose or plaintext gave the same token")
	}
	other, _ := NewSealer([]byte("another key of 32 bytes ........"))
	for _, c := range []struct {
		name    string
		s       *Sealer
		purpose byte
		token   string
	}{
		{"other purpose", s, 8, token},
		{"other key", other, 7, token},
		{"empty", s, 7, ""},
		{"cut", s, 7, token[:len(token)-2]},
		{"longer", s, 7, token + "AA"},
		{"padded", s, 7, token + "="},
		{"line end inside", s, 7, token[:9] + "\n" + token[9:]},
		{"first bit", s, 7, string(token[0]^1) + token[1:]},
		{"huge", s, 7, strings.Repeat("A", 1<<20)},
	} {
		if _, err := c.s.Open(c.purpose, c.token); !errors.Is(err, core.ErrInvalidToken) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for i := range token { // change each single character
		c := byte('A')
		if token[i] == c {
			c = 'B'
		}
		if _, err := s.Open(7, token[:i]+string(c)+token[i+1:]); err == nil {
			t.Errorf("character %d changed: opened", i)
		}
	}
	if _, err := NewSealer(testKey[:31]); err == nil {
		t.Error("a short key was taken")
	}
}

var sampleToken = UnsubscribeToken{
	Kind: UnsubscribeMailed, ListID: "0198a0b0-0000-7000-8000-000000000001",
	SubscriptionID: "2f6e0d3c-1f1c-8a10-9000-0123456789ab", Email: "Ann@Example.org",
	JobNo: 12, Seq: 100_000, IssuedAt: 1_700_000_000_123,
}

func TestUnsubscribeToken(t *testing.T) {
	s := testSealer(t)
	for _, kind := range []UnsubscribeKind{UnsubscribeMailed, UnsubscribeRequested, UnsubscribeUndo, UnsubscribeManage} {
		want := sampleToken
		want.Kind = kind
		text, err := s.SealUnsubscribe(want)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "@") || len(text) > 190 {
			t.Errorf("token %q", text)
		}
		right := map[UnsubscribeKind]string{UnsubscribeUndo: "undo", UnsubscribeManage: "manage"}[kind]
		for use, open := range map[string]func(string) (UnsubscribeToken, error){
			"": s.OpenUnsubscribe, "undo": s.OpenUndo,
			"manage": s.OpenManage,
		} {
			got, err := open(text)
			if use == right && (err != nil || got != want) {
				t.Errorf("kind %d: got %+v, %v", kind, got, err)
			}
			if use != right && !errors.Is(err, core.ErrInvalidToken) {
				t.Errorf("kind %d opened for the use %q: %v", kind, use, err)
			}
		}
	}
	bad := sampleToken
	bad.ListID = "list"
	if _, err := s.SealUnsubscribe(bad); err == nil {
		t.Error("a list id that is no UUID was sealed")
	}
}

func TestUnsubscribeTokenExpired(t *testing.T) {
	for _, c := range []struct {
		kind  UnsubscribeKind
		after time.Duration
		want  bool
	}{
		{UnsubscribeMailed, 50 * 365 * 24 * time.Hour, false},
		{UnsubscribeRequested, 24*time.Hour - time.Millisecond, false},
		{UnsubscribeRequested, 24 * time.Hour, true},
		{UnsubscribeUndo, 7*24*time.Hour - time.Millisecond, false},
		{UnsubscribeUndo, 7 * 24 * time.Hour, true},
		{UnsubscribeManage, 24*time.Hour - time.Millisecond, false},
		{UnsubscribeManage, 24 * time.Hour, true},
	} {
		tok := sampleToken
		tok.Kind = c.kind
		if got := tok.Expired(tok.IssuedAt.Add(c.after)); got != c.want {
			t.Errorf("kind %d after %v: expired %v", c.kind, c.after, got)
		}
	}
}

func FuzzReadUnsubscribe(f *testing.F) {
	b, _ := appendUnsubscribe(nil, sampleToken)
	f.Add(b)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		tok, ok := readUnsubscribe(b)
		if !ok {
			return
		}
		again, ok := appendUnsubscribe(nil, tok)
		back, ok2 := readUnsubscribe(again)
		if !ok || !ok2 || back != tok {
			t.Errorf("%x: %+v became %+v", b, tok, back)
		}
	})
}

func FuzzOpen(f *testing.F) {
	s := testSealer(f)
	f.Add(byte(1), s.Seal(1, []byte("x")))
	f.Add(byte(1), "")
	f.Fuzz(func(t *testing.T, purpose byte, token string) {
		plain, err := s.Open(purpose, token)
		if err == nil && s.Seal(purpose, plain) != token {
			t.Errorf("%q is a second spelling", token)
		}
	})
}

func BenchmarkAppendUnsubscribe(b *testing.B) {
	s := testSealer(b)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = s.AppendUnsubscribe(buf[:0], sampleToken)
	}
}

func BenchmarkOpenUnsubscribe(b *testing.B) {
	s := testSealer(b)
	text, _ := s.SealUnsubscribe(sampleToken)
	for b.Loop() {
		if _, err := s.OpenUnsubscribe(text); err != nil {
			b.Fatal(err)
		}
	}
}
