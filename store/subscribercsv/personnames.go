package subscribercsv

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of a name in a list without a header.
const (
	maxNameWords = 6
	maxNameRunes = 100
)

// isName reports whether s, from a list without a header, is a person's name. Nothing declares what such a string
// means. A string that can be a status, or that contains more than a name, is therefore not a name.
func isName(s string) bool {
	return looksLikeName(s) && !saysStatus(s)
}

// looksLikeName reports whether s contains only letters and the punctuation of names, in any spelling.
func looksLikeName(s string) bool { return slices.ContainsFunc(spellings(s), isPlainName) }

// surnames maps words that are both surnames and words of a status, in lower case, to the maximum number of words in a
// name for which they count as a surname.
var surnames = map[string]int{"block": maxNameWords, "gone": 2, "junk": 2, "klage": 2, "ano": 2}

// withoutSurname removes a word of surnames that begins or ends a name of several capitalized words, if the address
// contains it, too.
func withoutSurname(name, address string) string {
	local, _, _ := strings.Cut(strings.ToLower(address), "@")
	words := strings.Fields(name)
	for _, at := range []int{0, len(words) - 1} {
		if len(words) > 1 && isCapitalized(words[at]) && len(words) <= surnames[strings.ToLower(words[at])] &&
			strings.Contains(local, strings.ToLower(words[at])) {
			return strings.Join(slices.Delete(words, at, at+1), " ")
		}
	}
	return name
}

// isCapitalized reports whether a word has one capital letter, at its beginning.
func isCapitalized(word string) bool {
	for i, r := range word {
		if unicode.IsUpper(r) != (i == 0) {
			return false
		}
	}
	return true
}

// isPlainName reports whether s contains only letters and the punctuation of names.
func isPlainName(s string) bool {
	if utf8.RuneCountInString(s) > maxNameRunes || len(strings.Fields(s)) > maxNameWords {
		return false
	}
	for i, r := range s {
		letter := unicode.IsLetter(r) || strings.ContainsRune("'\u2019", r)
		if !letter && (i == 0 || !unicode.IsMark(r) && !strings.ContainsRune(" .-\u2010\u2011"+unseen, r)) {
			return false
		}
	}
	return hasLetter(s)
}

// spellings returns s or, if s isn't UTF-8, s decoded from each charset.
func spellings(s string) []string {
	if utf8.ValidString(s) {
		return []string{s}
	}
	return []string{charsets[0].decode(s), charsets[1].decode(s)}
}

// saysStatus reports whether s is or contains a status word, a yes or a no. It looks at phrases and at single words,
// regardless of what is next to them.
func saysStatus(s string) bool {
	return slices.ContainsFunc(spellings(s), func(s string) bool {
		return says(foldCell(s)) || slices.ContainsFunc([]string{s, withoutUnseen(s)}, hasStatusWord)
	})
}

func hasStatusWord(s string) bool {
	var words []string
	runes := []rune(norm.NFKC.String(s))
	for i := 0; i < len(runes); i++ {
		start := i
		for i < len(runes) && isWordRune(runes[i]) {
			i++
		}
		word := runes[start:i]
		initial := len(word) == 1 && unicode.IsUpper(word[0]) && i < len(runes) && runes[i] == '.'
		if folded := foldWord(string(word)); folded != "" && !initial {
			words = append(words, folded)
		}
	}
	for i, word := range words {
		if isStatusPart(word) || says(word) && (len(word) > 1 || i == 0 || i == len(words)-1) {
			return true
		}
		for n := 2; n <= min(maxPhrase, len(words)-i); n++ {
			if statusWords[strings.Join(words[i:i+n], "")] != unknown {
				return true
			}
		}
	}
	return false
}

func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '\'' || r == '\u2019'
}

// isStatusPart reports whether a word, folded by foldWord, denies something or is about leaving, as in the names of
// columns.
func isStatusPart(word string) bool {
	if denials[word] && word != "mai" || isOfEmail(word) { // Mai is also a name
		return true
	}
	return slices.ContainsFunc(nameKinds, func(kind nameKind) bool {
		return (kind.yes.leaves() || kind.yes == pending) && slices.ContainsFunc(kind.parts, func(part string) bool {
			return word == strings.TrimSuffix(part, "$") ||
				kind.text && len(part) >= longPart && strings.HasPrefix(word, part)
		})
	})
}

// withoutUnseen removes invisible characters.
func withoutUnseen(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(unseen, r) {
			return -1
		}
		return r
	}, s)
}

// isStatusLine reports whether a line without an address can be the status of the people next to it, such as a heading.
func isStatusLine(line string) bool {
	return len(line) <= maxWordBytes && !strings.Contains(line, "@") && len(strings.Fields(line)) <= maxPhrase &&
		saysStatus(line)
}

// isHeaderLine reports whether a line without an address contains the name of a column with addresses or a status.
func isHeaderLine(line string) bool {
	if strings.Contains(line, "@") {
		return false
	}
	for _, separator := range delimiters {
		for cell := range strings.SplitSeq(line, string(separator)) {
			name := foldWord(unquoted(cleanCell(cell)))
			if emailNames[name] || otherEmailNames[name] || furtherEmailNames[name] || statusColumns[name] != nil {
				return true
			}
		}
	}
	return false
}
