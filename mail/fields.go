package mail

import "slices"

// UsedField is a preference whose value an email contains.
type UsedField struct {
	Name    string // its name in templates, such as preferences.first_name
	Default string // text for subscribers without a value
	Part    string // first part that prints it: subject, preheader or content.source
}

// UsedFields lists the preferences whose values the email contains, except those printed only inside conditions on
// them. If a template is invalid, UsedFields returns its error.
func (b *Bulk) UsedFields() (used []UsedField, err error) {
	s, known := &b.spec, map[string]bool{}
	for _, part := range []struct{ name, text string }{
		{"subject", s.Subject}, {"preheader", s.Preheader}, {"content.source", s.HTML}, {"content.source", s.Text},
	} {
		tokens, err := lex(&source{part.name, cleanBody(part.text)})
		if err != nil {
			return nil, err
		}
		var blocks [][]string
		for _, t := range tokens {
			switch t.kind {
			case tokenOutput:
				name, word, err := printedOr(t)
				if err != nil {
					return nil, err
				}
				asked := slices.ContainsFunc(blocks, func(b []string) bool { return slices.Contains(b, name) })
				if name != "" && !asked && !known[name] {
					known[name] = true
					used = append(used, UsedField{name, word, part.name})
				}
			case tokenTag:
				if blocks, err = inBlock(blocks, t); err != nil {
					return nil, err
				}
			}
		}
	}
	return used, nil
}

// printedOr returns the preference that a placeholder prints, and its default. If the placeholder prints no preference,
// name is empty. If it has no default, word is empty.
func printedOr(t token) (name, word string, err error) {
	if t.body == "content" { // a layout's placeholder for the content
		return "", "", nil
	}
	e := expression{tok: t, rest: t.body, t: &Template{}}
	head, err := e.operand()
	if err != nil {
		return "", "", err
	}
	filters, err := e.filters()
	if err != nil {
		return "", "", err
	}
	for _, f := range filters {
		switch {
		case f.id != filterDefault:
		case f.arg.root == rootLiteral:
			word = f.arg.literal.s
		default:
			word = "{{ … }}" // another field
		}
	}
	return preference(&head), word, nil
}
