package octets

import "testing"

// TestEight checks that functions on eight octets give the same result as checking each octet.
func TestEight(t *testing.T) {
	for at := range 8 {
		for c := range 256 {
			for _, other := range []byte{' ', '!', '~', 'a', '='} {
				s := []byte{other, other, other, other, other, other, other, other}
				s[at] = byte(c)
				for _, first := range []byte{' ', '!'} {
					want := true
					for _, b := range s {
						want = want && b >= first && b <= '~'
					}
					if got := Graphic(Eight(s), uint64(first)); got != want {
						t.Fatalf("%q: Graphic from %q: %v", s, first, got)
					}
				}
				if want := c != '=' && other != '='; c < 0x80 && Without(Eight(s), '=') != want {
					t.Fatalf("%q: Without '=': %v", s, !want)
				}
			}
		}
	}
}
