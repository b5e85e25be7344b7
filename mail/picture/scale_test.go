package picture

import (
	"context"
	"errors"
	"image"
	"testing"
)

// A photo that is scaled by planes looks like one that is scaled by pixels, with all kinds of planes and odd sizes.
func TestScaledPhotos(t *testing.T) {
	for _, ratio := range []image.YCbCrSubsampleRatio{
		image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420,
		image.YCbCrSubsampleRatio440, image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410,
	} {
		for _, size := range []image.Point{{121, 83}, {120, 84}, {8, 3}} {
			m := image.NewYCbCr(image.Rectangle{Max: size}, ratio)
			for y := range size.Y {
				for x := range size.X {
					c := m.COffset(x, y)
					m.Y[m.YOffset(x, y)] = uint8(40 + x + y/2)
					m.Cb[c], m.Cr[c] = uint8(90+y/2), uint8(160-x/3)
				}
			}
			w, h := size.X*5/7, (size.Y*5+6)/7
			got, err := scale(t.Context(), m, w, h)
			want, other := scalePixels(t.Context(), m, w, h)
			if err != nil || other != nil || got.Bounds() != want.Bounds() {
				t.Fatal(err, other, got.Bounds())
			}
			if _, ok := got.(*image.YCbCr); !ok {
				t.Errorf("%v becomes %T", ratio, got)
			}
			for y := range h {
				for x := range w {
					r, g, b, _ := got.At(x, y).RGBA()
					c := want.NRGBAAt(x, y)
					d := max(absDiff(uint8(r>>8), c.R), absDiff(uint8(g>>8), c.G), absDiff(uint8(b>>8), c.B))
					if d > 8 {
						t.Fatalf("%v, %v: at %d, %d it is %d, %d, %d, not %v", ratio, size, x, y, r>>8, g>>8, b>>8, c)
					}
				}
			}
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	m := image.NewYCbCr(image.Rect(0, 0, 10, 10), image.YCbCrSubsampleRatio420)
	if _, err := scale(ended, m, 5, 5); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
