package mail

import "slices"

// UsedField is a preference that a mail prints.
type UsedField struct {
	Name    string // as an author writes it: preferences.first_name
	Default string // what a reader reads who has none
	Part    string // the first part that prints it: subject, preheader or content.source
}

// UsedFields lists the preferences that the parts of a mail print outside of blocks that ask for them, each once. Its
// error is that of a faulty template.
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

// printedOr returns the preference that a placeholder prints, and its default; empty: it prints none, it has none.
func printedOr(t token) (name, word string, err error) {
	if t.body == "content" { // of a layout
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
