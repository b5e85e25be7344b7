package picture

import (
	"context"
	"image"
	"math"
)

// catmullRom is the Catmull-Rom cubic filter. x/image/draw has it too, but keeps 32 bytes for each pixel of the
// source's height. This implementation keeps only a few rows.
func catmullRom(x float64) float64 {
	switch x = math.Abs(x); {
	case x < 1:
		return (1.5*x-2.5)*x*x + 1
	case x < 2:
		return ((-0.5*x+2.5)*x-4)*x + 2
	}
	return 0
}

// tap holds the weights of the consecutive source pixels that a result pixel is computed from.
type tap struct {
	first   int
	weights []float32
}

// tapsFor returns the taps for scaling rows down. from and to are the numbers of pixels before and after; to must not
// be larger.
func tapsFor(from, to int) []tap {
	taps := make([]tap, to)
	scale := float64(from) / float64(to)
	for i := range taps {
		center := (float64(i)+0.5)*scale - 0.5
		first := max(0, int(math.Ceil(center-2*scale)))
		last := min(from-1, int(math.Floor(center+2*scale)))
		weights, sum := make([]float32, last-first+1), 0.0
		for j := range weights {
			w := catmullRom((float64(first+j) - center) / scale)
			weights[j], sum = float32(w), sum+w
		}
		for j := range weights {
			weights[j] /= float32(sum)
		}
		taps[i] = tap{first, weights}
	}
	return taps
}

// scale returns the image scaled down to a size. Neither side may grow. If ctx ends, scale returns ctx's error. A photo
// is scaled by its planes, which takes a third of the time. All other images become NRGBA.
func scale(ctx context.Context, m image.Image, width, height int) (image.Image, error) {
	if photo, ok := m.(*image.YCbCr); ok && photo.Rect.Min == (image.Point{}) {
		return scalePhoto(ctx, photo, width, height)
	}
	return scalePixels(ctx, m, width, height)
}

// scalePixels is scale for any type of image. Colors in the result are not premultiplied by alpha.
func scalePixels(ctx context.Context, m image.Image, width, height int) (*image.NRGBA, error) {
	out := image.NewNRGBA(image.Rect(0, 0, width, height))
	s := scaling{from: m.Bounds().Size(), to: out.Rect.Size(), channels: 4, narrow: narrow}
	return out, s.do(ctx, rowsOf(m), func(y int, row []float32) { store(row, out.Pix[y*out.Stride:]) })
}

// scalePhoto is scale for a photo's planes.
func scalePhoto(ctx context.Context, m *image.YCbCr, width, height int) (*image.YCbCr, error) {
	out := image.NewYCbCr(image.Rect(0, 0, width, height), m.SubsampleRatio)
	plane := func(from, to []byte, stride, toStride int, size, toSize image.Point) error {
		s := scaling{from: size, to: toSize, channels: 1, narrow: narrowPlane}
		return s.do(ctx, func(y int, row []float32) {
			for x, v := range from[y*stride:][:len(row)] {
				row[x] = float32(v)
			}
		}, func(y int, row []float32) {
			p := to[y*toStride:]
			for x, v := range row {
				p[x] = byte(min(max(v+0.5, 0), 255))
			}
		})
	}
	size, colors, toColors := m.Rect.Size(), colorSize(m), colorSize(out)
	err := plane(m.Y, out.Y, m.YStride, out.YStride, size, out.Rect.Size())
	if err == nil {
		err = plane(m.Cb, out.Cb, m.CStride, out.CStride, colors, toColors)
	}
	if err == nil {
		err = plane(m.Cr, out.Cr, m.CStride, out.CStride, colors, toColors)
	}
	return out, err
}

// colorSize returns the size of a photo's color planes.
func colorSize(m *image.YCbCr) image.Point {
	last := m.COffset(m.Rect.Max.X-1, m.Rect.Max.Y-1)
	return image.Pt(last%m.CStride+1, last/m.CStride+1)
}

// scaling holds the parameters for scaling an image down row by row.
type scaling struct {
	from, to image.Point
	channels int // values per pixel
	narrow   func(source, row []float32, taps []tap)
}

// do calls read for each source row and write for each result row, in order.
func (s *scaling) do(ctx context.Context, read, write func(y int, row []float32)) error {
	across, down := tapsFor(s.from.X, s.to.X), tapsFor(s.from.Y, s.to.Y)
	source := make([]float32, s.channels*s.from.X)
	ring := make([][]float32, 0, 16) // source rows, as wide as the result, starting at row first
	first := 0
	var spare [][]float32
	sum := make([]float32, s.channels*s.to.X)
	for y, t := range down {
		if err := ctx.Err(); err != nil {
			return err
		}
		for len(ring) > 0 && first < t.first {
			spare, ring, first = append(spare, ring[0]), ring[1:], first+1
		}
		if len(ring) == 0 {
			first = t.first
		}
		for first+len(ring) < t.first+len(t.weights) {
			var row []float32
			if n := len(spare); n > 0 {
				row, spare = spare[n-1], spare[:n-1]
			} else {
				row = make([]float32, s.channels*s.to.X)
			}
			read(first+len(ring), source)
			s.narrow(source, row, across)
			ring = append(ring, row)
		}
		clear(sum)
		for i, w := range t.weights {
			for x, v := range ring[t.first-first+i] {
				sum[x] += w * v
			}
		}
		write(y, sum)
	}
	return nil
}

// narrowPlane scales a source row with one value per pixel to the width of the result.
func narrowPlane(source, row []float32, taps []tap) {
	for x, t := range taps {
		var v float32
		p := source[t.first:][:len(t.weights)]
		for i, w := range t.weights {
			v += w * p[i]
		}
		row[x] = v
	}
}

// narrow scales a source row with four values per pixel to the width of the result.
func narrow(source, row []float32, taps []tap) {
	for x, t := range taps {
		var r, g, b, a float32
		p := source[4*t.first:]
		for i, w := range t.weights {
			r += w * p[4*i]
			g += w * p[4*i+1]
			b += w * p[4*i+2]
			a += w * p[4*i+3]
		}
		row[4*x], row[4*x+1], row[4*x+2], row[4*x+3] = r, g, b, a
	}
}

// store writes a row as bytes, without premultiplied alpha.
func store(row []float32, p []byte) {
	for x := range len(row) / 4 {
		a := row[4*x+3] // can exceed 255 next to an edge, like the colors
		if a < 0.5 {
			continue // transparent, without a color
		}
		f := 255 / a
		for c := range 3 {
			p[4*x+c] = byte(min(max(row[4*x+c]*f+0.5, 0), 255))
		}
		p[4*x+3] = byte(min(a+0.5, 255))
	}
}
