package markup

import (
	"fmt"
	"html"
	"strings"

	texts "newsletterd/mail/internal/words"
)

// masthead writes the name or logo at the top of the email.
func (w *htmlWriter) masthead() {
	o := w.d.options
	if o.Name == "" {
		w.spacerRow(w.t.Padding)
		return
	}
	name, color := html.EscapeString(o.Name), w.c.Title
	if w.t.Masthead == MastheadBar {
		color = w.c.On
	}
	if o.Logo != "" {
		name = w.logo(name)
	}
	size := w.t.Size + 4
	style := fmt.Sprintf("font-weight:%d;%s", w.t.Weight, font(w.t.Heading, size, size+8, color)) + ";" + breakWords
	switch w.t.Masthead {
	case MastheadBar:
		w.printf(`<tr><td class="pad b-acc c-on" bgcolor="%[1]s" style="padding:20px %[2]dpx;`+
			`background-color:%[1]s%[3]s;%[4]s">%[5]s</td></tr>`+"\n", w.c.Accent, w.t.Padding, w.upperCorners(), style, name)
		w.spacerRow(max(w.t.Padding-4, 0))
	case MastheadCenter:
		size = w.t.Size + 14
		w.spacerRow(20)
		w.printf(`<tr><td class="pad" style="padding:0 %dpx"><table role="presentation" width="100%%" cellpadding="0" `+
			`cellspacing="0" border="0" style="%s"><tr><td class="c-title l-line" align="center" `+
			`style="padding:14px 0;border-top:3px double %[3]s;border-bottom:1px solid %[3]s;letter-spacing:1px;%[4]s">`+
			`%[5]s</td></tr></table></td></tr>`+
			"\n", w.t.Padding, tableStyle, w.c.Line, font(w.t.Heading, size, size+8, color)+";"+breakWords, name)
		w.spacerRow(24)
	default:
		w.spacerRow(w.t.Padding)
		w.printf(`<tr><td class="pad c-title" style="padding:0 %dpx;%s">%s</td></tr>`+"\n", w.t.Padding, style, name)
		w.spacerRow(16)
	}
}

// logo returns the HTML for the logo with its alt text. For dark mode, it adds a second logo, which email clients
// without dark mode never show. On a bar in the accent color, there is no second logo.
func (w *htmlWriter) logo(alt string) string {
	o, width := w.d.options, min(max(w.d.options.LogoWidth, 24), w.width)
	image := func(address, class, style string) string {
		return fmt.Sprintf(`<img%s src="%s" alt="%s" width="%d" style="%s;border:0;height:auto;max-width:100%%">`,
			class, html.EscapeString(address), alt, width, style)
	}
	if !w.hasDarkLogo() {
		return image(o.Logo, "", "display:block")
	}
	return image(o.Logo, ` class="logo"`, "display:block") + "<!--[if !mso]><!-->" +
		image(o.DarkLogo, ` class="logo-dark"`, "display:none;mso-hide:all") + "<!--<![endif]-->"
}

func (w *htmlWriter) hasDarkLogo() bool {
	o := w.d.options
	return o.Logo != "" && o.DarkLogo != "" && o.Name != "" && w.t.Masthead != MastheadBar
}

func (w *htmlWriter) upperCorners() string {
	if w.t.Radius == 0 {
		return ""
	}
	return fmt.Sprintf(";border-radius:%[1]dpx %[1]dpx 0 0", w.t.Radius)
}

// footer writes the sender's details and the unsubscribe link, so the email needs no other postal address or link.
func (w *htmlWriter) footer() {
	o, words := w.d.options, texts.Of(w.d.options.Language)
	w.spacerRow(8)
	w.printf(`<tr><td class="pad" style="padding:0 %[1]dpx %[1]dpx %[1]dpx"><table role="presentation" width="100%%" `+
		`cellpadding="0" cellspacing="0" border="0" style="%[2]s"><tr><td class="c-muted l-line" `+
		`style="padding:18px 0 0 0;border-top:1px solid %[3]s;%[4]s;%[5]s">`,
		w.t.Padding, tableStyle, w.c.Line, font(w.t.Body, 14, 22, w.c.Muted), breakWords)
	var parts, links []string
	for _, l := range o.Social {
		links = append(links, w.mutedLink(html.EscapeString(socialURL(l.URL)), html.EscapeString(l.Name)))
	}
	if len(links) > 0 {
		parts = append(parts, strings.Join(links, " &nbsp;·&nbsp; "))
	}
	for _, line := range texts.Lines(o.Footer) {
		parts = append(parts, html.EscapeString(line))
	}
	parts = append(parts, words.Reason+" "+w.mutedLink("{{ unsubscribe_url }}", words.Leave))
	for _, line := range texts.Lines(o.Address) {
		parts = append(parts, html.EscapeString(line))
	}
	w.WriteString(strings.Join(parts, "<br>"))
	w.WriteString("</td></tr></table></td></tr>\n")
}

func (w *htmlWriter) mutedLink(href, label string) string {
	return fmt.Sprintf(`<a class="c-muted" href="%s" style="color:%s;text-decoration:underline">%s</a>`, href, w.c.Muted,
		label)
}
