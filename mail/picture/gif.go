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
	maxGIFPixels  = 250_000_000 // total of all frames
	gifExtension  = 0x21
	gifFrame      = 0x2c
	gifTrailer    = 0x3b
	gifControl    = 0xf9
	gifApp        = 0xff
	netscapeLoop  = "NETSCAPE2.0"
	gifColorTable = 0x80
)

// gifHead parses the logical screen descriptor (GIF89a section 18).
func gifHead(b []byte) (h head, err error) {
	if len(b) < 13 {
		return h, broken("GIF: the file has only %d bytes", len(b))
	}
	h.width, h.height = int(binary.LittleEndian.Uint16(b[6:])), int(binary.LittleEndian.Uint16(b[8:]))
	return h, nil // a GIF's pixels are never all in memory
}

// gifReader reads the blocks of a GIF.
type gifReader struct {
	b   []byte
	at  int
	err error
}

func (r *gifReader) take(n int) []byte {
	if r.err != nil || r.at+n > len(r.b) {
		r.err = broken("GIF: the file ends early, at byte %d", r.at)
		return make([]byte, n)
	}
	r.at += n
	return r.b[r.at-n : r.at]
}

// table reads the color table if flags announces one.
func (r *gifReader) table(flags byte) []byte {
	if flags&gifColorTable == 0 {
		return nil
	}
	return r.take(3 << (1 + flags&7))
}

// subBlocks reads a sequence of sub-blocks. whole includes the bytes with their lengths, data doesn't.
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

// cleanGIF copies the screen, the colors, the frames and their durations. It drops everything else: comments, plain
// text, application data, and any data after the end. It decodes each frame to validate it.
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
				return nil, broken("GIF: the file has no frame")
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
				return nil, broken("GIF: a frame is larger than the image")
			}
			if frames > maxFrames || pixels > maxGIFPixels {
				return nil, refusedf("The GIF is too large. The limit is %d frames and %d million pixels in total. "+
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
			return nil, broken("GIF: unknown block %#x at byte %d", kind, r.at-1)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return nil, r.err
}

// extension reads an extension. It appends those to out that belong to the image: how a frame is displayed, and the
// number of repetitions.
func (r *gifReader) extension(out []byte) []byte {
	label := r.take(1)[0]
	whole, data := r.subBlocks()
	loop := label == gifApp && len(data) == len(netscapeLoop)+3 && bytes.HasPrefix(data, []byte(netscapeLoop))
	if label == gifControl && len(data) == 4 || loop {
		out = append(append(out, gifExtension, label), whole...)
	}
	return out
}

// checkFrame decodes a frame's pixels and discards them. Extra data after the pixels is an error.
func checkFrame(bits byte, data []byte, pixels int) error {
	if bits < 2 || bits > 8 {
		return broken("GIF: invalid code size of %d bits", bits)
	}
	z := lzw.NewReader(bytes.NewReader(data), lzw.LSB, int(bits))
	defer func() { _ = z.Close() }()
	if n, err := io.CopyN(io.Discard, z, int64(pixels)); err != nil {
		return broken("GIF: read %d of %d pixels: %w", n, pixels, err)
	}
	return nil
}
