package mail

import (
	"slices"
	"strings"
)

// withoutDefault lists the preferences that a template prints without a default, except inside conditions on them.
func withoutDefault(tokens []token) (names []string, err error) {
	var blocks [][]string // preferences in the conditions of the open branches
	known := map[string]bool{}
	for _, t := range tokens {
		switch t.kind {
		case tokenOutput:
			name, err := printed(t)
			if err != nil {
				return nil, err
			}
			asked := slices.ContainsFunc(blocks, func(b []string) bool { return slices.Contains(b, name) })
			if name != "" && !asked && !known[name] {
				known[name] = true
				names = append(names, name)
			}
		case tokenTag:
			if blocks, err = inBlock(blocks, t); err != nil {
				return nil, err
			}
		}
	}
	return names, nil
}

// printed returns the preference that a placeholder prints without a default, or an empty string.
func printed(t token) (string, error) {
	name, word, err := printedOr(t)
	if word != "" {
		return "", err
	}
	return name, err
}

// preference returns the name of a preference in templates, or an empty string for any other operand.
func preference(o *operand) string {
	if o.root != rootPreferences {
		return ""
	}
	return strings.Join(append([]string{"preferences"}, o.path...), ".")
}

// inBlock returns the stack of open blocks after a tag.
func inBlock(blocks [][]string, t token) ([][]string, error) {
	word := firstWord(t.body)
	n := len(blocks)
	switch {
	case word == "if" || word == "unless" || word == "elsif" && n > 0:
		e := expression{tok: t, rest: strings.TrimSpace(t.body[len(word):]), t: &Template{}}
		cond, err := e.condition()
		if err != nil {
			return nil, err
		}
		var asked []string
		for i := range cond.terms {
			for _, o := range []*operand{&cond.terms[i].left, &cond.terms[i].right} {
				if name := preference(o); name != "" {
					asked = append(asked, name)
				}
			}
		}
		if word == "elsif" {
			blocks[n-1] = append(blocks[n-1], asked...)
			return blocks, nil
		}
		return append(blocks, asked), nil
	case (word == "endif" || word == "endunless") && n > 0:
		return blocks[:n-1], nil
	}
	return blocks, nil
}
