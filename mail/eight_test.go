package mail

import "testing"

// Eight octets looked at together are judged as one by one.
func TestEightOctetsAtOnce(t *testing.T) {
	for at := range 8 {
		for c := range 256 {
			for _, beside := range []byte{' ', '!', '~', 'a', '='} {
				s := []byte{beside, beside, beside, beside, beside, beside, beside, beside}
				s[at] = byte(c)
				for _, first := range []byte{' ', '!'} {
					want := true
					for _, b := range s {
						want = want && b >= first && b <= '~'
					}
					if got := graphic(eight(s), uint64(first)); got != want {
						t.Fatalf("%q: graphic from %q: %v", s, first, got)
					}
				}
				if want := c != '=' && beside != '='; c < 0x80 && without(eight(s), '=') != want {
					t.Fatalf("%q: without '=': %v", s, !want)
				}
			}
		}
	}
}
