package subscribercsv

import (
	"strings"
	"unicode/utf8"
)

// toUTF8 takes cells that aren't UTF-8 for Windows-1252, in which Excel saves CSV files in western Europe unless told
// otherwise. A cell that isn't that either stays as it is, and is refused.
func toUTF8(cells []string) {
	for i, cell := range cells {
		if utf8.ValidString(cell) {
			continue
		}
		if text := fromWindows1252(cell); !strings.ContainsRune(text, utf8.RuneError) {
			cells[i] = text
		}
	}
}

// windows1252 has the characters from 0x80 to 0x9f; the others are those of Unicode.
var windows1252 = []rune("€\uFFFD‚ƒ„…†‡ˆ‰Š‹Œ\uFFFDŽ\uFFFD\uFFFD‘’“”•–—˜™š›œ\uFFFDžŸ")

// fromWindows1252 returns a text with utf8.RuneError where Windows-1252 has no character.
func fromWindows1252(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c >= 0x80 && c <= 0x9f {
			b.WriteRune(windows1252[c-0x80])
			continue
		}
		b.WriteRune(rune(c))
	}
	return b.String()
}
