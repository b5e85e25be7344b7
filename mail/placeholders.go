package mail

import "strings"

// The values of Placeholder.Kind.
const (
	PlaceholderOutput  = iota // {{ … }}
	PlaceholderTag            // {% … %}
	PlaceholderRaw            // {% raw %} … {% endraw %}
	PlaceholderComment        // {% comment %} … {% endcomment %}
)

// Placeholder is a placeholder or tag of a template.
type Placeholder struct {
	Kind     int
	From, To int    // byte range in the source: [From, To)
	Text     string // source text
	Inner    string // for PlaceholderRaw: the text between the two tags
}

// Placeholders returns the placeholders and tags of a template in order, for callers that must not mistake them for
// their own syntax. Unlike CompileBulk, it doesn't parse expressions. Errors are *core.Error of kind Invalid that name
// the field, line and column.
func Placeholders(field, template string) ([]Placeholder, error) {
	src := &source{field, template}
	if len(template) > maxTemplate {
		return nil, src.fail(0, "the template must have at most %d bytes", maxTemplate)
	}
	var out []Placeholder
	for pos := 0; ; {
		open := nextOpen(template, pos)
		if open < 0 {
			return out, nil
		}
		body, end, err := src.braces(open)
		if err != nil {
			return nil, err
		}
		p := Placeholder{Kind: PlaceholderOutput, From: open, To: end}
		if template[open+1] == '%' {
			p.Kind = PlaceholderTag
			if name := strings.Trim(body, " \t\r\n-"); name == "raw" || name == "comment" {
				from, to, err := src.verbatim(open, end, "end"+name)
				if err != nil {
					return nil, err
				}
				p.Kind, p.To = PlaceholderComment, to
				if name == "raw" {
					p.Kind, p.Inner = PlaceholderRaw, template[end:from]
				}
			}
		}
		p.Text = template[p.From:p.To]
		out = append(out, p)
		if pos = p.To; len(out) > maxNodes {
			return nil, src.fail(open, "the template must have at most %d parts", maxNodes)
		}
	}
}
