package picture

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"runtime"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/mail/picture/picturetest"
)

const noLimit = 1 << 30

// colors returns an image with a red and a blue half and a green upper left corner.
func colors(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.NRGBA{200, 40, 40, 255}
			switch {
			case x < w/4 && y < h/4:
				c = color.NRGBA{40, 200, 40, 255}
			case x >= w/2:
				c = color.NRGBA{40, 40, 200, 255}
			}
			m.SetNRGBA(x, y, c)
		}
	}
	return m
}

func pngOf(t testing.TB, m image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegOf(t testing.TB, m image.Image) []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gifOf(t testing.TB, m image.Image) []byte {
	var b bytes.Buffer
	if err := gif.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// withChunks inserts chunks after the header of a PNG.
func withChunks(p []byte, chunks ...string) []byte {
	const header = len(pngMagic) + 25
	return []byte(string(p[:header]) + strings.Join(chunks, "") + string(p[header:]))
}

// withSegment inserts a segment after the start of a JPEG.
func withSegment(j []byte, marker byte, data string) []byte {
	b := append(append([]byte{}, j[:2]...), 0xff, marker)
	b = binary.BigEndian.AppendUint16(b, uint16(2+len(data)))
	return append(append(b, data...), j[2:]...)
}

// exif returns EXIF data with an orientation and a location.
func exif(orientation byte) string {
	return "II*\x00\x08\x00\x00\x00\x02\x00" +
		"\x12\x01\x03\x00\x01\x00\x00\x00" + string(rune(orientation)) + "\x00\x00\x00" +
		"\x25\x88\x04\x00\x01\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00GPS 52.52 N"
}

func open(t testing.TB, data []byte) *Picture {
	t.Helper()
	p, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func made(t testing.TB, data []byte) (full, mail core.MediaFile) {
	t.Helper()
	full, mail, err := open(t, data).Make(t.Context(), noLimit)
	if err != nil {
		t.Fatal(err)
	}
	return full, mail
}

func decoded(t testing.TB, f core.MediaFile) image.Image {
	t.Helper()
	m, kind, err := image.Decode(bytes.NewReader(f.Data))
	if err != nil || "image/"+kind != f.Type || m.Bounds().Dx() != f.Width || m.Bounds().Dy() != f.Height ||
		int64(len(f.Data)) != f.Bytes {
		t.Fatalf("%s %d × %d, %d bytes: %s %v", f.Type, f.Width, f.Height, f.Bytes, kind, err)
	}
	return m
}

func near(t testing.TB, m image.Image, x, y int, want color.NRGBA, by int) {
	t.Helper()
	c := color.NRGBAModel.Convert(m.At(m.Bounds().Min.X+x, m.Bounds().Min.Y+y)).(color.NRGBA)
	if absDiff(c.R, want.R) > by || absDiff(c.G, want.G) > by || absDiff(c.B, want.B) > by || absDiff(c.A, want.A) > by {
		t.Errorf("at %d, %d: %v, not %v", x, y, c, want)
	}
}

func TestPicturesKeepTheirFormat(t *testing.T) {
	small := colors(40, 20)
	for name, data := range map[string][]byte{
		PNG: pngOf(t, small), JPEG: jpegOf(t, small), GIF: gifOf(t, small),
	} {
		full, mail := made(t, data)
		if full.Type != name || full.SHA256 != mail.SHA256 {
			t.Errorf("%s: %s, and in mails another one", name, full.Type)
		}
		m := decoded(t, full)
		near(t, m, 2, 2, color.NRGBA{40, 200, 40, 255}, 40)
		near(t, m, 30, 10, color.NRGBA{40, 40, 200, 255}, 40)
	}
}

func TestWebPBecomesWhatMailsShow(t *testing.T) {
	for name, want := range map[string]string{
		"lossy.webp": JPEG, "lossless.webp": JPEG, "alpha.webp": PNG, "lossy-alpha.webp": PNG,
	} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		full, _ := made(t, data)
		if decoded(t, full); full.Type != want {
			t.Errorf("%s became %s", name, full.Type)
		}
	}
}

// TestColorsOfAWebPAreThoseOfItsSource checks that the colors of a lossy WebP are converted. Its values have a smaller
// range than those of a JPEG.
func TestColorsOfAWebPAreThoseOfItsSource(t *testing.T) {
	lossy, err := os.ReadFile("testdata/lossy.webp")
	if err != nil {
		t.Fatal(err)
	}
	exact, err := os.ReadFile("testdata/lossless.webp")
	if err != nil {
		t.Fatal(err)
	}
	a, _ := made(t, lossy)
	b, _ := made(t, exact)
	m, n := decoded(t, a), decoded(t, b)
	sum, count := 0, 0
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			c := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
			d := color.NRGBAModel.Convert(n.At(x, y)).(color.NRGBA)
			sum, count = sum+absDiff(c.R, d.R)+absDiff(c.G, d.G)+absDiff(c.B, d.B), count+3
		}
	}
	if mean := float64(sum) / float64(count); mean > 5 {
		t.Errorf("colors differ by %.1f of 255", mean)
	}
}

