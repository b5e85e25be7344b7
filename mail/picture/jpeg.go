package picture

import (
	"bytes"
	"encoding/binary"
)

// JPEG markers (ITU T.81 table B.1).
const (
	jpegSOF0 = 0xc0 // baseline
	jpegSOF2 = 0xc2 // progressive
	jpegDQT  = 0xdb
	jpegSOS  = 0xda
	jpegEOI  = 0xd9
	jpegAPP1 = 0xe1 // EXIF
	jpegAPP2 = 0xe2 // ICC
)

// maxProfile is the maximum number of ICC profile bytes to read. Profiles with a matrix have a few hundred.
const maxProfile = 1 << 20

// jpegHead parses the segments of a JPEG up to the first scan, and checks the work that its scans cause.
func jpegHead(b []byte) (h head, err error) {
	var f *frame
	for i := 2; ; {
		for i < len(b) && b[i] == 0xff && i+1 < len(b) && b[i+1] == 0xff { // fill bytes
			i++
		}
		if i+4 > len(b) || b[i] != 0xff {
			return h, broken("JPEG: no marker at byte %d", i)
		}
		marker, size := b[i+1], int(binary.BigEndian.Uint16(b[i+2:]))
		if marker == jpegEOI || size < 2 || i+2+size > len(b) {
			return h, broken("JPEG: segment %#x at byte %d has an invalid size of %d bytes", marker, i, size)
		}
		s, from := b[i+4:i+2+size], i
		i += 2 + size
		switch {
		case marker == jpegSOS:
			if f == nil {
				return h, broken("JPEG: a scan comes before the image size")
			}
			return h, f.countScans(b, from)
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			if f != nil {
				return h, broken("JPEG: the file has two frames")
			}
			if f, err = h.jpegFrame(marker, s); err != nil {
				return h, err
			}
		case marker == jpegDQT && h.quality == 0:
			h.quality = qualityOf(s)
		case marker == jpegAPP1 && bytes.HasPrefix(s, []byte("Exif\x00\x00")) && h.orientation == 0:
			h.orientation = exifOrientation(s[6:])
		case marker == jpegAPP2 && bytes.HasPrefix(s, []byte("ICC_PROFILE\x00")) && len(s) > 14 &&
			len(h.profile) < maxProfile: // parts are in order in all known files
			h.profile = append(h.profile, s[14:]...)
		}
	}
}

// jpegFrame parses a frame header (ITU T.81 B.2.2).
func (h *head) jpegFrame(marker byte, s []byte) (*frame, error) {
	if marker != jpegSOF0 && marker != jpegSOF0+1 && marker != jpegSOF2 {
		return nil, refusedf("This kind of JPEG is not supported. Save it again as a standard JPEG.")
	}
	if len(s) < 6 || len(s) < 6+3*int(s[5]) {
		return nil, broken("JPEG: the frame header has an invalid size of %d bytes", len(s))
	}
	h.height, h.width = int(binary.BigEndian.Uint16(s[1:])), int(binary.BigEndian.Uint16(s[3:]))
	n := int(s[5])
	samples, most, across, down := 0, 1, 1, 1
	for c := range n {
		factors := s[6+3*c+1]
		area := int(factors>>4) * int(factors&15)
		samples, most = samples+area, max(most, area)
		across, down = max(across, int(factors>>4)), max(down, int(factors&15))
	}
	f := &frame{progressive: marker == jpegSOF2, blocks: map[byte]int{}, seen: map[byte]bool{}}
	units := ((h.width + 8*across - 1) / (8 * across)) * ((h.height + 8*down - 1) / (8 * down))
	for c := range n {
		factors := s[6+3*c+1]
		f.blocks[s[6+3*c]] = units * int(factors>>4) * int(factors&15)
	}
	h.perPixel = max(1, float64(samples)/float64(most))
	if marker == jpegSOF2 {
		h.perPixel *= 5 // the decoder also stores each sample as a 4-byte coefficient
	}
	if n == 4 {
		h.perPixel += 4 // as CMYK
	}
	return f, nil
}

// luminance is the luminance table of ITU T.81 K.1, in zigzag order, at quality 50.
var luminance = [64]int{
	16, 11, 12, 14, 12, 10, 16, 14, 13, 14, 18, 17, 16, 19, 24, 40, 26, 24, 22, 22, 24, 49, 35, 37, 29, 40, 58, 51, 61,
	60, 57, 51, 56, 55, 64, 72, 92, 78, 64, 68, 87, 69, 55, 56, 80, 109, 81, 87, 95, 98, 103, 104, 103, 62, 77, 113,
	121, 112, 100, 120, 92, 101, 103, 99,
}

// qualityOf estimates a JPEG's quality setting from its first quantization table; 0: unknown.
func qualityOf(s []byte) int {
	if len(s) < 65 || s[0]>>4 != 0 {
		return 0
	}
	sum, base := 0, 0
	for i, v := range s[1:65] {
		sum, base = sum+int(v), base+luminance[i]
	}
	scale := 100 * sum / base
	if scale <= 100 {
		return min(100, max(1, (200-scale)/2))
	}
	return max(1, 5000/scale)
}
