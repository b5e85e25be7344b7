package markup

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// block writes a block in the current cell.
func (w *htmlWriter) block(n node) {
	switch n := n.(type) {
	case heading:
		w.heading(&n)
	case paragraph:
		w.WriteString(`<p style="margin:0">`)
		w.spans(n.text)
		w.WriteString(`</p>`)
	case figure:
		w.figure(&n)
	case button:
		w.button(&n)
	case poll:
		w.poll(&n)
	case divider:
		w.printf(`<table role="presentation" width="100%%" cellpadding="0" cellspacing="0" border="0" style="%s"><tr>`+
			`<td class="l-line" height="1" style="border-top:1px solid %s;font-size:1px;line-height:1px;`+
			`mso-line-height-rule:exactly">&nbsp;</td></tr></table>`, tableStyle, w.c.Line)
	case spacer:
		w.spaceBetween(n.height)
	case quote:
		w.quote(&n)
	case code:
		w.code(&n)
	case list:
		w.list(&n)
	case table:
		w.table(&n)
	case callout:
		w.callout(&n)
	case social:
		w.socialLinks(n.links)
	case group:
		w.stack(n.body)
	case rawHTML:
		w.WriteString(w.d.marks.restore(n.text, func(s string) string { return s }))
	}
}

// headingSizes holds the font sizes of headings by level, in pixels, for a text size of 16 pixels.
var headingSizes = [...]int{1: 30, 2: 23, 3: 19, 4: 17, 5: 16, 6: 15}

func (w *htmlWriter) heading(h *heading) {
	size := headingSizes[h.level] * w.t.Size / 16
	level := strconv.Itoa(h.level)
	w.write("<h", level, ` class="c-title" style="margin:0;font-weight:`, strconv.Itoa(w.t.Weight), ";",
		font(w.t.Heading, size, (size*13+5)/10, w.c.Title), `">`)
	w.spans(h.text)
	w.write("</h", level, ">")
}

func (w *htmlWriter) figure(f *figure) {
	img := w.picture(&f.picture, true)
	if f.href != "" {
		img = fmt.Sprintf(`<a href="%s" style="text-decoration:none">%s</a>`, w.text(f.href), img)
	}
	w.WriteString(img)
	if f.title != "" {
		w.printf(`<p class="c-muted" style="margin:0;%s">%s</p>`, font(w.t.Body, 14, 24, w.c.Muted), w.text(f.title))
	}
}

// picture returns an img element. It has styles for the alt text, because many email clients show that before the image
// or instead of it. If block is true, the image is not part of a line, and is as wide as possible unless it has its own
// width.
func (w *htmlWriter) picture(p *picture, block bool) string {
	width := w.width
	if p.width > 0 {
		width = min(p.width, width)
	}
	if p.src == "" {
		return w.text(p.alt)
	}
	most := fmt.Sprintf("%dpx", width)
	if !block {
		most = "100%"
	}
	style := fmt.Sprintf("border:0;max-width:%s;height:auto;background-color:%s;%s", most, w.c.Tint,
		font(w.t.Body, 14, 20, w.c.Muted))
	attr := ""
	if block || p.width > 0 {
		attr = fmt.Sprintf(` width="%d"`, width)
	}
	class := "b-tint c-muted"
	if block {
		style = "display:block;width:100%;" + style
		if p.width == 0 {
			class += " full" // also in a column that has become as wide as the email
		}
	} else {
		style = "vertical-align:middle;" + style
		if p.title != "" {
			attr += ` title="` + w.text(p.title) + `"`
		}
	}
	return fmt.Sprintf(`<img class="%s" src="%s" alt="%s"%s style="%s">`, class, w.text(p.src), w.text(p.alt), attr, style)
}