func TestWhatIsNoPictureIsRefusedInWords(t *testing.T) {
	for data, want := range map[string]string{
		"":                                 "empty",
		"hello":                            "Use PNG, JPEG, GIF or WebP",
		"<svg xmlns='x'/>":                 "SVG",
		"\ufeff <?xml version='1.0'?><svg": "Export the image as PNG",
		"\x00\x00\x00\x18ftypheic\x00\x00": "HEIC",
		"\x00\x00\x00\x18ftypmif1\x00\x00\x00\x00mif1heic": "Most Compatible",
		"\x00\x00\x00\x18ftypavif\x00\x00":                 "AVIF",
		"\x00\x00\x00\x18ftypmp42\x00\x00":                 "video",
		"%PDF-1.7":                                         "PDF",
		"BM......":                                         "BMP",
		"II*\x00....":                                      "TIFF",
		"\xff\x0a....":                                     "JPEG XL",
		"RIFF\x1a\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00":    "GIF",
		string(withChunks(pngOf(t, colors(4, 4)), picturetest.Chunk("acTL", "\x00\x00\x00\x02\x00\x00\x00\x00"))): "GIF",
	} {
		_, err := Open([]byte(data))
		var e *core.Error
		if !errors.As(err, &e) || e.Code != "unsupported_picture" || !strings.Contains(e.Message, want) {
			t.Errorf("%q: %v", data, err)
		}
	}
}

// header returns the start of a PNG of the given size.
func header(w, h uint32, rest ...string) []byte {
	b := binary.BigEndian.AppendUint32(nil, w)
	b = binary.BigEndian.AppendUint32(b, h)
	return []byte(pngMagic + picturetest.Chunk("IHDR", string(b)+"\x08\x06\x00\x00\x00") + strings.Join(rest, ""))
}

func TestBombsAreRefusedByTheirHeader(t *testing.T) {
	idat := picturetest.Chunk("IDAT", "")
	for name, data := range map[string][]byte{
		"50,000 × 50,000":                     header(50_000, 50_000, idat),
		"more than numbers":                   header(1<<31-1, 1<<31-1, idat),
		"40 million and more, and a thin one": header(40_000_001, 1, idat),
		"JPEG":                                withSegment([]byte("\xff\xd8\xff\xda\x00\x02"), 0xc0, "\x08\xff\xff\xff\xff\x01\x01\x11\x00"),
		"progressive":                         withSegment([]byte("\xff\xd8\xff\xda\x00\x02"), 0xc2, "\x08\x17\x70\x17\x70\x03\x01\x11\x00\x02\x11\x00\x03\x11\x00"),
		"WebP":                                []byte("RIFF\x16\x00\x00\x00WEBPVP8L\x0a\x00\x00\x00\x2f\xff\xff\xff\x0f\x00\x00\x00\x00\x00"),
	} {
		p, err := Open(data)
		var e *core.Error
		if !errors.As(err, &e) || e.Code != "unsupported_picture" {
			t.Errorf("%s: %v %v", name, p, err)
		}
	}
	// The maximum number of pixels, but no pixel data: no image is allocated.
	p := open(t, header(5000, 5000, idat))
	if _, _, err := p.Make(t.Context(), noLimit); !errors.Is(err, &core.Error{Code: "invalid_picture"}) {
		t.Error(err)
	}
}

// TestTextsAndProfilesDoNotUnfold checks that compressed texts are skipped, even if they would inflate to gigabytes,
// and that a profile is read only up to maxProfile.
func TestTextsAndProfilesDoNotUnfold(t *testing.T) {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	zeros := make([]byte, 1<<20)
	for range 64 {
		_, _ = w.Write(zeros)
	}
	_ = w.Close()
	data := withChunks(pngOf(t, colors(4, 4)), picturetest.Chunk("zTXt", "Comment\x00\x00"+z.String()),
		picturetest.Chunk("iCCP", "p\x00\x00"+z.String()), picturetest.Chunk("iTXt", "XML:com.adobe.xmp\x00\x01\x00\x00\x00"+z.String()))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	made(t, data)
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	if allocated > 16*maxProfile {
		t.Errorf("%d bytes were taken", allocated)
	}
}

