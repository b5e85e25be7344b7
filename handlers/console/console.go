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
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
)

// Path is the root path of the console.
const Path = page.ConsolePath

// Options holds the functions and settings that the console needs from other packages.
type Options struct {
	// Proved reports whether a visitor's last sign-in is recent enough for sensitive actions at the time now.
	Proved func(ctx context.Context, who core.Visitor, now core.Instant) (bool, error)
	// Prove renders the page that asks a visitor to reauthenticate. The page then leads to path, or posts form there if
	// form is not empty. step is the name of the next action, or empty. back is the page to return to after canceling.
	Prove func(c *web.Call, who core.Visitor, path, form, step, back string) (web.HTML, error)
	// Review returns the URL of the page for approving a campaign or requesting changes.
	Review func(campaignID string) string
	// HiddenInDark reports whether the image at a URL is hard to see in dark mode. It returns false if this is
	// unknown.
	HiddenInDark func(ctx context.Context, address string) bool
	// OnPlate returns a PNG of the image at a URL, on a white background.
	OnPlate func(ctx context.Context, address string) ([]byte, error)
	// MailDefault returns the built-in text for a kind of email to subscribers. kind is core.MailConfirm or a similar
	// constant.
	MailDefault func(kind, language string) core.MailText
	// Findings returns what doctor finds about the server, including its DNS records if dns is true. The findings
	// contain their values separately, so that the console can translate them.
	Findings func(c *web.Call, dns bool) ([]core.Finding, error)
	// MailPreview renders an email from a tenant to a subscriber with the custom text own. list is the list's name, and
	// to the recipient's address.
	MailPreview func(t *core.Tenant, kind, language, list, to string, own core.MailText) (subject, html string, err error)
	// PictureBytes is the maximum size of an uploaded image in bytes.
	PictureBytes int64
	// Folder reports whether a tenant's emails are only saved to a folder. A tenant without an ID means the server. If
	// Folder is nil, emails are sent.
	Folder func(ctx context.Context, t *core.Tenant) (bool, error)
}

// Console serves the pages of the console.
type Console struct{ options Options }

// New returns the console.
func New(o Options) *Console { return &Console{o} }

// maxForm is the maximum size of a form in bytes. It must fit a URL-encoded newsletter.
const maxForm = 4 << 20

// Routes adds the routes of the console to the table.
func (o *Console) Routes(t *web.Table) {
	t.Add("GET", stylePath, web.Public(), web.Console, web.Query(style), "The stylesheet of the console")
	o.scriptRoutes(t)
	o.open(t, Path, o.begin, "The console: the start page")
	o.startRoutes(t)
	o.open(t, Path+"/design", o.design, "The console: the components of pages, for tests")
	o.operatorRoutes(t)
	o.providerRoutes(t)
	o.ownRoutes(t)
	o.get(t, "", core.ActionListRead, o.overview, "The console: overview of a tenant")
	o.post(t, "", core.ActionListRead, o.dismissSteps, "The console: dismiss the steps that are left")
	o.searchRoutes(t)
	o.campaignRoutes(t)
	o.editorRoutes(t)
	o.pollRoutes(t)
	o.compareRoutes(t)
	o.kindRoutes(t)
	o.sendingRoutes(t)
	o.reportRoutes(t)
	o.peopleRoutes(t)
	o.listRoutes(t)
	o.looksRoutes(t)
	o.settingsRoutes(t)
}

// handler handles a visitor's request for a page.
type handler func(p *Page) (web.HTML, error)

// open adds a page outside of any tenant, for every signed-in user.
func (o *Console) open(t *web.Table, path string, fn handler, summary string) {
	t.Add("GET", path, visitor(""), web.Console, web.Get(o.visited("", fn)), summary)
}

// openPost adds the form handler for a page added with open.
func (o *Console) openPost(t *web.Table, path string, fn handler, summary string) {
	do := o.visited("", fn)
	t.Add("POST", path, visitor(""), web.Console, web.Values(func(c *web.Call, form map[string]string) (web.HTML, error) {
		c.Keep(formKey{}, form)
		return do(c)
	}), summary)
}

