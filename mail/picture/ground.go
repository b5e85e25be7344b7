package picture

import (
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"io"

	"newsletterd/core"
)

const (
	// MaxSeen is how many pixels a picture may have of which HardToSee is asked.
	MaxSeen = 1_000_000

	samples = 48     // of each row and column
	visible = 2.0    // contrast from which on something is seen
	solid   = 0x8000 // alpha from which on a pixel is its own
	fewest  = 20     // one pixel in so many lets the ground through, or it is covered
)

// HardToSee reports whether most of a picture, a PNG or GIF as it is kept, can hardly be seen on a ground that it lets
// through. It is false for one that covers the ground. Its error is the decoder's.
func HardToSee(file io.Reader, mediaType string, ground core.Color) (bool, error) {
	decode := png.Decode
	if mediaType == GIF {
		decode = gif.Decode
	}
	m, err := decode(file)
	if err != nil {
		return false, err
	}
	drawn, hidden, through := 0, 0, 0
	eachSample(m, func(c color.NRGBA64) {
		if c.A < solid {
			through++
			return
		}
		drawn++
		if (core.Color{uint8(c.R >> 8), uint8(c.G >> 8), uint8(c.B >> 8)}).Contrast(ground) < visible {
			hidden++
		}
	})
	return through*fewest > through+drawn && 2*hidden > drawn, nil
}

// eachSample calls fn with pixels that lie evenly over a picture.
func eachSample(m image.Image, fn func(color.NRGBA64)) {
	b := m.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y += max(1, b.Dy()/samples) {
		for x := b.Min.X; x < b.Max.X; x += max(1, b.Dx()/samples) {
			fn(color.NRGBA64Model.Convert(m.At(x, y)).(color.NRGBA64))
		}
	}
}