func TestMetadataIsGone(t *testing.T) {
	p, j, g := pngOf(t, colors(8, 8)), jpegOf(t, colors(8, 8)), gifOf(t, colors(8, 8))
	const secret = "GPS 52.52 N"
	gifWith := bytes.Replace(g, []byte{gifFrame}, []byte("\x21\xfe\x0b"+secret+"\x00\x21\xff\x0bXMP DataXMP\x0b"+secret+
		"\x00"+string(rune(gifFrame))), 1)
	for name, data := range map[string][]byte{
		"PNG text":     withChunks(p, picturetest.Chunk("tEXt", "Place\x00"+secret), picturetest.Chunk("eXIf", exif(1))),
		"JPEG EXIF":    withSegment(j, jpegAPP1, "Exif\x00\x00"+exif(1)),
		"JPEG XMP":     withSegment(j, jpegAPP1, "http://ns.adobe.com/xap/1.0/\x00"+secret),
		"JPEG comment": withSegment(j, 0xfe, secret),
		"GIF comment":  gifWith,
		"PNG, a zip":   append(bytes.Clone(p), "PK\x03\x04"+secret...),
		"JPEG, a page": append(bytes.Clone(j), "<script>"+secret+"</script>"...),
		"GIF, a page":  append(bytes.Clone(g), "<script>"+secret+"</script>"...),
	} {
		if !bytes.Contains(data, []byte(secret)) {
			t.Fatal(name, "has nothing to hide")
		}
		full, mail := made(t, data)
		for _, f := range []core.MediaFile{full, mail} {
			decoded(t, f)
			if bytes.Contains(f.Data, []byte(secret)) || bytes.Contains(f.Data, []byte("Exif")) {
				t.Errorf("%s: it is still there", name)
			}
		}
	}
}

func TestAnimationsStayAsTheyAre(t *testing.T) {
	pal := []color.Color{color.Black, color.White}
	a := &gif.GIF{LoopCount: 3}
	for i := range 4 {
		m := image.NewPaletted(image.Rect(0, 0, 10, 10), pal)
		m.SetColorIndex(i, i, 1)
		a.Image, a.Delay = append(a.Image, m), append(a.Delay, 10*i)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, a); err != nil {
		t.Fatal(err)
	}
	full, _ := made(t, b.Bytes())
	got, err := gif.DecodeAll(bytes.NewReader(full.Data))
	if err != nil || len(got.Image) != 4 || got.LoopCount != 3 || got.Delay[3] != 30 ||
		got.Image[2].ColorIndexAt(2, 2) != 1 {
		t.Errorf("%+v %v", got, err)
	}
}

func TestEveryCutIsRefused(t *testing.T) {
	big := colors(30, 30)
	animated := gifOf(t, big)
	for name, data := range map[string][]byte{PNG: pngOf(t, big), JPEG: jpegOf(t, big), GIF: animated} {
		end := len(data) - 1
		if name == PNG {
			end = len(data) - 12 // the chunk that marks the end
		}
		for n := range end {
			p, err := Open(data[:n])
			if err == nil {
				_, _, err = p.Make(t.Context(), noLimit)
			}
			if core.KindOf(err) != core.Invalid {
				t.Fatalf("%s, %d bytes of %d: %v", name, n, len(data), err)
			}
		}
	}
}

// TestFramesOfAGIFAreDecoded checks that a GIF frame with fewer pixels than its declared size is invalid.
func TestFramesOfAGIFAreDecoded(t *testing.T) {
	data := gifOf(t, colors(30, 30))
	frame := bytes.IndexByte(data[13+3*256:], gifFrame) + 13 + 3*256
	for _, at := range []int{6, 8, frame + 5, frame + 7} { // sizes of the screen and of the frame
		data[at] = 90
	}
	_, _, err := open(t, data).Make(t.Context(), noLimit)
	if !errors.Is(err, &core.Error{Code: "invalid_picture"}) {
		t.Error(err)
	}
}

