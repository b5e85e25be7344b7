package console

import (
	"errors"
	"net/http"
	"net/url"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// modelRoutes adds the routes for files that users store and share.
func (o *Console) modelRoutes(t *web.Table) {
	o.open(t, OwnPath+"/models", o.models, "The console: a user's models")
	o.openFile(t, OwnPath+"/models/upload", o.addModel, "The console: upload a model")
	t.Add("GET", OwnPath+"/models/upload", visitor(""), web.Console,
		web.Get(func(c *web.Call) (web.Text, error) { return o.json(c, "", uploadState) }),
		"The console: the received size of an interrupted upload")
	o.open(t, OwnPath+"/models/:id", o.model, "The console: a model, the user's own or one that the user may view")
	o.openPost(t, OwnPath+"/models/:id", o.changeModel, "The console: describe, share or delete a model")
	t.Add("GET", OwnPath+"/models/:id/download", visitor(""), web.Console, streaming(o.visited("", downloadModel)),
		"The console: download a model")
	o.open(t, OwnPath+"/library", o.library, "The console: the models that a user may view")
}

// openFile adds the handler for a form with a file, on a page outside of any tenant. fn reads the body.
func (o *Console) openFile(t *web.Table, path string, fn handler, summary string) {
	t.Add("POST", path, visitor(""), web.Console, streaming(o.visited("", fn)), summary)
}

// modelRow is a model as returned by the API.
type modelRow struct {
	core.Model
	Owner struct{ ID, Name string } `json:"owner"`
}

// modelsData holds the data for templates/models.html and templates/library.html.
type modelsData struct {
	Models   []modelRow
	Pager    pager
	Text     string // search text
	Whose    string // owner of the listed models
	Choices  []option
	Views    []option
	Verified bool // whether the visitor may upload models
}

// seen reads a page of models that the visitor may view.
func (p *Page) seen(d *modelsData, owner string) error {
	q := p.listQuery("24")
	if d.Text = p.Query("q"); d.Text != "" {
		q.Set("q", d.Text)
	}
	if owner != "" {
		q.Set("owner", owner)
	}
	if d.Whose == "shared" || d.Whose == "public" {
		q.Set("access", d.Whose)
	}
	var found struct {
		Items []modelRow `json:"items"`
		Next  string     `json:"next_cursor"`
	}
	_, err := p.Get("/api/models/library", q, &found)
	d.Models, d.Pager = found.Items, p.Pager(found.Next)
	return err
}

func (o *Console) models(p *Page) (web.HTML, error) { return p.showModels(nil) }

// showModels lists the visitor's own models, newest first.
func (p *Page) showModels(fault error) (web.HTML, error) {
	d := modelsData{Verified: p.Who.User.EmailVerified, Views: p.visibilities()}
	v := View{
		Title: p.T("Your models"), Data: &d,
		State: p.T("Files you store here. Only you can see them until you share them."),
	}
	if err := p.blame(&v, fault); err != nil {
		return web.HTML{}, err
	}
	if e, is := errors.AsType[*core.Error](fault); is && e.Kind == core.TooLarge {
		v.Fault = p.T("The file is too large, or your storage is full. Choose a smaller file, or delete a model.")
	}
	if err := p.seen(&d, "me"); err != nil {
		return web.HTML{}, err
	}
	return p.Show("models", v)
}

// visibilities returns the options for a model's visibility, to which shares are added.
func (p *Page) visibilities() []option {
	return []option{
		{string(core.Private), p.T("You and people you share with")},
		{string(core.PublicVisible), p.T("Public (everyone with an account)")},
	}
}

// ModelBadge returns the badge for a model's visibility.
func (p *Page) ModelBadge(v core.Visibility) Badge {
	if v == core.PublicVisible {
		return Badge{p.T("Public"), "live"}
	}
	return Badge{p.T("Private"), ""}
}

// addModel uploads a file as one of the visitor's models.
func (o *Console) addModel(p *Page) (web.HTML, error) {
	var made core.Model
	body := &arriving{p: p, r: p.Request.Body, head: noLimit}
	head := map[string]string{}
	for _, name := range []string{"Content-Type", "Upload-Key", "Upload-Offset"} {
		if value := p.Request.Header.Get(name); value != "" {
			head[name] = value
		}
	}
	a, err := p.Ask(web.Question{Method: http.MethodPost, Path: "/api/models", Header: head, Body: body})
	if err == nil {
		err = a.Decode(&made)
	}
	if err != nil {
		return p.showModels(err)
	}
	return p.Redirect(p.OwnPath("models", made.ID), "added")
}

// uploadState responds to the form's script with the offset at which an upload resumes, or with the page of the model
// that the upload created.
func uploadState(p *Page) (any, error) {
	var is struct {
		Offset   int64  `json:"offset"`
		UnderWay bool   `json:"under_way"`
		ModelID  string `json:"model_id"`
	}
	if _, err := p.Get("/api/models/upload", url.Values{"key": {p.Query("key")}}, &is); err != nil {
		return nil, err
	}
	var out struct {
		Offset   int64  `json:"offset"`
		UnderWay bool   `json:"under_way"`
		To       string `json:"to,omitempty"`
	}
	if out.Offset, out.UnderWay = is.Offset, is.UnderWay; is.ModelID != "" {
		out.To = p.PublicURL() + p.noticed(p.OwnPath("models", is.ModelID), "added")
	}
	return out, nil
}

// modelData holds the data for templates/model.html.
type modelData struct {
	modelRow
	Mine   bool
	Shares []core.Share
	Views  []option
	Form   filled
}

func (o *Console) model(p *Page) (web.HTML, error) { return p.showModel(filled{}, View{}) }

// showModel shows a model that the visitor may view. Its owner can edit it there.
func (p *Page) showModel(f filled, v View) (web.HTML, error) {
	d := modelData{Form: f, Views: p.visibilities()}
	path := "/api/models/" + p.ID()
	if _, err := p.Get(path+"/profile", nil, &d.modelRow); err != nil {
		return web.HTML{}, err
	}
	d.Mine = d.OwnedBy(p.caller)
	v.Title, v.Data = d.Name, &d
	v.State = p.Size(d.Size) + ", " + p.T("added {{when}}", "when", p.When(d.CreatedAt))
	if !d.Mine {
		v.Within = []Link{{p.T("Library"), OwnPath + "/library"}}
		v.State = p.T("Owner: {{name}}", "name", d.Owner.Name) + " – " + v.State
		return p.Show("model", v)
	}
	v.Within, v.Badge = []Link{{p.T("Your models"), OwnPath + "/models"}}, p.ModelBadge(d.Visibility)
	if d.Visibility == core.TenantVisible {
		d.Views = append(d.Views, option{
			string(core.TenantVisible), p.T("Set through the API"),
		})
	}
	if p.Form["do"] != "" || d.Form.values == nil {
		email := d.Form.values["email"]
		d.Form.values = map[string]string{"name": d.Name, "description": d.Description, "email": email}
	}
	var err error
	d.Shares, err = all[core.Share](p, path+"/shares", url.Values{"limit": {"200"}}, core.MaxShares)
	if err != nil {
		return web.HTML{}, err
	}
	return p.Show("model", v)
}

// changeModel changes the description or visibility of a model, or deletes it.
func (o *Console) changeModel(p *Page) (web.HTML, error) {
	path := "/api/models/" + p.ID()
	var err error
	switch p.Form["do"] {
	case "visibility":
		err = p.Do(http.MethodPatch, path+"/visibility", p.sent("visibility"), nil)
	case "share":
		err = p.Do(http.MethodPost, path+"/shares", p.sent("email"), nil)
	case "unshare":
		err = p.Do(http.MethodDelete, path+"/shares/"+url.PathEscape(p.Form["share"]), nil, nil)
	case "delete":
		if err = p.Do(http.MethodDelete, path, nil, nil); err == nil {
			return p.Redirect(OwnPath+"/models", "deleted")
		}
	default:
		err = p.Do(http.MethodPatch, path, p.sent("name", "description"), nil)
	}
	if err != nil {
		return p.refused(err, p.showModel)
	}
	return p.Redirect(p.OwnPath("models", p.ID()), "saved")
}

// downloadModel makes the API write a model's file. A browser can resume an interrupted download.
func downloadModel(p *Page) (web.HTML, error) {
	head := map[string]string{}
	for _, name := range []string{"Range", "If-Range", "If-None-Match", "If-Modified-Since"} {
		if value := p.Request.Header.Get(name); value != "" {
			head[name] = value
		}
	}
	_, err := p.Ask(web.Question{
		Method: http.MethodGet, Path: "/api/models/" + p.ID() + "/download", Header: head, Writer: p.Stream(),
	})
	return web.HTML{}, err
}

// library lists the models that the visitor may view, newest first.
func (o *Console) library(p *Page) (web.HTML, error) {
	d := modelsData{Whose: p.Query("whose"), Choices: []option{
		{"", p.T("All models")},
		{"shared", p.T("Shared with you")},
		{"public", p.T("Public")},
		{"mine", p.T("Your models")},
	}}
	owner := ""
	if d.Whose == "mine" {
		owner = "me"
	}
	if err := p.seen(&d, owner); err != nil {
		return web.HTML{}, err
	}
	return p.Show("library", View{
		Title: p.T("Library"), Data: &d, State: p.T("Your models, models shared with you and public models"),
	})
}
