package core

import (
	"fmt"
	"math"
	"strconv"
)

// Color is an sRGB color: red, green, blue.
type Color [3]uint8

// The darkest and the lightest color.
var (
	Black = Color{}
	White = Color{255, 255, 255}
)

// ParseColor parses a color of the form #rrggbb. ok is false if s has another form.
func ParseColor(s string) (c Color, ok bool) {
	if len(s) != 7 || s[0] != '#' {
		return c, false
	}
	n, err := strconv.ParseUint(s[1:], 16, 24)
	return Color{uint8(n >> 16), uint8(n >> 8), uint8(n)}, err == nil
}

// String returns the color in the form #rrggbb.
func (c Color) String() string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

// Contrast returns the contrast ratio of two colors, from 1 to 21 (WCAG 2.2). Readable text needs at least 4.5.
func (c Color) Contrast(with Color) float64 {
	x, y := c.luminance()+0.05, with.luminance()+0.05
	return max(x, y) / min(x, y)
}

func (c Color) luminance() (l float64) {
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

// Mix returns a color between c and to: c if part is 0, and to if part is 1.
func (c Color) Mix(to Color, part float64) Color {
	for i := range c {
		c[i] = uint8(math.Round(float64(c[i]) + part*(float64(to[i])-float64(c[i]))))
	}
	return c
}

// Readable moves c toward another color, towards, until text in c is readable on ground (a contrast of 4.5:1).
func (c Color) Readable(ground, towards Color) Color {
	const steps = 20
	for step := range steps {
		if mixed := c.Mix(towards, float64(step)/steps); mixed.Contrast(ground) >= 4.5 {
			return mixed
		}
	}
	return towards
}

// Ink returns white or black, whichever is more readable on the color.
func (c Color) Ink() Color {
	if c.Contrast(White) < c.Contrast(Black) {
		return Black
	}
	return White
}

// Inverted returns the color with inverted lightness and the same hue, as email programs do in dark mode.
func (c Color) Inverted() Color {
	shift := 255 - int(max(c[0], c[1], c[2])) - int(min(c[0], c[1], c[2]))
	for i := range c {
		c[i] = uint8(int(c[i]) + shift)
	}
	return c
}
