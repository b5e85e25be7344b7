package markup

import (
	"html"
	"strings"
	"unicode/utf8"

	"newsletterd/mail"
)

// Limits for the preview text of an email, in characters.
const (
	enoughBeginning = 90  // no further block is added after this many
	mostBeginning   = 200 // maximum for the template, with its placeholders
)

// beginning returns the first words of a document as an HTML template. They become the preview text in inboxes, which
// would otherwise show the name or logo at the top. The result is empty if the document doesn't start with words, or if
// not every subscriber gets them.
func (d *document) beginning() string {
	var b strings.Builder
	n := 0
	for _, block := range d.body {
		var text string
		switch block := block.(type) {
		case heading:
			text = plain(block.text)
		case paragraph:
			text = plain(block.text)
		case figure, divider, spacer:
			continue
		}
		text = strings.Join(strings.Fields(text), " ")
		if text == "" || n >= enoughBeginning || d.branches(text) {
			break
		}
		if n > 0 {
			text = " " + text
		}
		b.WriteString(text)
		n += utf8.RuneCountInString(text)
	}
	return d.marks.restore(shortened(b.String()), html.EscapeString)
}

// branches reports whether text contains template tags other than placeholders.
func (d *document) branches(text string) (found bool) {
	d.marks.each(text, func(string) {}, func(_ string, p mail.Placeholder) {
		found = found || p.Kind != mail.PlaceholderOutput
	})
	return found
}

// shortened cuts text between two words if it is too long. It never cuts a placeholder's mark, because marks contain no
// spaces.
func shortened(text string) string {
	all := []rune(text)
	if len(all) <= mostBeginning {
		return text
	}
	short := string(all[:mostBeginning])
	at := strings.LastIndexByte(short, ' ')
	if at < 0 {
		return ""
	}
	return short[:at] + "…"
}
