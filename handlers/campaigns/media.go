package campaigns

import (
	"context"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/mail/picture"
	"newsletterd/store/files"
)

// media serves /api/media and the images themselves.
type media struct {
	*Room
	turns *pictureTurns
}

// mediaRoutes adds the routes for tenants' images.
func (r *Room) mediaRoutes(t *web.Table) {
	a := media{r, newPictureTurns()}
	const all = "/api/media"
	t.Add("POST", all, web.Sent(core.ActionMediaWrite), web.Send,
		web.Stream(a.create).DescribesMedia("application/octet-stream",
			"*/*").NeedsRoom(web.MaxWrite).Created().Fails(core.NotFound, core.TooLarge, core.TooMany),
		"Upload an image or a PDF, as the body or as the part file of multipart/form-data; with video, add a play "+
			"mark, and without a file, fetch the video's thumbnail").
		Named("uploadMedia").
		Refuses(
			web.TenantNamed,
			web.NotAFile,
			web.Coded("unsupported_picture", "file",
				"The file type isn't supported, or the image is too large"),
			web.Coded("invalid_picture", "file", "The file is broken or incomplete"),
			web.Refused("alt", "Decorative images need an empty alt text"),
			web.Refused("name", "Empty"),
			web.Refused("file", "Missing or repeated"),
			web.Refused("video", "No file was uploaded, and the URL is not a YouTube or Vimeo video"),
			web.Coded("video_unavailable", "video", "The provider has no thumbnail of the video, or can't be reached"),
		)
	t.Add("GET", all, web.Sent(core.ActionMediaRead), web.Send,
		web.List(a.list, func(m core.MediaView) string { return m.ID }).Fails(core.Invalid),
		"List media, newest first").
		Named("listMedia").
		Refuses(web.TenantNamed)
	const item = "/api/media/:id"
	one := func(e web.Endpoint) web.Endpoint { return e.Find(a.find).Missing(web.ErrNotFound) }
	t.Add("GET", item, web.Sent(core.ActionMediaRead), web.Send, one(web.Path(a.show)),
		"Show an image").Named("getMedia")
	t.Add("PATCH", item, web.Sent(core.ActionMediaWrite), web.Send, one(web.JSON(a.update)),
		"Update an image's name and alt text; fields you leave out stay unchanged").Named("updateMedia").
		Example(web.Object{"name": "Our logo", "alt": "Acme"}).
		Refuses(web.Refused("alt", "Decorative images need an empty alt text"))
	t.Add("DELETE", item, web.Sent(core.ActionMediaWrite), web.Send, one(web.Query(a.remove)).Fails(core.Conflict),
		"Delete an image; set force if something still uses it").Named("deleteMedia").
		Refuses(web.Clashing("media_in_use", "", "The image is in use; set force to delete it anyway"))
	t.Add("GET", core.MediaPath+":digits/:name", web.Public(), web.Page,
		web.Serve(a.serve).Answers("image/jpeg", "image/png", "image/gif", "application/pdf").Fails(core.NotFound),
		"Show an image of an email").Named("getPicture")
}

// origin returns the public URL that serves a tenant's images.
func (a media) origin(c *web.Call, tenantID string) (string, error) {
	t, err := a.Store.Tenant(c, tenantID)
	return t.Origin(c.PublicURL()), err
}

func (a media) find(c *web.Call) error {
	m, err := a.Store.Media(c, c.ID())
	return web.OwnRecord(c, m.TenantID, core.ActionMediaRead, err, web.ErrNotFound)
}

// mediaFilter filters the list of images.
type mediaFilter struct {
	TenantID string `query:"tenant_id" like:"tenant"`
	Q        string `query:"q" max:"200" about:"Text in the name or the alternative text"`
}

func (in *mediaFilter) CheckInput() error { return web.CheckQuery(in.Q) }

func (a media) list(c *web.Call, in mediaFilter, page core.Page) ([]core.MediaView, error) {
	tenant, err := web.OneTenant(c, in.TenantID)
	if err != nil {
		return nil, err
	}
	origin, err := a.origin(c, tenant)
	if core.KindOf(err) == core.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := a.Store.MediaOf(c, tenant, in.Q, page)
	return web.RowsOf(found, func(m *core.Media) core.MediaView { return m.View(origin) }), err
}

func (a media) show(c *web.Call, id string) (core.MediaView, error) {
	m, err := a.Store.Media(c, id)
	if err != nil {
		return core.MediaView{}, err
	}
	return a.view(c, &m)
}

// view converts an image to the response format.
func (a media) view(c *web.Call, m *core.Media) (core.MediaView, error) {
	origin, err := a.origin(c, m.TenantID)
	return m.View(origin), err
}

func (a media) update(c *web.Call, in core.MediaInput) (core.MediaView, error) {
	m, err := a.Store.UpdateMedia(c, c.ID(), web.Actor(c), c.Now, func(m *core.Media) error {
		return m.Change(in, c.Now)
	})
	if err != nil {
		return core.MediaView{}, err
	}
	return a.view(c, &m)
}

