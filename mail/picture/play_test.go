package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"newsletterd/core"
)

// TestPlayMark checks that a mark is in the middle of an image, also of one with a palette, and nowhere else.
func TestPlayMark(t *testing.T) {
	green := color.NRGBA{0x30, 0x90, 0x30, 0xff}
	full := image.NewNRGBA(image.Rect(0, 0, 480, 270))
	draw.Draw(full, full.Bounds(), image.NewUniform(green), image.Point{}, draw.Src)
	pal := image.NewPaletted(full.Bounds(), color.Palette{green, color.Black})
	for name, m := range map[string]image.Image{"png": full, "palette": pal} {
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			t.Fatal(err)
		}
		p, err := Open(b.Bytes())
		if err == nil {
			err = p.AddPlayMark()
		}
		if err != nil {
			t.Fatal(err)
		}
		_, mail, err := p.Make(t.Context(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		got, err := png.Decode(bytes.NewReader(mail.Data))
		if err != nil {
			t.Fatal(err)
		}
		for at, want := range map[image.Point]func(r, g, b uint32) bool{
			{240, 135}: func(r, g, b uint32) bool { return r > 0xf000 && g > 0xf000 && b > 0xf000 },
			{210, 135}: func(r, g, _ uint32) bool { return r < 0x4000 && g < 0x6000 },
			{190, 135}: func(r, g, _ uint32) bool { return r>>8 == 0x30 && g>>8 == 0x90 },
			{240, 85}:  func(r, g, _ uint32) bool { return r>>8 == 0x30 && g>>8 == 0x90 },
		} {
			if r, g, b, _ := got.At(at.X, at.Y).RGBA(); !want(r, g, b) {
				t.Errorf("%s: %v is %x %x %x", name, at, r>>8, g>>8, b>>8)
			}
		}
	}
}

// TestPlayMarksOfOtherFormats checks that a JPEG and a tiny image can have a mark, and a GIF can't.
func TestPlayMarksOfOtherFormats(t *testing.T) {
	m := image.NewGray(image.Rect(0, 0, 1, 1))
	var j, g bytes.Buffer
	if err := jpeg.Encode(&j, m, nil); err != nil {
		t.Fatal(err)
	}
	if err := gif.Encode(&g, m, nil); err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{j.Bytes(), g.Bytes()} {
		p, err := Open(data)
		if err != nil {
			t.Fatal(err)
		}
		if err = p.AddPlayMark(); (core.KindOf(err) == core.Invalid) != (p.format == formatGIF) {
			t.Errorf("%v: %v", p.format, err)
		}
		if _, _, err := p.Make(t.Context(), 1<<20); err != nil {
			t.Errorf("%v: %v", p.format, err)
		}
	}
}
