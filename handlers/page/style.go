package page

import (
	"cmp"
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
	sum := sha256.Sum256([]byte(styleSheet + ownColors + variables(&core.LetterLight) + variables(&core.LetterDark)))
	return hex.EncodeToString(sum[:4])
}()

const ownColor = "#1d6b52" // also the color of the console

// stylePath returns the path of the stylesheet of the server's own pages. The path changes with the contents, so
// browsers may cache the stylesheet forever.
func stylePath() string { return "/style.css?v=" + styleVersion }

// tenantStyle returns the path of the stylesheet with a tenant's color (#rrggbb; empty: the first theme's color).
func tenantStyle(color string) string {
	return stylePath() + "&color=" + strings.TrimPrefix(cmp.Or(color, core.LetterLight.Accent), "#")
}

type styleRequest struct {
	Color string `query:"color" about:"Brand color, six hex digits without #; absent: newsletterd's own colors"`
}

// ServeStyle responds with the stylesheet for all pages. With a color, it has the design of a tenant's emails; without
// one, the console's. Pages need the stylesheet because their CSP allows no style attributes.
func ServeStyle(c *web.Call, in styleRequest) (web.Text, error) {
	c.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	colors := ownColors
	if in.Color != "" {
		light, dark := core.DesignColors("#" + in.Color)
		colors = variables(&light) + "\n@media (prefers-color-scheme: dark) { " + variables(&dark) + " }\n"
	}
	return web.Text{Type: "text/css; charset=utf-8", Body: []byte(styleSheet + colors)}, nil
}

// ownColors declares the colors of links and buttons on the server's own pages, which are the same as in the console.
var ownColors = func() string {
	accent, _ := core.ParseColor(ownColor)
	light, dark := accent.Readable(core.White, core.Black), accent.Readable(core.Color{0x1d, 0x21, 0x25}, core.White)
	return fmt.Sprintf(":root { --accent: %s; --on-accent: %s; --link: %s; }\n@media (prefers-color-scheme: dark) { "+
		":root { --link: %s; } }\n", accent, accent.Ink(), light, dark)
}()

// variables returns the CSS variables for a theme's colors.
func variables(c *core.ThemeColors) string {
	return fmt.Sprintf(":root { --accent: %s; --on-accent: %s; --link: %s; --ground: %s; --paper: %s; --field: %[5]s; "+
		"--ink: %s; --soft: %s; --line: %s; --tint: %s; }", c.Accent, c.On, c.Link, c.Page, c.Card, c.Text, c.Muted,
		c.Line, c.Tint)
}
