package mail

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestOctetsOfBodies checks every octet at every position of a word, because bodies are read in words of 8 octets.
func TestOctetsOfBodies(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			text := strings.Repeat("a", at) + string([]byte{byte(c)}) + strings.Repeat("b", 19-at)
			high := 0
			if c >= utf8.RuneSelf {
				high = 1
			}
			if got, size := countHigh(text); got != high || size != 20 {
				t.Fatalf("countHigh(%q): %d, %d", text, got, size)
			}
			want := text
			switch {
			case c >= utf8.RuneSelf:
				want = strings.ToValidUTF8(text, "\ufffd")
			case c == '\r':
				want = strings.ReplaceAll(text, "\r", "\n")
			case c < 0x20 && c != '\n' && c != '\t' || c == 0x7f:
				want = strings.ReplaceAll(text, string(rune(c)), "")
			}
			if got := cleanBody(text); got != want {
				t.Fatalf("cleanBody(%q): %q, want %q", text, got, want)
			}
		}
	}
}

// TestRunsOfQuotedPrintable compares appendQP with an encoder that looks at one octet at a time.
func TestRunsOfQuotedPrintable(t *testing.T) {
	slow := func(s string) (out []byte) {
		col := 0
		for i := 0; i < len(s); {
			if n := lineEnd([]byte(s[i:])); n > 0 {
				out, col, i = append(out, "\r\n"...), 0, i+n
				continue
			}
			c, next := s[i], "="
			if i+1 < len(s) && lineEnd([]byte(s[i+1:])) == 0 {
				next = ""
			}
			var one string
			for range 2 { // the second time after a soft break
				one = string([]byte{c})
				if !qpPlain[c] && !((c == ' ' || c == '\t') && next == "") || c == '.' && col == 0 {
					one = fmt.Sprintf("=%02X", c)
				}
				if col+len(one) <= qpMax {
					break
				}
				out, col = append(out, "=\r\n"...), 0
			}
			out, col, i = append(out, one...), col+len(one), i+1
		}
		return out
	}
	const octets = "aaaaaaaabcdefgh    ..=\r\n\n\t\xc3\xa4~!"
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		text := make([]byte, random.IntN(200))
		for i := range text {
			text[i] = octets[random.IntN(len(octets))]
		}
		got, _ := appendQP(nil, text, 0)
		if want := slow(string(text)); !bytes.Equal(got, want) {
			t.Fatalf("%q:\n%q\n%q", text, got, want)
		}
	}
}
