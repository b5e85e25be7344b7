package markup

import (
	"bytes"
	"strings"

	"newsletterd/core"
	"newsletterd/mail"
)

// Placeholders and tags are replaced with marks before a source is parsed, and restored in the output. Parsers then
// can't mistake their content for markup, and markup can't end them. A mark consists of noncharacters, which valid text
// never contains: markOpen, the number in octal digits, markClose.
const (
	markOpen, markClose = '\uFDE0', '\uFDE1'
	markDigit           = '\uFDE2' // to '\uFDE9'
)

// notOutput is added to the number of a placeholder other than PlaceholderOutput, which must not occur in a bare URL.
// outputForm matches all others.
const (
	notOutput  = 1 << 14
	outputForm = `\x{FDE0}[\x{FDE2}-\x{FDE5}][\x{FDE2}-\x{FDE9}]{4}\x{FDE1}`
)

// maxPlaceholders is the maximum number of placeholders in a source, as in a template.
const maxPlaceholders = 10_000

// placeholders holds the placeholders of a source, indexed by the numbers of their marks.
type placeholders []mail.Placeholder

// hide replaces the placeholders in a source with marks, and adds the placeholders to ps. It removes template comments.
// It also removes control characters: removing them later could join two braces and thus create a placeholder.
func (ps *placeholders) hide(src string) (string, error) {
	src = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, src)
	found, err := mail.Placeholders("content.source", src)
	if err != nil {
		return "", err
	}
	if len(*ps)+len(found) > maxPlaceholders {
		return "", core.Invalidf("content.source", "content.source must have at most %d placeholders. Remove some.",
			maxPlaceholders)
	}
	if len(found) == 0 {
		return dropMarks(src), nil
	}
	var b strings.Builder
	b.Grow(len(src) + 16*len(found)) // size of a mark
	at := 0
	for _, p := range found {
		b.WriteString(dropMarks(src[at:p.From]))
		if at = p.To; p.Kind == mail.PlaceholderComment {
			b.WriteString(strings.Repeat("\n", strings.Count(src[p.From:p.To], "\n")))
			continue
		}
		*ps = append(*ps, p)
		b.WriteString(ps.mark(len(*ps) - 1))
	}
	b.WriteString(dropMarks(src[at:]))
	return b.String(), nil
}

// mark returns the mark of placeholder n.
func (ps placeholders) mark(n int) string {
	if ps[n].Kind != mail.PlaceholderOutput {
		n += notOutput
	}
	digits := []rune{markOpen}
	for shift := 12; shift >= 0; shift -= 3 {
		digits = append(digits, markDigit+rune(n>>shift&7))
	}
	return string(append(digits, markClose))
}

func dropMarks(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '\uFDD0' && r <= '\uFDEF' {
			return -1
		}
		return r
	}, s)
}

// each calls text for each piece of s between marks, and placeholder for each mark.
func (ps placeholders) each(s string, text func(string), placeholder func(mark string, p mail.Placeholder)) {
	for s != "" {
		before, rest, ok := strings.Cut(s, string(markOpen))
		if before != "" {
			text(before)
		}
		if !ok {
			return
		}
		digits, after, ok := strings.Cut(rest, string(markClose))
		n := 0
		for _, r := range digits {
			n = n<<3 | int(r-markDigit)&7
		}
		if n &^= notOutput; ok && n < len(ps) {
			placeholder(ps.mark(n), ps[n])
		}
		s = after
	}
}

// onlyTags reports whether s consists only of block tags and white space.
func (ps placeholders) onlyTags(s string) bool {
	found, only := false, true
	ps.each(s, func(text string) {
		only = only && strings.TrimSpace(text) == ""
	}, func(_ string, p mail.Placeholder) {
		found = true
		only = only && p.Kind == mail.PlaceholderTag
	})
	return found && only
}

// restore replaces the marks with their placeholders. It applies escape to the text between them, and to the content of
// raw blocks.
func (ps placeholders) restore(s string, escape func(string) string) string {
	if !strings.ContainsRune(s, markOpen) {
		return escape(s)
	}
	var b strings.Builder
	ps.each(s, func(text string) { b.WriteString(escape(text)) }, func(_ string, p mail.Placeholder) {
		if p.Kind == mail.PlaceholderRaw {
			b.WriteString("{% raw %}" + escape(p.Inner) + "{% endraw %}")
			return
		}
		b.WriteString(p.Text)
	})
	return b.String()
}

// bare returns s with each mark replaced by a letter.
func (ps placeholders) bare(s string) string {
	var b strings.Builder
	ps.each(s, func(text string) { b.WriteString(text) }, func(string, mail.Placeholder) { b.WriteByte('x') })
	return b.String()
}

// between applies resolve, which resolves escapes, to the text between marks. The result of resolve never becomes a
// mark.
func (ps placeholders) between(text []byte, resolve func(string) string) string {
	if !bytes.ContainsAny(text, "\\&\x00") {
		return string(text)
	}
	var b strings.Builder
	ps.each(string(text), func(s string) { b.WriteString(dropMarks(resolve(s))) },
		func(mark string, _ mail.Placeholder) { b.WriteString(mark) })
	return b.String()
}
