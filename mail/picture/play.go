package picture

import (
	"image"
	"math"
)

// AddPlayMark makes Make draw a play mark in the middle of the image, which shows that the image leads to a video.
// AddPlayMark returns an Invalid error for a GIF, because GIF frames are stored unchanged.
func (p *Picture) AddPlayMark() error {
	if p.format == formatGIF {
		return refusedf("A GIF can't be the thumbnail of a video. Use a PNG, JPEG or WebP.")
	}
	p.playMark = true
	return nil
}

// drawPlayMark draws a white triangle on a dark disk in the middle of an image.
func drawPlayMark(m *image.NRGBA) {
	b := m.Bounds()
	cx, cy := float64(b.Dx())/2, float64(b.Dy())/2
	r := min(cx, cy) / 3
	for y := max(0, int(cy-r)-1); y < min(b.Dy(), int(cy+r)+2); y++ {
		for x := max(0, int(cx-r)-1); x < min(b.Dx(), int(cx+r)+2); x++ {
			dx, dy := float64(x)+0.5-cx, float64(y)+0.5-cy
			pixel := m.Pix[m.PixOffset(b.Min.X+x, b.Min.Y+y):][:4]
			paint(pixel, 0x1c, 0.72*covered(r-math.Hypot(dx, dy)))
			left := dx + 0.3*r                                                         // distance from the left side
			other := ((0.46*r-math.Abs(dy))*0.85 - left*0.46) / math.Hypot(0.85, 0.46) // from the other two
			paint(pixel, 0xff, covered(min(left, other)))
		}
	}
}

// covered returns the share of a pixel that is inside a shape, given the distance from its center to the edge of the
// shape.
func covered(distance float64) float64 { return min(max(distance+0.5, 0), 1) }

// paint blends a shade of gray over a pixel.
func paint(pixel []uint8, gray uint8, alpha float64) {
	below := float64(pixel[3]) / 255 * (1 - alpha)
	whole := alpha + below
	if whole == 0 {
		return
	}
	for i := range 3 {
		pixel[i] = uint8((float64(gray)*alpha+float64(pixel[i])*below)/whole + 0.5)
	}
	pixel[3] = uint8(whole*255 + 0.5)
}
