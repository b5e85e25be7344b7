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
	"regexp"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// files holds the templates and strings of the pages. All pages share a layout, and each has a template that defines
// "content". The pages work without scripts.
//
//go:embed pages/*.html pages/words
var files embed.FS

var templates = web.NewTemplates(files, "pages", template.FuncMap{
	"fields": shownFields, "unbroken": unbroken,
}, "layout")

// View holds the data for a page. Fault describes an error in the submitted form, and Notice a completed action.
type View struct {
	Title, Fault, Notice string
	Field                string      // field of the form that Fault refers to
	AtField              bool        // whether the page shows Fault next to that field, not above the form
	Script               string      // URL of a script; empty: none
	Feed                 string      // URL of the list's Atom feed; empty: none
	Up                   Link        // link to the parent page
	Public               *PublicPage // metadata; nil: the page is hidden from search engines
	RequestID            string
	Brand                Brand
	Data                 any

	Lang  string
	W     *Words
	Style *Style
}

// Script is a script that pages load from this server.
type Script struct{ Path, Body string }

// Address returns the URL of the script. The URL changes with the contents, so browsers may cache the script forever.
func (s Script) Address() string {
	sum := sha256.Sum256([]byte(s.Body))
	return s.Path + "?v=" + hex.EncodeToString(sum[:4])
}

// Serve responds with the script.
func (s Script) Serve(c *web.Call, _ struct{}) (web.Text, error) {
	c.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	return web.Text{Type: "text/javascript; charset=utf-8", Body: []byte(s.Body)}, nil
}

// Link is a link above the title of a page. The zero value means no link.
type Link struct{ Path, Text string }

// Wrong reports whether Fault is about this field.
func (v View) Wrong(field string) bool { return v.Fault != "" && v.Field == field }

// Expand replaces the placeholders in text.
func (v View) Expand(text string) string { return unbroken(v.Style.Expand(text)) }

var abbreviated = regexp.MustCompile(`(^|\PL)(\pL{1,2}\.) (\pL{1,2}\.)`)

// unbroken prevents a line break within abbreviations such as "e. V.".
func unbroken(text string) string { return abbreviated.ReplaceAllString(text, "$1$2\u00a0$3") }

// fieldSet holds the data for the template of a list's fields.
type fieldSet struct {
	W      *Words
	Fields []FormField
	Prefix string // prefix of the fields' names in the form
}

func shownFields(v View, fields []FormField, prefix string) fieldSet {
	return fieldSet{v.W, fields, prefix}
}

// Note holds the data for a page that only shows a message (pages/message.html).
type Note struct {
	Lines          []string
	Hint           string
	Details        [][2]string
	Link, LinkText string
	Quiet          bool   // whether the link is shown as text, not as a button
	Manage         string // URL of the preference page; empty: no link
}

// Render renders a page from a template and sets the headers that all pages have. targets are additional origins for
// its forms.
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

// Fill is like Render, but sets no headers and ignores the request's style and brand.
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

// Block writes one block of the named template.
func Block(w io.Writer, name, block string, data any) error {
	return templates.Execute(w, name, block, data)
}

// RenderMessage renders a page that shows only a message.
func RenderMessage(c *web.Call, status int, title string, n Note, b Brand) (web.HTML, error) {
	return Render(c, status, "message", View{Title: title, Brand: b, Data: n})
}

// Brand is a brand for pages: a tenant's or the server's own.
type Brand struct {
	Name  string
	Logo  string // URL of the logo; empty: the name is shown instead
	Dark  string // URL of the logo in dark mode; empty: the same
	Style string // URL of the stylesheet with the brand color

	Privacy string // URL of the tenant's privacy notice
}

// Source returns the CSP sources for the logo, which may be on other hosts.
func (b Brand) Source() (sources string) {
	for _, logo := range []string{b.Logo, b.Dark} {
		if logo != "" {
			sources += " " + web.SourceOf(logo)
		}
	}
	return sources
}

// OwnName is the server's own brand name.
const OwnName = "newsletterd"

// OwnBrand returns the server's own brand.
func OwnBrand() Brand { return Brand{Name: OwnName, Style: stylePath()} }

// BrandOf returns a tenant's brand, and makes the request's pages use the tenant's language.
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

// ApplyTenant gives the request's pages the brand and the language of a tenant, and returns the brand.
func ApplyTenant(c *web.Call, t *core.Tenant) Brand {
	b := TenantBrand(OwnBrand(), t)
	StyleOf(c).Brand, StyleOf(c).Tenant = b, b.Name
	if t.Language != "" {
		StyleOf(c).Lang = t.Language
	}
	return b
}

// ClientBrand returns the brand of a client's tenant, or the server's own if the tenant is suspended.
func ClientBrand(c *web.Call, client *core.Client) (Brand, error) {
	if client.Suspended {
		return OwnBrand(), nil
	}
	return BrandOf(c, client.TenantID)
}

// TenantBrand returns b with the tenant's name, logos, stylesheet and privacy notice.
func TenantBrand(b Brand, t *core.Tenant) Brand {
	b.Name = t.Name
	if t.BrandName != "" {
		b.Name = t.BrandName
	}
	b.Logo, b.Style, b.Privacy = t.BrandLogoURL, tenantStyle(t.BrandColor), t.PrivacyURL
	if b.Logo != "" {
		b.Dark = t.BrandDarkLogoURL
	}
	return b
}

// SourceHash returns the CSP source for an inline script.
func SourceHash(script string) string {
	sum := sha256.Sum256([]byte(script))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// PublicPage holds the metadata of a page for search engines and link previews.
type PublicPage struct {
	URL     string
	Kind    string // Open Graph type
	Title   string
	Summary string
	Site    string
	Locale  string
	Image   string
	Large   bool     // the image belongs to the issue and is not the logo
	At      string   // date of an issue
	Home    string   // path of the archive
	Manage  string   // URL for requesting a preference page link; empty: none
	Plate   bool     // the logo needs a light background in dark mode
	Data    any      // schema.org data for search engines
	Fonts   []string // URLs of the fonts to preload
	Hidden  bool     // the page is hidden from search engines and only looks like a public page
}

// RedirectSource returns the CSP sources for a page whose form redirects to the tenant's page at the URL to.
func RedirectSource(to string) []string {
	if to == "" {
		return nil
	}
	return []string{web.SourceOf(to)}
}

// FormField is a list's field in a form (pages/layout.html, "fields").
type FormField struct {
	core.Field
	Value   string
	Checked bool
	Wrong   bool
}

// Paragraphs splits text into paragraphs at blank lines.
func Paragraphs(s string) (all []string) {
	for p := range strings.SplitSeq(s, "\n\n") {
		if p = strings.TrimSpace(p); p != "" {
			all = append(all, p)
		}
	}
	return all
}
