package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/png"
	"io"

	"newsletterd/core"
)

const (
	// MaxSeen is the maximum number of pixels in an image that callers pass to HardToSee.
	MaxSeen = 1_000_000

	samples = 48     // samples per row and column
	visible = 2.0    // minimum contrast of a visible pixel
	solid   = 0x8000 // minimum alpha of an opaque pixel
	fewest  = 20     // an image covers the background if fewer than one in this many pixels is transparent
)

// HardToSee reports whether most of a stored PNG or GIF is hardly visible on the background color ground. It returns
// false for an image that covers the background, and an error if the image can't be decoded.
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

// OnPlate draws a stored PNG or GIF on a white plate with rounded corners and returns a PNG. The plate makes dark parts
// of the image visible on every background. On white, the image looks unchanged. If it can't be decoded, OnPlate
// returns an error.
func OnPlate(file io.Reader, mediaType string) ([]byte, error) {
	decode := png.Decode
	if mediaType == GIF {
		decode = gif.Decode
	}
	m, err := decode(file)
	if err != nil {
		return nil, err
	}
	b := m.Bounds()
	room := max(4, min(b.Dx(), b.Dy())/6) // based on the shorter side, so that a tall image takes little more memory
	plate := image.NewNRGBA(image.Rect(0, 0, b.Dx()+2*room, b.Dy()+2*room))
	mask := rounded{plate.Bounds(), room}
	draw.DrawMask(plate, plate.Bounds(), image.White, image.Point{}, mask, image.Point{}, draw.Src)
	draw.Draw(plate, b.Sub(b.Min).Add(image.Pt(room, room)), m, b.Min, draw.Over)
	var out bytes.Buffer
	err = png.Encode(&out, plate)
	return out.Bytes(), err
}

// rounded is a mask in the form of a rectangle with rounded corners.
type rounded struct {
	whole  image.Rectangle
	radius int // in pixels
}

func (r rounded) ColorModel() color.Model { return color.AlphaModel }

func (r rounded) Bounds() image.Rectangle { return r.whole }

func (r rounded) At(x, y int) color.Color {
	dx := max(r.radius-x, x-(r.whole.Max.X-1-r.radius), 0)
	dy := max(r.radius-y, y-(r.whole.Max.Y-1-r.radius), 0)
	if dx*dx+dy*dy > r.radius*r.radius {
		return color.Transparent
	}
	return color.Opaque
}

// eachSample calls fn with pixels distributed evenly over an image.
func eachSample(m image.Image, fn func(color.NRGBA64)) {
	b := m.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y += max(1, b.Dy()/samples) {
		for x := b.Min.X; x < b.Max.X; x += max(1, b.Dx()/samples) {
			fn(color.NRGBA64Model.Convert(m.At(x, y)).(color.NRGBA64))
		}
	}
}
