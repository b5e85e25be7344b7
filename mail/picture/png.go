package picture

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"
)

// pngHead parses the chunks up to the first pixels (PNG, third edition, section 5).
func pngHead(b []byte) (h head, err error) {
	standard := false // declared as sRGB
	for i := len(pngMagic); ; {
		if i+8 > len(b) {
			return h, broken("PNG: the file ends early, at byte %d", i)
		}
		size, name := int64(binary.BigEndian.Uint32(b[i:])), string(b[i+4:i+8])
		if int64(i)+12+size > int64(len(b)) {
			return h, broken("PNG: chunk %s at byte %d has an invalid size of %d bytes", name, i, size)
		}
		c := b[i+8 : i+8+int(size)]
		i += 12 + int(size)
		if (h.width == 0) != (name == "IHDR") {
			return h, broken("PNG: chunk %s", name)
		}
		switch name {
		case "IHDR":
			if err := h.pngHeader(c); err != nil {
				return h, err
			}
		case "acTL":
			return h, refusedf("Animated PNG is not supported: few email programs show it. Save the image as GIF.")
		case "sRGB":
			standard = true
		case "cICP":
			if len(c) == 4 && c[1] == transferSRGB && c[2] == 0 {
				h.primaries = int(c[0])
			}
		case "iCCP":
			h.profile = pngProfile(c)
		case "tRNS":
			h.perPixel = max(h.perPixel, 4)
		case "eXIf":
			h.orientation = exifOrientation(c)
		case "IDAT":
			if standard || h.primaries != 0 {
				h.profile = nil
			}
			return h, nil
		case "IEND":
			return h, broken("PNG: the file has no pixels")
		}
	}
}

func (h *head) pngHeader(c []byte) error {
	if len(c) != 13 {
		return broken("PNG: the header has an invalid size of %d bytes", len(c))
	}
	w, t := binary.BigEndian.Uint32(c), binary.BigEndian.Uint32(c[4:])
	if w > 1<<31-1 || t > 1<<31-1 {
		return broken("PNG: invalid image size of %d × %d pixels", w, t)
	}
	h.width, h.height = int(w), int(t)
	depth, color, interlaced := c[8], c[9], c[12] == 1
	switch h.perPixel = 4; {
	case color == 0 && depth <= 8, color == 3:
		h.perPixel = 1
	case depth == 16:
		h.perPixel = 8
	}
	if interlaced {
		h.perPixel *= 1.5 // the last pass is half of the image
	}
	return nil
}

// pngProfile inflates a profile up to maxProfile bytes. If it is invalid, pngProfile returns nil.
func pngProfile(c []byte) []byte {
	end := bytes.IndexByte(c, 0)
	if end < 0 || end+2 > len(c) {
		return nil
	}
	z, err := zlib.NewReader(bytes.NewReader(c[end+2:]))
	if err != nil {
		return nil
	}
	p, err := io.ReadAll(io.LimitReader(z, maxProfile))
	if err != nil {
		return nil
	}
	return p
}
