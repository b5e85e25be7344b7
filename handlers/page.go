package handlers

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"html/template"
	"io/fs"
	"net/url"
	"path"
	"strings"

	"newsletterd/core"
)

// Pages are server-rendered: a layout and a template for each, which defines "content". They need no script.
//
//go:embed pages/*.html pages/words
var pageFiles embed.FS

var pages = parsePages()

func parsePages() map[string]*template.Template {
	layout := template.Must(template.New("layout.html").Funcs(template.FuncMap{"fields": shownFields}).ParseFS(pageFiles, "pages/layout.html"))
	files, err := fs.Glob(pageFiles, "pages/*.html")
	if err != nil {
		panic(err)
	}
	all := map[string]*template.Template{}
	for _, f := range files {
		if name := strings.TrimSuffix(path.Base(f), ".html"); name != "layout" {
			all[name] = template.Must(template.Must(layout.Clone()).ParseFS(pageFiles, f))
		}
	}
	return all
}

// view is what a page shows. Fault tells what was wrong with the form that was sent, Notice what has been done.
type view struct {
	Title, Fault, Notice string
	RequestID            string
	Brand                brand
	Data                 any

	Lang string
	W    *pageWords
	d    *dress
}

// Say puts names in the place of placeholders.
func (v view) Say(text string) string { return v.d.say(text) }

// fieldSet is what the template of a list's fields gets.
type fieldSet struct {
	W      *pageWords
	Fields []formField
	Prefix string // of the names in the form
}

func shownFields(v view, fields []formField, prefix string) fieldSet {
	return fieldSet{v.W, fields, prefix}
}

// note is the Data of a page that only tells something (pages/message.html).
type note struct {
	Lines          []string
	Hint           string
	Details        [][2]string
	Link, LinkText string
	Quiet          bool // the link is no button
}

// render makes a page of one of the templates, with the headers of contract 4. targets are the origins that its forms may
// lead to besides our own.
func (c *Call) render(status int, name string, v view, targets ...string) (HTML, error) {
	if v.Brand.Name == "" {
		v.Brand = c.dress.brand
	}
	if v.Brand.Name == "" {
		v.Brand = c.api.ownBrand()
	}
	c.words()
	v.d = &c.dress
	c.pageHeaders(v.Brand, "", targets...)
	return fill(status, name, v)
}

func fill(status int, name string, v view) (HTML, error) {
	if v.d == nil {
		v.d = &dress{}
	}
	v.W, v.Lang = v.d.words(), cmp.Or(v.d.lang, core.Languages[0])
	var b bytes.Buffer
	if err := pages[name].ExecuteTemplate(&b, "layout.html", v); err != nil {
		return HTML{}, err
	}
	return HTML{Status: status, Body: b.Bytes()}, nil
}

// tell is a page that only tells something.
func (c *Call) tell(status int, title string, n note, b brand) (HTML, error) {
	return c.render(status, "message", view{Title: title, Brand: b, Data: n})
}

// pageHeaders are those of every page: nothing may be loaded, framed or posted elsewhere, and no address leaks. The layout
// softens no-referrer to same-origin, which tells others as little: without it a form's Origin would be null, and browsers that
// send no Sec-Fetch-Site (old ones, and all to a plain http host) could send no form at all.
func (c *Call) pageHeaders(b brand, script string, targets ...string) {
	csp := "default-src 'none'; style-src 'self'; img-src 'self' data:" + b.source() + "; form-action 'self'"
	for _, t := range targets {
		csp += " " + t
	}
	if script != "" {
		csp += "; script-src " + script
	}
	h := c.Header()
	h.Set("Content-Security-Policy", csp+"; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	if c.api.secure() {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// secure tells whether the world reaches us by https.
func (h *Handler) secure() bool { return strings.HasPrefix(h.publicURL, "https://") }

// originOf is the CSP source of a URL: its origin, or the scheme alone where there is no host (RFC 8252 section 7.1).
func originOf(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Scheme == "":
		return "'self'"
	case u.Host == "" || (u.Scheme != "https" && u.Scheme != "http"):
		return u.Scheme + ":"
	}
	return u.Scheme + "://" + u.Host
}

// brand is whose page it is: of the tenant of the client, or the daemon's own.
type brand struct {
	Name  string
	Logo  string // URL; empty: the name is shown
	Style string // of the stylesheet, with the colour

	Privacy string // URL of the tenant's privacy notice
}

// source is the CSP source of the logo, which a tenant may keep at another host.
func (b brand) source() string {
	if b.Logo == "" {
		return ""
	}
	return " " + originOf(b.Logo)
}

const ownName = "newsletterd"

func (h *Handler) ownBrand() brand { return brand{Name: ownName, Style: stylePath("")} }

// brandOf is the brand of a tenant, whose language the pages of the request have from now on.
func (c *Call) brandOf(tenantID string) (brand, error) {
	if tenantID == "" {
		return c.api.ownBrand(), nil
	}
	t, err := c.api.options.Store.Tenant(c, tenantID)
	if errors.Is(err, core.ErrNotFound) {
		return c.api.ownBrand(), nil
	}
	if err != nil {
		return brand{}, err
	}
	return c.wearTenant(&t), nil
}

// wearTenant gives the pages of the request the brand and the language of a tenant.
func (c *Call) wearTenant(t *core.Tenant) brand {
	b := tenantBrand(c.api.ownBrand(), t)
	c.dress.brand, c.dress.tenant = b, b.Name
	if t.Language != "" {
		c.dress.lang = t.Language
	}
	return b
}

// clientBrand is the brand of a client's tenant; the daemon's own where the tenant is suspended.
func (c *Call) clientBrand(client *core.Client) (brand, error) {
	if client.Suspended {
		return c.api.ownBrand(), nil
	}
	return c.brandOf(client.TenantID)
}

// tenantBrand is the brand of a tenant.
func tenantBrand(b brand, t *core.Tenant) brand {
	b.Name = t.Name
	if t.BrandName != "" {
		b.Name = t.BrandName
	}
	b.Logo, b.Style, b.Privacy = t.BrandLogoURL, stylePath(t.BrandColor), t.PrivacyURL
	return b
}

func sourceHash(script string) string {
	sum := sha256.Sum256([]byte(script))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
