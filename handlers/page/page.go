package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"html/template"
	"io"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// Pages are server-rendered: a layout and a template for each, which defines "content". They work without scripts.
//
//go:embed pages/*.html pages/words
var files embed.FS

var templates = web.NewTemplates(files, "pages", template.FuncMap{"fields": shownFields}, "layout")

// View is what a page shows. Fault says what was wrong with the form that was sent, Notice what was done.
type View struct {
	Title, Fault, Notice string
	Field                string      // of the form, that Fault is about
	AtField              bool        // Fault stands next to that field, not above the form
	Script               string      // its address; empty: none
	Feed                 string      // the address of the Atom feed of its list; empty: none
	Up                   Link        // to what the page is part of
	Public               *PublicPage // nil: search engines leave the page out
	RequestID            string
	Brand                Brand
	Data                 any

	Lang  string
	W     *Words
	Style *Style
}

// Script is a script of pages.
type Script struct{ Path, Body string }

// Address returns where pages find the script. It changes with the contents, so they may be kept for ever.
func (s Script) Address() string {
	sum := sha256.Sum256([]byte(s.Body))
	return s.Path + "?v=" + hex.EncodeToString(sum[:4])
}

// Serve answers the script.
func (s Script) Serve(c *web.Call, _ struct{}) (web.Text, error) {
	c.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	return web.Text{Type: "text/javascript; charset=utf-8", Body: []byte(s.Body)}, nil
}

// Link is a link above the title of a page; empty: there is none.
type Link struct{ Path, Text string }

// Wrong reports whether a field of the form is what Fault is about.
func (v View) Wrong(field string) bool { return v.Fault != "" && v.Field == field }

// Expand returns a text with names in the place of its placeholders.
func (v View) Expand(text string) string { return v.Style.Expand(text) }

// fieldSet is what the template of a list's fields gets.
type fieldSet struct {
	W      *Words
	Fields []FormField
	Prefix string // of the names in the form
}

func shownFields(v View, fields []FormField, prefix string) fieldSet {
	return fieldSet{v.W, fields, prefix}
}

// Note is the Data of a page that only has a message (pages/message.html).
type Note struct {
	Lines          []string
	Hint           string
	Details        [][2]string
	Link, LinkText string
	Quiet          bool // the link is no button
}

// Render makes a page of one of the templates, with the headers of all pages. targets are the origins that its forms
// may lead to besides our own.
func Render(c *web.Call, status int, name string, v View, targets ...string) (web.HTML, error) {
	if v.Brand.Name == "" {
		v.Brand = StyleOf(c).Brand
	}
	if v.Brand.Name == "" {
		v.Brand = OwnBrand()
	}
	WordsOf(c)
	v.Style = StyleOf(c)
	script := ""
	if v.Script != "" {
		script = "'self'"
	}
	c.PageHeaders(v.Brand.Source(), script, targets...)
	return Fill(status, name, v)
}

// Fill is Render without headers, and without the style and the brand of a request.
func Fill(status int, name string, v View) (web.HTML, error) {
	if v.Style == nil {
		v.Style = &Style{}
	}
	v.W, v.Lang = v.Style.Words(), cmp.Or(v.Style.Lang, core.Languages[0])
	var b bytes.Buffer
	if err := templates.Execute(&b, name, "layout.html", v); err != nil {
		return web.HTML{}, err
	}
	return web.HTML{Status: status, Body: b.Bytes()}, nil
}

// Block writes a block of one of the templates.
func Block(w io.Writer, name, block string, data any) error {
	return templates.Execute(w, name, block, data)
}

// RenderMessage makes a page that only has a message.
func RenderMessage(c *web.Call, status int, title string, n Note, b Brand) (web.HTML, error) {
	return Render(c, status, "message", View{Title: title, Brand: b, Data: n})
}

// Brand is whose page it is: of the tenant of the client, or the daemon's own.
type Brand struct {
	Name  string
	Logo  string // URL; empty: the name is shown
	Style string // of the stylesheet, with the colour

	Privacy string // URL of the tenant's privacy notice
}

// Source is the CSP source of the logo, which a tenant may keep at another host.
func (b Brand) Source() string {
	if b.Logo == "" {
		return ""
	}
	return " " + web.SourceOf(b.Logo)
}

// OwnName is how the daemon calls itself.
const OwnName = "newsletterd"

// OwnBrand is the brand of the daemon.
func OwnBrand() Brand { return Brand{Name: OwnName, Style: stylePath("")} }

// BrandOf is the brand of a tenant, whose language the pages of the request have from now on.
func BrandOf(c *web.Call, tenantID string) (Brand, error) {
	if tenantID == "" {
		return OwnBrand(), nil
	}
	t, err := c.Store().Tenant(c, tenantID)
	if errors.Is(err, core.ErrNotFound) {
		return OwnBrand(), nil
	}
	if err != nil {
		return Brand{}, err
	}
	return ApplyTenant(c, &t), nil
}

// ApplyTenant gives the pages of the request the brand and the language of a tenant.
func ApplyTenant(c *web.Call, t *core.Tenant) Brand {
	b := TenantBrand(OwnBrand(), t)
	StyleOf(c).Brand, StyleOf(c).Tenant = b, b.Name
	if t.Language != "" {
		StyleOf(c).Lang = t.Language
	}
	return b
}

// ClientBrand is the brand of a client's tenant; the daemon's own where the tenant is suspended.
func ClientBrand(c *web.Call, client *core.Client) (Brand, error) {
	if client.Suspended {
		return OwnBrand(), nil
	}
	return BrandOf(c, client.TenantID)
}

// TenantBrand is the brand of a tenant.
func TenantBrand(b Brand, t *core.Tenant) Brand {
	b.Name = t.Name
	if t.BrandName != "" {
		b.Name = t.BrandName
	}
	b.Logo, b.Style, b.Privacy = t.BrandLogoURL, stylePath(t.BrandColor), t.PrivacyURL
	return b
}

// SourceHash is the CSP source of a script that stands in the page.
func SourceHash(script string) string {
	sum := sha256.Sum256([]byte(script))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// PublicPage is what the head of a page says to search engines and to those who pass its address on.
type PublicPage struct {
	URL     string
	Kind    string // the type of the Open Graph protocol
	Title   string
	Summary string
	Site    string
	Locale  string
	Image   string
	At      string // of an issue
}

// RedirectSource is what a page's policy must allow for its form to lead to a tenant's page.
func RedirectSource(to string) []string {
	if to == "" {
		return nil
	}
	return []string{web.SourceOf(to)}
}

// FormField is a field of a list as a form shows it (pages/layout.html, "fields").
type FormField struct {
	core.Field
	Value   string
	Checked bool
	Wrong   bool
}

// Paragraphs are the parts of a text between empty lines.
func Paragraphs(s string) (all []string) {
	for p := range strings.SplitSeq(s, "\n\n") {
		if p = strings.TrimSpace(p); p != "" {
			all = append(all, p)
		}
	}
	return all
}
