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
	// maxPNGPixels is the maximum number of pixels in a PNG or WebP. Both cost more to read than a JPEG.
	maxPNGPixels = 25_000_000
	// maxSide is the maximum width or height of an image in pixels.
	maxSide = 30_000
	// keptPNG is the maximum number of pixels in a stored PNG. Writing a PNG takes ten times as long as reading it.
	keptPNG = 4_000_000

	// A PNG is first written quickly. If it has few pixels and they compress well, it is written again with better
	// compression.
	thorough       = 4 << 20 // bytes of pixels
	compressesWell = 10      // compression factor
)

// piece is the number of bytes that a decoder gets between two context checks. A few bytes may cause much work: a JPEG
// scan over millions of pixels has 200.
const piece = 256

// whileWanted is a reader that fails with the context's error, so that a decoder stops.
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

// keptSize returns the size at which an image is stored: at most limit wide and, for a PNG, with at most keptPNG
// pixels.
func (h *head) keptSize(width, height, limit int) (int, int) {
	w, t := within(width, height, limit)
	if h.format == formatJPEG || w*t <= keptPNG {
		return w, t
	}
	return within(width, height, max(1, int(float64(w)*math.Sqrt(keptPNG/float64(w*t)))))
}

// writePNG encodes an image quickly. If better compression wouldn't take long, it encodes the image again with that.
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

// bytesPerPixel returns the maximum number of bytes per pixel in a PNG.
func bytesPerPixel(m image.Image) int {
	switch m.(type) {
	case *image.Gray, *image.Paletted:
		return 1
	}
	return 4
}

// limited is a buffer with a maximum size. It also fails when the context ends.
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