// mediaRemoval is the query of a request to delete an image.
type mediaRemoval struct {
	Force bool `query:"force" about:"Delete the file even if a record uses it"`
}

func (a media) remove(c *web.Call, in mediaRemoval) (web.None, error) {
	return web.None{}, a.Store.DeleteMedia(c, c.ID(), in.Force, web.Actor(c), c.Now)
}

// mediaQuery holds an image's details from the query. Fields of a multipart body take precedence.
type mediaQuery struct {
	TenantID    string  `query:"tenant_id" like:"tenant"`
	Name        *string `query:"name"`
	Alt         *string `query:"alt" about:"Alternative text, for people who don't see the image"`
	Decorative  *bool   `query:"decorative" about:"Whether the image needs no alternative text; alt must then be empty"`
	Video       string  `query:"video" max:"2000" about:"URL of the video that the image leads to; without a file, its thumbnail is fetched"`
	ContentType string  `header:"Content-Type" about:"Media type of the body; multipart/form-data takes the image from the part file"`
}

// mediaDetails holds an image's details from a request.
type mediaDetails struct {
	core.MediaInput
	video string
}

func (a media) create(c *web.Call, in mediaQuery) (r core.MediaView, err error) {
	tenant, err := web.OneTenant(c, in.TenantID)
	if err != nil {
		return r, err
	}
	origin, err := a.origin(c, tenant)
	if err != nil {
		return r, web.UnknownTenant(err)
	}
	done, err := a.Uploads.Begin(web.Actor(c), c.Remote)
	if err != nil {
		return r, err
	}
	defer done()
	own, forget := a.turns.of(tenant)
	defer forget()
	about := mediaDetails{core.MediaInput{Name: in.Name, Alt: in.Alt, Decorative: in.Decorative}, in.Video}
	file, release, err := a.read(c, own, in.ContentType, &about)
	defer release()
	if err != nil {
		return r, err
	}
	m, err := core.NewMedia(tenant, web.Actor(c), about.MediaInput, c.Now)
	if err != nil {
		return r, err
	}
	if m.Full, m.Mail, err = a.decode(c, own, file, about.video != ""); err != nil {
		return r, err
	}
	if m, err = a.Store.AddMedia(c, m, a.MediaLimits, web.Actor(c)); err != nil {
		return r, web.UnknownTenant(err)
	}
	return m.View(origin), nil
}

// read reads the uploaded file, or a video's thumbnail, into memory. release frees the memory.
func (a media) read(c *web.Call, own *pictureTurn, contentType string, about *mediaDetails) (
	file []byte, release func(), err error,
) {
	kind, params, _ := mime.ParseMediaType(contentType)
	form := kind == "multipart/form-data"
	in := received{grow: own.grow(c, a.Uploads.Grow(c)), limit: a.MediaLimits.Bytes}
	switch size := c.Request.ContentLength; {
	case size == 0 && about.video != "":
		err = a.fetch(c, &in, about)
		return in.bytes, in.release, err
	case size == 0:
		return nil, in.release, core.Invalidf("",
			"The body is empty. Send the image as the body, or as multipart/form-data with a part named file.")
	case size > in.limit && (!form || size > in.limit+web.MultipartSlack):
		return nil, in.release, a.MediaLimits.TooLarge()
	}
	body := web.NewArriving(c)
	if form {
		err = web.ReadParts(body, params["boundary"], func(part *multipart.Part) error {
			if name := part.FileName(); about.Name == nil && name != "" {
				about.Name = &name
			}
			return in.read(part)
		}, mediaField(about))
	} else {
		err = in.read(body)
	}
	if err != nil {
		err = body.Explain(err)
	}
	return in.bytes, in.release, err
}

// fetch reads a video's thumbnail. The default for the name and the alt text is the video's title.
func (a media) fetch(c *web.Call, in *received, about *mediaDetails) error {
	thumbnail, title, err := a.Videos.Thumbnail(c, about.video)
	if err != nil {
		return err
	}
	defer thumbnail.Close()
	if about.Name == nil && title != "" {
		about.Name = &title
	}
	if about.Alt == nil && about.Decorative == nil {
		about.Alt = &title
	}
	return in.read(thumbnail)
}

// mediaField returns a function that stores a text field of the form in about.
func mediaField(about *mediaDetails) func(name, text string) error {
	return func(name, text string) error {
		switch name {
		case "name":
			about.Name = &text
		case "alt":
			about.Alt = &text
		case "decorative":
			about.Decorative = new(text == "true" || text == "on" || text == "1")
		case "video":
			about.video = text
		}
		return nil
	}
}

// received is a file in memory that grows as its data arrives.
type received struct {
	bytes []byte
	grow  files.Grow
	held  int
	limit int64
}

