package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/png"
	"testing"

	"newsletterd/core"
)

// TestPlateOfATallPicture checks that a plate takes little more memory than its image, even for a tall image.
func TestPlateOfATallPicture(t *testing.T) {
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewNRGBA(image.Rect(0, 0, 30, 3000))); err != nil {
		t.Fatal(err)
	}
	plate, err := OnPlate(&file, PNG)
	if err != nil {
		t.Fatal(err)
	}
	if on, err := png.DecodeConfig(bytes.NewReader(plate)); err != nil || on.Width != 40 || on.Height != 3010 {
		t.Errorf("%dx%d, %v", on.Width, on.Height, err)
	}
}

// TestOnPlate checks that a dark logo on its plate is visible on a dark background. The corners of the plate are
// transparent.
func TestOnPlate(t *testing.T) {
	m := image.NewNRGBA(image.Rect(0, 0, 400, 120))
	draw.Draw(m, image.Rect(20, 20, 380, 100), image.Black, image.Point{}, draw.Src)
	var file bytes.Buffer
	if err := png.Encode(&file, m); err != nil {
		t.Fatal(err)
	}
	plate, err := OnPlate(bytes.NewReader(file.Bytes()), PNG)
	if err != nil {
		t.Fatal(err)
	}
	on, err := png.Decode(bytes.NewReader(plate))
	if err != nil {
		t.Fatal(err)
	}
	if size := on.Bounds().Size(); size != image.Pt(440, 160) {
		t.Error(size)
	}
	for at, want := range map[image.Point]color.NRGBA{{0, 0}: {}, {220, 4}: {255, 255, 255, 255}, {220, 80}: {A: 255}} {
		if got := color.NRGBAModel.Convert(on.At(at.X, at.Y)); got != want {
			t.Errorf("%v: %v", at, got)
		}
	}
	if hidden, err := HardToSee(bytes.NewReader(plate), PNG, core.Color{0x12, 0x12, 0x12}); hidden || err != nil {
		t.Error(hidden, err)
	}
	if _, err := OnPlate(bytes.NewReader(nil), GIF); err == nil {
		t.Error("an empty file has a plate")
	}
}

// TestHardToSee checks that a dark image with a transparent background is hard to see on a dark color. An image that
// covers the background or is mostly light is not.
func TestHardToSee(t *testing.T) {
	black, white := color.NRGBA{A: 255}, color.NRGBA{255, 255, 255, 255}
	navy, yellow := color.NRGBA{0x1a, 0x23, 0x5e, 255}, color.NRGBA{0xff, 0xd4, 0, 255}
	// drawnOf returns an image with a bar of each color on a background.
	drawnOf := func(ground color.Color, bars ...color.Color) *image.NRGBA {
		m := image.NewNRGBA(image.Rect(0, 0, 400, 120))
		draw.Draw(m, m.Bounds(), image.NewUniform(ground), image.Point{}, draw.Src)
		for i, c := range bars {
			draw.Draw(m, image.Rect(20, 10+i*20, 380, 25+i*20), image.NewUniform(c), image.Point{}, draw.Src)
		}
		return m
	}
	for name, c := range map[string]struct {
		m    *image.NRGBA
		dark bool // hard to see on a dark background
		pale bool // hard to see on white
	}{
		"black":             {drawnOf(color.Transparent, black), true, false},
		"navy":              {drawnOf(color.Transparent, navy), true, false},
		"white":             {drawnOf(color.Transparent, white), false, true},
		"black with a sign": {drawnOf(color.Transparent, black, black, black, yellow), true, false},
		"half of it light":  {drawnOf(color.Transparent, black, yellow), false, false},
		"black on white":    {drawnOf(white, black), false, false},
		"black on black":    {drawnOf(black, black), false, false},
		"nothing":           {drawnOf(color.Transparent), false, false},
	} {
		for mediaType, encode := range map[string]func(*bytes.Buffer) error{
			PNG: func(b *bytes.Buffer) error { return png.Encode(b, c.m) },
			GIF: func(b *bytes.Buffer) error {
				pal := image.NewPaletted(c.m.Bounds(), color.Palette{color.Transparent, black, white, navy, yellow})
				draw.Draw(pal, pal.Bounds(), c.m, image.Point{}, draw.Src)
				return gif.Encode(b, pal, nil)
			},
		} {
			var file bytes.Buffer
			if err := encode(&file); err != nil {
				t.Fatal(err)
			}
			for ground, want := range map[core.Color]bool{{0x12, 0x12, 0x12}: c.dark, core.White: c.pale} {
				got, err := HardToSee(bytes.NewReader(file.Bytes()), mediaType, ground)
				if err != nil || got != want {
					t.Errorf("%s, %s on %s: %t, %v", name, mediaType, ground, got, err)
				}
			}
		}
	}
	if _, err := HardToSee(bytes.NewReader([]byte("no picture")), PNG, core.White); err == nil {
		t.Error("no error of what is no picture")
	}
}