// button writes a link that looks like a button. Outlook shows square corners, and uses the color and padding of the
// surrounding cell instead of the link's. A button without a URL looks the same, so that it appears in the preview of a
// draft.
func (w *htmlWriter) button(b *button) {
	tag, href := "a", ` href="`+w.text(b.href)+`"`
	if b.href == "" {
		tag, href = "span", ""
	}
	sides := 24
	if w.width < 200 { // one of three columns
		sides = 16
	}
	w.printf(`<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="%[1]s"><tr>`+
		`<td class="b-acc" align="center" bgcolor="%[2]s" style="background-color:%[2]s;`+
		`mso-padding-alt:12px %[6]dpx 12px %[6]dpx%[3]s">`+
		`<%[7]s class="b-acc c-on"%[4]s style="display:inline-block;padding:12px %[6]dpx;background-color:%[2]s;`+
		`text-decoration:none;font-weight:700;%[5]s%[3]s">`,
		tableStyle, w.c.Accent, w.corner(), href, font(w.t.Body, 16, 20, w.c.On), sides, tag)
	w.line(b.label, onAccent, w.c.On)
	w.write("</", tag, "></td></tr></table>")
}

// quote writes a bar in the accent color, with blocks to its right.
func (w *htmlWriter) quote(q *quote) {
	w.printf(`<blockquote style="margin:0"><table role="presentation" width="100%%" cellpadding="0" cellspacing="0" `+
		`border="0" style="%[1]s"><tr><td class="b-acc" width="3" bgcolor="%[2]s" style="width:3px;`+
		`background-color:%[2]s;font-size:1px;line-height:1px">&nbsp;</td>`+
		`<td class="c-text" style="padding:0 0 0 18px;font-style:italic;%[3]s">`,
		tableStyle, w.c.Accent, w.bodyFont())
	w.within(21, func() { w.stack(q.body) })
	w.WriteString(`</td></tr></table></blockquote>`)
}

// within runs inner with the available width reduced by taken pixels.
func (w *htmlWriter) within(taken int, inner func()) {
	before := w.width
	w.width, w.inset = max(before-taken, 40), w.inset+taken
	inner()
	w.width, w.inset = before, w.inset-taken
}

// code writes a code block. It writes line breaks and spaces explicitly, because Outlook doesn't support white-space.
func (w *htmlWriter) code(c *code) {
	lines := w.d.marks.restore("\n"+strings.TrimRight(c.text, "\n"), func(s string) string {
		return codeBlanks.Replace(html.EscapeString(s))
	})
	w.printf(`<table role="presentation" width="100%%" cellpadding="0" cellspacing="0" border="0" style="%[1]s"><tr>`+
		`<td class="b-tint c-text" bgcolor="%[2]s" style="padding:14px 16px;background-color:%[2]s%[3]s;%[4]s">`+
		`<code style="font-family:%[5]s">%[6]s</code></td></tr></table>`,
		tableStyle, w.c.Tint, w.corner(), font(fontMono, 14, 22, w.c.Text), fontMono, strings.TrimPrefix(lines, "<br>"))
}

// codeBlanks preserves line breaks, spaces at the start of a line, and the second of two spaces.
var codeBlanks = strings.NewReplacer("\n\t", "<br>&nbsp;&nbsp; &nbsp;", "\n ", "<br>&nbsp;", "\n", "<br>", "  ", " &nbsp;",
	"\t", " &nbsp; &nbsp;")

func (w *htmlWriter) list(l *list) {
	tag, start := "ul", ""
	if l.ordered {
		tag = "ol"
		if l.start != 1 {
			start = fmt.Sprintf(` start="%d"`, l.start)
		}
	}
	w.printf(`<%s%s style="margin:0 0 0 24px;padding:0">`, tag, start)
	for i, item := range l.items {
		below := w.blockSpace() / 2
		if l.tight {
			below = 4
		}
		if i == len(l.items)-1 {
			below = 0
		}
		w.write(`<li class="c-text" style="margin:0 0 `, strconv.Itoa(below), "px 0;", w.bodyFont(), `">`)
		w.within(24, func() { w.item(item, l.tight) })
		w.WriteString("</li>")
	}
	w.printf("</%s>", tag)
}

// item writes the blocks of a list item. If the only block is a paragraph, item writes no p element.
func (w *htmlWriter) item(nodes []node, tight bool) {
	if p, ok := first(nodes).(paragraph); ok && (tight || len(nodes) == 1) {
		w.spans(p.text)
		if nodes = nodes[1:]; len(nodes) > 0 && !tight {
			w.spaceBetween(w.blockSpace() / 2)
		}
	}
	w.stack(nodes)
}

// first returns the first element of all, or the zero value if all is empty.
func first[T any](all []T) (t T) {
	if len(all) > 0 {
		return all[0]
	}
	return t
}