func (r *received) read(from io.Reader) error {
	for {
		if n := len(r.bytes); n == cap(r.bytes) {
			more := max(64*web.KiB, min(n, int(r.limit)+1-n))
			if err := r.grow(more); err != nil {
				return err
			}
			r.held += more
			r.bytes = append(make([]byte, 0, n+more), r.bytes...)
		}
		n, err := from.Read(r.bytes[len(r.bytes):cap(r.bytes)])
		r.bytes = r.bytes[:len(r.bytes)+n]
		switch {
		case int64(len(r.bytes)) > r.limit:
			return core.MediaLimits{Bytes: r.limit}.TooLarge()
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

func (r *received) release() {
	if r.held > 0 {
		_ = r.grow(-r.held)
	}
}

// decode creates an image's files. It first waits for the tenant's turn and for memory.
func (a media) decode(c *web.Call, own *pictureTurn, file []byte, video bool) (full, mail core.MediaFile, err error) {
	if f, ok := picture.Document(file); ok && !video {
		return f, f, nil
	}
	p, err := picture.Open(file)
	if err == nil && video {
		err = p.AddPlayMark()
	}
	if err != nil {
		return full, mail, err
	}
	done, err := own.take(c, a.Pictures, p.Memory)
	if err != nil {
		return full, mail, err
	}
	defer done()
	return p.Make(c, int(a.MediaLimits.Bytes))
}

// pictureCache lets caches keep an image for a year. Its URL depends on its content, so the image never changes.
const pictureCache = "public, max-age=31536000, immutable"

// serve responds with one of an image's files: the whole file, ranges of it, or no body if the client already has it
// (RFC 9110 sections 13 and 14). The response doesn't depend on which tenant owns the image.
func (a media) serve(c *web.Call) error {
	digits, name := c.Param("digits"), c.Param("name")
	if !core.IsMediaDigits(digits) {
		return web.ErrNoRoute
	}
	f, since, err := a.Store.MediaFile(c, digits)
	if core.KindOf(err) == core.NotFound || err == nil && name != core.MediaFileName(name, f.Type) {
		return web.ErrNoRoute
	}
	if err != nil {
		return err
	}
	h := c.Header()
	h.Set("Content-Type", f.Type)
	shown := "inline"
	if f.Type == core.PDF { // a document can contain scripts
		shown = "attachment"
	}
	h.Set("Content-Disposition", shown+`; filename="`+name+`"`)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Cache-Control", pictureCache)
	h.Set("Etag", `"`+f.SHA256+`"`)
	web.OnlyByteRanges(c.Request.Header)
	_ = c.Control().SetReadDeadline(time.Time{})
	file := a.Store.OpenMedia(c, &f)
	http.ServeContent(web.RangeWriter{ResponseWriter: c.Stream()}, c.Request, "", since.Time(), file)
	if err := file.Err(); err != nil {
		c.Cut(fmt.Errorf("picture: %w", err)) // the header has been sent: only cutting the connection signals the error
	}
	return nil
}

// darkGround is the background color of emails in dark mode, as in the console's preview.
var darkGround = core.Color{0x12, 0x12, 0x12}

// HiddenInDark reports whether an image stored on this server is hard to see on a dark background. It returns false if
// it can't find out, because the image is external or large, or there isn't enough memory to decode it.
func (r *Room) HiddenInDark(ctx context.Context, address string) bool {
	hidden := false
	err := r.openLogo(ctx, address, func(file io.Reader, mediaType string) (err error) {
		hidden, err = picture.HardToSee(file, mediaType, darkGround)
		return err
	})
	return err == nil && hidden
}

// OnPlate returns an image stored on this server as a PNG on a white background. If the image is external or large, or
// there isn't enough memory to decode it, OnPlate returns errNoPlate.
func (r *Room) OnPlate(ctx context.Context, address string) (plate []byte, err error) {
	err = r.openLogo(ctx, address, func(file io.Reader, mediaType string) (err error) {
		plate, err = picture.OnPlate(file, mediaType)
		return err
	})
	return plate, err
}

// errNoPlate is returned if this server can't decode a logo.
var errNoPlate = core.Invalidf("brand_logo_url", "This logo can't be edited here. Upload the image file first.")

// openLogo calls fn with the PNG or GIF that this server stores at a URL. If there is none, if it is large, or if there
// isn't enough memory to decode it, openLogo returns errNoPlate.
func (r *Room) openLogo(ctx context.Context, address string, fn func(file io.Reader, mediaType string) error) error {
	u, err := url.Parse(address)
	if err != nil {
		return errNoPlate
	}
	digits, _, _ := strings.Cut(strings.TrimPrefix(u.Path, core.MediaPath), "/")
	if !core.IsMediaDigits(digits) {
		return errNoPlate
	}
	f, _, err := r.Store.MediaFile(ctx, digits)
	if err != nil || f.Type != picture.PNG && f.Type != picture.GIF || f.Width*f.Height > picture.MaxSeen {
		return errNoPlate
	}
	const perPixel = 16 // bytes for a PNG with 16 bits per channel and for the PNG created from it
	memory := int64(perPixel * f.Width * f.Height)
	if !r.Pictures.TryAcquire(memory) {
		return errNoPlate
	}
	defer r.Pictures.Release(memory)
	return fn(r.Store.OpenMedia(ctx, &f), f.Type)
}
