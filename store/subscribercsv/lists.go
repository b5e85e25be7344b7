package subscribercsv

import (
	"slices"
	"strings"
)

// Cells of tags hold several words, such as "unsubscribed","vip" in exports of Mailchimp, unsubscribed;vip in others, or
// the same as JSON. One of them can say that a person left.

// maxListed bounds a word of a list, in bytes: no word of a status is longer.
const maxListed = 64

// listSeparators stand between the words of a list.
const listSeparators = ",;|:\n"

// listWord returns the word of a list that says that a person is no subscriber, by foldCell, and as it is spelled; the
// strictest of several. Empty: the cell is no list, or has no such word. In a list without quotes, which may be a sentence or
// a postal address, only words about email count, unless its column has tags.
func listWord(cell string, tags bool) (word, spelled string) {
	if !strings.ContainsAny(cell, listSeparators) {
		return "", ""
	}
	quoted := strings.ContainsAny(strings.TrimSpace(cell)[:1], `"'[{`)
	for part := range strings.FieldsFuncSeq(cell, func(r rune) bool { return strings.ContainsRune(listSeparators, r) }) {
		part = strings.Trim(part, " \t\r\n\"'[](){}"+unseen)
		if len(part) > maxListed {
			continue
		}
		folded := foldCell(part)
		said := statusWords[folded]
		if said == unknown || said == joined || !tags && !quoted && !isOfEmail(folded) {
			continue
		}
		if word == "" || stricter(said, statusWords[word]) {
			word, spelled = folded, part
		}
	}
	return word, spelled
}

// strictness are the standings of people who are no subscribers, the strictest last.
var strictness = [...]standing{pending, never, unsubscribed, bounced, complained, suppressed}

func stricter(a, b standing) bool {
	return slices.Index(strictness[:], a) > slices.Index(strictness[:], b)
}

// tagNames are words of names of columns, by foldWord, that hold tags.
var tagNames = strings.Fields(`tag tags label labels schlagwort schlagworte schlagworter schlagwoerter etiquette etiquettes
	etiqueta etiquetas`)

// hasTags reports whether a column of a name holds tags.
func hasTags(name string) bool {
	return slices.ContainsFunc(nameWords(name), func(word string) bool { return slices.Contains(tagNames, word) })
}

// listed reads the words of a list in a column that is declared to say who takes part, and whose cell as a whole is not
// understood. Tags that say nothing of it don't make anyone leave; in other columns they are not understood.
func listed(cell string, tags bool) standing {
	if word, _ := listWord(cell, true); word != "" {
		return statusWords[word]
	}
	if tags {
		return joined
	}
	return unknown
}