// get adds a page below a tenant's path, for visitors who may perform the action.
func (o *Console) get(t *web.Table, path string, action core.Action, fn handler, summary string) {
	t.Add("GET", Path+"/:tenant"+path, visitor(action), web.Console, web.Get(o.visited(action, fn)), summary)
}

// post adds the form handler for a page added with get.
func (o *Console) post(t *web.Table, path string, action core.Action, fn handler, summary string) {
	do := o.visited(action, fn)
	t.Add("POST", Path+"/:tenant"+path, visitor(action), web.Console,
		web.Values(func(c *web.Call, form map[string]string) (web.HTML, error) {
			c.Keep(formKey{}, form)
			return do(c)
		}).MaxBody(maxForm), summary)
}

// file adds a file download for a tenant. fn makes the API write the file as long as the browser keeps reading.
func (o *Console) file(t *web.Table, path string, action core.Action, fn func(p *Page) error, summary string) {
	o.getFile(t, path, action, func(p *Page) (web.HTML, error) { return web.HTML{}, fn(p) }, summary)
}

func (o *Console) getFile(t *web.Table, path string, action core.Action, fn handler, summary string) {
	t.Add("GET", Path+"/:tenant"+path, visitor(action), web.Console, streaming(o.visited(action, fn)), summary)
}

// fileData holds the data for templates/file.html.
type fileData struct {
	File, Back string // URLs of the file and of the page before
	Person     bool   // whether the file has the data of one person
}

// export adds a file export for a tenant, and its page, which requires recent reauthentication. find returns the file's
// API path.
func (o *Console) export(t *web.Table, path string, find func(p *Page) (string, error), summary string) {
	o.exportOf(t, path, core.ActionPeopleExport, func(p *Page) (web.Question, error) {
		from, err := find(p)
		return web.Question{Method: http.MethodGet, Path: from}, err
	}, summary)
}

// exportOf is like export, but find returns any API request, and the visitor must have permission for the action.
func (o *Console) exportOf(t *web.Table, path string, action core.Action, find func(p *Page) (web.Question, error),
	summary string,
) {
	o.getFile(t, path, action, func(p *Page) (web.HTML, error) {
		from, err := find(p)
		if err != nil {
			return web.HTML{}, err
		}
		fresh, q := core.FreshProof(p.caller.ProvedAt, p.Now), p.Request.URL.Query()
		switch asked := q.Has("file"); {
		case asked && fresh:
			return web.HTML{}, p.download(from)
		case asked: // after reauthentication, lead to the page rather than start a download
			q.Del("file")
			return p.Redirect(p.Request.URL.EscapedPath()+"?"+q.Encode(), "")
		case !fresh:
			return web.HTML{}, core.ErrProofOld
		}
		q.Set("file", "1")
		file := p.Request.URL.EscapedPath() + "?" + q.Encode()
		return p.Show("file", View{
			Title: p.T("Your file is ready"), Refresh: file, Data: fileData{
				File: file, Back: beforeExport(p.Request.URL), Person: path == personExportPath,
			},
		})
	}, summary)
}

// beforeExport returns the URL of the page with the link to an export.
func beforeExport(u *url.URL) string {
	to := u.EscapedPath()
	to = to[:max(0, strings.LastIndexAny(to, "-/"))] // /people/1/export, /suppressions-export
	q := u.Query()
	q.Del("file")
	if len(q) == 0 {
		return to
	}
	return to + "?" + q.Encode()
}

// stream adds the handler for a form that contains a large file. fn reads the body.
func (o *Console) stream(t *web.Table, path string, action core.Action, fn handler, summary string) {
	t.Add("POST", Path+"/:tenant"+path, visitor(action), web.Console, streaming(o.visited(action, fn)), summary)
}

func streaming(do func(c *web.Call) (web.HTML, error)) web.Endpoint {
	return web.Stream(func(c *web.Call, _ struct{}) (web.HTML, error) { return do(c) })
}

type formKey struct{}

// visitor returns the access rule for the console's pages, which runs before a body is read. Forms must come from this
// site, and large forms from a browser with a signed-in user. The pages themselves check who the user is and what they
// may do.
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

// visited returns the handler for a page. It requires a signed-in visitor who may perform the action for the tenant in
// the path. For objects that the visitor may not see, it responds with 404, as the API does.
func (o *Console) visited(action core.Action, fn handler) func(c *web.Call) (web.HTML, error) {
	return func(c *web.Call) (web.HTML, error) { return o.answer(c, action, fn) }
}

