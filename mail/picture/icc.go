package picture

import (
	"encoding/binary"
	"image"
	"image/color"
	"math"
	"slices"
)

type matrix [3][3]float64

// Matrices from linear RGB to XYZ. Their columns are red, green and blue under D50, as in ICC profiles.
var (
	fromSRGB = matrix{
		{0.4360747, 0.3850649, 0.1430804}, {0.2225045, 0.7168786, 0.0606169}, {0.0139322, 0.0971045, 0.7141733},
	}
	fromDisplayP3 = matrix{
		{0.5151187, 0.2919778, 0.1571035}, {0.2411892, 0.6922441, 0.0665668}, {-0.0010505, 0.0418791, 0.7840713},
	}
)

// Values in the cICP chunk of a PNG (ITU-T H.273).
const (
	transferSRGB = 13
	primariesP3  = 12
)

// conversion converts colors to sRGB. A nil conversion leaves them unchanged.
type conversion struct {
	linear [3][256]float64 // linear value for each channel value
	to     matrix          // matrix to linear sRGB
}

// primariesConversion returns a conversion for colors that use sRGB's curve but other primaries. If no conversion is
// needed, it returns nil.
func primariesConversion(primaries int) *conversion {
	if primaries != primariesP3 {
		return nil
	}
	c := &conversion{to: fromSRGB.inverse().times(fromDisplayP3)}
	for v := range 256 {
		l := fromCurve(float64(v) / 255)
		c.linear[0][v], c.linear[1][v], c.linear[2][v] = l, l, l
	}
	return c
}

// profileConversion parses an RGB ICC profile with a matrix and curves (ICC.1:2022 section 8.3.3). It returns nil for
// any other profile, and if the colors are already sRGB.
func profileConversion(p []byte) *conversion {
	if len(p) < 132 || string(p[16:20]) != "RGB " || string(p[20:24]) != "XYZ " || string(p[36:40]) != "acsp" {
		return nil
	}
	tag := func(name string) []byte {
		n := int(min(binary.BigEndian.Uint32(p[128:]), 100))
		for e := p[132:]; n > 0 && len(e) >= 12; n, e = n-1, e[12:] {
			at, size := int64(binary.BigEndian.Uint32(e[4:])), int64(binary.BigEndian.Uint32(e[8:]))
			if string(e[:4]) == name && at+size <= int64(len(p)) {
				return p[at : at+size]
			}
		}
		return nil
	}
	var from matrix
	c := &conversion{}
	for i, name := range []string{"r", "g", "b"} {
		xyz := tag(name + "XYZ")
		if len(xyz) < 20 || string(xyz[:4]) != "XYZ " {
			return nil
		}
		for j := range 3 {
			from[j][i] = fixed(xyz[8+4*j:])
		}
		curve := curveOf(tag(name + "TRC"))
		if curve == nil {
			return nil
		}
		for v := range 256 {
			l := curve(float64(v) / 255)
			if math.IsNaN(l) || math.IsInf(l, 0) {
				return nil
			}
			c.linear[i][v] = min(max(l, 0), 1)
		}
	}
	c.to = fromSRGB.inverse().times(from)
	if c.changesNothing() {
		return nil
	}
	return c
}

// changesNothing reports whether the conversion changes each channel of a few different sample colors by at most one
// step.
func (c *conversion) changesNothing() bool {
	values := []uint8{0, 50, 128, 200, 255}
	for _, r := range values {
		for _, g := range values {
			for _, b := range values {
				x, y, z := c.color(r, g, b)
				if absDiff(x, r) > 1 || absDiff(y, g) > 1 || absDiff(z, b) > 1 {
					return false
				}
			}
		}
	}
	return true
}

func absDiff(a, b uint8) int { return max(int(a)-int(b), int(b)-int(a)) }

// color converts a color to sRGB and clips out-of-range values.
func (c *conversion) color(r, g, b uint8) (uint8, uint8, uint8) {
	x, y, z := c.linear[0][r], c.linear[1][g], c.linear[2][b]
	var out [3]uint8
	for i, row := range c.to {
		out[i] = toCurve(row[0]*x + row[1]*y + row[2]*z)
	}
	return out[0], out[1], out[2]
}

// apply converts an image to sRGB in place.
func (c *conversion) apply(m *image.NRGBA) {
	for p := m.Pix; len(p) >= 4; p = p[4:] {
		p[0], p[1], p[2] = c.color(p[0], p[1], p[2])
	}
}

