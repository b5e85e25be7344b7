package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// Path is where the console begins.
const Path = "/console"

// Options is what the console needs of the other pages.
type Options struct {
	// Proved reports whether a visitor has lately proved who it is, as what asks for that wants it.
	Proved func(ctx context.Context, who core.Visitor, now core.Instant) (bool, error)
	// Prove makes the page that asks a visitor for that. It leads on to path, to which it posts form if there is one.
	Prove func(c *web.Call, who core.Visitor, path, form string) (web.HTML, error)
	// Review is the address of the page on which a campaign is approved or sent back.
	Review func(campaignID string) string
	// Login is the address of the page to sign in on that leads on to path.
	Login func(path string) string
	// Account is the path of a user's own page, Logout that of the page to sign out on.
	Account, Logout string
	// HiddenInDark reports whether a picture, by its address, can hardly be seen where the reader's program is dark. It is
	// false where that isn't known.
	HiddenInDark func(ctx context.Context, address string) bool
	// OnPlate returns such a picture on a white plate, as a PNG.
	OnPlate func(ctx context.Context, address string) ([]byte, error)
	// MailDefault returns the built-in wording of a mail to subscribers in a language: of core.MailConfirm and the like.
	MailDefault func(kind, language string) core.MailText
	// MailPreview renders such a mail of a tenant with a wording, for a list by its name, as an address gets it.
	MailPreview func(t *core.Tenant, kind, language, list, to string, own core.MailText) (subject, html string, err error)
	// PictureBytes is how many bytes an uploaded picture may have.
	PictureBytes int64
	// Folder reports whether emails of a tenant are saved to a folder, where they reach no one; one without an ID
	// stands for the server. nil: they are not.
	Folder func(ctx context.Context, t *core.Tenant) (bool, error)
}

// Console serves the pages of the console.
type Console struct{ options Options }

// New returns the console.
func New(o Options) *Console { return &Console{o} }

// maxForm is the most that a form may have, in bytes: the text of a newsletter, escaped.
const maxForm = 4 << 20

// Routes adds the rows of the console to the table.
func (o *Console) Routes(t *web.Table) {
	t.Add("GET", stylePath, web.Public(), web.Console, web.Query(style), "The stylesheet of the console")
	o.scriptRoutes(t)
	o.open(t, Path, o.begin, "The console: where a visitor begins")
	o.startRoutes(t)
	o.open(t, Path+"/design", o.design, "The console: its components, for tests")
	o.operatorRoutes(t)
	o.providerRoutes(t)
	o.ownRoutes(t)
	o.get(t, "", core.ActionListRead, o.overview, "The console: overview of a tenant")
	o.searchRoutes(t)
	o.campaignRoutes(t)
	o.editorRoutes(t)
	o.compareRoutes(t)
	o.kindRoutes(t)
	o.sendingRoutes(t)
	o.reportRoutes(t)
	o.peopleRoutes(t)
	o.listRoutes(t)
	o.looksRoutes(t)
	o.settingsRoutes(t)
}

// handler makes the answer to a request of a visitor.
type handler func(p *Page) (web.HTML, error)

// open adds a page of no tenant, for every user who is signed in.
func (o *Console) open(t *web.Table, path string, fn handler, summary string) {
	t.Add("GET", path, visitor(""), web.Console, web.Get(o.visited("", fn)), summary)
}

// openPost adds what a form of such a page does.
func (o *Console) openPost(t *web.Table, path string, fn handler, summary string) {
	do := o.visited("", fn)
	t.Add("POST", path, visitor(""), web.Console, web.Values(func(c *web.Call, form map[string]string) (web.HTML, error) {
		c.Keep(formKey{}, form)
		return do(c)
	}), summary)
}

// get adds a page of a tenant, below the path of the tenant, for those who may do the action.
func (o *Console) get(t *web.Table, path string, action core.Action, fn handler, summary string) {
	t.Add("GET", Path+"/:tenant"+path, visitor(action), web.Console, web.Get(o.visited(action, fn)), summary)
}