func TestPicturesStandUpright(t *testing.T) {
	// Position of the green corner for each orientation.
	corners := map[byte][2]int{1: {0, 0}, 2: {1, 0}, 3: {1, 1}, 4: {0, 1}, 5: {0, 0}, 6: {1, 0}, 7: {1, 1}, 8: {0, 1}}
	for o, at := range corners {
		for name, data := range map[string][]byte{
			JPEG: withSegment(jpegOf(t, colors(80, 40)), jpegAPP1, "Exif\x00\x00"+exif(o)),
			PNG:  withChunks(pngOf(t, colors(80, 40)), picturetest.Chunk("eXIf", exif(o))),
		} {
			full, _ := made(t, data)
			w, h := 80, 40
			if o >= 5 {
				w, h = 40, 80
			}
			if m := decoded(t, full); full.Width != w || full.Height != h {
				t.Errorf("%s %d: %d × %d", name, o, full.Width, full.Height)
			} else {
				near(t, m, 2+at[0]*(w-5), 2+at[1]*(h-5), color.NRGBA{40, 200, 40, 255}, 30)
			}
		}
	}
}

func TestLargePicturesAreShrunk(t *testing.T) {
	for _, c := range []struct {
		w, h  int
		turn  byte
		full  image.Point
		mail  image.Point
		alike bool
	}{
		{1200, 300, 1, image.Pt(1200, 300), image.Pt(1200, 300), true},
		{1201, 300, 1, image.Pt(1201, 300), image.Pt(1200, 300), false},
		{2600, 130, 1, image.Pt(2400, 120), image.Pt(1200, 60), false},
		{400, 2600, 6, image.Pt(2400, 369), image.Pt(1200, 185), false},
		{100, 4000, 1, image.Pt(100, 4000), image.Pt(100, 4000), true},
		{4000, 1, 1, image.Pt(2400, 1), image.Pt(1200, 1), false},
	} {
		data := withSegment(jpegOf(t, colors(c.w, c.h)), jpegAPP1, "Exif\x00\x00"+exif(c.turn))
		full, mail := made(t, data)
		if got := decoded(t, full).Bounds().Size(); got != c.full {
			t.Errorf("%d × %d is kept as %v", c.w, c.h, got)
		}
		if got := decoded(t, mail).Bounds().Size(); got != c.mail || (full.SHA256 == mail.SHA256) != c.alike {
			t.Errorf("%d × %d is mailed as %v", c.w, c.h, got)
		}
	}
}

// TestShrinkingKeepsColors checks that an area of one color keeps it up to the edges, and that transparent areas have
// no border in their hidden color.
func TestShrinkingKeepsColors(t *testing.T) {
	m := image.NewNRGBA(image.Rect(0, 0, 3001, 201))
	for i := range m.Pix {
		m.Pix[i] = []byte{10, 130, 250, 255}[i%4]
	}
	for y := range 201 { // black, but transparent
		for x := 1500; x < 3001; x++ {
			m.SetNRGBA(x, y, color.NRGBA{0, 0, 0, 0})
		}
	}
	_, mail := made(t, pngOf(t, m))
	got := decoded(t, mail)
	for y := range mail.Height {
		for x := range mail.Width {
			c := color.NRGBAModel.Convert(got.At(x, y)).(color.NRGBA)
			if c.A > 8 && (absDiff(c.R, 10) > 4 || absDiff(c.G, 130) > 4 || absDiff(c.B, 250) > 4) {
				t.Fatalf("at %d, %d: %v", x, y, c)
			}
		}
	}
	near(t, got, 0, 0, color.NRGBA{10, 130, 250, 255}, 0)
	near(t, got, 1199, 0, color.NRGBA{}, 0)
}

// profile returns an RGB ICC profile with the given primaries and gamma.
func profile(primaries matrix, gamma float64) []byte {
	p := make([]byte, 128, 1024)
	copy(p[16:], "RGB XYZ ")
	copy(p[36:], "acsp")
	p = binary.BigEndian.AppendUint32(p, 6)
	at := 132 + 6*12
	var data []byte
	for i, name := range []string{"r", "g", "b"} {
		xyz := []byte("XYZ \x00\x00\x00\x00")
		for j := range 3 {
			xyz = binary.BigEndian.AppendUint32(xyz, uint32(int32(primaries[j][i]*65536)))
		}
		curve := binary.BigEndian.AppendUint16([]byte("curv\x00\x00\x00\x00\x00\x00\x00\x01"), uint16(gamma*256))
		for tag, v := range map[string][]byte{"XYZ": xyz, "TRC": append(curve, 0, 0)} {
			p = append(p, name+tag...)
			p = binary.BigEndian.AppendUint32(p, uint32(at+len(data)))
			p = binary.BigEndian.AppendUint32(p, uint32(len(v)))
			data = append(data, v...)
		}
	}
	return append(p, data...)
}

