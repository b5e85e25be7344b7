// Package picturetest creates images that take the most CPU time known for their size.
package picturetest

import (
	"bytes"
	"compress/lzw"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"math/rand/v2"
	"strings"
)

// These are JPEG markers (ITU T.81 table B.1).
const (
	sof0 = 0xc0 // baseline
	sof2 = 0xc2 // progressive
	dqt  = 0xdb
	sos  = 0xda
	eoi  = 0xd9
)

// bitWriter writes bits: most significant first, as in a JPEG, or least significant first, as in a WebP.
type bitWriter struct {
	b     []byte
	n     int
	least bool
}

func (w *bitWriter) put(v uint32, bits int) {
	for i := range bits {
		if w.n%8 == 0 {
			w.b = append(w.b, 0)
		}
		if w.least {
			w.b[w.n/8] |= byte(v>>i&1) << (w.n % 8)
		} else {
			w.b[w.n/8] |= byte(v>>(bits-1-i)&1) << (7 - w.n%8)
		}
		w.n++
	}
}

// scan returns the bits in the form of a JPEG scan, padded with ones.
func (w *bitWriter) scan() []byte {
	for w.n%8 != 0 {
		w.put(1, 1)
	}
	return bytes.ReplaceAll(w.b, []byte{0xff}, []byte{0xff, 0})
}

// Segment returns a JPEG segment.
func Segment(marker byte, data ...byte) []byte {
	return append([]byte{0xff, marker, byte((len(data) + 2) >> 8), byte(len(data) + 2)}, data...)
}

// Codes returns a JPEG's Huffman table with the given numbers of one-bit and two-bit codes, and their symbols.
func Codes(class, one, two byte, symbols ...byte) []byte {
	return append(append([]byte{class, one, two}, make([]byte, 14)...), symbols...)
}

// ScansOf returns a grayscale JPEG with the given number of scans. In a progressive JPEG, each scan but the first
// refines all coefficients of each block without changing any. Otherwise all scans are the same.
func ScansOf(progressive bool, w, h, scans int) []byte {
	frame, last, bits := byte(sof0), byte(63), 2
	if progressive {
		frame, last, bits = sof2, 0, 1
	}
	b := append([]byte{0xff, 0xd8}, Segment(dqt, append([]byte{0}, bytes.Repeat([]byte{16}, 64)...)...)...)
	b = append(b, Segment(frame, 8, byte(h>>8), byte(h), byte(w>>8), byte(w), 1, 1, 0x11, 0)...)
	b = append(b, Segment(0xc4, Codes(0x00, 1, 0, 0)...)...) // code for an unchanged brightness
	if progressive {
		b = append(b, Segment(0xc4, Codes(0x10, 1, 1, 0xe0, 0)...)...) // codes for the end of many blocks, or of one
	} else {
		b = append(b, Segment(0xc4, Codes(0x10, 1, 0, 0)...)...) // code for the end of a block
	}
	blocks := (w + 7) / 8 * ((h + 7) / 8)
	first := bitWriter{}
	for range blocks {
		first.put(0, bits)
	}
	b = append(append(b, Segment(sos, 1, 1, 0, 0, last, 0)...), first.scan()...)
	again, more := Segment(sos, 1, 1, 0, 0, 63, 0), first
	if progressive {
		again, more = Segment(sos, 1, 1, 0, 1, 63, 0x10), bitWriter{}
		for left := blocks; left > 0; {
			run := 1
			if left < 1<<14 {
				more.put(2, 2)
			} else {
				run = min(left, 1<<15-1)
				more.put(0, 1)
				more.put(uint32(run-1<<14), 14)
			}
			left -= run
		}
	}
	scan := more.scan()
	for range scans - 1 {
		b = append(append(b, again...), scan...)
	}
	return append(b, 0xff, eoi)
}

// Unfolded returns a PNG whose rows are all the same, with the slowest filter.
func Unfolded(w, h int, depth, color byte) []byte {
	return png(w, h, depth, color, [][4]int{{0, 0, 1, 1}})
}

// Interlaced returns the same PNG as Unfolded, but in seven passes (PNG section 8.2).
func Interlaced(w, h int, depth, color byte) []byte {
	return png(w, h, depth, color, [][4]int{
		{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2},
	})
}

// png returns a PNG in passes. Each pass consists of a first pixel and the steps across and down.
func png(w, h int, depth, color byte, passes [][4]int) []byte {
	const paeth = 4
	channels := map[byte]int{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color]
	var z bytes.Buffer
	zw := zlib.NewWriter(&z)
	for _, p := range passes {
		across, down := (w-p[0]+p[2]-1)/p[2], (h-p[1]+p[3]-1)/p[3]
		row := make([]byte, 1+(across*channels*int(depth)+7)/8)
		for i := range row {
			row[i] = byte(i)
		}
		row[0] = paeth
		for range down {
			_, _ = zw.Write(row)
		}
	}
	_ = zw.Close()
	head := binary.BigEndian.AppendUint32(nil, uint32(w))
	head = binary.BigEndian.AppendUint32(head, uint32(h))
	head = append(head, depth, color, 0, 0, byte(min(1, len(passes)-1)))
	palette := ""
	if color == 3 {
		palette = Chunk("PLTE", strings.Repeat("abc", 1<<depth))
	}
	return []byte("\x89PNG\r\n\x1a\n" + Chunk("IHDR", string(head)) + palette + Chunk("IDAT", z.String()) + Chunk("IEND", ""))
}

