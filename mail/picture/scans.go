package picture

import "encoding/binary"

const (
	// MaxScans is the maximum number of scans in a JPEG. Cameras and image editors write 1 to 20.
	MaxScans = 100
	// maxVisits limits the total work of all scans. A decoder visits every block of a component in every scan that
	// names it, even if the scan has few bytes. The largest images that fit in memory need 4 million with the ten scans
	// that encoders write.
	maxVisits = 12_000_000

	jpegRST0 = 0xd0
	jpegRST7 = 0xd7
)

// frame holds the parts of a JPEG frame header that determine how much work its scans cause.
type frame struct {
	progressive bool
	blocks      map[byte]int // number of 8 × 8 blocks by component
	seen        map[byte]bool
	scans       int
	visits      int
}

// countScans reads the markers from the first scan on, at b[at:], and rejects a JPEG with scans that cost too much. It
// decodes nothing. Like decoders, it skips data other than markers.
func (f *frame) countScans(b []byte, at int) error {
	for at+4 <= len(b) {
		if b[at] != 0xff || b[at+1] == 0xff {
			at++
			continue
		}
		marker := b[at+1]
		if marker == 0 || marker >= jpegRST0 && marker <= jpegRST7 {
			at += 2
			continue
		}
		size := int(binary.BigEndian.Uint16(b[at+2:]))
		if marker == jpegEOI || size < 2 || at+2+size > len(b) {
			return nil // the decoder also ends here
		}
		if marker == jpegSOS {
			if err := f.scan(b[at+4 : at+2+size]); err != nil {
				return err
			}
		}
		at += 2 + size
	}
	return nil
}

// scan adds the work of a scan to the total, given the scan's header (ITU T.81 B.2.3).
func (f *frame) scan(s []byte) error {
	if f.scans++; f.scans > MaxScans {
		return refusedf("The JPEG has more than %d scans. Save it again as a JPEG that isn't progressive.", MaxScans)
	}
	if len(s) < 1 || len(s) < 1+2*int(s[0]) {
		return nil // the decoder rejects it
	}
	for c := range int(s[0]) {
		id := s[1+2*c]
		if f.seen[id] && !f.progressive {
			return broken("JPEG: component %d is in two scans", id)
		}
		f.seen[id] = true
		f.visits += f.blocks[id]
	}
	if f.visits > maxVisits {
		return refusedf("The JPEG has too many scans for its size. Save it again as a JPEG that isn't progressive.")
	}
	return nil
}