// post adds what a form of such a page does.
func (o *Console) post(t *web.Table, path string, action core.Action, fn handler, summary string) {
	do := o.visited(action, fn)
	t.Add("POST", Path+"/:tenant"+path, visitor(action), web.Console,
		web.Values(func(c *web.Call, form map[string]string) (web.HTML, error) {
			c.Keep(formKey{}, form)
			return do(c)
		}).MaxBody(maxForm), summary)
}

// file adds a file of a tenant: fn has the API write it, for as long as the browser goes on taking it.
func (o *Console) file(t *web.Table, path string, action core.Action, fn func(p *Page) error, summary string) {
	o.getFile(t, path, action, func(p *Page) (web.HTML, error) { return web.HTML{}, fn(p) }, summary)
}

func (o *Console) getFile(t *web.Table, path string, action core.Action, fn handler, summary string) {
	t.Add("GET", Path+"/:tenant"+path, visitor(action), web.Console, streaming(o.visited(action, fn)), summary)
}

// export adds a page that has a file of a tenant ready for who has lately proved who it is, and the file: find returns
// where the API writes it.
func (o *Console) export(t *web.Table, path string, find func(p *Page) (string, error), summary string) {
	const action = core.ActionPeopleExport
	o.getFile(t, path, action, func(p *Page) (web.HTML, error) {
		from, err := find(p)
		if err != nil {
			return web.HTML{}, err
		}
		fresh, q := core.FreshProof(p.caller.ProvedAt, p.Now), p.Request.URL.Query()
		switch asked := q.Has("file"); {
		case asked && fresh:
			return web.HTML{}, p.Download(from)
		case asked: // the proof leads to the page, not to a download on the page of the proof
			q.Del("file")
			return p.Redirect(p.Request.URL.EscapedPath()+"?"+q.Encode(), "")
		case !fresh:
			return web.HTML{}, core.ErrProofOld
		}
		q.Set("file", "1")
		file := p.Request.URL.EscapedPath() + "?" + q.Encode()
		return p.Show("file", View{Title: p.T("Your file is ready"), Refresh: file, Data: file})
	}, summary)
}

// stream adds what a form with a large file does: fn reads its body.
func (o *Console) stream(t *web.Table, path string, action core.Action, fn handler, summary string) {
	t.Add("POST", Path+"/:tenant"+path, visitor(action), web.Console, streaming(o.visited(action, fn)), summary)
}

func streaming(do func(c *web.Call) (web.HTML, error)) web.Endpoint {
	return web.Stream(func(c *web.Call, _ struct{}) (web.HTML, error) { return do(c) })
}

type formKey struct{}

// visitor is the rule of the console's pages, which runs before a body is read: a form comes from our own pages, and a
// large one from a browser in which a user has signed in. Who that is, and what the user may do, the pages look at.
func visitor(action core.Action) web.Access {
	name := "visitor"
	if action != "" {
		name += " " + string(action)
	}
	return web.Public().Named(name).And(func(c *web.Call) error {
		if err := c.Visit(); err != nil {
			return err
		}
		if c.BrowserID() == "" {
			c.LimitBody(web.MaxForm)
		}
		return nil
	})
}

// visited makes the function of a page: the visitor is signed in, and may do the action for the tenant of the path.
// What it asks for that isn't there for the visitor is 404, as in the API.
func (o *Console) visited(action core.Action, fn handler) func(c *web.Call) (web.HTML, error) {
	return func(c *web.Call) (web.HTML, error) { return o.answer(c, action, fn) }
}

// upload adds what takes a file from a script of such a page: the body is not read before fn does. It answers JSON, and
// an error as text.
func (o *Console) upload(t *web.Table, path string, action core.Action, fn func(p *Page) (any, error), summary string) {
	t.Add("POST", Path+"/:tenant"+path, visitor(action), web.Console,
		web.Stream(func(c *web.Call, _ struct{}) (web.Text, error) { return o.json(c, action, fn) }), summary)
}

