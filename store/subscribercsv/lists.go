package subscribercsv

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Cells of tags hold several words, such as "unsubscribed","vip" in exports of Mailchimp, unsubscribed;vip in others,
// or the same as JSON, and cells of a status say more than a word: "Unsubscribed (2021-03-01)", "vip / Unsubscribed".
// One of the words can say that a person left.

// maxListed bounds a part of a list, in bytes: no word of a status is longer.
const maxListed = 64

// maxPhrase is how many words of a part make one of a status at most, such as "no longer subscribed".
const maxPhrase = 5

// listSeparators stand between the parts of a list.
const listSeparators = ",;|:=/#+&()[]{}\u2022\u00b7\n"

// subject is what a column is about, by its name.
type subject struct {
	tags   bool // its cells are lists of words, most of which say nothing of who takes part
	status bool // it speaks of a status or a consent
	chosen bool // someone has declared that it says who takes part: all words count that are a part of a list
}

// subjectOf returns what a column of a name is about.
func subjectOf(name string) subject {
	words := nameWords(name)
	tags := slices.ContainsFunc(words, func(word string) bool { return slices.Contains(tagNames, word) })
	speaks := slices.ContainsFunc(words, func(word string) bool { return slices.Contains(statusNames, word) })
	return subject{tags: tags, status: (speaks || statusColumns[foldWord(name)] != nil || kindOf(name) != nil) &&
		!otherSubject(words)}
}

// listWord returns the word of a cell that says that a person is no subscriber, by foldCell, and the part in which it
// is; the strictest of several. Empty: there is none. Parts count as a whole, and in tags and in a status each of their
// words. In a list without quotes of any other column, which may be a sentence or a postal address, only words about
// email count, and next to them only dates. What is denied, such as "unsubscribed: no", doesn't count.
func listWord(cell string, about subject) (word, spelled string) {
	cell = strings.TrimSpace(withoutURLs(cell))
	loose := about.tags || about.status
	if cell == "" || !loose && !strings.ContainsAny(cell, listSeparators+"0123456789") {
		return "", ""
	}
	quoted := strings.ContainsAny(cell[:1], `"'[{`)
	for rest := cell; rest != ""; {
		end := strings.IndexAny(rest, listSeparators)
		part, after := rest, ""
		answers := false // what comes next says yes or no to it
		if end >= 0 {
			_, size := utf8.DecodeRuneInString(rest[end:])
			part, after = rest[:end], rest[end+size:]
			answers = (rest[end] == ':' || rest[end] == '=') && deniedBy(after)
		}
		rest = after
		part = strings.Trim(part, " \t\r\n\"'<>"+unseen)
		if part == "" || answers || len(part) > maxListed {
			continue
		}
		found := foldCell(part)
		if said := statusWords[found]; said == unknown {
			found = phraseIn(part, loose)
		} else if said == joined || !loose && !quoted && !about.chosen && !isOfEmail(found) {
			continue
		}
		if found != "" && (word == "" || stricter(statusWords[found], statusWords[word])) {
			word, spelled = found, part
		}
	}
	return word, spelled
}

// withoutURLs removes the URLs from a cell: links to unsubscribe say nothing of a person.
func withoutURLs(cell string) string {
	at := strings.Index(cell, "://")
	if at < 0 {
		return cell
	}
	const ends = " ,;|\"'()[]<>\t\n"
	var b strings.Builder
	for ; at >= 0; at = strings.Index(cell, "://") {
		b.WriteString(cell[:strings.LastIndexAny(cell[:at], ends)+1])
		cell = cell[at:]
		end := strings.IndexAny(cell, ends)
		if end < 0 {
			return b.String()
		}
		cell = cell[end:]
	}
	b.WriteString(cell)
	return b.String()
}

// deniedBy reports whether the text after a colon begins with a no.
func deniedBy(text string) bool {
	text = strings.TrimLeft(text, ": =\"'\t")
	if end := strings.IndexAny(text, " ,;|\"'}])\n"); end >= 0 {
		text = text[:end]
	}
	word := foldCell(text)
	return answers[word] == 'n' || refusals[word] || text != "" && isNothing(word)
}

// phraseIn returns the strictest word of a status among the words of a part, by foldCell, that says that a person is no
// subscriber. Where it is not loose, it must be about email, and nothing but digits may stand next to it.
func phraseIn(part string, loose bool) (word string) {
	if !hasLetter(part) || strings.IndexByte(part, '@') >= 0 {
		return ""
	}
	var words []string
	for w := range strings.FieldsFuncSeq(norm.NFKC.String(part), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '\'' && r != '\u2019'
	}) {
		if folded := foldWord(w); folded != "" {
			words = append(words, folded)
		}
	}
	if !loose {
		words = slices.DeleteFunc(words, func(w string) bool { return strings.Trim(w, "0123456789tz") == "" })
		if all := strings.Join(words, ""); statusWords[all].leaves() && isOfEmail(all) {
			return all
		}
		return ""
	}
	for i := 0; i < len(words); {
		n := min(maxPhrase, len(words)-i)
		for ; n > 0 && statusWords[strings.Join(words[i:i+n], "")] == unknown; n-- {
		}
		if n == 0 {
			i++
			continue
		}
		said := strings.Join(words[i:i+n], "")
		denied := i > 0 && denials[words[i-1]] || i > 1 && denials[words[i-2]] ||
			i+n < len(words) && (answers[words[i+n]] == 'n' || refusals[words[i+n]])
		if !denied && statusWords[said] != joined && (word == "" || stricter(statusWords[said], statusWords[word])) {
			word = said
		}
		i += n
	}
	return word
}

// denials are words, by foldWord, after which a word of a status says the opposite, also with one word in between.
var denials = map[string]bool{}

func init() {
	for word := range strings.FieldsSeq(`not never isnt wasnt hasnt didnt non ne pas jamais nicht nie nunca mai nao nooit niet
		не никогда inte aldrig ej ikke nikdy nigdy`) {
		denials[word] = true
	}
}

func hasLetter(s string) bool { return strings.ContainsFunc(s, unicode.IsLetter) }

// strictness are the standings of people who are no subscribers, the strictest last.
var strictness = [...]standing{pending, never, unsubscribed, bounced, complained, suppressed}

func stricter(a, b standing) bool {
	return slices.Index(strictness[:], a) > slices.Index(strictness[:], b)
}

// tagNames are words of names of columns, by foldWord, that hold tags.
var tagNames = strings.Fields(`tag tags label labels schlagwort schlagworte schlagworter schlagwoerter etiquette etiquettes
	etiqueta etiquetas`)

// statusNames are words of names of columns, by foldWord, that speak of a status.
var statusNames = strings.Fields(`status statut state zustand stato estado staat stan stav stato situacao situation etat tilstand
	durum статус состояние`)

// listed reads the words of a cell in a column that is declared to say who takes part, and whose cell as a whole is not
// understood. Tags that say nothing of it don't make anyone leave; in other columns they are not understood.
func listed(cell string, about subject) standing {
	about.chosen = true
	if word, _ := listWord(cell, about); word != "" {
		return statusWords[word]
	}
	if about.tags {
		return joined
	}
	return unknown
}
