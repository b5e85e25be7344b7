package picture

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/picture/picturetest"
)

func codeOf(err error) string {
	if e, ok := errors.AsType[*core.Error](err); ok {
		return e.Code
	}
	return ""
}

// TestScansOfAJPEGAreCounted checks that scans are counted before decoding, because each costs the same, even if it has
// few bytes.
func TestScansOfAJPEGAreCounted(t *testing.T) {
	for _, c := range []struct {
		name string
		data []byte
		code string
	}{
		{"as many as are taken", picturetest.ScansOf(true, 64, 64, MaxScans), ""},
		{"one more", picturetest.ScansOf(true, 64, 64, MaxScans+1), "unsupported_picture"},
		{"400", picturetest.ScansOf(true, 1600, 1200, 400), "unsupported_picture"},
		{"1,600", picturetest.ScansOf(true, 1600, 1200, 1600), "unsupported_picture"},
		{"ten of a large one", picturetest.ScansOf(true, 6000, 5000, 10), ""},
		{"as many as are taken, of a large one", picturetest.ScansOf(true, 6000, 5000, MaxScans), "unsupported_picture"},
		{"one that isn't progressive", picturetest.ScansOf(false, 64, 64, 1), ""},
		{"the same once more in one that isn't progressive", picturetest.ScansOf(false, 64, 64, 2), "invalid_picture"},
		{
			"scans behind fill bytes",
			bytes.ReplaceAll(picturetest.ScansOf(true, 64, 64, MaxScans+1), []byte("\xff\xda"), []byte("\xff\xff\xff\xda")),
			"unsupported_picture",
		},
	} {
		p, err := Open(c.data)
		if codeOf(err) != c.code || c.code == "" && err != nil {
			t.Errorf("%s: %v, not %q", c.name, err, c.code)
		}
		if err == nil && p.width < 1000 {
			if _, _, err := p.Make(t.Context(), noLimit); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// TestProgressiveJPEGsOfProgramsAreTaken checks that the scans written by libjpeg and mozjpeg are accepted in the
// largest images that fit in memory. mozjpeg splits the bits of each color into more scans.
func TestProgressiveJPEGsOfProgramsAreTaken(t *testing.T) {
	scans := map[string][][]byte{
		"libjpeg": {{1, 2, 3}, {1}, {3}, {2}, {1}, {1}, {1, 2, 3}, {3}, {2}, {1}},
		"mozjpeg": {
			{1, 2, 3}, {1}, {1}, {1}, {1}, {1}, {1}, {1}, {2}, {2}, {2}, {2}, {2}, {2}, {3}, {3}, {3}, {3}, {3}, {3},
		},
	}
	for by, script := range scans {
		for _, c := range []struct {
			side    int
			factors byte
		}{{5300, 0x22}, {3700, 0x11}} {
			side := []byte{byte(c.side >> 8), byte(c.side)}
			size := append(append([]byte{8}, side...), side...)
			data := append([]byte{0xff, 0xd8}, picturetest.Segment(jpegSOF2,
				append(size, 3, 1, c.factors, 0, 2, 0x11, 0, 3, 0x11, 0)...)...)
			for _, components := range script {
				scan := []byte{byte(len(components))}
				for _, id := range components {
					scan = append(scan, id, 0)
				}
				data = append(data, picturetest.Segment(jpegSOS, append(scan, 1, 63, 0)...)...)
			}
			data = append(data, 0xff, jpegEOI)
			if _, err := Open(data); err != nil {
				t.Errorf("%s, %d pixels wide, %#x: %v", by, c.side, c.factors, err)
			}
		}
	}
}

// patience is a context that ends after its error was requested a number of times.
type patience struct {
	context.Context
	asked, left int
}

func (p *patience) Err() error {
	if p.asked++; p.asked > p.left {
		return context.Canceled
	}
	return nil
}

// TestAPictureThatNobodyWaitsForIsLeft checks that decoding, shrinking and encoding check the context repeatedly, and
// stop when it has ended.
func TestAPictureThatNobodyWaitsForIsLeft(t *testing.T) {
	for name, data := range map[string][]byte{
		"JPEG":             jpegOf(t, picturetest.Noisy(2600, 100)),
		"progressive JPEG": picturetest.ScansOf(true, 2600, 600, 60),
		"PNG":              pngOf(t, picturetest.Noisy(1300, 100)),
		"PNG that unfolds": picturetest.Unfolded(3000, 200, 8, 2),
		"GIF":              picturetest.Frames(100, 50),
		"WebP":             picturetest.Transformed(2600, 100),
	} {
		p := open(t, data)
		all := &patience{t.Context(), 0, 1 << 30}
		if _, _, err := p.Make(all, noLimit); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if all.asked < 15 {
			t.Errorf("%s: it asks %d times whether it is still wanted", name, all.asked)
		}
		for left := 0; left < all.asked; left += 1 + all.asked/3 {
			some := &patience{t.Context(), 0, left}
			if _, _, err := p.Make(some, noLimit); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v after %d of %d", name, err, left, all.asked)
			}
			if some.asked > left+3 {
				t.Errorf("%s: it asks %d times more after the end", name, some.asked-left)
			}
		}
	}
}

// TestLargePNGsAreKeptSmaller checks that a stored PNG has fewer pixels, and that a large one is encoded fast. Writing
// a PNG takes longer than reading it.
func TestLargePNGsAreKeptSmaller(t *testing.T) {
	for _, c := range []struct {
		f            format
		w, h, fw, fh int
	}{
		{formatPNG, 500, 8000, 500, 8000},
		{formatPNG, 500, 9000, 471, 8478},
		{formatPNG, 2500, 2500, 2000, 2000},
		{formatPNG, 5000, 1000, 2400, 480},
		{formatWebP, 2500, 2500, 2000, 2000},
		{formatJPEG, 2500, 2500, 2400, 2400},
	} {
		h := head{format: c.f}
		if w, t2 := h.keptSize(c.w, c.h, FullWidth); w != c.fw || t2 != c.fh {
			t.Errorf("%d: %d × %d is kept as %d × %d", c.f, c.w, c.h, w, t2)
		}
	}
	if full, mail := made(t, picturetest.Unfolded(2500, 2500, 1, 0)); full.Width != 2000 || mail.Width != 1200 {
		t.Errorf("kept %d pixels wide, mailed %d", full.Width, mail.Width)
	}
	flat, hard := limited{ctx: t.Context(), left: noLimit}, limited{ctx: t.Context(), left: noLimit}
	for out, m := range map[*limited]image.Image{&flat: colors(400, 400), &hard: picturetest.Noisy(400, 400)} {
		if err := writePNG(out, m); err != nil {
			t.Fatal(err)
		}
	}
	fast := png.Encoder{CompressionLevel: png.BestSpeed}
	var fastFlat, fastHard bytes.Buffer
	err := errors.Join(fast.Encode(&fastFlat, colors(400, 400)), fast.Encode(&fastHard, picturetest.Noisy(400, 400)))
	if err != nil {
		t.Fatal(err)
	}
	if flat.Len() >= fastFlat.Len() || hard.Len() != fastHard.Len() {
		t.Errorf("%d of %d bytes, and %d of %d", flat.Len(), fastFlat.Len(), hard.Len(), fastHard.Len())
	}
}

func TestThinAndDeepPictures(t *testing.T) {
	for name, data := range map[string][]byte{
		"too high": picturetest.Unfolded(1, maxSide+1, 8, 0), "too wide": picturetest.Unfolded(maxSide+1, 1, 8, 0),
		"too many pixels": picturetest.Unfolded(5001, 5000, 1, 0),
	} {
		if _, err := Open(data); codeOf(err) != "unsupported_picture" {
			t.Errorf("%s: %v", name, err)
		}
	}
	full, _ := made(t, picturetest.Unfolded(40, 30, 16, 6))
	if m, ok := decoded(t, full).(*image.NRGBA); !ok {
		t.Errorf("a picture of 16 bits a channel is kept as %T", m)
	}
}

// TestWorkOfPictures measures the CPU time of the most expensive known images (`make work`).
func TestWorkOfPictures(t *testing.T) {
	photo := func(w, h int) []byte {
		m := image.NewYCbCr(image.Rect(0, 0, w, h), image.YCbCrSubsampleRatio420)
		copy(m.Y, picturetest.Noise(len(m.Y), 20))
		copy(m.Cb, picturetest.Noise(len(m.Cb), 20))
		var b bytes.Buffer
		if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 60}); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	plain := func(w, h, transform int, factors ...byte) func(part float64) []byte {
		return func(part float64) []byte { return picturetest.Plain(w, int(float64(h)*part), transform, factors...) }
	}
	passes := func(h int, depth, color byte) func(part float64) []byte {
		return func(part float64) []byte { return picturetest.Interlaced(5000, int(float64(h)*part), depth, color) }
	}
	scans := func(w, h, n int) func(part float64) []byte {
		return func(part float64) []byte { return picturetest.ScansOf(true, w, int(float64(h)*part), n) }
	}
	of := func(n int, part float64) int { return int(float64(n) * part) }
	for name, data := range map[string]func(part float64) []byte{
		"JPEG":                        func(p float64) []byte { return photo(8000, of(5000, p)) },
		"JPEG tall":                   func(p float64) []byte { return photo(2400, of(9000, p)) },
		"JPEG progressive, 19 scans":  scans(8000, 4900, 19),
		"JPEG progressive, 100 scans": scans(2760, 2760, 100),
		"JPEG, CMYK of Adobe":         plain(5000, 5000, 2, 0x11, 0x11, 0x11, 0x11),
		"JPEG, RGB":                   plain(8000, 5000, 0, 0x11, 0x11, 0x11),
		"JPEG, 4:4:4":                 plain(8000, 5000, -1, 0x11, 0x11, 0x11),
		"JPEG, 4:1:0":                 plain(8000, 5000, -1, 0x42, 0x11, 0x11),
		"JPEG, grey":                  plain(8000, 5000, -1, 0x11),
		"PNG of 16 bits, grey":        func(p float64) []byte { return picturetest.Unfolded(5000, of(5000, p), 16, 0) },
		"PNG of 32 bits, grey":        func(p float64) []byte { return picturetest.Unfolded(5000, of(5000, p), 16, 4) },
		"PNG of 48 bits":              func(p float64) []byte { return picturetest.Unfolded(5000, of(5000, p), 16, 2) },
		"PNG of 1 bit":                func(p float64) []byte { return picturetest.Unfolded(5000, of(5000, p), 1, 0) },
		"PNG of 8 bits, colors":       func(p float64) []byte { return picturetest.Unfolded(5000, of(5000, p), 8, 3) },
		"PNG in passes of 64 bits":    passes(2500, 16, 6),
		"PNG in passes of 48 bits":    passes(2500, 16, 2),
		"PNG in passes of 24 bits":    passes(5000, 8, 2),
		"PNG in passes of 1 bit":      passes(5000, 1, 0),
		"PNG of 24 bits":              func(p float64) []byte { return picturetest.Unfolded(5000, of(5000, p), 8, 2) },
		"PNG of 64 bits":              func(p float64) []byte { return picturetest.Unfolded(5000, of(4400, p), 16, 6) },
		"PNG tall":                    func(p float64) []byte { return picturetest.Unfolded(2450, of(10000, p), 8, 6) },
		"PNG of noise":                func(p float64) []byte { return pngOf(t, picturetest.Noisy(2400, of(2900, p))) },
		"PNG of noise in mails":       func(p float64) []byte { return pngOf(t, picturetest.Noisy(1200, of(3333, p))) },
		"PNG of many chunks": func(p float64) []byte {
			return withChunks(pngOf(t, colors(64, 64)), strings.Repeat(picturetest.Chunk("tEXt", ""), of(800_000, p)))
		},
		"PNG of few colors": func(p float64) []byte {
			few := color.Palette{color.Black, color.White, color.Transparent}
			m := image.NewPaletted(image.Rect(0, 0, 1200, of(3300, p)), few)
			copy(m.Pix, picturetest.Noise(len(m.Pix), 3))
			return pngOf(t, m)
		},
		"GIF": func(p float64) []byte { return picturetest.Frames(5000, of(8, p)) },
		"GIF of comments": func(p float64) []byte {
			g := picturetest.Frames(10, 1)
			comments := strings.Repeat("\x21\xfe\x01a\x00", of(2_000_000, p))
			return append(append(g[:len(g)-1:len(g)-1], comments...), gifTrailer)
		},
		"WebP, lossless": func(p float64) []byte { return picturetest.Transformed(5000, of(5000, p)) },
		"WebP, lossy":    func(p float64) []byte { return picturetest.Lossy(5000, of(5000, p), of(9<<20, p)) },
		"JPEG of tables": func(p float64) []byte {
			j := jpegOf(t, colors(64, 64))
			tables := bytes.Repeat(picturetest.Segment(0xc4, picturetest.Codes(0, 1, 0, 0)...), of(450_000, p))
			return append(append([]byte("\xff\xd8"), tables...), j[2:]...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			coretest.Work(t, "picture: "+name, func(part float64) ([]byte, int) {
				b := data(part)
				return b, len(b)
			}, func(b []byte) {
				p, err := Open(b)
				if err == nil {
					_, _, err = p.Make(t.Context(), core.DefaultMediaBytes)
				}
				if err != nil && core.KindOf(err) != core.TooLarge {
					t.Errorf("%v", err)
				}
			})
		})
	}
}