func TestColorsAreBroughtToSRGB(t *testing.T) {
	adobe := matrix{{0.60974, 0.20528, 0.14919}, {0.31111, 0.62567, 0.06322}, {0.01947, 0.06087, 0.74457}}
	m := image.NewNRGBA(image.Rect(0, 0, 4, 4))
	for i := range m.Pix {
		m.Pix[i] = []byte{150, 100, 60, 255}[i%4]
	}
	for _, c := range []struct {
		name string
		icc  []byte
		want color.NRGBA
	}{
		// values computed by littlecms
		{"Adobe RGB", profile(adobe, 2.19921875), color.NRGBA{165, 100, 56, 255}},
		{"sRGB", profile(fromSRGB, 2.2), color.NRGBA{150, 100, 60, 255}},
		{"none", nil, color.NRGBA{150, 100, 60, 255}},
		{"broken", []byte("acsp"), color.NRGBA{150, 100, 60, 255}},
	} {
		var z bytes.Buffer
		w := zlib.NewWriter(&z)
		_, _ = w.Write(c.icc)
		_ = w.Close()
		pngWith := withChunks(pngOf(t, m), picturetest.Chunk("iCCP", "p\x00\x00"+z.String()))
		jpegWith := withSegment(jpegOf(t, m), jpegAPP2, "ICC_PROFILE\x00\x01\x01"+string(c.icc))
		for _, data := range [][]byte{pngWith, jpegWith} {
			full, _ := made(t, data)
			t.Run(c.name, func(t *testing.T) { near(t, decoded(t, full), 1, 1, c.want, 4) })
		}
	}
	// Display P3 by its number, also in a palette: its red is outside of sRGB.
	pal := image.NewPaletted(image.Rect(0, 0, 2, 2), []color.Color{color.NRGBA{200, 100, 100, 255}})
	full, _ := made(t, withChunks(pngOf(t, pal), picturetest.Chunk("cICP", "\x0c\x0d\x00\x01")))
	got := decoded(t, full)
	near(t, got, 0, 0, color.NRGBA{216, 94, 96, 255}, 3)
	if _, ok := got.(*image.Paletted); !ok {
		t.Errorf("it has no palette any more: %T", got)
	}
}

func TestALongFileEndsEarly(t *testing.T) {
	_, _, err := open(t, pngOf(t, colors(100, 100))).Make(t.Context(), 50)
	if core.KindOf(err) != core.TooLarge {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := open(t, jpegOf(t, colors(2600, 100))).Make(ctx, noLimit); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// FuzzImage checks that no input causes a panic or takes more memory than announced, and that the output is an image
// without any other data.
func FuzzImage(f *testing.F) {
	small := colors(12, 8)
	jpg := withSegment(jpegOf(f, small), jpegAPP1, "Exif\x00\x00"+exif(6))
	jpg = withSegment(jpg, jpegAPP2, "ICC_PROFILE\x00\x01\x01"+string(profile(fromDisplayP3, 2.2)))
	for _, data := range [][]byte{
		pngOf(f, small), jpg, gifOf(f, small), withChunks(pngOf(f, small), picturetest.Chunk("eXIf", exif(8)), picturetest.Chunk("iCCP", "p\x00\x00")),
	} {
		f.Add(data)
	}
	f.Add(picturetest.ScansOf(true, 16, 16, 3))
	f.Add(picturetest.ScansOf(false, 16, 16, 2))
	f.Add(picturetest.Transformed(16, 16))
	f.Add(picturetest.Unfolded(16, 16, 16, 6))
	for _, name := range []string{"lossy.webp", "alpha.webp", "lossy-alpha.webp"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Open(data)
		if err != nil {
			if core.KindOf(err) != core.Invalid {
				t.Error(err)
			}
			return
		}
		if p.Memory > MaxMemory {
			t.Fatalf("%d bytes of memory", p.Memory)
		}
		if p.width*p.height > 1<<20 {
			return // too slow
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		full, mail, err := p.Make(t.Context(), noLimit)
		runtime.ReadMemStats(&after)
		if got := int64(after.TotalAlloc - before.TotalAlloc); got > 4*p.Memory+int64(16*len(data))+8<<20 {
			t.Errorf("%d bytes were allocated, %d announced", got, p.Memory)
		}
		if err != nil {
			if core.KindOf(err) != core.Invalid {
				t.Error(err)
			}
			return
		}
		for _, file := range []core.MediaFile{full, mail} {
			decoded(t, file)
			again, _, err := open(t, file.Data).Make(t.Context(), noLimit)
			if err != nil || again.Type != file.Type || again.Width != file.Width || file.Width > FullWidth &&
				file.Type != GIF {
				t.Errorf("%s %d × %d: once more %s %d × %d %v", file.Type, file.Width, file.Height, again.Type, again.Width,
					again.Height, err)
			}
		}
	})
}
