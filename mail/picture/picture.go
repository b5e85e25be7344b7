package picture

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"

	"golang.org/x/image/webp"

	"newsletterd/core"
)

const (
	// MaxPixels is how many pixels a JPEG may have, and each frame of a GIF.
	MaxPixels = 40_000_000
	// MaxMemory is how many bytes of memory one picture may take while it is read.
	MaxMemory = 256 << 20

	// MailWidth is how wide a picture is in mails, in pixels: twice the width of a column, for fine screens.
	MailWidth = 1200
	// FullWidth is how wide a picture is kept, in pixels.
	FullWidth = 2400
)

// The media types of pictures in mails.
const (
	PNG  = "image/png"
	JPEG = "image/jpeg"
	GIF  = "image/gif"
)

// Picture is an uploaded picture of which the header was read.
type Picture struct {
	Memory int64 // bytes that Make takes at most, the uploaded file apart

	head
	data []byte
}

// head is what stands in front of the pixels of a picture.
type head struct {
	format        format
	width, height int
	orientation   int     // as EXIF has it, 1 to 8; 0: none is said
	profile       []byte  // ICC; nil: none
	primaries     int     // of a PNG's cICP; 0: none is said
	perPixel      float64 // bytes of memory a pixel takes while it is decoded
	quality       int     // of a JPEG, 1 to 100; 0: of another format
}

// upright returns the size of the picture once it stands upright.
func (h *head) upright() (width, height int) {
	if h.orientation >= 5 {
		return h.height, h.width
	}
	return h.width, h.height
}

func broken(format string, args ...any) *core.Error {
	e := core.Invalidf("file", "The image is damaged or incomplete. Save it again and upload it.")
	e.Code = "invalid_picture"
	return e.With(fmt.Errorf(format, args...))
}

func refusedf(format string, args ...any) *core.Error {
	e := core.Invalidf("file", format, args...)
	e.Code = "unsupported_picture"
	return e
}

// Open reads the header of a picture. It returns an Invalid error, of code unsupported_picture or invalid_picture, for
// bytes that are none, a picture of a kind that isn't taken, and one of too many pixels. data must not change until
// Make returns.
func Open(data []byte) (*Picture, error) {
	f, err := formatOf(data)
	if err != nil {
		return nil, err
	}
	p := &Picture{data: data}
	if p.head, err = heads[f](data); err != nil {
		return nil, err
	}
	p.format = f
	if p.width < 1 || p.height < 1 {
		return nil, broken("%d × %d pixels", p.width, p.height)
	}
	most := int64(MaxPixels)
	if f == formatPNG || f == formatWebP {
		most = maxPNGPixels
	}
	if max(p.width, p.height) > maxSide || int64(p.width)*int64(p.height) > most {
		return nil, refusedf("The image is too large: %d × %d pixels. At most %d million pixels are allowed, and "+
			"%d per side. Save a smaller one.", p.width, p.height, most/1_000_000, maxSide)
	}
	w, h := p.upright()
	kept := int64(1)
	if f != formatGIF {
		fw, fh := p.keptSize(w, h, FullWidth)
		mw, mh := p.keptSize(w, h, MailWidth)
		kept = 4 * int64(2*fw*fh+mw*mh) // turned upright, the full one is there twice
	}
	p.Memory = int64(float64(w*h)*p.perPixel) + kept
	if p.Memory > MaxMemory {
		return nil, refusedf("The image needs %d MiB of memory, but at most %d are allowed. Save it with fewer "+
			"pixels, with 8 bits per channel, or as a JPEG that isn't progressive.", p.Memory>>20, MaxMemory>>20)
	}
	return p, nil
}

// within returns the size of a picture that is to be no wider than limit.
func within(width, height, limit int) (int, int) {
	if width <= limit {
		return width, height
	}
	return limit, max(1, (height*limit+width/2)/width)
}

// errTooLong ends the writing of a file that gets too long.
var errTooLong = errors.New("image: too many bytes")

