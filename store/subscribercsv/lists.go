package subscribercsv

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A cell of tags contains several words, such as "unsubscribed","vip" in Mailchimp exports, unsubscribed;vip in other
// exports, or a JSON array. A status cell can contain more than one word, too, as in "Unsubscribed (2021-03-01)" or
// "vip / Unsubscribed". Any of the words can mean that the person unsubscribed.

// maxListed is the maximum number of bytes read from a part of a list. No status word is longer.
const maxListed = 64

// maxPhrase is the maximum number of words in a status such as "no longer subscribed".
const maxPhrase = 5

// listSeparators lists the characters that separate the parts of a list.
const listSeparators = ",;|:=/#+&()[]{}\u2022\u00b7\n"

// subject is the topic of a column, derived from the column's name.
type subject struct {
	tags   bool // cells are lists of words, of which most are not a status
	status bool // the name means a status or a consent
	chosen bool // someone has declared it a status column, so every word of a list counts
}

// subjectOf returns the subject of a column with the given name.
func subjectOf(name string) subject {
	words := nameWords(name)
	tags := slices.ContainsFunc(words, func(word string) bool { return slices.Contains(tagNames, word) })
	speaks := slices.ContainsFunc(words, func(word string) bool { return slices.Contains(statusNames, word) })
	return subject{tags: tags, status: (speaks || statusColumns[foldWord(name)] != nil || kindOf(name) != nil) &&
		!otherSubject(words)}
}

// listWord returns the strictest word of a cell that means that the person is not a subscriber, folded by foldCell.
// spelled is the part of the list that contains the word. Both are empty if there is no such word. listWord looks at
// each part of the list as a whole and, in columns of tags and status columns, also at each word. In other columns, an
// unquoted list can be a sentence or a postal address. There, only words about email count, with only dates next to
// them. Denied words, as in "unsubscribed: no", don't count.
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
		answers := false // whether the next part says no to this one
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

// withoutURLs removes the URLs from a cell, because an unsubscribe link doesn't mean that the person unsubscribed.
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

// deniedBy reports whether the text after a colon begins with a no, as in "unsubscribed: no".
func deniedBy(text string) bool {
	text = strings.TrimLeft(text, ": =\"'\t")
	if end := strings.IndexAny(text, " ,;|\"'}])\n"); end >= 0 {
		text = text[:end]
	}
	word := foldCell(text)
	return answers[word] == 'n' || refusals[word] || text != "" && isNothing(word)
}

// phraseIn returns the strictest status in a part that means that the person is not a subscriber, folded by foldCell.
// Unless loose is true, the status must be about email, and only numbers and dates can be next to it.
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

// denials lists words, folded by foldWord, that negate a later status word. At most one word can be between the two.
var denials = map[string]bool{}

func init() {
	for word := range strings.FieldsSeq(`not never isnt wasnt hasnt didnt non ne pas jamais nicht nie nunca mai nao nooit niet
		не никогда inte aldrig ej ikke nikdy nigdy`) {
		denials[word] = true
	}
}

func hasLetter(s string) bool { return strings.ContainsFunc(s, unicode.IsLetter) }

// strictness lists the standings of people who are not subscribers, from mildest to strictest.
var strictness = [...]standing{pending, never, unsubscribed, bounced, complained, suppressed}

func stricter(a, b standing) bool {
	return slices.Index(strictness[:], a) > slices.Index(strictness[:], b)
}

// tagNames lists words, folded by foldWord, in the names of columns that contain tags.
var tagNames = strings.Fields(`tag tags label labels schlagwort schlagworte schlagworter schlagwoerter etiquette etiquettes
	etiqueta etiquetas`)

// statusNames lists words, folded by foldWord, in the names of columns that contain a status.
var statusNames = strings.Fields(`status statut state zustand stato estado staat stan stav stato situacao situation etat tilstand
	durum статус состояние`)

// listed reads the words of a cell in a declared status column. Callers use it if they don't understand the cell as a
// whole. If a cell of tags contains no such word, the person counts as a subscriber. In other columns, the result is
// unknown in that case.
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
