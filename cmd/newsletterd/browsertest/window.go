package browsertest

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"slices"

	"github.com/chromedp/chromedp"
)

// Window returns a screenshot of the page in a window of the given size, in "light" or "dark" colors.
func (b *Browser) Window(colors string, width, height int64) image.Image {
	b.Helper()
	b.Do(scheme(colors), chromedp.EmulateViewport(width, height))
	b.Eval(`Promise.all([...document.images].filter(i => i.complete || i.loading !== "lazy").map(
		i => i.decode().catch(() => {}))).then(
		() => new Promise(done => setTimeout(done, 400)))`) // wait until frames are laid out
	shown, err := png.Decode(bytes.NewReader(ask(b, chromedp.CaptureScreenshot())))
	if err != nil {
		b.Fatal(err)
	}
	return shown
}

// NextToEachOther returns one image with all the given images side by side, with space between them.
func NextToEachOther(pictures ...image.Image) image.Image {
	const room = 24
	size := image.Point{}
	for _, p := range pictures {
		size = image.Pt(size.X+p.Bounds().Dx()+room, max(size.Y, p.Bounds().Dy()))
	}
	all := image.NewRGBA(image.Rectangle{Max: image.Pt(size.X-room, size.Y)})
	at := 0
	for _, p := range pictures {
		draw.Draw(all, p.Bounds().Add(image.Pt(at, 0)), p, image.Point{}, draw.Src)
		at += p.Bounds().Dx() + room
	}
	return all
}

// PNG encodes an image with its 255 most frequent colors. Other colors become the most similar one. Transparent areas
// stay transparent.
func (b *Browser) PNG(p image.Image) []byte {
	b.Helper()
	count := map[color.RGBA]int{}
	eachPixel(p, func(_, _ int, c color.RGBA) {
		if c.A > 0 {
			count[c]++
		}
	})
	used := make([]color.RGBA, 0, len(count))
	for c := range count {
		used = append(used, c)
	}
	slices.SortFunc(used, func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	palette := color.Palette{color.RGBA{}}
	for _, c := range used {
		if len(palette) < 256 {
			palette = append(palette, c)
		}
	}
	nearest := map[color.RGBA]uint8{{}: 0}
	small := image.NewPaletted(p.Bounds(), palette)
	eachPixel(p, func(x, y int, c color.RGBA) {
		if c.A == 0 {
			c = color.RGBA{}
		}
		i, known := nearest[c]
		if !known {
			i = uint8(1 + palette[1:].Index(c))
			nearest[c] = i
		}
		small.SetColorIndex(x, y, i)
	})
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small); err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}

func eachPixel(p image.Image, do func(x, y int, c color.RGBA)) {
	r := p.Bounds()
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			do(x, y, color.RGBAModel.Convert(p.At(x, y)).(color.RGBA))
		}
	}
}
