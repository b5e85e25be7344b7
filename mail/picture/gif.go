package picture

import (
	"bytes"
	"compress/lzw"
	"context"
	"encoding/binary"
	"io"
)

const (
	maxFrames     = 1000
	maxGIFPixels  = 250_000_000 // of all frames together
	gifExtension  = 0x21
	gifFrame      = 0x2c
	gifTrailer    = 0x3b
	gifControl    = 0xf9
	gifApp        = 0xff
	netscapeLoop  = "NETSCAPE2.0"
	gifColorTable = 0x80
)

// gifHead reads the logical screen (GIF89a section 18).
func gifHead(b []byte) (h head, err error) {
	if len(b) < 13 {
		return h, broken("GIF: %d bytes", len(b))
	}
	h.width, h.height = int(binary.LittleEndian.Uint16(b[6:])), int(binary.LittleEndian.Uint16(b[8:]))
	return h, nil // it is never in memory as pixels
}

// gifReader reads the blocks of a GIF.
type gifReader struct {
	b   []byte
	at  int
	err error
}

func (r *gifReader) take(n int) []byte {
	if r.err != nil || r.at+n > len(r.b) {
		r.err = broken("GIF: cut off at %d", r.at)
		return make([]byte, n)
	}
	r.at += n
	return r.b[r.at-n : r.at]
}

// table takes the color table that flags announce.
func (r *gifReader) table(flags byte) []byte {
	if flags&gifColorTable == 0 {
		return nil
	}
	return r.take(3 << (1 + flags&7))
}

// subBlocks takes data up to its end: as it stands, and without the lengths in between.
func (r *gifReader) subBlocks() (whole, data []byte) {
	from := r.at
	for r.err == nil {
		n := int(r.take(1)[0])
		if n == 0 {
			break
		}
		data = append(data, r.take(n)...)
	}
	return r.b[from:r.at], data
}

// cleanGIF copies the screen, the colors, the frames and how long they are shown, and leaves everything else out:
// comments, texts, data of programs, whatever comes after the end. Each frame is decoded to see that it is one.
func cleanGIF(ctx context.Context, b []byte) ([]byte, error) {
	r := &gifReader{b: b}
	out := append([]byte("GIF89a"), r.take(13)[6:]...)
	out = append(out, r.table(b[10])...)
	width, height := int(binary.LittleEndian.Uint16(b[6:])), int(binary.LittleEndian.Uint16(b[8:]))
	frames, pixels := 0, 0
	for r.err == nil {
		switch kind := r.take(1)[0]; {
		case r.err != nil:
		case kind == gifTrailer:
			if frames == 0 {
				return nil, broken("GIF: no frame")
			}
			return append(out, gifTrailer), nil
		case kind == gifExtension:
			out = r.extension(out)
		case kind == gifFrame:
			d := r.take(9)
			x, y := int(binary.LittleEndian.Uint16(d)), int(binary.LittleEndian.Uint16(d[2:]))
			w, h := int(binary.LittleEndian.Uint16(d[4:])), int(binary.LittleEndian.Uint16(d[6:]))
			frames, pixels = frames+1, pixels+w*h
			if x+w > width || y+h > height || w*h == 0 {
				return nil, broken("GIF: a frame beyond its screen")
			}
			if frames > maxFrames || pixels > maxGIFPixels {
				return nil, refusedf("The GIF has too many frames: at most %d, with %d million pixels in total. "+
					"Save a shorter or smaller one.",
					maxFrames, maxGIFPixels/1_000_000)
			}
			out = append(append(append(out, gifFrame), d...), r.table(d[8])...)
			bits := r.take(1)[0]
			whole, data := r.subBlocks()
			if r.err == nil {
				r.err = checkFrame(bits, data, w*h)
			}
			out = append(append(out, bits), whole...)
		default:
			return nil, broken("GIF: block %#x at %d", kind, r.at-1)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return nil, r.err
}

// extension copies what belongs to the pictures: how a frame is shown, and how often all are.
func (r *gifReader) extension(out []byte) []byte {
	label := r.take(1)[0]
	whole, data := r.subBlocks()
	loop := label == gifApp && len(data) == len(netscapeLoop)+3 && bytes.HasPrefix(data, []byte(netscapeLoop))
	if label == gifControl && len(data) == 4 || loop {
		out = append(append(out, gifExtension, label), whole...)
	}
	return out
}

// checkFrame decodes the pixels of a frame and keeps none. What comes after them is an error.
func checkFrame(bits byte, data []byte, pixels int) error {
	if bits < 2 || bits > 8 {
		return broken("GIF: codes of %d bits", bits)
	}
	z := lzw.NewReader(bytes.NewReader(data), lzw.LSB, int(bits))
	defer func() { _ = z.Close() }()
	if n, err := io.CopyN(io.Discard, z, int64(pixels)); err != nil {
		return broken("GIF: %d of %d pixels: %w", n, pixels, err)
	}
	return nil
}
