package picture

import (
	"encoding/binary"
	"image"
	"strings"
)

// webpHead parses the chunks of a WebP (RFC 9649 section 2).
func webpHead(b []byte) (h head, err error) {
	if size := int64(binary.LittleEndian.Uint32(b[4:])); size+8 > int64(len(b)) {
		return h, broken("WebP: the file has %d of %d bytes", len(b), size+8)
	}
	alpha := false
	for i := 12; i+8 <= len(b); {
		name, size := string(b[i:i+4]), int64(binary.LittleEndian.Uint32(b[i+4:]))
		if int64(i)+8+size > int64(len(b)) {
			return h, broken("WebP: chunk %q at byte %d has an invalid size of %d bytes", name, i, size)
		}
		c := b[i+8 : i+8+int(size)]
		i += 8 + int(size) + int(size&1)
		switch {
		case name == "VP8X" && len(c) >= 10:
			if c[0]&0x02 != 0 {
				return h, refusedf(
					"Animated WebP is not supported: few email programs show it. Save the image as GIF.")
			}
			alpha = c[0]&0x10 != 0
			h.width, h.height = 1+int(uint24(c[4:])), 1+int(uint24(c[7:]))
		case name == "VP8 " && len(c) >= 10 && h.perPixel == 0:
			w, t := int(binary.LittleEndian.Uint16(c[6:])&0x3fff), int(binary.LittleEndian.Uint16(c[8:])&0x3fff)
			if err := h.webpSize(w, t); err != nil {
				return h, err
			}
			h.perPixel = 1.6
			if alpha {
				h.perPixel = 6 // the alpha channel is a separate image, which takes 4 while decoding
			}
		case name == "VP8L" && len(c) >= 5 && h.perPixel == 0:
			bits := binary.LittleEndian.Uint32(c[1:])
			if err := h.webpSize(1+int(bits&0x3fff), 1+int(bits>>14&0x3fff)); err != nil {
				return h, err
			}
			h.perPixel = 8
		case name == "ICCP" && len(c) < maxProfile:
			h.profile = c
		case name == "EXIF":
			h.orientation = exifOrientation([]byte(strings.TrimPrefix(string(c[:min(len(c), 1<<16)]), "Exif\x00\x00")))
		}
	}
	if h.perPixel == 0 {
		return h, broken("WebP: the file has no pixels")
	}
	return h, nil
}

// webpSize records the image's size in pixels, which must match the frame's size.
func (h *head) webpSize(w, t int) error {
	if h.width != 0 && (h.width != w || h.height != t) {
		return broken("WebP: an image of %d × %d pixels is in a frame of %d × %d", w, t, h.width, h.height)
	}
	h.width, h.height = w, t
	return nil
}

// fullRange converts the colors of a lossy WebP to the full range of byte values, as in a JPEG. A lossy WebP uses only
// part of the range (RFC 9649 section 9.2, ITU-R BT.601), which golang.org/x/image/webp doesn't convert.
func fullRange(m image.Image) {
	var p *image.YCbCr
	switch m := m.(type) {
	case *image.YCbCr:
		p = m
	case *image.NYCbCrA:
		p = &m.YCbCr
	default:
		return
	}
	var bright, color [256]byte
	for v := range 256 {
		bright[v] = byte(min(max((float64(v)-16)*255/219+0.5, 0), 255))
		color[v] = byte(min(max((float64(v)-128)*255/224+128.5, 0), 255))
	}
	for _, plane := range []struct {
		values []byte
		to     *[256]byte
	}{{p.Y, &bright}, {p.Cb, &color}, {p.Cr, &color}} {
		for i, v := range plane.values {
			plane.values[i] = plane.to[v]
		}
	}
}

func uint24(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 }
