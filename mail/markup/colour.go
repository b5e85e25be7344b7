package markup

import (
	"math"
	"strconv"
)

// luminance returns the relative luminance of a colour of the form #rrggbb (WCAG 2.2).
func luminance(c string) float64 {
	n, err := strconv.ParseUint(c[min(1, len(c)):], 16, 32)
	if err != nil {
		return 0
	}
	part := func(shift uint) float64 {
		v := float64(n>>shift&255) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*part(16) + 0.7152*part(8) + 0.0722*part(0)
}
