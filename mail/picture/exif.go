package picture

import "encoding/binary"

// exifOrientation returns the orientation from EXIF data, which is a TIFF file, or 0 if there is none.
func exifOrientation(b []byte) int {
	if len(b) < 8 {
		return 0
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch string(b[:4]) {
	case "II*\x00":
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return 0
	}
	const entry, tagOrientation, typeShort = 12, 0x0112, 3
	at := int64(order.Uint32(b[4:]))
	if at+2 > int64(len(b)) {
		return 0
	}
	dir := b[at:]
	n := int(order.Uint16(dir))
	for e := dir[2:]; n > 0 && len(e) >= entry; n, e = n-1, e[entry:] {
		if order.Uint16(e) != tagOrientation || order.Uint16(e[2:]) != typeShort {
			continue
		}
		if o := int(order.Uint16(e[8:])); o >= 1 && o <= 8 {
			return o
		}
		return 0
	}
	return 0
}
