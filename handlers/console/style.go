package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// styleFiles holds the stylesheet's parts, ordered by name.
//
//go:embed style/*.css
var styleFiles embed.FS

const stylePath = Path + "/style.css"

// Console colors with which the accent color must contrast.
var (
	ownColor  = core.Color{0x1d, 0x6b, 0x52}
	paper     = core.White
	paperDark = core.Color{0x1a, 0x1d, 0x20}
	ground    = core.Color{0xf6, 0xf6, 0xf3}
	// opacity of the accent color for highlights
	tint = 0.12
)

// Minimum contrast ratios for text, and for a button with white text.
const (
	textContrast   = 6.5
	buttonContrast = 3.5
)

var styleSheet, styleVersion = readStyle()

var styleComment = regexp.MustCompile(`(?s)\s*/\*.*?\*/`)

// readStyle joins the stylesheet's parts and removes their comments.
func readStyle() (sheet, version string) {
	names, err := fs.Glob(styleFiles, "style/*.css")
	if err != nil {
		panic(err)
	}
	var b strings.Builder
	for _, name := range names {
		text, err := styleFiles.ReadFile(name)
		if err != nil {
			panic(err)
		}
		b.Write(styleComment.ReplaceAll(text, nil))
	}
	sum := sha256.Sum256([]byte(fontFaces + b.String()))
	return b.String(), hex.EncodeToString(sum[:4])
}

// styleAddress returns the URL of the stylesheet with the given color (#rrggbb; empty: the default). The URL changes
// with the contents, so browsers may cache the stylesheet forever.
func styleAddress(color string) string {
	to := stylePath + "?v=" + styleVersion
	if color != "" {
		to += "&color=" + strings.TrimPrefix(color, "#")
	}
	return to
}

type styleQuery struct {
	Color string `query:"color"`
}

// style responds with the stylesheet, with colors derived from the tenant's. Pages need the stylesheet because their
// CSP allows no style attributes.
func style(c *web.Call, in styleQuery) (web.Text, error) {
	accent, ok := core.ParseColor("#" + in.Color)
	if !ok {
		accent = ownColor
	}
	// A button's color must contrast with the paper, and its text with the button.
	button := accent.Readable(paper, core.Black)
	light := accent.Readable(ground.Mix(accent, tint), core.Black)
	tintDark := paperDark.Mix(accent, 2*tint)
	buttonDark, lightDark := lighter(accent, paperDark, buttonContrast), lighter(accent, tintDark, textContrast)
	c.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	css := fmt.Sprintf(`:root { --accent: %s; --on-accent: %s; --accent-text: %s; --accent-tint: %s; }
@media (prefers-color-scheme: dark) { :root { --accent: %s; --on-accent: %s; --accent-text: %s; --accent-tint: %s; } }
`, button, button.Ink(), light, paper.Mix(accent, tint), buttonDark, buttonDark.Ink(), lightDark, tintDark)
	return web.NewFile("text/css; charset=utf-8", []byte(fontFaces+css+styleSheet)).For(c), nil
}

// lighter returns a color with the same hue and enough contrast on a dark background. It is only as light as necessary,
// with half the saturation that its lightness allows. Only mixing with white would make it gray.
func lighter(c, ground core.Color, enough float64) core.Color {
	const most = 0.5
	low, high := float64(min(c[0], c[1], c[2])), float64(max(c[0], c[1], c[2]))
	for light := (low + high) / 2; light < 255; light++ {
		found := c
		if high > low {
			reach := min(light, 255-light) * min(most, (high-low)/min(low+high, 510-low-high))
			for i := range found {
				found[i] = uint8(light + reach*(2*(float64(c[i])-low)/(high-low)-1))
			}
		} else {
			found = core.Color{uint8(light), uint8(light), uint8(light)}
		}
		if found.Contrast(ground) >= enough {
			return found
		}
	}
	return core.White
}