// upload adds a route to which a script uploads a file. fn reads the body. The response is JSON, or text for an error.
func (o *Console) upload(t *web.Table, path string, action core.Action, fn func(p *Page) (any, error), summary string) {
	t.Add("POST", Path+"/:tenant"+path, visitor(action), web.Console,
		web.Stream(func(c *web.Call, _ struct{}) (web.Text, error) { return o.json(c, action, fn) }), summary)
}

// data adds a route from which a script reads data. The response is JSON, or text for an error.
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

// uploadFault responds to a script with an error message that its visitor can read.
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

// visitor returns a Page for the signed-in user. If no user is signed in, it returns core.ErrUnauthenticated.
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

// toLogin redirects the browser to the sign-in page, which returns to this page.
func (o *Console) toLogin(c *web.Call) web.HTML {
	return web.HTML{To: c.PublicURL() + page.LoginPath(here(c))}
}

// here returns the path to which the sign-in page returns. For a submitted form, it is the form's page, and the browser
// keeps the entered data.
func here(c *web.Call) string {
	if c.Request.Method == http.MethodGet {
		return c.Request.URL.RequestURI()
	}
	return cameFrom(c)
}

// cameFrom returns the path of the console page whose link or form led to the request. If the browser doesn't report
// that page, cameFrom returns a parent path.
func cameFrom(c *web.Call) string {
	from := c.Request.Referer()
	page, err := url.Parse(from)
	reloaded := err == nil && c.Request.Method == http.MethodGet && page.Path == c.Request.URL.Path
	if err == nil && !reloaded && strings.HasPrefix(from, c.PublicURL()+Path+"/") {
		return page.RequestURI()
	}
	path := c.Request.URL.EscapedPath()
	if i := strings.LastIndexByte(path, '/'); i > len(Path) {
		path = path[:i]
	}
	return path
}

// prove asks the visitor to reauthenticate, and continues with the request afterwards.
func (o *Console) prove(p *Page) (web.HTML, error) {
	form := ""
	if p.Request.Method == http.MethodPost {
		values := url.Values{}
		for name, value := range p.Form {
			values.Set(name, value)
		}
		if form = values.Encode(); form == "" && p.Form != nil {
			form = "_=1" // a button without a name also submits a form
		}
	}
	to := p.Request.URL.RequestURI()
	if p.Request.Method == http.MethodPost && form == "" { // a file can't be kept
		to = p.noticed(p.Request.URL.EscapedPath(), "again")
	}
	return o.options.Prove(p.Call, p.Who, to, form, p.nextStep(), cameFrom(p.Call))
}

// nextStep returns the name of the action that requires reauthentication, or an empty string.
func (p *Page) nextStep() string {
	path, _ := strings.CutPrefix(p.Request.URL.Path, p.Path()+"/")
	area, _, _ := strings.Cut(path, "/")
	switch action := path[strings.LastIndexByte(path, '/')+1:]; {
	case area == "campaigns" && action == "send":
		if c, err := p.campaign(); err == nil {
			return p.T("Send “{{title}}”", "title", c.Title(p))
		}
	case strings.HasSuffix(action, "export"):
		if area == "campaigns" {
			return p.T("Export recipients")
		}
		return p.T("Export data")
	case area == "people" && (action == "erase" || path == "people" && p.Form["act"] == "erase"):
		return p.T("Erase data")
	case area == "imports" && action == "undo":
		return p.T("Undo import")
	case area == "imports" || area == "new-import":
		return p.T("Import people")
	case strings.HasPrefix(path, "settings/domains"):
		return p.T("Change sender domains and DKIM keys")
	case strings.HasPrefix(path, "settings/clients"):
		return p.T("Change API clients")
	case strings.HasPrefix(path, "settings/endpoints"):
		return p.T("Change webhooks")
	case strings.HasPrefix(path, "settings/relay"):
		return p.T("Change mail server")
	case strings.HasPrefix(path, "settings/team"):
		return p.T("Change the team")
	case path == "settings" || strings.HasPrefix(path, "settings/"):
		return p.T("Change settings")
	}
	return ""
}
