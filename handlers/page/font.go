package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strings"

	"newsletterd/handlers/web"
)

// Newsreader, the font for articles in archives (pages/newsreader/OFL.txt): its Latin letters in all weights.
var (
	//go:embed pages/newsreader/newsreader-latin.woff2
	uprightFont []byte
	//go:embed pages/newsreader/newsreader-latin-italic.woff2
	italicFont []byte
)

// Paths of the font.
const (
	FontPath       = "/newsreader.woff2"
	ItalicFontPath = "/newsreader-italic.woff2"
)

// Fonts holds the URLs of the upright and italic fonts. They change with the files, so browsers may cache them forever.
var Fonts = struct{ Upright, Italic string }{
	versioned(FontPath, uprightFont), versioned(ItalicFontPath, italicFont),
}

func versioned(path string, file []byte) string {
	sum := sha256.Sum256(file)
	return path + "?v=" + hex.EncodeToString(sum[:4])
}

// latin lists the characters in the font.
const latin = "U+0-FF, U+131, U+152-153, U+2BB-2BC, U+2C6, U+2DA, U+2DC, U+304, U+308, U+329, U+2000-206F, U+20AC, " +
	"U+2122, U+2191, U+2193, U+2212, U+2215, U+FEFF, U+FFFD"

// Ascent and descent of the font, in percent of its size.
const ascent, descent = 73.5, 26.5

// spares lists operating system fonts for use while the font isn't loaded. The number is the size in percent at which
// their lines are as long as the font's.
var spares = []struct {
	name  string
	local string
	size  float64
}{
	{"Spare Georgia", "Georgia", 94.8},
	{"Spare Noto", "Noto Serif", 87.2},
	{"Spare Times", "Times New Roman|Liberation Serif", 105.7},
	{"Spare DejaVu", "DejaVu Serif", 82.5},
}

// fontFaces declares the font and its fallbacks. If the font loads late, the page keeps the fallback, so that nothing
// moves.
var fontFaces = func() string {
	var b strings.Builder
	for _, f := range [][2]string{{"normal", Fonts.Upright}, {"italic", Fonts.Italic}} {
		fmt.Fprintf(&b, "@font-face { font-family: Newsreader; font-style: %s; font-weight: 200 800; font-display: "+
			"optional; src: url(%s) format(\"woff2\"); unicode-range: %s; }\n", f[0], f[1], latin)
	}
	for _, s := range spares {
		fmt.Fprintf(&b, "@font-face { font-family: \"%s\"; src: local(\"%s\"); size-adjust: %.1f%%; ascent-override: "+
			"%.1f%%; descent-override: %.1f%%; line-gap-override: 0%%; }\n", s.name,
			strings.ReplaceAll(s.local, "|", `"), local("`), s.size, 100*ascent/s.size, 100*descent/s.size)
	}
	return b.String()
}()

// ServeFont responds with the article font.
func ServeFont(c *web.Call, _ struct{}) (web.Text, error) { return fontOf(c, uprightFont) }

// ServeItalicFont responds with the italic article font.
func ServeItalicFont(c *web.Call, _ struct{}) (web.Text, error) { return fontOf(c, italicFont) }

func fontOf(c *web.Call, file []byte) (web.Text, error) {
	c.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	return web.Text{Type: "font/woff2", Body: file}, nil
}
