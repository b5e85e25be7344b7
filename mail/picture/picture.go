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
	// MaxPixels is the maximum number of pixels in a JPEG, and in each frame of a GIF.
	MaxPixels = 40_000_000
	// MaxMemory is the maximum number of bytes that reading an image may use.
	MaxMemory = 256 << 20

	// MailWidth is the maximum width in pixels of an image in emails: twice a column's width, for high-resolution
	// screens.
	MailWidth = 1200
	// FullWidth is the maximum width of a stored image, in pixels.
	FullWidth = 2400
)

// The media types of images in emails.
const (
	PNG  = "image/png"
	JPEG = "image/jpeg"
	GIF  = "image/gif"
)

// Picture is an uploaded image with a parsed header.
type Picture struct {
	Memory int64 // maximum number of bytes that Make uses, in addition to the uploaded file

	head
	data     []byte
	playMark bool
}

// head holds the header data of an image.
type head struct {
	format        format
	width, height int
	orientation   int     // EXIF orientation, 1 to 8; 0: unspecified
	profile       []byte  // ICC profile; nil: none
	primaries     int     // primaries in a PNG's cICP; 0: unspecified
	perPixel      float64 // bytes of memory per pixel while decoding
	quality       int     // JPEG quality, 1 to 100; 0: other formats
}

// upright returns the size that the image has after it is turned upright.
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

// Open parses an image's header. If data is not an image, has an unsupported format, or has too many pixels, it returns
// an Invalid error with code unsupported_picture or invalid_picture. data must not change until Make returns.
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
		return nil, broken("invalid image size of %d × %d pixels", p.width, p.height)
	}
	most := int64(MaxPixels)
	if f == formatPNG || f == formatWebP {
		most = maxPNGPixels
	}
	if max(p.width, p.height) > maxSide || int64(p.width)*int64(p.height) > most {
		return nil, refusedf("The image is too large: %d × %d pixels. The limit is %d million pixels, and %d pixels "+
			"per side. Save a smaller one.", p.width, p.height, most/1_000_000, maxSide)
	}
	w, h := p.upright()
	kept := int64(1)
	if f != formatGIF {
		fw, fh := p.keptSize(w, h, FullWidth)
		mw, mh := p.keptSize(w, h, MailWidth)
		kept = 4 * int64(2*fw*fh+mw*mh) // a turned image is in memory twice
	}
	p.Memory = int64(float64(w*h)*p.perPixel) + kept
	if p.Memory > MaxMemory {
		return nil, refusedf("The image needs %d MiB of memory. The limit is %d MiB. Save a smaller image, use "+
			"8 bits per channel, or save a baseline JPEG.", p.Memory>>20, MaxMemory>>20)
	}
	return p, nil
}

// within returns the size of an image scaled down to at most limit in width.
func within(width, height, limit int) (int, int) {
	if width <= limit {
		return width, height
	}
	return limit, max(1, (height*limit+width/2)/width)
}

// errTooLong is returned while writing a file that has become too long.
var errTooLong = errors.New("image: too many bytes")

// Make decodes the image and returns its stored forms: full is at most FullWidth wide, and mail, for emails, at most
// MailWidth. If the image needn't be scaled down, both are the same file. If the image can't be decoded, the error is
// of kind Invalid with code invalid_picture. If a file would exceed limit bytes, it is of kind core.TooLarge. If ctx
// ends, Make returns ctx's error.
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
	if fw < w || p.orientation > 1 || c != nil || p.playMark || !readFast(m) {
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

// decode decodes the pixels. A decoder panic is reported as an error in the image. An error of ctx is returned
// unchanged.
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
		return nil, broken("decoded %d × %d pixels, not %d × %d", b.Dx(), b.Dy(), p.width, p.height)
	}
	return m, nil
}

// redraw converts the decoded image to its stored form: scaled down, in sRGB, upright, and with a play mark if one was
// requested.
func (p *Picture) redraw(ctx context.Context, m image.Image, c *conversion) (image.Image, error) {
	w, h := p.upright()
	tw, th := p.keptSize(w, h, FullWidth)
	if p.orientation >= 5 {
		tw, th = th, tw
	}
	if pal, ok := m.(*image.Paletted); ok && tw == p.width && p.orientation <= 1 && !p.playMark {
		return c.palette(pal), nil
	}
	if c == nil && p.orientation <= 1 && !p.playMark {
		return scale(ctx, m, tw, th)
	}
	s, err := scalePixels(ctx, m, tw, th)
	if err != nil {
		return nil, err
	}
	if c != nil {
		c.apply(s)
	}
	s = turn(s, p.orientation)
	if p.playMark {
		drawPlayMark(s)
	}
	return s, nil
}

// encode encodes an image for storage. PNG and JPEG images keep their format. A WebP becomes a PNG if it is
// transparent, otherwise a JPEG.
func (p *Picture) encode(ctx context.Context, m image.Image, limit int) (core.MediaFile, error) {
	mediaType := JPEG
	out := limited{ctx: ctx, left: limit}
	var err error
	if p.format == formatPNG || p.format == formatWebP && !opaque(m) {
		mediaType = PNG
		err = writePNG(&out, m)
	} else {
		if n, ok := m.(*image.NRGBA); ok { // without alpha the bytes are the same, and encoding is faster
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

// jpegQuality returns the quality for encoding a JPEG: that of the uploaded file, within sensible limits, so that the
// file doesn't grow.
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
