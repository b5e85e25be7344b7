package picture

import (
	"bytes"
	"compress/lzw"
	"compress/zlib"
	"encoding/binary"
	"image"
	"math/rand/v2"
)

// bitWriter writes bits, the most significant first as a JPEG has them, or the least significant first as a WebP.
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

// scan returns the bits as a scan of a JPEG has them, filled up with ones.
func (w *bitWriter) scan() []byte {
	for w.n%8 != 0 {
		w.put(1, 1)
	}
	return bytes.ReplaceAll(w.b, []byte{0xff}, []byte{0xff, 0})
}

// segment is a segment of a JPEG.
func segment(marker byte, data ...byte) []byte {
	return append([]byte{0xff, marker, byte((len(data) + 2) >> 8), byte(len(data) + 2)}, data...)
}

// codes is a Huffman table of a JPEG: so many codes of one and of two bits, and what they mean.
func codes(class, one, two byte, symbols ...byte) []byte {
	return append(append([]byte{class, one, two}, make([]byte, 14)...), symbols...)
}

// scansOf returns a grey JPEG with so many scans. Of a progressive one, each but the first has one more look at all
// coefficients of each block and changes none; of another one, all scans are the same.
func scansOf(progressive bool, w, h, scans int) []byte {
	frame, last, bits := byte(jpegSOF0), byte(63), 2
	if progressive {
		frame, last, bits = jpegSOF2, 0, 1
	}
	b := append([]byte{0xff, 0xd8}, segment(jpegDQT, append([]byte{0}, bytes.Repeat([]byte{16}, 64)...)...)...)
	b = append(b, segment(frame, 8, byte(h>>8), byte(h), byte(w>>8), byte(w), 1, 1, 0x11, 0)...)
	b = append(b, segment(0xc4, codes(0x00, 1, 0, 0)...)...) // no change of the brightness
	if progressive {
		b = append(b, segment(0xc4, codes(0x10, 1, 1, 0xe0, 0)...)...) // many blocks end here, or this one
	} else {
		b = append(b, segment(0xc4, codes(0x10, 1, 0, 0)...)...) // the block ends here
	}
	blocks := (w + 7) / 8 * ((h + 7) / 8)
	first := bitWriter{}
	for range blocks {
		first.put(0, bits)
	}
	b = append(append(b, segment(jpegSOS, 1, 1, 0, 0, last, 0)...), first.scan()...)
	again, more := segment(jpegSOS, 1, 1, 0, 0, 63, 0), first
	if progressive {
		again, more = segment(jpegSOS, 1, 1, 0, 1, 63, 0x10), bitWriter{}
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
	return append(b, 0xff, jpegEOI)
}

// unfolded returns a PNG whose rows are all the same, filtered in the way that takes longest.
func unfolded(w, h int, depth, color byte) []byte {
	const paeth = 4
	channels := map[byte]int{0: 1, 2: 3, 3: 1, 6: 4}[color]
	row := make([]byte, 1+(w*channels*int(depth)+7)/8)
	for i := range row {
		row[i] = byte(i)
	}
	row[0] = paeth
	var z bytes.Buffer
	zw := zlib.NewWriter(&z)
	for range h {
		_, _ = zw.Write(row)
	}
	_ = zw.Close()
	head := binary.BigEndian.AppendUint32(nil, uint32(w))
	head = append(binary.BigEndian.AppendUint32(head, uint32(h)), depth, color, 0, 0, 0)
	return []byte(pngMagic + chunk("IHDR", string(head)) + chunk("IDAT", z.String()) + chunk("IEND", ""))
}

// riff is a WebP of one chunk.
func riff(name string, data []byte) []byte {
	if len(data)%2 == 1 {
		data = append(data, 0)
	}
	b := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(data)+12))
	b = append(append(b, "WEBP"...), name...)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(data))), data...)
}

// trees writes the five prefix codes of a lossless WebP; each has one symbol, which takes no bits.
func (w *bitWriter) trees(green, red, blue, alpha uint32) {
	for _, symbol := range []uint32{green, red, blue, alpha, 0} {
		w.put(0b101, 3)
		w.put(symbol, 8)
	}
}

// transformed returns a lossless WebP of no bits at all, whose pixels go through three transforms.
func transformed(w, h int) []byte {
	b := bitWriter{least: true}
	b.put(0x2f, 8)
	b.put(uint32(w-1), 14)
	b.put(uint32(h-1), 14)
	b.put(1, 4)                              // with alpha; version 0
	for _, kind := range []uint32{0, 1, 2} { // predicted, colors crossed, green subtracted
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

// lossy returns a lossy WebP whose partitions are noise, which is always a picture.
func lossy(w, h, size int) []byte {
	first := min(size/3, 1<<19-1)
	b := []byte{byte(1<<4 | first&7<<5), byte(first >> 3), byte(first >> 11), 0x9d, 1, 0x2a}
	b = append(b, byte(w), byte(w>>8), byte(h), byte(h>>8))
	return riff("VP8 ", append(b, noise(size, 256)...))
}

// noise returns bytes below a limit.
func noise(n int, limit uint32) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(0, 2))
	for i := range b {
		b[i] = byte(r.Uint32() % limit)
	}
	return b
}

// noisy returns a picture that PNG compresses badly and slowly.
func noisy(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	copy(m.Pix, noise(len(m.Pix), 2))
	for i := 3; i < len(m.Pix); i += 4 {
		m.Pix[i] *= 255
	}
	return m
}

// frames returns a GIF of so many frames that are all the same.
func frames(side, n int) []byte {
	var z bytes.Buffer
	w := lzw.NewWriter(&z, lzw.LSB, 8)
	_, _ = w.Write(make([]byte, side*side))
	_ = w.Close()
	size := []byte{byte(side), byte(side >> 8), byte(side), byte(side >> 8)}
	frame := append(append([]byte{gifFrame, 0, 0, 0, 0}, size...), 0, 8)
	for data := z.Bytes(); len(data) > 0; {
		k := min(255, len(data))
		frame = append(append(frame, byte(k)), data[:k]...)
		data = data[k:]
	}
	frame = append(frame, 0)
	b := append(append([]byte("GIF89a"), size...), 0x80, 0, 0, 0, 0, 0, 255, 255, 255)
	return append(append(b, bytes.Repeat(frame, n)...), gifTrailer)
}
