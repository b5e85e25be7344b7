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
var styleSheet string

var styleVersion = func() string {
	sum := sha256.Sum256([]byte(styleSheet))
	return hex.EncodeToString(sum[:4])
}()

const ownColor = "#1d6b52" // that of the console, too

// stylePath is the address of the stylesheet for a colour (#rrggbb; empty: our own). It changes with the contents, so
// it may be kept for ever.
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

// ServeStyle answers the stylesheet of all pages, with the colours that follow from the brand's. They come as a
// stylesheet and not as an attribute, since the pages allow no style of their own.
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
