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

// Page is one request of a visitor: for a tenant, where its path names one.
type Page struct {
	*web.Call
	Who    core.Visitor
	Tenant core.Tenant // its ID is empty on pages of no tenant
	Lang   string
	Zone   *time.Location
	Form   map[string]string // of a POST

	console *Console
	caller  core.Caller
	faults  map[string]string // texts that FaultOf has returned: the fields of the API that they are about
}

// page makes the Page of a request.
func (o *Console) page(c *web.Call, who core.Visitor) (*Page, error) {
	p := &Page{Call: c, Who: who, console: o, Lang: languageOf(c), Zone: zoneOf(c)}
	p.Form, _ = c.Value(formKey{}).(map[string]string)
	p.caller = core.Caller{
		UserID: who.User.ID, Email: who.User.Email, EmailVerified: who.User.EmailVerified, FirstParty: true,
		Scopes: core.AllScopes, Roles: who.User.Roles, ProvedAt: longAgo,
	}
	proved, err := o.options.Proved(c, who, c.Now)
	if proved {
		p.caller.ProvedAt = c.Now
	}
	return p, err
}

// longAgo is when a visitor was last proved whose proof is too old.
const longAgo core.Instant = 1

// enter reads the tenant of the path. A tenant for which the visitor may not do the action is none.
func (p *Page) enter(id string, action core.Action) error {
	if parsed, ok := core.ParseID(id); !ok || parsed != id || !p.caller.May(core.ActionTenantRead, id) {
		return web.ErrNotFound
	}
	if _, err := p.Get("/api/admin/tenants/"+id, nil, &p.Tenant); err != nil {
		return err
	}
	p.Call.Tenant = id
	if zone, err := core.ParseZone(p.Tenant.TimeZone); err == nil && zone != nil {
		p.Zone = zone // all who work on a newsletter read the same times
	}
	if !p.caller.May(action, id) {
		return core.Lacking(action)
	}
	return nil
}

// May reports whether the visitor may do an action for the tenant of the page: a button is shown then.
func (p *Page) May(action core.Action) bool { return p.caller.May(action, p.Tenant.ID) }

// IsOperator reports whether the visitor looks after the daemon.
func (p *Page) IsOperator() bool { return p.caller.May(core.ActionSystemRead, core.TenantNone) }

// Path returns an address below that of the tenant: Path("campaigns", id) is /console/TENANT/campaigns/ID.
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

// Query returns a parameter of the query.
func (p *Page) Query(name string) string { return p.Request.URL.Query().Get(name) }

