package console

import (
	"bytes"
	"embed"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// Page is a visitor's request for a console page. If its path contains a tenant, the page belongs to that tenant.
type Page struct {
	*web.Call
	Who    core.Visitor
	Tenant core.Tenant // the ID is empty on pages that belong to no tenant
	Lang   string
	Zone   *time.Location
	Form   map[string]string // values of a submitted form

	console *Console
	caller  core.Caller
	faults  map[string]string // texts returned by FaultOf, with the API field of each
}

// page returns the Page for a request.
func (o *Console) page(c *web.Call, who core.Visitor) (*Page, error) {
	p := &Page{Call: c, Who: who, console: o, Lang: languageOf(c), Zone: zoneOf(c)}
	p.Form, _ = c.Value(formKey{}).(map[string]string)
	p.caller = core.Caller{
		UserID: who.User.ID, Email: who.User.Email, EmailVerified: who.User.EmailVerified, FirstParty: true,
		Scopes: core.AllScopes, Roles: who.User.Roles, ProvedAt: longAgo,
	}
	// This checks only how the visitor signed in. Each operation checks whether the sign-in is recent enough.
	proved, err := o.options.Proved(c, who, who.Browser.AuthAt)
	if proved {
		p.caller.ProvedAt = max(who.Browser.AuthAt, longAgo)
	}
	return p, err
}

// longAgo is the sign-in time for a visitor who has a second factor but didn't use it. 0 would mean that no proof is
// required.
const longAgo core.Instant = 1

// enter reads the tenant with this id. If the visitor may not perform the action for it, enter returns a not-found
// error.
func (p *Page) enter(id string, action core.Action) error {
	if parsed, ok := core.ParseID(id); !ok || parsed != id || !p.caller.May(core.ActionTenantRead, id) {
		return web.ErrNotFound
	}
	if _, err := p.Get("/api/admin/tenants/"+id, nil, &p.Tenant); err != nil {
		return err
	}
	p.Call.Tenant = id
	if zone, err := core.ParseZone(p.Tenant.TimeZone); err == nil && zone != nil {
		p.Zone = zone // the whole team sees the same times
	}
	if !p.caller.May(action, id) {
		return core.Lacking(action)
	}
	return nil
}

// May reports whether the visitor may perform an action for the page's tenant. Pages show buttons only for such
// actions.
func (p *Page) May(action core.Action) bool { return p.caller.May(action, p.Tenant.ID) }

// IsOperator reports whether the visitor is a server administrator.
func (p *Page) IsOperator() bool { return p.caller.May(core.ActionSystemRead, core.TenantNone) }

// Path returns a path below the tenant's path: Path("campaigns", id) is /console/TENANT/campaigns/ID.
func (p *Page) Path(parts ...string) string {
	b := Path
	if p.Tenant.ID != "" {
		b += "/" + p.Tenant.ID
	}
	for _, part := range parts {
		b += "/" + url.PathEscape(part)
	}
	return b
}

// Query returns a query parameter.
func (p *Page) Query(name string) string { return p.Request.URL.Query().Get(name) }

// ofTenant returns an API query for records of the page's tenant. pairs contains alternating names and values, of which
// empty values are left out.
func (p *Page) ofTenant(pairs ...string) url.Values {
	q := url.Values{"tenant_id": {p.Tenant.ID}}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// Get calls an API route and decodes its response into out. For a list, next is the cursor of the next page.
func (p *Page) Get(path string, query url.Values, out any) (next string, err error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return p.list(web.Question{Method: http.MethodGet, Path: path}, out)
}

// list decodes one page of an API list into out and returns the next page's cursor.
func (p *Page) list(q web.Question, out any) (next string, err error) {
	a, err := p.Ask(q)
	if err != nil {
		return "", err
	}
	return a.Next(), a.Decode(out)
}

// Do sends body to an API route as JSON. If out is not nil, the response is decoded into out.
func (p *Page) Do(method, path string, body, out any) error {
	a, err := p.Ask(web.Question{Method: method, Path: path, Body: body})
	if err != nil || out == nil {
		return err
	}
	return a.Decode(out)
}

// Ask calls an API route on the visitor's behalf.
func (p *Page) Ask(q web.Question) (*web.Answer, error) {
	q.Caller = p.caller
	return p.Call.Ask(q)
}

// View holds the data for a page.
type View struct {
	Title   string
	Within  []Link // parent pages
	Badge   Badge  // badge next to the title
	State   string // a sentence below the title
	Fault   string // error in the submitted form
	Done    string // completed action; empty: from the query
	Refresh string // URL to which the browser goes automatically
	Script  string // URL of a script in addition to those of every page
	Frames  bool   // whether it contains frames with this server's pages, such as previews
	Nonce   string // for style elements that a script creates
	Images  string // CSP source of images in addition to this server
	Plain   bool   // whether the page has no navigation
	Part    bool   // whether this is only a part of a page, for a script to insert
	Data    any
	Status  int // status of the response; 0 means 200
}

// Wrong returns the error for an input that sets one of the API fields, or an empty string.
func (s shown) Wrong(fields ...string) string {
	if at := s.Page.faults[s.Fault]; at == "" || !slices.Contains(fields, at) {
		return ""
	}
	return s.Fault
}

// Link is a link with its text.
type Link struct{ Text, To string }

// Badge is a short label for a state.
type Badge struct{ Text, Tone string } // tones: empty, good, warn, bad, live

// shown is the root data for the templates.
type shown struct {
	*Page
	View
	Shell shell
}

//go:embed templates/*.html
var templateFiles embed.FS

var templates = web.NewTemplates(templateFiles, "templates", functions, "layout", "components")

// Partial reports whether a script requests only a part of the page. If so, target is the id of the element to update.
func (p *Page) Partial() (target string, ok bool) {
	if p.Request.Header.Get("Hx-Request") != "true" {
		return "", false
	}
	target = p.Request.Header.Get("Hx-Target") // htmx 4 prefixes the element's name: div#found
	target = target[strings.LastIndexByte(target, '#')+1:]
	return target, target != ""
}

// Show renders a page from templates/NAME.html.
func (p *Page) Show(name string, v View) (web.HTML, error) {
	return p.render(name, "layout.html", v)
}

// ShowPart renders a block of templates/NAME.html as a part of a page.
func (p *Page) ShowPart(name, block string, v View) (web.HTML, error) {
	v.Part = true
	return p.render(name, block, v)
}

func (p *Page) render(name, block string, v View) (web.HTML, error) {
	if v.Done == "" && v.Fault == "" && !v.Part { // a fault means that the submitted form was rejected
		v.Done = p.notice()
	}
	s := shown{Page: p, View: v}
	s.Shell = p.shell(&v)
	p.headers(&v)
	var b bytes.Buffer
	if err := templates.Execute(&b, name, block, s); err != nil {
		return web.HTML{}, err
	}
	return web.HTML{Status: v.Status, Body: b.Bytes()}, nil
}

// headers sets the headers of a page. They allow scripts, requests and images only from this server, and styles only
// from stylesheets.
func (p *Page) headers(v *View) {
	images := ""
	if p.Tenant.PublicURL != "" {
		images += " " + web.SourceOf(p.Tenant.PublicURL)
	}
	for _, logo := range []string{p.Tenant.BrandLogoURL, p.Tenant.BrandDarkLogoURL} {
		if logo != "" {
			images += " " + web.SourceOf(logo)
		}
	}
	if v.Images != "" {
		images += " " + v.Images
	}
	p.PageHeaders(images, "'self'")
	h := p.Header()
	policy := h.Get("Content-Security-Policy")
	if v.Nonce != "" {
		policy = strings.Replace(policy, "style-src 'self'", "style-src 'self' 'nonce-"+v.Nonce+"'", 1)
	}
	more := "; connect-src 'self'"
	if v.Frames {
		more += "; frame-src 'self'"
	}
	h.Set("Content-Security-Policy", policy+more)
}

// Redirect redirects the browser to another page after a form. notice is a key in notices. That page shows the notice
// once.
func (p *Page) Redirect(to, notice string) (web.HTML, error) {
	if notice != "" {
		to = p.noticed(to, notice)
	}
	return web.HTML{To: p.PublicURL() + to}, nil
}

// noticeCookie holds the key of a notice that wasn't shown yet. The page's URL contains a matching value, which is
// still there after a reload.
const (
	noticeCookie = "newsletterd-done"
	noticeTTL    = 15 * time.Minute
)

// noticed returns the URL of a page that shows a notice once.
func (p *Page) noticed(to, notice string) string {
	p.SetCookie(noticeCookie, notice, p.Now.Time().Add(noticeTTL))
	to, part, found := strings.Cut(to, "#")
	if found {
		part = "#" + part
	}
	sign := "?"
	if strings.Contains(to, "?") {
		sign = "&"
	}
	return to + sign + "done=" + notice + part
}

// notice returns the notice for this page, or an empty string if there is none or it was already shown.
func (p *Page) notice() string {
	key := p.Query("done")
	if key == "" || p.Cookie(noticeCookie) != key {
		return ""
	}
	p.SetCookie(noticeCookie, "", time.Time{})
	return p.T(notices[key])
}

// FaultOf returns the message and the status for an error that the visitor can fix. For other errors, ok is false.
func (p *Page) FaultOf(err error) (text string, status int, ok bool) {
	e, is := errors.AsType[*core.Error](err)
	if !is || errors.Is(err, core.ErrProofOld) {
		return "", 0, false
	}
	switch e.Kind {
	case core.Invalid, core.Conflict, core.PreconditionFailed, core.TooMany, core.TooLarge,
		core.MediaType:
	default:
		return "", 0, false
	}
	p.RetryAfter(e)
	p.LogError(err)
	text = p.faultText(e)
	if len(e.Changes) > 0 {
		text = p.changedText(e.Changes)
	}
	if p.faults == nil {
		p.faults = map[string]string{}
	}
	p.faults[text], _, _ = strings.Cut(e.Field, "[") // for a list, the error is about its first invalid element
	return text, web.StatusOf(web.Console, e.Kind), true
}

// failed renders an error page.
func (p *Page) failed(err error) (web.HTML, error) {
	e, is := errors.AsType[*core.Error](err)
	if !is {
		return web.HTML{}, err // package web responds with an error page and logs it
	}
	p.LogError(err)
	v := View{Status: web.StatusOf(web.Console, e.Kind)}
	switch v.Status {
	case http.StatusNotFound:
		v.Title, v.State = p.T("Page not found"), p.T("It may have been deleted, or you don't have access.")
	case http.StatusForbidden:
		v.Title, v.State = p.T("You don't have permission"), p.faultText(e)
	default:
		v.Title, v.State = p.T("Something went wrong"), p.faultText(e)
	}
	return p.Show("message", v)
}

// Download makes the API write its response directly to the browser. Handlers return Download's result.
func (p *Page) Download(path string) error {
	return p.download(web.Question{Method: http.MethodGet, Path: path})
}

// download is like Download, but for any API request.
func (p *Page) download(q web.Question) error {
	q.Writer = p.Stream()
	_, err := p.Ask(q)
	return err
}

// Upload streams a request body to the API and decodes the response into out.
func (p *Page) Upload(method, path, mediaType string, body io.Reader, out any) error {
	a, err := p.Ask(web.Question{
		Method: method, Path: path, Body: body, Header: map[string]string{"Content-Type": mediaType},
	})
	if err != nil || out == nil {
		return err
	}
	return a.Decode(out)
}
