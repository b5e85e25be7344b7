package handlers

import "newsletterd/handlers/web"

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
)

//go:embed pages/style.css
var styleSheet string

var styleVersion = func() string {
	sum := sha256.Sum256([]byte(styleSheet))
	return hex.EncodeToString(sum[:4])
}()

const ownColor = "#1f5fbf"

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

// style answers the stylesheet of all pages, with the colours that follow from the brand's. They come as a
// stylesheet and not as an attribute, since the pages allow no style of their own.
func style(c *web.Call, in styleRequest) (web.Text, error) {
	accent, ok := parseColor("#" + in.Color)
	if !ok {
		accent, _ = parseColor(ownColor)
	}
	white, black := rgb{255, 255, 255}, rgb{0, 0, 0}
	on := white
	if contrast(accent, white) < contrast(accent, black) {
		on = black
	}
	light, dark := readable(accent, rgb{255, 255, 255}, black), readable(accent, rgb{0x1d, 0x21, 0x25}, white)
	c.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	css := fmt.Sprintf(":root { --accent: %s; --on-accent: %s; --link: %s; }\n@media (prefers-color-scheme: dark) { "+
		":root { --link: %s; } }\n%s",
		accent, on, light, dark, styleSheet)
	return web.Text{Type: "text/css; charset=utf-8", Body: []byte(css)}, nil
}

type rgb [3]uint8

func (c rgb) String() string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

func parseColor(s string) (c rgb, ok bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "#"), 16, 24)
	return rgb{uint8(n >> 16), uint8(n >> 8), uint8(n)}, err == nil && len(s) == 7
}

// luminance and contrast are those of WCAG 2.2.
func (c rgb) luminance() float64 {
	var l float64
	for i, weight := range [3]float64{0.2126, 0.7152, 0.0722} {
		v := float64(c[i]) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		l += weight * v
	}
	return l
}

func contrast(a, b rgb) float64 {
	x, y := a.luminance()+0.05, b.luminance()+0.05
	return max(x, y) / min(x, y)
}

// readable moves a colour towards another until it can be read on the ground (4.5:1).
func readable(c, ground, towards rgb) rgb {
	for step := range 20 {
		mixed := c
		for i := range mixed {
			mixed[i] = uint8((int(c[i])*(20-step) + int(towards[i])*step) / 20)
		}
		if contrast(mixed, ground) >= 4.5 {
			return mixed
		}
	}
	return towards
}