// palette returns a paletted image with its palette converted to sRGB.
func (c *conversion) palette(m *image.Paletted) *image.Paletted {
	if c == nil {
		return m
	}
	p := slices.Clone(m.Palette)
	for i, old := range p {
		n := color.NRGBAModel.Convert(old).(color.NRGBA)
		n.R, n.G, n.B = c.color(n.R, n.G, n.B)
		p[i] = n
	}
	return &image.Paletted{Pix: m.Pix, Stride: m.Stride, Rect: m.Rect, Palette: p}
}

// fixed parses an s15Fixed16 number.
func fixed(b []byte) float64 { return float64(int32(binary.BigEndian.Uint32(b))) / 65536 }

// curveOf parses a curve of type curv or para in an ICC profile. For any other type it returns nil.
func curveOf(b []byte) func(float64) float64 {
	if len(b) < 12 {
		return nil
	}
	switch string(b[:4]) {
	case "curv":
		return sampledCurve(b)
	case "para":
		return formulaCurve(b)
	}
	return nil
}

func sampledCurve(b []byte) func(float64) float64 {
	n := int(min(binary.BigEndian.Uint32(b[8:]), maxProfile))
	b = b[12:]
	switch {
	case n == 0:
		return func(x float64) float64 { return x }
	case len(b) < 2*n:
		return nil
	case n == 1:
		gamma := float64(binary.BigEndian.Uint16(b)) / 256
		return func(x float64) float64 { return math.Pow(x, gamma) }
	}
	at := func(i int) float64 { return float64(binary.BigEndian.Uint16(b[2*i:])) / 65535 }
	return func(x float64) float64 {
		place := x * float64(n-1)
		i := min(int(place), n-2)
		part := place - float64(i)
		return at(i)*(1-part) + at(i+1)*part
	}
}

// formulaCurve parses a parametric curve of an ICC profile (ICC.1:2022 section 10.18).
func formulaCurve(b []byte) func(float64) float64 {
	kind := int(binary.BigEndian.Uint16(b[8:]))
	counts := []int{1, 3, 4, 5, 7}
	if kind >= len(counts) || len(b) < 12+4*counts[kind] {
		return nil
	}
	var p [7]float64 // g a b c d e f
	for i := range counts[kind] {
		p[i] = fixed(b[12+4*i:])
	}
	g, a, o, c, d, e, f := p[0], p[1], p[2], p[3], p[4], p[5], p[6]
	switch kind {
	case 0:
		a, d = 1, -1
	case 1, 2:
		if a == 0 {
			return nil
		}
		d, e, f = -o/a, c, c
		c = 0
	}
	return func(x float64) float64 {
		if x >= d {
			return math.Pow(max(a*x+o, 0), g) + e
		}
		return c*x + f
	}
}

// fromCurve converts an sRGB value to linear (IEC 61966-2-1).
func fromCurve(v float64) float64 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

// curveSteps maps linear values, in steps of 1/4096, to sRGB bytes.
var curveSteps = func() (t [4097]uint8) {
	for i := range t {
		l := float64(i) / 4096
		v := 12.92 * l
		if l > 0.0031308 {
			v = 1.055*math.Pow(l, 1/2.4) - 0.055
		}
		t[i] = uint8(255*v + 0.5)
	}
	return t
}()

// toCurve is the inverse of fromCurve, as a byte.
func toCurve(l float64) uint8 {
	l = min(max(l, 0), 1)
	if l < 1.0/64 { // the curve is steep here
		if l <= 0.0031308 {
			return uint8(255*12.92*l + 0.5)
		}
		return uint8(255*(1.055*math.Pow(l, 1/2.4)-0.055) + 0.5)
	}
	return curveSteps[int(l*4096+0.5)]
}

func (m matrix) times(n matrix) (out matrix) {
	for i := range 3 {
		for j := range 3 {
			for k := range 3 {
				out[i][j] += m[i][k] * n[k][j]
			}
		}
	}
	return out
}

// inverse returns the inverse of an invertible matrix.
func (m matrix) inverse() (out matrix) {
	minor := func(i, j int) float64 {
		a, b, c, d := (i+1)%3, (i+2)%3, (j+1)%3, (j+2)%3
		return m[a][c]*m[b][d] - m[a][d]*m[b][c]
	}
	det := m[0][0]*minor(0, 0) + m[0][1]*minor(0, 1) + m[0][2]*minor(0, 2)
	for i := range 3 {
		for j := range 3 {
			out[j][i] = minor(i, j) / det
		}
	}
	return out
}
