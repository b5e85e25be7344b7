package markup

import (
	"fmt"
	"html"
	"strconv"
	"strings"

	"newsletterd/mail"
	texts "newsletterd/mail/internal/words"
)

// htmlWriter writes a document as HTML. The output follows the rules of docs/decisions/0370-html-of-mails.md.
type htmlWriter struct {
	strings.Builder
	d *document
	t *Theme
	c *Palette
	// width is the available width in pixels; inset is the width that enclosing blocks take up at the sides
	width, inset int
	body         string // bodyFont, used in almost every cell
}

func writeHTML(d *document) string {
	t := d.options.Theme
	w := &htmlWriter{d: d, t: t, c: &t.Light, width: t.Width - 2*t.Padding}
	w.Grow(8<<10 + 12*d.octets)
	w.head()
	w.masthead()
	w.rows(d.body)
	w.footer()
	w.WriteString("</table>\n<!--[if mso]></td></tr></table><![endif]-->\n</td></tr></table>\n</div>\n" +
		"</body>\n</html>\n")
	return w.String()
}

// write writes pieces of HTML. It is several times faster than printf, so use it for frequent pieces.
func (w *htmlWriter) write(pieces ...string) {
	for _, p := range pieces {
		w.WriteString(p)
	}
}

func (w *htmlWriter) printf(format string, args ...any) { fmt.Fprintf(&w.Builder, format, args...) }

// text escapes the author's text and restores its placeholders.
func (w *htmlWriter) text(s string) string { return w.d.marks.restore(s, html.EscapeString) }

// head writes the HTML before the first row of the email.
func (w *htmlWriter) head() {
	o, lang := w.d.options, texts.Language(w.d.options.Language)
	w.printf(`<!DOCTYPE html>
<html lang="%s" dir="ltr" xmlns="http://www.w3.org/1999/xhtml" xmlns:v="urn:schemas-microsoft-com:vml" `+
		`xmlns:o="urn:schemas-microsoft-com:office:office">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="x-apple-disable-message-reformatting">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>%s</title>
`, lang, escapeTemplate(o.Title))
	w.styles()
	w.printf(`</head>
<body class="body b-page" style="margin:0;padding:0;background-color:%[1]s;-webkit-text-size-adjust:100%%;`+
		`-ms-text-size-adjust:100%%">
%[8]s<div lang="%[2]s" dir="ltr" class="b-page" style="background-color:%[1]s">
<table role="presentation" class="b-page" width="100%%" cellpadding="0" cellspacing="0" border="0" bgcolor="%[1]s" `+
		`style="%[3]s">
<tr><td align="center" style="padding:%[4]dpx 0">
<!--[if mso]><table role="presentation" width="%[5]d" align="center" cellpadding="0" cellspacing="0" border="0" `+
		`style="width:%[5]dpx"><tr><td><![endif]-->
<table role="presentation" class="b-card" width="100%%" align="center" cellpadding="0" cellspacing="0" border="0" `+
		`bgcolor="%[6]s" style="%[3]s;max-width:%[5]dpx;background-color:%[6]s%[7]s">
`, w.c.Page, lang, tableStyle, w.pagePadding(), w.t.Width, w.c.Card, w.corner(), w.beginning())
}

func (w *htmlWriter) beginning() string {
	if !w.d.options.Beginning {
		return ""
	}
	if text := w.d.beginning(); text != "" {
		return mail.HiddenPreheader(text) + "\n"
	}
	return ""
}

// tableStyle prevents Outlook from adding space around a table.
const tableStyle = "border-collapse:separate;mso-table-lspace:0pt;mso-table-rspace:0pt"

// pagePadding returns the space above and below the card, or 0 if the theme has no card.
func (w *htmlWriter) pagePadding() int {
	if w.c.Page == w.c.Card {
		return 0
	}
	return 24
}

func (w *htmlWriter) corner() string {
	if w.t.Radius == 0 {
		return ""
	}
	return fmt.Sprintf(";border-radius:%dpx", w.t.Radius)
}

// styles writes the style elements. There are several, because Gmail drops every style element with an unknown rule.
// The email is readable without them.
func (w *htmlWriter) styles() {
	w.printf(`<!--[if mso]><xml><o:OfficeDocumentSettings><o:AllowPNG/><o:PixelsPerInch>96</o:PixelsPerInch>`+
		`</o:OfficeDocumentSettings></xml>
<style>table{border-collapse:collapse}td,p,h1,h2,h3,h4,h5,h6,a,li,span{font-family:%s,sans-serif !important}</style>
<![endif]-->
<style>a[x-apple-data-detectors],u + .body a,#MessageViewBody a{color:inherit;text-decoration:inherit;`+
		`font:inherit}</style>
<style>@media (max-width:599px){.col{display:block !important;width:100%% !important;max-width:100%% !important}`+
		`.full{max-width:100%% !important}.pad{padding-left:20px !important;padding-right:20px !important}`+
		`.cols{padding-left:8px !important;padding-right:8px !important}}</style>
`, w.t.Fallback)
	w.WriteString(w.rowStyles())
	w.printf("<style>@media (prefers-color-scheme:dark){%s}</style>\n", w.darkRules(""))
	w.printf("<style>%s</style>\n", w.darkRules("[data-ogsc] "))
}

