package console

import (
	"errors"
	"net/http"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// looksRoutes adds the routes for the design of emails: images, themes and templates.
func (o *Console) looksRoutes(t *web.Table) {
	o.get(t, "/looks", core.ActionMediaRead, o.pictures, "The console: the images of a tenant")
	o.fileForm(t, "/looks/upload", core.ActionMediaWrite, o.addPicture, "The console: upload an image")
	o.get(t, "/looks/pictures/:id", core.ActionMediaRead, o.picture, "The console: an image")
	o.post(t, "/looks/pictures/:id", core.ActionMediaWrite, o.changePicture, "The console: change or delete an image")
	o.themeRoutes(t)
	o.templateRoutes(t)
}

// LooksTabs returns the tabs of the design pages.
func (p *Page) LooksTabs() []tab {
	return p.tabsOf(Link{p.T("Images"), p.Path("looks")}, Link{p.T("Themes"), p.Path("looks", "themes")},
		Link{p.T("Templates"), p.Path("looks", "templates")})
}

// fileForm adds the handler for a form that contains a file. fn streams the request body.
func (o *Console) fileForm(t *web.Table, path string, action core.Action, fn handler, summary string) {
	do := o.visited(action, fn)
	t.Add("POST", Path+"/:tenant"+path, visitor(action), web.Console,
		web.Stream(func(c *web.Call, _ struct{}) (web.HTML, error) { return do(c) }), summary)
}

// picturesData holds the data for templates/looks.html.
type picturesData struct {
	Pictures []core.MediaView
	Text     string // search text
	Pager    pager
}

func (o *Console) pictures(p *Page) (web.HTML, error) { return p.showPictures(nil) }

// showPictures lists the tenant's images, newest first.
func (p *Page) showPictures(fault error) (web.HTML, error) {
	d := picturesData{Text: p.Query("q")}
	q := p.ofTenant("limit", "24")
	for _, name := range []string{"q", "cursor"} {
		if value := p.Query(name); value != "" {
			q.Set(name, value)
		}
	}
	next, err := p.Get("/api/media", q, &d.Pictures)
	if err != nil {
		return web.HTML{}, err
	}
	d.Pager = p.Pager(next)
	v := View{
		Title: p.T("Design"), State: p.T("Images, themes and templates for your emails"), Data: &d,
	}
	for i := range d.Pictures {
		v.Images = web.SourceOf(d.Pictures[i].URL) // all images have the tenant's origin
	}
	if err := p.blame(&v, fault); err != nil {
		return web.HTML{}, err
	}
	return p.Show("looks", v)
}

// addPicture uploads an image to the tenant's media.
func (o *Console) addPicture(p *Page) (web.HTML, error) {
	var made core.MediaView
	err := p.Upload(http.MethodPost, "/api/media?"+p.ofTenant().Encode(),
		p.Request.Header.Get("Content-Type"), &arriving{p: p, r: p.Request.Body, head: noLimit}, &made)
	if err != nil {
		return p.showPictures(err)
	}
	notice := "added"
	if made.Alt == "" {
		notice = "picture"
	}
	return p.Redirect(p.Path("looks", "pictures", made.ID), notice)
}

// pictureData holds the data for templates/picture.html.
type pictureData struct {
	core.MediaView
	InUse bool // whether deleting it failed because it is in use
}

func (o *Console) picture(p *Page) (web.HTML, error) { return p.showPicture(nil) }

func (p *Page) showPicture(fault error) (web.HTML, error) {
	var d pictureData
	if _, err := p.Get("/api/media/"+p.ID(), nil, &d.MediaView); err != nil {
		return web.HTML{}, err
	}
	v := View{
		Title: d.Name, Within: []Link{{p.T("Design"), p.Path("looks")}}, Images: web.SourceOf(d.URL), Data: &d,
		State: p.pictureSize(d.MediaFileView),
	}
	if err := p.blame(&v, fault); err != nil {
		return web.HTML{}, err
	}
	if fault != nil && p.Form["do"] == "" {
		d.Name, d.Alt, d.Decorative = p.Form["name"], p.Form["alt"], p.Form["decorative"] != ""
	}
	d.InUse = errors.Is(fault, &core.Error{Code: "media_in_use"})
	return p.Show("picture", v)
}

// pictureSize describes the size of an image in emails.
func (p *Page) pictureSize(f core.MediaFileView) string {
	return p.T("{{width}} × {{height}} px · {{size}}", "width", f.Width, "height", f.Height, "size", p.Size(f.Bytes))
}

// PictureSize is like pictureSize, for templates.
func (p *Page) PictureSize(m core.MediaView) string { return p.pictureSize(m.MediaFileView) }

// changePicture saves an image's name and alternative text, or deletes the image. Deleting an image in use requires a
// second request.
func (o *Console) changePicture(p *Page) (web.HTML, error) {
	path := "/api/media/" + p.ID()
	switch p.Form["do"] {
	case "delete", "force":
		if p.Form["do"] == "force" {
			path += "?force=true"
		}
		if err := p.Do(http.MethodDelete, path, nil, nil); err != nil {
			return p.showPicture(err)
		}
		return p.Redirect(p.Path("looks"), "deleted")
	}
	body := map[string]any{"name": p.Form["name"], "alt": p.Form["alt"]}
	if p.Form["alt"] == "" || p.Form["decorative"] == "" {
		body["decorative"] = p.Form["decorative"] != ""
	}
	if err := p.Do(http.MethodPatch, path, body, nil); err != nil {
		return p.showPicture(err)
	}
	return p.Redirect(p.Path("looks", "pictures", p.ID()), "saved")
}
