package identity

import (
	"fmt"
	"html/template"
	"strings"

	"rsc.io/qr"
)

// qrMargin is the quiet zone around a QR code, in modules. ISO/IEC 18004 requires 4.
const qrMargin = 4

// qrCode returns an SVG with a QR code for text. The code is dark on white in every color scheme, because scanners
// require that.
func qrCode(text string) (template.HTML, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return "", fmt.Errorf("draw a QR code: %w", err)
	}
	var path strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			from := x
			for x < code.Size && code.Black(x, y) {
				x++
			}
			if x > from {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", from+qrMargin, y+qrMargin, x-from, x-from)
			}
		}
	}
	size := code.Size + 2*qrMargin
	//nolint:gosec // numbers alone
	return template.HTML(fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" `+
		`role="img" aria-labelledby="qr-title" shape-rendering="crispEdges"><title id="qr-title">QR</title>`+
		`<path fill="#fff" d="M0 0h%dv%dH0z"/><path d="%s"/></svg>`, size, size, 5*size, 5*size, size, size, &path)), nil
}