// darkRules returns the CSS rules with the colors for dark mode, one for each class that the writer uses.
func (w *htmlWriter) darkRules(prefix string) string {
	p := &w.t.Dark
	var b strings.Builder
	for _, r := range []struct{ class, property, color string }{
		{"b-page", "background-color", p.Page},
		{"b-card", "background-color", p.Card},
		{"b-tint", "background-color", p.Tint},
		{"b-acc", "background-color", p.Accent},
		{"c-text", "color", p.Text},
		{"c-title", "color", p.Title},
		{"c-muted", "color", p.Muted},
		{"c-link", "color", p.Link},
		{"c-on", "color", p.On},
		{"l-line", "border-color", p.Line},
	} {
		fmt.Fprintf(&b, "%s.%s{%s:%s !important}", prefix, r.class, r.property, r.color)
	}
	if w.hasDarkLogo() {
		fmt.Fprintf(&b, "%[1]s.logo{display:none !important}%[1]s.logo-dark{display:block !important}", prefix)
	}
	return b.String()
}

// row writes a table row that contains the output of inner and ends with below pixels of space.
func (w *htmlWriter) row(below int, inner func()) {
	side := strconv.Itoa(w.t.Padding)
	w.write(`<tr><td class="pad c-text" style="padding:0 `, side, "px ", strconv.Itoa(below), "px ", side, "px;", w.bodyFont(), ";",
		breakWords, `">`)
	inner()
	w.WriteString("</td></tr>\n")
}

func (w *htmlWriter) bodyFont() string {
	if w.body == "" {
		w.body = font(w.t.Body, w.t.Size, lineHeight(w.t.Size), w.c.Text)
	}
	return w.body
}

// blockSpace returns the space between two blocks in pixels.
func (w *htmlWriter) blockSpace() int { return w.t.Size + 2 }

// spacerRow writes vertical space that no email client drops.
func (w *htmlWriter) spacerRow(height int) {
	px := strconv.Itoa(height)
	w.write(`<tr><td height="`, px, `" style="height:`, px, "px;font-size:", px, "px;line-height:", px,
		`px;mso-line-height-rule:exactly">&nbsp;</td></tr>`, "\n")
}

// rows writes each block in its own row.
func (w *htmlWriter) rows(nodes []node) {
	for _, n := range nodes {
		switch n := n.(type) {
		case tags:
			w.WriteString(w.text(strings.TrimSpace(n.text)) + "\n")
		case group:
			w.rows(n.body)
		case spacer:
			w.spacerRow(n.height)
		case columns:
			w.columns(&n)
		case heading:
			if n.level <= 2 {
				w.spacerRow(w.t.Size / 2)
			}
			w.row(w.blockSpace()*2/3, func() { w.block(n) })
		default:
			w.row(w.blockSpace(), func() { w.block(n) })
		}
	}
}

// stack writes blocks one below the other in the same cell.
func (w *htmlWriter) stack(nodes []node) {
	first := true
	for _, n := range nodes {
		if t, ok := n.(tags); ok {
			w.WriteString(w.text(strings.TrimSpace(t.text)))
			continue
		}
		if !first {
			w.spaceBetween(w.blockSpace() * 2 / 3)
		}
		first = false
		if c, ok := n.(columns); ok {
			for i, cell := range c.cells {
				if i > 0 {
					w.spaceBetween(w.blockSpace())
				}
				w.stack(cell)
			}
			continue
		}
		w.block(n)
	}
}

// spaceBetween writes space between blocks in a cell. Outlook respects the line height, but not a div's margin.
func (w *htmlWriter) spaceBetween(height int) {
	px := strconv.Itoa(height)
	w.write(`<div style="font-size:`, px, "px;line-height:", px, `px;mso-line-height-rule:exactly">&nbsp;</div>`)
}

// escapeTemplate escapes the text in a template for HTML. Placeholders and their quotes stay unchanged.
func escapeTemplate(source string) string {
	var marks placeholders
	hidden, err := marks.hide(source)
	if err != nil {
		return html.EscapeString(source) // the subject has the same error and reports it
	}
	return marks.restore(hidden, html.EscapeString)
}
