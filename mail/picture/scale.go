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

// tap is the source of a pixel: consecutive pixels of the source, with their weights.
type tap struct {
	first   int
	weights []float32
}

// tapsFor returns the taps that scale a row of from pixels down to to pixels. to must not exceed from.
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

// scale returns the image scaled down to a size, without premultiplied alpha. Neither side may grow. If ctx ends, it
// returns its error.
func scale(ctx context.Context, m image.Image, width, height int) (*image.NRGBA, error) {
	sw, sh := m.Bounds().Dx(), m.Bounds().Dy()
	across, down := tapsFor(sw, width), tapsFor(sh, height)
	read := rowsOf(m)
	source := make([]float32, 4*sw)
	ring := make([][]float32, 0, 16) // rows of the source, as wide as the result, starting at first
	first := 0
	var spare [][]float32
	sum := make([]float32, 4*width)
	out := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y, t := range down {
		if err := ctx.Err(); err != nil {
			return nil, err
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
				row = make([]float32, 4*width)
			}
			read(first+len(ring), source)
			narrow(source, row, across)
			ring = append(ring, row)
		}
		clear(sum)
		for i, w := range t.weights {
			for x, v := range ring[t.first-first+i] {
				sum[x] += w * v
			}
		}
		store(sum, out.Pix[y*out.Stride:])
	}
	return out, nil
}

// narrow scales a row of the source to the width of the result.
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
