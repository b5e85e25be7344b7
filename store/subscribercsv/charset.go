package subscribercsv

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// Values of Survey.Encoding.
const (
	UTF8        = "utf-8"
	Windows1252 = "windows-1252"
	MacRoman    = "macintosh"
)

// charset is one of the two default encodings of Excel's CSV files in western Europe.
type charset struct {
	name  string
	runes [256]rune
}

var charsets = [2]charset{newCharset(Windows1252, charmap.Windows1252), newCharset(MacRoman, charmap.Macintosh)}

func newCharset(name string, m *charmap.Charmap) charset {
	c := charset{name: name}
	for b := range c.runes {
		c.runes[b] = m.DecodeByte(byte(b))
	}
	return c
}

func charsetOf(name string) *charset {
	if name == MacRoman {
		return &charsets[1]
	}
	return &charsets[0]
}

// decode decodes a string. Bytes without a character in the charset become utf8.RuneError.
func (c *charset) decode(s string) string {
	var b strings.Builder
	for _, x := range []byte(s) {
		b.WriteRune(c.runes[x])
	}
	return b.String()
}

// toUTF8 decodes cells that aren't UTF-8. A cell with bytes that have no character in the charset stays unchanged and
// is rejected later.
func (c *charset) toUTF8(cells []string) {
	for i, cell := range cells {
		if utf8.ValidString(cell) {
			continue
		}
		if text := c.decode(cell); !strings.ContainsRune(text, utf8.RuneError) {
			cells[i] = text
		}
	}
}

// charsetScore holds, for each of charsets, the sum of the scores of the cells that aren't UTF-8.
type charsetScore [2]int64

func (s *charsetScore) add(cell string) {
	for i := range charsets {
		s[i] += charsets[i].score(cell)
	}
}

// best returns the encoding of a file that contains cells that aren't UTF-8.
func (s *charsetScore) best() string {
	if s[1] > s[0] {
		return MacRoman
	}
	return Windows1252
}

// frequent lists the non-ASCII letters that are frequent in western European names and words. Other letters, such as Š
// and Ë, are rare.
const frequent = "äöüßàâáãåæçèéêëìíîïñòóôõøùúûÿœ" + "ÄÖÜÀÁÂÅÆÇÈÉÊÍÎÑÓÔØÚ"

// score rates how much a cell looks like words when it is decoded with the charset. A higher score is better.
func (c *charset) score(cell string) (sum int64) {
	at := func(i int) rune {
		if i < 0 || i >= len(cell) {
			return ' '
		}
		return c.runes[cell[i]]
	}
	for i := range len(cell) {
		if cell[i] < 0x80 {
			continue
		}
		r, before, after := at(i), at(i-1), at(i+1)
		inWord := unicode.IsLetter(before) && unicode.IsLetter(after)
		switch {
		case r == utf8.RuneError, unicode.IsControl(r):
			sum -= 4
		case unicode.IsUpper(r) && unicode.IsLower(before), // as in renÉ
			unicode.IsLower(r) && unicode.IsUpper(before) && unicode.IsUpper(after): // as in MüLLER
			sum -= 4
		case unicode.IsUpper(r) && !unicode.IsLetter(before) && !unicode.IsLetter(after): // as in 50 Ä
			sum--
		case strings.ContainsRune(frequent, r):
			sum += 2
		case unicode.IsLetter(r), inWord && r == '’', // as in D’Angelo
			!inWord && strings.ContainsRune("“”„‘’‚–—…€«»¿¡\u00a0", r):
			sum++
		case unicode.IsLetter(before): // as in Z¸rich, Ren‰
			sum -= 2
		}
	}
	return sum
}
