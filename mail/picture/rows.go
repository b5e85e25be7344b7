package picture

import (
	"encoding/binary"
	"image"
	"image/color"
)

// rowsOf returns a function that reads row y of an image: red, green, blue and alpha of each pixel from 0 to 255, with
// the colors premultiplied by alpha.
func rowsOf(m image.Image) func(y int, row []float32) {
	b := m.Bounds()
	switch m := m.(type) {
	case *image.YCbCr:
		return func(y int, row []float32) { ycbcrRow(m, b.Min.Y+y, row) }
	case *image.NYCbCrA:
		return func(y int, row []float32) {
			ycbcrRow(&m.YCbCr, b.Min.Y+y, row)
			at := m.AOffset(b.Min.X, b.Min.Y+y)
			multiply(row, func(x int) uint8 { return m.A[at+x] })
		}
	case *image.NRGBA:
		return func(y int, row []float32) {
			p := m.Pix[m.PixOffset(b.Min.X, b.Min.Y+y):]
			for i := range row {
				row[i] = float32(p[i])
			}
			multiply(row, func(x int) uint8 { return p[4*x+3] })
		}
	case *image.RGBA:
		return func(y int, row []float32) {
			p := m.Pix[m.PixOffset(b.Min.X, b.Min.Y+y):]
			for i := range row {
				row[i] = float32(p[i])
			}
		}
	case *image.NRGBA64:
		return func(y int, row []float32) {
			p := m.Pix[m.PixOffset(b.Min.X, b.Min.Y+y):]
			for i := range row {
				row[i] = float32(binary.BigEndian.Uint16(p[2*i:])) / 257
			}
			multiply(row, func(x int) uint8 { return p[8*x+6] })
		}
	case *image.RGBA64:
		return func(y int, row []float32) {
			p := m.Pix[m.PixOffset(b.Min.X, b.Min.Y+y):]
			for i := range row {
				row[i] = float32(binary.BigEndian.Uint16(p[2*i:])) / 257
			}
		}
	case *image.Gray:
		return func(y int, row []float32) {
			p := m.Pix[m.PixOffset(b.Min.X, b.Min.Y+y):]
			for x := range len(row) / 4 {
				v := float32(p[x])
				row[4*x], row[4*x+1], row[4*x+2], row[4*x+3] = v, v, v, 255
			}
		}
	case *image.Paletted:
		return palettedRows(m)
	}
	return func(y int, row []float32) {
		for x := range len(row) / 4 {
			r, g, bl, a := m.At(b.Min.X+x, b.Min.Y+y).RGBA()
			row[4*x], row[4*x+1] = float32(r)/257, float32(g)/257
			row[4*x+2], row[4*x+3] = float32(bl)/257, float32(a)/257
		}
	}
}

// readFast reports whether encoders have a fast path for an image's type. Images of other types are redrawn with 8 bits
// per channel.
func readFast(m image.Image) bool {
	switch m.(type) {
	case *image.YCbCr, *image.NRGBA, *image.RGBA, *image.Gray, *image.Paletted:
		return true
	}
	return false
}

func ycbcrRow(m *image.YCbCr, y int, row []float32) {
	for x := range len(row) / 4 {
		c := m.COffset(m.Rect.Min.X+x, y)
		r, g, b := color.YCbCrToRGB(m.Y[m.YOffset(m.Rect.Min.X+x, y)], m.Cb[c], m.Cr[c])
		row[4*x], row[4*x+1], row[4*x+2], row[4*x+3] = float32(r), float32(g), float32(b), 255
	}
}

// multiply multiplies the colors in a row by alpha.
func multiply(row []float32, alpha func(x int) uint8) {
	for x := range len(row) / 4 {
		a := alpha(x)
		row[4*x+3] = float32(a)
		if a == 255 {
			continue
		}
		f := float32(a) / 255
		row[4*x], row[4*x+1], row[4*x+2] = row[4*x]*f, row[4*x+1]*f, row[4*x+2]*f
	}
}

func palettedRows(m *image.Paletted) func(y int, row []float32) {
	var colors [256][4]float32 // an index beyond the palette is transparent
	for i, c := range m.Palette[:min(256, len(m.Palette))] {
		r, g, b, a := c.RGBA()
		colors[i] = [4]float32{float32(r) / 257, float32(g) / 257, float32(b) / 257, float32(a) / 257}
	}
	return func(y int, row []float32) {
		p := m.Pix[m.PixOffset(m.Rect.Min.X, m.Rect.Min.Y+y):]
		for x := range len(row) / 4 {
			copy(row[4*x:4*x+4], colors[p[x]][:])
		}
	}
}

// turn returns the image upright, according to its EXIF orientation (EXIF 2.3 section 4.6.4).
func turn(m *image.NRGBA, orientation int) *image.NRGBA {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	if orientation <= 1 {
		return m
	}
	tw, th := w, h
	if orientation >= 5 {
		tw, th = h, w
	}
	t := image.NewNRGBA(image.Rect(0, 0, tw, th))
	for y := range h {
		for x := range w {
			tx, ty := x, y
			switch orientation {
			case 2:
				tx = w - 1 - x
			case 3:
				tx, ty = w-1-x, h-1-y
			case 4:
				ty = h - 1 - y
			case 5:
				tx, ty = y, x
			case 6:
				tx, ty = h-1-y, x
			case 7:
				tx, ty = h-1-y, w-1-x
			case 8:
				tx, ty = y, w-1-x
			}
			copy(t.Pix[ty*t.Stride+4*tx:][:4], m.Pix[y*m.Stride+4*x:][:4])
		}
	}
	return t
}