// Make decodes the picture and returns it as it is kept: no wider than FullWidth, and no wider than MailWidth for
// mails. Both are the same file where nothing is to be shrunk. It returns an Invalid error of code invalid_picture for
// what can't be decoded, an error of kind core.TooLarge where a file would have more bytes than limit, and that of the
// context.
func (p *Picture) Make(ctx context.Context, limit int) (full, mail core.MediaFile, err error) {
	if p.format == formatGIF {
		data, err := cleanGIF(ctx, p.data)
		full = fileOf(GIF, p.width, p.height, data)
		return full, full, err
	}
	m, err := p.decode(ctx)
	if err != nil {
		return full, mail, err
	}
	var c *conversion
	if p.primaries != 0 {
		c = primariesConversion(p.primaries)
	} else {
		c = profileConversion(p.profile)
	}
	w, h := p.upright()
	fw, _ := p.keptSize(w, h, FullWidth)
	small := m
	if fw < w || p.orientation > 1 || c != nil || !readFast(m) {
		small, err = p.redraw(ctx, m, c)
		if err != nil {
			return full, mail, err
		}
	}
	m = nil
	if full, err = p.encode(ctx, small, limit); err != nil {
		return full, mail, err
	}
	mw, mh := within(full.Width, full.Height, MailWidth)
	if mw == full.Width {
		return full, full, nil
	}
	s, err := scale(ctx, small, mw, mh)
	if err != nil {
		return full, mail, err
	}
	mail, err = p.encode(ctx, s, limit)
	return full, mail, err
}

// decode decodes the pixels. A panic of a decoder is an error of the picture; that of the context is returned as it is.
func (p *Picture) decode(ctx context.Context) (m image.Image, err error) {
	defer func() {
		if r := recover(); r != nil {
			m, err = nil, broken("panic: %v", r)
		}
	}()
	r := whileWanted{ctx, bytes.NewReader(p.data)}
	switch p.format {
	case formatJPEG:
		m, err = jpeg.Decode(r)
	case formatPNG:
		m, err = png.Decode(r)
	default:
		m, err = webp.Decode(r)
	}
	if gone := ctx.Err(); gone != nil {
		return nil, gone
	}
	if err != nil {
		return nil, broken("%w", err)
	}
	if p.format == formatWebP {
		fullRange(m)
	}
	if b := m.Bounds(); b.Dx() != p.width || b.Dy() != p.height {
		return nil, broken("%d × %d pixels, not %d × %d", b.Dx(), b.Dy(), p.width, p.height)
	}
	return m, nil
}

// redraw returns the picture as it is kept: shrunk, in sRGB and upright.
func (p *Picture) redraw(ctx context.Context, m image.Image, c *conversion) (image.Image, error) {
	w, h := p.upright()
	tw, th := p.keptSize(w, h, FullWidth)
	if p.orientation >= 5 {
		tw, th = th, tw
	}
	if pal, ok := m.(*image.Paletted); ok && tw == p.width && p.orientation <= 1 {
		return c.palette(pal), nil
	}
	s, err := scale(ctx, m, tw, th)
	if err != nil {
		return nil, err
	}
	if c != nil {
		c.apply(s)
	}
	return turn(s, p.orientation), nil
}

// encode writes a picture in the format that suits it: a PNG stays one, a JPEG too, and a WebP becomes a PNG where it
// is transparent.
func (p *Picture) encode(ctx context.Context, m image.Image, limit int) (core.MediaFile, error) {
	mediaType := JPEG
	out := limited{ctx: ctx, left: limit}
	var err error
	if p.format == formatPNG || p.format == formatWebP && !opaque(m) {
		mediaType = PNG
		err = writePNG(&out, m)
	} else {
		if n, ok := m.(*image.NRGBA); ok { // without alpha the same bytes, which the encoder knows how to read fast
			m = &image.RGBA{Pix: n.Pix, Stride: n.Stride, Rect: n.Rect}
		}
		err = jpeg.Encode(&out, m, &jpeg.Options{Quality: p.jpegQuality()})
	}
	if errors.Is(err, errTooLong) {
		return core.MediaFile{}, core.MediaLimits{Bytes: int64(limit)}.TooLarge()
	}
	if gone := ctx.Err(); gone != nil {
		return core.MediaFile{}, gone
	}
	if err != nil {
		return core.MediaFile{}, fmt.Errorf("encode image: %w", err)
	}
	return fileOf(mediaType, m.Bounds().Dx(), m.Bounds().Dy(), out.Bytes()), nil
}

func fileOf(mediaType string, width, height int, data []byte) core.MediaFile {
	sum := sha256.Sum256(data)
	return core.MediaFile{
		SHA256: hex.EncodeToString(sum[:]), Type: mediaType, Width: width, Height: height, Bytes: int64(len(data)),
		Data: data,
	}
}

// jpegQuality is that of the JPEG that came, so that none grows, within what looks well.
func (p *Picture) jpegQuality() int {
	if p.quality == 0 {
		return 88
	}
	return min(max(p.quality, 60), 92)
}

func opaque(m image.Image) bool {
	o, ok := m.(interface{ Opaque() bool })
	return ok && o.Opaque()
}