// data adds what a script of such a page reads: it answers JSON, and an error as text.
func (o *Console) data(t *web.Table, path string, action core.Action, fn func(p *Page) (any, error), summary string) {
	t.Add("GET", Path+"/:tenant"+path, visitor(action), web.Console,
		web.Get(func(c *web.Call) (web.Text, error) { return o.json(c, action, fn) }), summary)
}

func (o *Console) json(c *web.Call, action core.Action, fn func(p *Page) (any, error)) (web.Text, error) {
	var out any
	p, err := o.visitor(c)
	if tenant := c.Param("tenant"); err == nil && tenant != "" {
		err = p.enter(tenant, action)
	}
	if err == nil {
		out, err = fn(p)
	}
	if err != nil {
		return o.uploadFault(c, p, err)
	}
	b, err := json.Marshal(out)
	return web.Text{Type: "application/json", Body: b}, err
}

// uploadFault tells a script what was wrong, in words for people.
func (o *Console) uploadFault(c *web.Call, p *Page, err error) (web.Text, error) {
	e, is := errors.AsType[*core.Error](err)
	if !is {
		return web.Text{}, err
	}
	c.LogError(err)
	c.SetStatus(web.StatusOf(web.Console, e.Kind))
	text := cmp.Or(e.Message, web.MessageOf(e.Kind))
	if p != nil {
		text = p.faultText(e)
	}
	return web.Text{Type: "text/plain; charset=utf-8", Body: []byte(text)}, nil
}

// visitor returns the page of who is signed in; core.ErrUnauthenticated where no user is.
func (o *Console) visitor(c *web.Call) (*Page, error) {
	who, err := c.SignedIn()
	if errors.Is(err, core.ErrNotFound) {
		return nil, core.ErrUnauthenticated
	}
	if err != nil {
		return nil, err
	}
	return o.page(c, who)
}

func (o *Console) answer(c *web.Call, action core.Action, fn handler) (web.HTML, error) {
	p, err := o.visitor(c)
	if errors.Is(err, core.ErrUnauthenticated) {
		return o.toLogin(c), nil
	}
	if err != nil {
		return web.HTML{}, err
	}
	html, err := web.HTML{}, error(nil)
	if tenant := c.Param("tenant"); tenant != "" {
		err = p.enter(tenant, action)
	}
	if err == nil {
		html, err = fn(p)
	}
	switch {
	case err == nil:
		return html, nil
	case errors.Is(err, core.ErrProofOld):
		return o.prove(p)
	}
	return p.failed(err)
}

// toLogin sends the browser to the page to sign in on, which leads back.
func (o *Console) toLogin(c *web.Call) web.HTML {
	return web.HTML{To: c.PublicURL() + o.options.Login(here(c))}
}

// here is the path that a page to sign in on leads back to: after a form, that of the page it stood on, where what was
// written is kept on the device. Where no browser of ours tells that, it is the path above.
func here(c *web.Call) string {
	if c.Request.Method == http.MethodGet {
		return c.Request.URL.RequestURI()
	}
	from := c.Request.Referer()
	if page, err := url.Parse(from); err == nil && strings.HasPrefix(from, c.PublicURL()+Path+"/") {
		return page.RequestURI()
	}
	path := c.Request.URL.EscapedPath()
	if i := strings.LastIndexByte(path, '/'); i > len(Path) {
		path = path[:i]
	}
	return path
}

// prove asks the visitor for a fresh proof, and then goes on with what was asked for.
func (o *Console) prove(p *Page) (web.HTML, error) {
	form := ""
	if p.Request.Method == http.MethodPost {
		values := url.Values{}
		for name, value := range p.Form {
			values.Set(name, value)
		}
		if form = values.Encode(); form == "" && p.Form != nil {
			form = "_=1" // a button without a name is a form, too
		}
	}
	to := p.Request.URL.RequestURI()
	if p.Request.Method == http.MethodPost && form == "" { // a file, which is not kept
		to = p.noticed(p.Request.URL.EscapedPath(), "again")
	}
	return o.options.Prove(p.Call, p.Who, to, form)
}