// Plain returns a JPEG with one scan and only gray blocks. It has one component for each sampling factor in factors. If
// transform is not negative, an Adobe marker specifies the color transform.
func Plain(w, h int, transform int, factors ...byte) []byte {
	b := append([]byte{0xff, 0xd8}, Segment(dqt, append([]byte{0}, bytes.Repeat([]byte{16}, 64)...)...)...)
	if transform >= 0 {
		b = append(b, Segment(0xee, append([]byte("Adobe\x00\x64\x00\x00\x00\x00"), byte(transform))...)...)
	}
	frame := []byte{8, byte(h >> 8), byte(h), byte(w >> 8), byte(w), byte(len(factors))}
	scan, across, down, blocks := []byte{byte(len(factors))}, 1, 1, 0
	for i, f := range factors {
		frame = append(frame, byte(i+1), f, 0)
		scan = append(scan, byte(i+1), 0)
		across, down, blocks = max(across, int(f>>4)), max(down, int(f&15)), blocks+int(f>>4)*int(f&15)
	}
	b = append(b, Segment(sof0, frame...)...)
	b = append(b, Segment(0xc4, Codes(0x00, 1, 0, 0)...)...)
	b = append(b, Segment(0xc4, Codes(0x10, 1, 0, 0)...)...)
	b = append(b, Segment(sos, append(scan, 0, 63, 0)...)...)
	units := ((w + 8*across - 1) / (8 * across)) * ((h + 8*down - 1) / (8 * down))
	bits := bitWriter{}
	for range units * blocks {
		bits.put(0, 2)
	}
	return append(append(b, bits.scan()...), 0xff, eoi)
}

// Chunk returns a PNG chunk.
func Chunk(name, data string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	b = append(append(b, name...), data...)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:])))
}

// riff returns a WebP with one chunk.
func riff(name string, data []byte) []byte {
	if len(data)%2 == 1 {
		data = append(data, 0)
	}
	b := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(data)+12))
	b = append(append(b, "WEBP"...), name...)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(data))), data...)
}

// trees writes the five prefix codes of a lossless WebP. Each has one symbol, which takes no bits.
func (w *bitWriter) trees(green, red, blue, alpha uint32) {
	for _, symbol := range []uint32{green, red, blue, alpha, 0} {
		w.put(0b101, 3)
		w.put(symbol, 8)
	}
}

// Transformed returns a lossless WebP whose pixels take no bits and pass through three transforms.
func Transformed(w, h int) []byte {
	b := bitWriter{least: true}
	b.put(0x2f, 8)
	b.put(uint32(w-1), 14)
	b.put(uint32(h-1), 14)
	b.put(1, 4)                              // with alpha; version 0
	for _, kind := range []uint32{0, 1, 2} { // predictor, cross-color, subtract green
		b.put(1|kind<<1, 3)
		if kind < 2 {
			b.put(0, 4) // tiles of 4 × 4, without a color cache
			b.trees(12, 3, 4, 5)
		}
	}
	b.put(0, 3)
	b.trees(1, 2, 3, 254)
	b.put(0, 32)
	return riff("VP8L", b.b)
}

// Lossy returns a lossy WebP with noise in its partitions, which always decodes to an image.
func Lossy(w, h, size int) []byte {
	first := min(size/3, 1<<19-1)
	b := []byte{byte(1<<4 | first&7<<5), byte(first >> 3), byte(first >> 11), 0x9d, 1, 0x2a}
	b = append(b, byte(w), byte(w>>8), byte(h), byte(h>>8))
	return riff("VP8 ", append(b, Noise(size, 256)...))
}

// Noise returns random bytes below a limit.
func Noise(n int, limit uint32) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(0, 2))
	for i := range b {
		b[i] = byte(r.Uint32() % limit)
	}
	return b
}

// Noisy returns an image that PNG compresses poorly and slowly.
func Noisy(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	copy(m.Pix, Noise(len(m.Pix), 2))
	for i := 3; i < len(m.Pix); i += 4 {
		m.Pix[i] *= 255
	}
	return m
}

// Frames returns a GIF of n identical frames.
func Frames(side, n int) []byte {
	var z bytes.Buffer
	w := lzw.NewWriter(&z, lzw.LSB, 8)
	_, _ = w.Write(make([]byte, side*side))
	_ = w.Close()
	size := []byte{byte(side), byte(side >> 8), byte(side), byte(side >> 8)}
	frame := append(append([]byte{0x2c, 0, 0, 0, 0}, size...), 0, 8)
	for data := z.Bytes(); len(data) > 0; {
		k := min(255, len(data))
		frame = append(append(frame, byte(k)), data[:k]...)
		data = data[k:]
	}
	frame = append(frame, 0)
	b := append(append([]byte("GIF89a"), size...), 0x80, 0, 0, 0, 0, 0, 255, 255, 255)
	return append(append(b, bytes.Repeat(frame, n)...), 0x3b)
}
