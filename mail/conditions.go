package mail

import (
	"strings"

	"golang.org/x/net/html"
)

// Conditional is one branch of a conditional block: content that only some subscribers get.
type Conditional struct {
	When string // source of its tag, preceded by the tags of earlier branches
	Text string // its text, or its source if it also contains images or the like; nested blocks appear as source
}

// Conditionals lists the conditional branches of the subject, the preheader, and the bodies with their layouts. It
// lists each branch once and omits empty ones. Nested branches are part of the outer ones.
func (b *Bulk) Conditionals() (all []Conditional, err error) {
	s := &b.spec
	known := map[Conditional]bool{}
	for _, part := range []struct {
		part                Part
		field, body, layout string
	}{
		{PartHeader, "subject", s.Subject, ""},
		{PartHeader, "template.preheader", s.Preheader, ""},
		{PartHTML, "body_html", s.HTML, s.HTMLLayout},
		{PartText, "body_text", s.Text, s.TextLayout},
	} {
		if part.body == "" {
			continue
		}
		tokens, err := withLayout(part.part, part.field, part.body, part.layout)
		if err != nil {
			return nil, err
		}
		for _, c := range conditionals(tokens) {
			if part.part == PartHTML {
				c.Text = shownText(c.Text)
			}
			if c.Text = strings.TrimSpace(c.Text); c.Text != "" && !known[c] {
				known[c] = true
				all = append(all, c)
			}
		}
	}
	return all, nil
}

func conditionals(tokens []token) (all []Conditional) {
	var asked []string // tags of the outermost open block
	var text strings.Builder
	depth := 0
	end := func() {
		all = append(all, Conditional{strings.Join(asked, " … "), text.String()})
		text.Reset()
	}
	for _, t := range tokens {
		word := ""
		if t.kind == tokenTag {
			word = firstWord(t.body)
		}
		switch {
		case word == "if" || word == "unless":
			if depth++; depth == 1 {
				asked = []string{t.body}
				continue
			}
		case word == "endif" || word == "endunless":
			if depth--; depth == 0 {
				end()
				continue
			}
		case depth == 1 && (word == "elsif" || word == "else"):
			end()
			asked = append(asked, t.body)
			continue
		}
		if depth == 0 {
			continue
		}
		switch t.kind {
		case tokenOutput:
			text.WriteString("{{ " + t.body + " }}")
		case tokenTag:
			text.WriteString("{% " + t.body + " %}")
		default:
			text.WriteString(t.body)
		}
	}
	return all
}

// shownText converts HTML to text. If the text would lack anything, such as an image or hidden words, shownText returns
// the HTML unchanged.
func shownText(src string) string {
	if !strings.Contains(src, "<") || !strings.Contains(src, ">") {
		return src
	}
	text := HTMLToText(src)
	for z := html.NewTokenizer(strings.NewReader(src)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return text
		case html.TextToken:
			for word := range strings.FieldsSeq(html.UnescapeString(string(z.Raw()))) {
				if !strings.Contains(text, word) {
					return src
				}
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			if name, _ := z.TagName(); string(name) == "img" || string(name) == "style" {
				return src
			}
		}
	}
}