func (w *htmlWriter) callout(c *callout) {
	w.printf(`<table role="presentation" width="100%%" cellpadding="0" cellspacing="0" border="0" style="%[1]s"><tr>`+
		`<td class="b-tint c-text" bgcolor="%[2]s" style="padding:18px 20px;background-color:%[2]s%[3]s;%[4]s">`,
		tableStyle, w.c.Tint, w.corner(), w.bodyFont())
	w.within(40, func() { w.stack(c.body) })
	w.WriteString(`</td></tr></table>`)
}

// columns writes columns that are side by side if there is room. Outlook shows a table. Other email clients show inline
// blocks, which wrap on a narrow screen.
func (w *htmlWriter) columns(c *columns) {
	const half = 12 // half of the space between two columns
	room := w.t.Width - 2*max(w.t.Padding-half, 0)
	width := room / len(c.cells)
	w.printf(`<tr><td class="cols" style="padding:0 %dpx;font-size:0;line-height:0;text-align:left">`,
		max(w.t.Padding-half, 0))
	w.printf(`<!--[if mso]><table role="presentation" width="%[1]d" cellpadding="0" cellspacing="0" border="0" `+
		`style="width:%[1]dpx"><tr><td width="%[2]d" valign="top" style="width:%[2]dpx"><![endif]-->`, room, width)
	for i, cell := range c.cells {
		if i > 0 {
			w.printf(`<!--[if mso]></td><td width="%[1]d" valign="top" style="width:%[1]dpx"><![endif]-->`, width)
		}
		w.printf(`<div class="col" style="display:inline-block;width:100%%;max-width:%dpx;vertical-align:top">`+
			`<table role="presentation" width="100%%" cellpadding="0" cellspacing="0" border="0" style="%s">`+
			`<tr><td class="c-text" style="padding:0 %dpx %dpx %dpx;%s;%s">`,
			width, tableStyle, half, w.blockSpace(), half, w.bodyFont(), breakWords)
		before := w.width
		w.width = width - 2*half
		w.stack(cell)
		w.width = before
		w.WriteString("</td></tr></table></div>")
	}
	w.WriteString("<!--[if mso]></td></tr></table><![endif]--></td></tr>\n")
}

func (w *htmlWriter) socialLinks(links []link) {
	w.WriteString(`<p style="margin:0">`)
	for i, l := range links {
		if i > 0 {
			w.WriteString(" &nbsp;·&nbsp; ")
		}
		w.spans([]span{l})
	}
	w.WriteString(`</p>`)
}

// onAccent is the CSS class for text on the accent color.
const onAccent = "c-on"

// spans writes inline content.
func (w *htmlWriter) spans(spans []span) { w.line(spans, "c-link", w.c.Link) }

// line writes inline content whose links have the given class and color.
func (w *htmlWriter) line(spans []span, class, color string) {
	for _, s := range spans {
		switch s := s.(type) {
		case words:
			w.WriteString(w.text(string(s)))
		case lineBreak:
			w.WriteString("<br>")
		case emphasis:
			w.write("<", s.tag, ">")
			w.line(s.body, class, color)
			w.write("</", s.tag, ">")
		case codeSpan:
			w.codeSpan(s, class)
		case link:
			w.write(`<a class="`, class, `" href="`, w.text(s.href), `"`)
			if s.title != "" {
				w.write(` title="`, w.text(s.title), `"`)
			}
			w.write(` style="color:`, color, `;text-decoration:underline">`)
			w.line(s.body, class, color)
			w.WriteString("</a>")
		case picture:
			w.WriteString(w.picture(&s, false))
		case rawSpan:
			w.WriteString(w.d.marks.restore(string(s), func(s string) string { return s }))
		}
	}
}

// codeSpan writes inline code. In a button, the code keeps the button's background color.
func (w *htmlWriter) codeSpan(s codeSpan, class string) {
	if class == onAccent {
		w.write(`<code style="font-family:`, fontMono, `">`, w.text(string(s)), "</code>")
		return
	}
	w.write(`<code class="b-tint" style="font-family:`, fontMono, ";font-size:", strconv.Itoa(w.t.Size-2), "px;background-color:",
		w.c.Tint, `">`, w.text(string(s)), "</code>")
}
