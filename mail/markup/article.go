package markup

import (
	"html"
	"strconv"
	"strings"

	"newsletterd/core"
)

// Article compiles Markdown or blocks into web page HTML: the same blocks as Compile, but without styles, layout
// tables, masthead and footer. Like Compile's output, the result is a template. Polls have no links. Article returns
// the same errors as Compile.
func Article(kind, source string, polls []core.Poll) (string, error) {
	return articleOf(kind, source, &Options{Theme: &themes[0], Polls: polls})
}

// braces is a character that temporarily replaces braces in a source, so that they don't start placeholders.
const braces = "\uE000"

// Page compiles another tool's Markdown into HTML in the same way as Article. It keeps HTML in the source, so the
// result must be sanitized. Placeholders in the source have no special meaning. Page returns the same errors as
// Compile.
func Page(source string) (string, error) {
	source = strings.NewReplacer(braces, "", "{{", braces+braces, "{%", braces+"%", "{#", braces+"#").Replace(source)
	page, err := articleOf(KindMarkdown, source, &Options{Theme: &themes[0], AllowHTML: true})
	return strings.ReplaceAll(page, braces, "{"), err
}

func articleOf(kind, source string, options *Options) (string, error) {
	d := &document{options: options, octets: len(source)}
	source = strings.ToValidUTF8(source, "\uFFFD")
	var err error
	switch {
	case len(source) > maxSource:
		err = core.Invalidf("content.source", "content.source must have at most %d bytes.", maxSource)
	case kind == KindMarkdown:
		err = d.readMarkdown(source)
	case kind == KindBlocks:
		err = d.readBlocks(source)
	default:
		err = core.Invalidf("content.kind", "content.kind must be markdown or blocks.")
	}
	if err != nil {
		return "", err
	}
	w := &articleWriter{d: d}
	w.Grow(2 * len(source))
	w.blocks(d.body)
	return w.String(), nil
}

// articleWriter writes a document as the HTML of an article.
type articleWriter struct {
	strings.Builder
	d *document
}

func (w *articleWriter) write(pieces ...string) {
	for _, p := range pieces {
		w.WriteString(p)
	}
}

// text escapes the author's text and restores its placeholders.
func (w *articleWriter) text(s string) string { return w.d.marks.restore(s, html.EscapeString) }

func asWritten(s string) string { return s }

func (w *articleWriter) blocks(nodes []node) {
	for _, n := range nodes {
		w.block(n)
		w.WriteByte('\n')
	}
}

func (w *articleWriter) block(n node) {
	switch n := n.(type) {
	case heading:
		level := strconv.Itoa(n.level)
		w.within("h"+level, n.text)
	case paragraph:
		w.within("p", n.text)
	case figure:
		w.figure(&n)
	case button:
		w.button(&n)
	case poll:
		w.poll(&n)
	case divider:
		w.WriteString("<hr>")
	case quote:
		w.WriteString("<blockquote>\n")
		w.blocks(n.body)
		w.WriteString("</blockquote>")
	case code:
		w.write("<pre><code>", w.text(strings.TrimRight(n.text, "\n")), "</code></pre>")
	case list:
		w.list(&n)
	case table:
		w.table(&n)
	case callout:
		w.WriteString(`<div class="note">` + "\n")
		w.blocks(n.body)
		w.WriteString("</div>")
	case columns:
		for _, cell := range n.cells {
			w.blocks(cell)
		}
	case social:
		w.social(n.links)
	case group:
		w.blocks(n.body)
	case tags:
		w.WriteString(w.text(strings.TrimSpace(n.text)))
	case rawHTML:
		w.WriteString(w.d.marks.restore(n.text, asWritten))
	}
}

func (w *articleWriter) within(tag string, text []span) {
	w.write("<", tag, ">")
	w.spans(text)
	w.write("</", tag, ">")
}

func (w *articleWriter) figure(f *figure) {
	w.WriteString("<figure>")
	if f.href != "" {
		w.write(`<a href="`, w.text(f.href), `">`)
	}
	w.picture(&f.picture)
	if f.href != "" {
		w.WriteString("</a>")
	}
	if f.title != "" {
		w.write("<figcaption>", w.text(f.title), "</figcaption>")
	}
	w.WriteString("</figure>")
}

func (w *articleWriter) picture(p *picture) {
	if p.src == "" {
		w.WriteString(w.text(p.alt))
		return
	}
	w.write(`<img src="`, w.text(p.src), `" alt="`, w.text(p.alt), `"`)
	if p.width > 0 {
		w.write(` width="`, strconv.Itoa(p.width), `"`)
	}
	w.WriteString(">")
}

func (w *articleWriter) button(b *button) {
	w.WriteString(`<p>`)
	if b.href == "" {
		w.within("strong", b.label)
	} else {
		w.write(`<a class="button" href="`, w.text(b.href), `">`)
		w.spans(b.label)
		w.WriteString("</a>")
	}
	w.WriteString("</p>")
}

func (w *articleWriter) list(l *list) {
	tag, start := "ul", ""
	if l.ordered {
		tag = "ol"
		if l.start != 1 {
			start = ` start="` + strconv.Itoa(l.start) + `"`
		}
	}
	w.write("<", tag, start, ">\n")
	for _, item := range l.items {
		w.WriteString("<li>")
		if p, ok := first(item).(paragraph); ok && (l.tight || len(item) == 1) {
			w.spans(p.text)
			item = item[1:]
		}
		w.blocks(item)
		w.WriteString("</li>\n")
	}
	w.write("</", tag, ">")
}

func (w *articleWriter) table(t *table) {
	row := func(tag string, cells [][]span) {
		w.WriteString("<tr>")
		for i, cell := range cells {
			w.write("<", tag)
			if i < len(t.align) && t.align[i] != "" {
				w.write(` align="`, t.align[i], `"`)
			}
			w.WriteString(">")
			w.spans(cell)
			w.write("</", tag, ">")
		}
		w.WriteString("</tr>\n")
	}
	w.WriteString("<table>\n<thead>")
	row("th", t.head)
	w.WriteString("</thead>\n<tbody>\n")
	for _, cells := range t.rows {
		row("td", cells)
	}
	w.WriteString("</tbody>\n</table>")
}

func (w *articleWriter) social(links []link) {
	w.WriteString("<p>")
	for i, l := range links {
		if i > 0 {
			w.WriteString(" · ")
		}
		w.spans([]span{l})
	}
	w.WriteString("</p>")
}

func (w *articleWriter) spans(spans []span) {
	for _, s := range spans {
		switch s := s.(type) {
		case words:
			w.WriteString(w.text(string(s)))
		case lineBreak:
			w.WriteString("<br>")
		case emphasis:
			w.within(s.tag, s.body)
		case codeSpan:
			w.write("<code>", w.text(string(s)), "</code>")
		case link:
			w.write(`<a href="`, w.text(s.href), `">`)
			w.spans(s.body)
			w.WriteString("</a>")
		case picture:
			w.picture(&s)
		case rawSpan:
			w.WriteString(w.d.marks.restore(string(s), asWritten))
		}
	}
}
