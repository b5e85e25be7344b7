package markup

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"newsletterd/mail"
	texts "newsletterd/mail/internal/words"
)

// textWriter writes a document as the text part of an email. It doesn't wrap lines.
type textWriter struct {
	d *document
}

func writeText(d *document) string {
	w := &textWriter{d}
	o, words := d.options, texts.Of(d.options.Language)
	var out []string
	if o.Name != "" {
		out = append(out, o.Name)
	}
	if body := w.stack(d.body); body != "" {
		out = append(out, body)
	}
	foot := []string{"-- "}
	for _, l := range o.Social {
		foot = append(foot, l.Name+": "+socialURL(l.URL))
	}
	foot = append(foot, texts.Lines(o.Footer)...)
	foot = append(foot, words.Reason, words.Leave+": {{ unsubscribe_url }}")
	foot = append(foot, texts.Lines(o.Address)...)
	out = append(out, strings.Join(foot, "\n"))
	return strings.Join(out, "\n\n") + "\n"
}

// plain restores the placeholders in s.
func (w *textWriter) plain(s string) string {
	return w.d.marks.restore(s, func(s string) string { return s })
}

// stack writes blocks separated by empty lines.
func (w *textWriter) stack(nodes []node) string { return w.join(nodes, "\n\n") }

// join writes blocks separated by the given line breaks.
func (w *textWriter) join(nodes []node, ends string) string {
	if len(nodes) == 1 {
		if _, ok := nodes[0].(tags); !ok {
			return w.block(nodes[0])
		}
	}
	var b strings.Builder
	between := ""
	for _, n := range nodes {
		if t, ok := n.(tags); ok {
			b.WriteString(between + w.plain(strings.TrimSpace(t.text)))
			between = ""
			continue
		}
		if s := w.block(n); s != "" {
			b.WriteString(between + s)
			between = ends
		}
	}
	return b.String()
}

func (w *textWriter) block(n node) string {
	switch n := n.(type) {
	case heading:
		return w.heading(&n)
	case paragraph:
		return w.line(n.text)
	case figure:
		return w.figure(&n)
	case button:
		return w.link(&link{href: n.href, body: n.label})
	case poll:
		return w.poll(&n)
	case divider:
		return "* * *"
	case quote:
		return prefix(w.stack(n.body), "> ", "> ")
	case code:
		return prefix(w.plain(strings.TrimRight(n.text, "\n")), "    ", "    ")
	case list:
		return w.list(&n)
	case table:
		return w.table(&n)
	case callout:
		return w.stack(n.body)
	case group:
		return w.stack(n.body)
	case columns:
		var out []string
		for _, c := range n.cells {
			if s := w.stack(c); s != "" {
				out = append(out, s)
			}
		}
		return strings.Join(out, "\n\n")
	case social:
		var out []string
		for _, l := range n.links {
			out = append(out, w.link(&l))
		}
		return strings.Join(out, "\n")
	case rawHTML:
		return w.html(n.text)
	}
	return ""
}

func (w *textWriter) heading(h *heading) string {
	s, rule := w.line(h.text), "-"
	if h.level > 2 {
		return s
	}
	if h.level == 1 {
		rule = "="
	}
	return s + "\n" + strings.Repeat(rule, min(max(utf8.RuneCountInString(s), 3), 72))
}

func (w *textWriter) figure(f *figure) string {
	var out []string
	if alt := w.plain(f.alt); alt != "" {
		out = append(out, "["+alt+"]")
	}
	if f.title != "" {
		out = append(out, w.plain(f.title))
	}
	if f.href != "" {
		out = append(out, w.plain(f.href))
	}
	return strings.Join(out, "\n")
}

func (w *textWriter) list(l *list) string {
	between := "\n"
	if !l.tight {
		between = "\n\n"
	}
	var out []string
	for i, item := range l.items {
		sign := "- "
		if l.ordered {
			sign = fmt.Sprintf("%d. ", l.start+i)
		}
		out = append(out, prefix(w.join(item, between), sign, strings.Repeat(" ", len(sign))))
	}
	return strings.Join(out, between)
}

func (w *textWriter) table(t *table) string {
	var out []string
	row := func(cells [][]span) {
		var line []string
		for _, c := range cells {
			line = append(line, w.line(c))
		}
		out = append(out, strings.Join(line, " | "))
	}
	row(t.head)
	out = append(out, strings.Repeat("-", min(max(utf8.RuneCountInString(out[0]), 3), 72)))
	for _, r := range t.rows {
		row(r)
	}
	return strings.Join(out, "\n")
}

func (w *textWriter) line(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		switch s := s.(type) {
		case words:
			b.WriteString(w.plain(string(s)))
		case codeSpan:
			b.WriteString(w.plain(string(s)))
		case lineBreak:
			b.WriteByte('\n')
		case emphasis:
			sign := map[string]string{"em": "_", "strong": "*", "del": "~"}[s.tag]
			b.WriteString(sign + w.line(s.body) + sign)
		case link:
			b.WriteString(w.link(&s))
		case picture:
			if alt := w.plain(s.alt); alt != "" {
				b.WriteString("[" + alt + "]")
			}
		case rawSpan:
			b.WriteString(w.html(string(s)))
		}
	}
	return b.String()
}

// link writes a link's text and its URL, or only the URL if both are the same.
func (w *textWriter) link(l *link) string {
	href, body := w.plain(l.href), strings.TrimSpace(w.line(l.body))
	if address, ok := first(l.body).(words); ok && len(l.body) == 1 && w.plain(w.d.escapeURL(string(address))) == href {
		body = href
	}
	bare := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(href, "https://"), "http://"), "mailto:")
	switch {
	case href == "":
		return body
	case body == "" || body == href:
		return href
	case body == bare || body == strings.TrimSuffix(bare, "/"):
		return strings.TrimPrefix(href, "mailto:")
	}
	return body + " (" + href + ")"
}

// prefix puts head before the first line of s and rest before each other line. Empty lines get no trailing spaces.
func prefix(s, head, rest string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		sign := rest
		if i == 0 {
			sign = head
		}
		if lines[i] = sign + l; l == "" {
			lines[i] = strings.TrimRight(sign, " ")
		}
	}
	return strings.Join(lines, "\n")
}

// html writes the text of the author's HTML.
func (w *textWriter) html(source string) string {
	return w.plain(mail.HTMLToText(source))
}
