package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

//go:embed pages/style.css
var ownStyle string

//go:embed pages/archive.css
var archiveStyle string // styles of pages with the class site

var styleSheet = fontFaces + ownStyle + archiveStyle

var styleVersion = func() string {
	sum := sha256.Sum256([]byte(styleSheet))
	return hex.EncodeToString(sum[:4])
}()

const ownColor = "#1d6b52" // also the color of the console

// stylePath returns the path of the stylesheet for a color (#rrggbb; empty: ownColor). The path changes with the
// contents, so browsers may cache the stylesheet forever.
func stylePath(color string) string {
	p := "/style.css?v=" + styleVersion
	if color != "" && color != ownColor {
		p += "&color=" + strings.TrimPrefix(color, "#")
	}
	return p
}

type styleRequest struct {
	Color string `query:"color"`
}

// ServeStyle responds with the stylesheet of all pages, in colors derived from the brand color. Pages need the
// stylesheet because they allow no style attributes.
func ServeStyle(c *web.Call, in styleRequest) (web.Text, error) {
	accent, ok := core.ParseColor("#" + in.Color)
	if !ok {
		accent, _ = core.ParseColor(ownColor)
	}
	on := accent.Ink()
	light, dark := accent.Readable(core.White, core.Black), accent.Readable(core.Color{0x1d, 0x21, 0x25}, core.White)
	c.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	css := fmt.Sprintf(":root { --accent: %s; --on-accent: %s; --link: %s; }\n@media (prefers-color-scheme: dark) { "+
		":root { --link: %s; } }\n%s",
		accent, on, light, dark, styleSheet)
	return web.Text{Type: "text/css; charset=utf-8", Body: []byte(css)}, nil
}
