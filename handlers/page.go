package handlers

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"html/template"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// Pages are server-rendered: a layout and a template for each, which defines "content". They work without scripts.
//
//go:embed pages/*.html pages/words
var pageFiles embed.FS

var pages = web.NewTemplates(pageFiles, "pages", template.FuncMap{"fields": shownFields}, "layout")

// view is what a page shows. Fault says what was wrong with the form that was sent, Notice what was done.
type view struct {
	Title, Fault, Notice string
	field                string      // of the form, that Fault is about
	AtField              bool        // Fault stands next to that field, not above the form
	Script               string      // its address; empty: none
	Feed                 string      // the address of the Atom feed of its list; empty: none
	Up                   link        // to what the page is part of
	Public               *publicPage // nil: search engines leave the page out
	RequestID            string
	Brand                brand
	Data                 any

	Lang  string
	W     *pageWords
	style *pageStyle
}

// script is a script of pages.
type script struct{ path, body string }

// address returns where pages find the script. It changes with the contents, so they may be kept for ever.
func (s script) address() string {
	sum := sha256.Sum256([]byte(s.body))
	return s.path + "?v=" + hex.EncodeToString(sum[:4])
}

func (s script) serve(c *web.Call, _ struct{}) (web.Text, error) {
	c.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	return web.Text{Type: "text/javascript; charset=utf-8", Body: []byte(s.body)}, nil
}

// link is a link above the title of a page; empty: there is none.
type link struct{ Path, Text string }

// Wrong reports whether a field of the form is what Fault is about.
func (v view) Wrong(field string) bool { return v.Fault != "" && v.field == field }

// Expand returns a text with names in the place of its placeholders.
func (v view) Expand(text string) string { return v.style.expand(text) }

// fieldSet is what the template of a list's fields gets.
type fieldSet struct {
	W      *pageWords
	Fields []formField
	Prefix string // of the names in the form
}

func shownFields(v view, fields []formField, prefix string) fieldSet {
	return fieldSet{v.W, fields, prefix}
}

// note is the Data of a page that only has a message (pages/message.html).
type note struct {
	Lines          []string
	Hint           string
	Details        [][2]string
	Link, LinkText string
	Quiet          bool // the link is no button
}

// render makes a page of one of the templates, with the headers of all pages. targets are the origins that its forms
// may lead to besides our own.
func render(c *web.Call, status int, name string, v view, targets ...string) (web.HTML, error) {
	if v.Brand.Name == "" {
		v.Brand = styleOf(c).brand
	}
	if v.Brand.Name == "" {
		v.Brand = ownBrand()
	}
	wordsOf(c)
	v.style = styleOf(c)
	script := ""
	if v.Script != "" {
		script = "'self'"
	}
	c.PageHeaders(v.Brand.source(), script, targets...)
	return fill(status, name, v)
}

func fill(status int, name string, v view) (web.HTML, error) {
	if v.style == nil {
		v.style = &pageStyle{}
	}
	v.W, v.Lang = v.style.words(), cmp.Or(v.style.lang, core.Languages[0])
	var b bytes.Buffer
	if err := pages.Execute(&b, name, "layout.html", v); err != nil {
		return web.HTML{}, err
	}
	return web.HTML{Status: status, Body: b.Bytes()}, nil
}

// renderMessage makes a page that only has a message.
func renderMessage(c *web.Call, status int, title string, n note, b brand) (web.HTML, error) {
	return render(c, status, "message", view{Title: title, Brand: b, Data: n})
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
	return " " + web.SourceOf(b.Logo)
}

const ownName = "newsletterd"

func ownBrand() brand { return brand{Name: ownName, Style: stylePath("")} }

// brandOf is the brand of a tenant, whose language the pages of the request have from now on.
func brandOf(c *web.Call, tenantID string) (brand, error) {
	if tenantID == "" {
		return ownBrand(), nil
	}
	t, err := c.Store().Tenant(c, tenantID)
	if errors.Is(err, core.ErrNotFound) {
		return ownBrand(), nil
	}
	if err != nil {
		return brand{}, err
	}
	return applyTenant(c, &t), nil
}

// applyTenant gives the pages of the request the brand and the language of a tenant.
func applyTenant(c *web.Call, t *core.Tenant) brand {
	b := tenantBrand(ownBrand(), t)
	styleOf(c).brand, styleOf(c).tenant = b, b.Name
	if t.Language != "" {
		styleOf(c).lang = t.Language
	}
	return b
}

// clientBrand is the brand of a client's tenant; the daemon's own where the tenant is suspended.
func clientBrand(c *web.Call, client *core.Client) (brand, error) {
	if client.Suspended {
		return ownBrand(), nil
	}
	return brandOf(c, client.TenantID)
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
