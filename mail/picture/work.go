package picture

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"io"
	"math"
)

const (
	// maxPNGPixels is how many pixels a PNG or WebP may have: both cost more to read than a JPEG.
	maxPNGPixels = 25_000_000
	// maxSide is how many pixels a picture may be wide or high.
	maxSide = 30_000
	// keptPNG is how many pixels a PNG is kept with: writing one costs ten times as much as reading it.
	keptPNG = 4_000_000

	// A PNG is written fast first, and again, smaller, if that can't take long: few pixels that compress well.
	thorough       = 4 << 20 // bytes of pixels
	compressesWell = 10      // times
)

// piece is how many bytes a decoder gets between two looks whether the picture is still wanted. A few bytes may say
// much: a scan of a JPEG over millions of pixels has 200.
const piece = 256

// whileWanted is a file that ends with the context's error, so that a decoder stops.
type whileWanted struct {
	ctx context.Context
	r   *bytes.Reader
}

func (w whileWanted) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.r.Read(p[:min(len(p), piece)])
}

// keptSize returns the size of a picture that is kept no wider than limit, and as a PNG with no more pixels than
// keptPNG.
func (h *head) keptSize(width, height, limit int) (int, int) {
	w, t := within(width, height, limit)
	if h.format == formatJPEG || w*t <= keptPNG {
		return w, t
	}
	return within(width, height, max(1, int(float64(w)*math.Sqrt(keptPNG/float64(w*t)))))
}

// writePNG writes a picture fast, and smaller if that can't take long.
func writePNG(out *limited, m image.Image) error {
	fast := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := fast.Encode(out, m); err != nil {
		return err
	}
	pixels := m.Bounds().Dx() * m.Bounds().Dy() * bytesPerPixel(m)
	if pixels > thorough || out.Len()*compressesWell > pixels {
		return nil
	}
	smaller := limited{ctx: out.ctx, left: out.Len()}
	switch err := png.Encode(&smaller, m); {
	case err == nil:
		out.Buffer = smaller.Buffer
	case out.ctx.Err() != nil:
		return err
	}
	return nil
}

// bytesPerPixel returns how many bytes of a pixel a PNG holds at most.
func bytesPerPixel(m image.Image) int {
	switch m.(type) {
	case *image.Gray, *image.Paletted:
		return 1
	}
	return 4
}

// limited is a buffer with an end, which also ends with the context.
type limited struct {
	bytes.Buffer
	ctx  context.Context
	left int
}

var _ io.Writer = (*limited)(nil)

func (l *limited) Write(b []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	if l.left -= len(b); l.left < 0 {
		return 0, errTooLong
	}
	return l.Buffer.Write(b)
}
