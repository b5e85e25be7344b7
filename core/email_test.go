package core

import (
	"errors"
	"net/mail"
	"strings"
	"testing"
)

func TestParseEmail(t *testing.T) {
	long := strings.Repeat("a", 64)
	for in, want := range map[string]string{
		"a@b.example":                       "a@b.example",
		" \ta@b.example\t ":                 "a@b.example",
		"First.Last+tag@Mail.Example":       "First.Last+tag@Mail.Example", // the spelling is kept for sending
		"o'brien!#$%&*/=?^_`{|}~@b.example": "o'brien!#$%&*/=?^_`{|}~@b.example",
		long + "@b.example":                 long + "@b.example",
		"a@münchen.example":                 "a@xn--mnchen-3ya.example",
		"a@xn--mnchen-3ya.example":          "a@xn--mnchen-3ya.example",
		"a@b.c.d.e.example":                 "a@b.c.d.e.example",
		"a@1.2.example":                     "a@1.2.example",
		"":                                  "",
		"a":                                 "",
		"@b.example":                        "",
		"a@":                                "",
		"a@b":                               "",
		"a@b.123":                           "",
		"a@[127.0.0.1]":                     "",
		"a@-b.example":                      "",
		"a@b-.example":                      "",
		"a@b_c.example":                     "",
		"a@b..example":                      "",
		"a@b.example.":                      "",
		"a..b@c.example":                    "",
		".a@b.example":                      "",
		"a.@b.example":                      "",
		`"a b"@c.example`:                   "",
		"Bob <a@b.example>":                 "",
		"a@b.example (c)":                   "",
		"a@b.example,c@d.example":           "",
		"a@b.example\r\nBcc: c@d.example":   "",
		"a@b.example\n":                     "",
		"a\x00@b.example":                   "",
		"a\u200b@b.example":                 "",
		"ä@b.example":                       "",
		"a@b@c.example":                     "",
		"a" + long + "@b.example":           "",
		long + "@" + strings.Repeat("b.", 90) + "example.toolong.toolong": "",
		"a@" + strings.Repeat("b", 64) + ".example":                       "",
		"a@xn--.example": "",
	} {
		got, err := ParseEmail(in)
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
		if err != nil && !errors.Is(err, ErrInvalidEmail) {
			t.Errorf("%q: %v is not invalid_email", in, err)
		}
	}
}

func TestEmailsAreComparedByASCIIFoldingOnly(t *testing.T) {
	if Email("Ann@B.Example").Key() != "ann@b.example" || Email("Ann@B.Example").Domain() != "b.example" {
		t.Error("ASCII letters fold")
	}
	// Unicode case folding maps U+212A (Kelvin sign) to k. With it, a person could take over k's account.
	if Email("\u212a@b.example").Key() == "k@b.example" {
		t.Error("the Kelvin sign was folded to k")
	}
	if got := Email("ann@b.example").Mask(); got != "a***@b.example" {
		t.Errorf("masked: %s", got)
	}
}

// FuzzParseEmail checks that an accepted address is one ASCII addr-spec that parses to itself, has a stable key, and is
// the same address for net/mail.
func FuzzParseEmail(f *testing.F) {
	for _, s := range []string{
		"a@b.example", "a@münchen.example", `"a b"@c.example`, "a@xn--a.example",
		"A.b+c@D.example", "a@b.1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := ParseEmail(s)
		if err != nil {
			return
		}
		again, err := ParseEmail(string(e))
		if err != nil || again != e {
			t.Fatalf("%q gives %q, which gives %q, %v", s, e, again, err)
		}
		key, err := ParseEmail(e.Key())
		if err != nil || key.Key() != e.Key() {
			t.Fatalf("the key of %q is %q, %v", e, key, err)
		}
		for i := range len(e) {
			if c := e[i]; c <= ' ' || c > '~' || strings.IndexByte(`"(),:;<>[\]`, c) >= 0 {
				t.Fatalf("%q holds %q", e, c)
			}
		}
		if a, err := mail.ParseAddress(string(e)); err != nil || a.Address != string(e) {
			t.Fatalf("net/mail reads %q as %v, %v", e, a, err)
		}
	})
}

func TestInstantsOnTheWire(t *testing.T) {
	for in, want := range map[string]string{
		"2026-01-31T08:00:00Z":           "2026-01-31T08:00:00.000Z",
		"2026-01-31T09:30:00.1239+01:30": "2026-01-31T08:00:00.123Z",
		"9999-12-31T23:59:59Z":           "9999-12-31T23:59:59.000Z",
		"1970-01-01T00:00:00Z":           "",
		"1969-12-31T23:59:59Z":           "",
		"2026-01-31":                     "",
		"2026-02-30T00:00:00Z":           "",
		"":                               "",
	} {
		got, err := ParseInstant(in)
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%q: %v, %v; want %q", in, got, err, want)
		}
	}
}