// ofTenant returns a query for records of the page's tenant, with the names and values of pairs; an empty value is left
// out.
func (p *Page) ofTenant(pairs ...string) url.Values {
	q := url.Values{"tenant_id": {p.Tenant.ID}}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// Get asks a route of the API and decodes its answer into out. next is the cursor of the next page of a list.
func (p *Page) Get(path string, query url.Values, out any) (next string, err error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	a, err := p.Ask(web.Question{Method: http.MethodGet, Path: path})
	if err != nil {
		return "", err
	}
	return a.Next(), a.Decode(out)
}

// Do sends body to a route of the API as JSON and decodes its answer into out, unless that is nil.
func (p *Page) Do(method, path string, body, out any) error {
	a, err := p.Ask(web.Question{Method: method, Path: path, Body: body})
	if err != nil || out == nil {
		return err
	}
	return a.Decode(out)
}

// Ask asks a route of the API in the name of the visitor.
func (p *Page) Ask(q web.Question) (*web.Answer, error) {
	q.Caller = p.caller
	return p.Call.Ask(q)
}

// View is what a page shows.
type View struct {
	Title   string
	Within  []Link // the pages that it is a part of
	Badge   Badge  // next to the title
	State   string // one sentence below the title
	Fault   string // what was wrong with the form that was sent
	Done    string // what was done; empty: what the query says
	Refresh string // address that the browser goes to by itself
	Script  string // address of a script beyond those of every page
	Frames  bool   // it frames pages of ours: previews
	Nonce   string // of style elements that a script makes
	Images  string // where pictures may come from beyond our own origin, as a CSP source
	Plain   bool   // the page stands alone, without navigation
	Part    bool   // it is a part of a page, which a script puts into it
	Data    any
	Status  int // 0: 200
}

// Wrong returns what is wrong with an input that stands for some fields of the API; empty: nothing that the page says.
func (s shown) Wrong(fields ...string) string {
	if at := s.Page.faults[s.Fault]; at == "" || !slices.Contains(fields, at) {
		return ""
	}
	return s.Fault
}

// Link is a text with an address.
type Link struct{ Text, To string }

// Badge is a word about a state.
type Badge struct{ Text, Tone string } // tones: empty, good, warn, bad, live

// shown is the root of the templates.
type shown struct {
	*Page
	View
	Shell shell
}

//go:embed templates/*.html
var templateFiles embed.FS

var templates = web.NewTemplates(templateFiles, "templates", functions, "layout", "components")

// Partial reports whether a script asks for a part of the page, and returns the id of the element that takes it.
func (p *Page) Partial() (target string, ok bool) {
	if p.Request.Header.Get("Hx-Request") != "true" {
		return "", false
	}
	target = p.Request.Header.Get("Hx-Target") // htmx 4 writes the element's name before: div#found
	target = target[strings.LastIndexByte(target, '#')+1:]
	return target, target != ""
}

// Show makes a page of templates/NAME.html.
func (p *Page) Show(name string, v View) (web.HTML, error) {
	return p.render(name, "layout.html", v)
}

// ShowPart makes a part of a page: the block of templates/NAME.html.
func (p *Page) ShowPart(name, block string, v View) (web.HTML, error) {
	v.Part = true
	return p.render(name, block, v)
}

func (p *Page) render(name, block string, v View) (web.HTML, error) {
	if v.Done == "" && v.Fault == "" && !v.Part { // with a fault the form that was sent last was refused
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

// headers sets the headers of a page: scripts, requests and pictures of ours alone, and no style but the stylesheets.
func (p *Page) headers(v *View) {
	images := ""
	if p.Tenant.PublicURL != "" {
		images += " " + web.SourceOf(p.Tenant.PublicURL)
	}
	if p.Tenant.BrandLogoURL != "" {
		images += " " + web.SourceOf(p.Tenant.BrandLogoURL)
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

// Redirect sends the browser to another page after a form. notice is a key of notices, which that page then shows once.
func (p *Page) Redirect(to, notice string) (web.HTML, error) {
	if notice != "" {
		to = p.noticed(to, notice)
	}
	return web.HTML{To: p.PublicURL() + to}, nil
}

// noticeCookie holds the key of the notice that no page has shown yet. It goes with the address of the page, which
// stays when it is loaded anew.
const (
	noticeCookie = "newsletterd-done"
	noticeTTL    = 15 * time.Minute
)

// noticed returns the address of a page that shows a notice once.
func (p *Page) noticed(to, notice string) string {
	p.SetCookie(noticeCookie, notice, p.Now.Time().Add(noticeTTL))
	sign := "?"
	if strings.Contains(to, "?") {
		sign = "&"
	}
	return to + sign + "done=" + notice
}

// notice returns what the form has done that led here; empty: it was shown before.
func (p *Page) notice() string {
	key := p.Query("done")
	if key == "" || p.Cookie(noticeCookie) != key {
		return ""
	}
	p.SetCookie(noticeCookie, "", time.Time{})
	return p.T(notices[key])
}

// FaultOf returns what a page says of an error that its visitor can mend, and the status; ok is false for others.
func (p *Page) FaultOf(err error) (text string, status int, ok bool) {
	e, is := errors.AsType[*core.Error](err)
	if !is || errors.Is(err, core.ErrProofOld) {
		return "", 0, false
	}
	switch e.Kind {
	case core.Invalid, core.Conflict, core.PreconditionFailed, core.TooMany, core.TooLarge:
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
	p.faults[text], _, _ = strings.Cut(e.Field, "[") // of a list, the first that is wrong
	return text, web.StatusOf(web.Console, e.Kind), true
}

// failed makes the page of an error.
func (p *Page) failed(err error) (web.HTML, error) {
	e, is := errors.AsType[*core.Error](err)
	if !is {
		return web.HTML{}, err // the frame says that something is wrong, and logs it
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

// Download has the API write its answer straight to the browser. It returns what to return.
func (p *Page) Download(path string) error {
	_, err := p.Ask(web.Question{Method: http.MethodGet, Path: path, Writer: p.Stream()})
	return err
}

// Upload sends the body of the request on to the API as it comes.
func (p *Page) Upload(method, path, mediaType string, body io.Reader, out any) error {
	a, err := p.Ask(web.Question{
		Method: method, Path: path, Body: body, Header: map[string]string{"Content-Type": mediaType},
	})
	if err != nil || out == nil {
		return err
	}
	return a.Decode(out)
}
