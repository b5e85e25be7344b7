package core

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// The values of Campaign.InArchive.
const (
	ArchiveShown  = "shown"
	ArchiveHidden = "hidden"
)

// Issue is a sent campaign in a list's public archive.
type Issue struct {
	No         int64   `db:"no"`
	ListID     string  `db:"list_id"`
	CampaignNo int64   `db:"campaign_no"`
	Slug       string  `db:"slug"`         // last part of its path, after the list's
	Title      string  `db:"title"`        // its subject, for a subscriber with no details
	Summary    string  `db:"summary"`      // its preview text, likewise; empty: none
	ChangedAt  Instant `db:"changed_at"`   // when a link was last fixed or the text last corrected; 0: never
	Corrected  Instant `db:"corrected_at"` // when the text was last corrected; 0: shown as sent
	SentAt     Instant `db:"sent_at"`      // when sending could start; 0: not yet

	Excerpt string `db:"excerpt"` // its first words
	Picture string `db:"picture"` // URL of its first image that is stored here; empty: none
	Width   int    `db:"width"`   // of the image, in pixels
	Height  int    `db:"height"`
	Words   string `db:"words"` // all its words, one line per block; only from a search

	CampaignID string `db:"campaign_id"`
	JobNo      int64  `db:"job_no"` // first job that sent it

	Imported bool   `db:"imported"` // published with another tool; it has no campaign and no job
	Author   string `db:"author"`   // of an imported issue, or set by drafts.IssueAuthor; empty if unknown
}

// maxSlug is the maximum length of a list's or an issue's slug, in characters.
const maxSlug = 80

// ArchivePath returns the path of the list's public archive, with a trailing slash.
func (l *List) ArchivePath() string {
	if l.Slug != "" {
		return "/a/" + l.Slug + "/"
	}
	return "/a/" + l.ID + "/"
}

// checkSlug validates a list's slug. A slug consists of ASCII lower-case letters, digits, and single hyphens between
// them. It must not look like an id, because it could be the id of a different list.
func checkSlug(s string) error {
	if s == "" {
		return nil
	}
	if _, id := ParseID(s); id || len(s) > maxSlug || s != Slug(s) {
		return Invalidf("slug",
			"slug must have 1 to %d characters: lowercase letters a–z, digits, and single hyphens between them.",
			maxSlug)
	}
	return nil
}

// Slug converts a title to part of a URL path: ASCII lower-case letters and digits, with hyphens between words. It
// returns "" if no character can be converted.
func Slug(title string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(title) {
		text := foldedLetters[r]
		if text == "" && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9') {
			text = string(r)
		}
		if text == "" {
			gap = gap || r != '\'' && r != '’' && !unicode.Is(unicode.Mn, r)
			continue
		}
		if gap && b.Len() > 0 {
			text = "-" + text
		}
		if b.Len()+len(text) > maxSlug {
			break
		}
		b.WriteString(text)
		gap = false
	}
	return b.String()
}

// foldedLetters maps Latin letters to ASCII.
var foldedLetters = func() map[rune]string {
	folded := map[rune]string{
		'ä': "ae", 'ö': "oe", 'ü': "ue", 'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "oe", 'å': "aa", 'þ': "th", 'ð': "d",
	}
	for ascii, letters := range map[string]string{
		"a": "àáâãāăąǎ", "c": "çćĉċč", "d": "ďđ", "e": "èéêëēĕėęě", "g": "ĝğġģ", "h": "ĥħ", "i": "ìíîïĩīĭįıǐ", "j": "ĵ", "k": "ķ",
		"l": "ĺļľŀł", "n": "ñńņňŋ", "o": "òóôõōŏőǒ", "r": "ŕŗř", "s": "śŝşšș", "t": "ţťŧț", "u": "ùúûũūŭůűųǔ", "w": "ŵ", "y": "ýÿŷ",
		"z": "źżž",
	} {
		for _, r := range letters {
			folded[r] = ascii
		}
	}
	return folded
}()

// IssueSlug returns the first slug for an issue that isn't taken: title, title-2, title-3 and so on.
func IssueSlug(title string, taken []string) string {
	first := Slug(title)
	if first == "" {
		first = "issue"
	}
	slug := first
	for n := 2; slices.Contains(taken, slug); n++ {
		end := "-" + strconv.Itoa(n)
		slug = first[:min(len(first), maxSlug-len(end))] + end
	}
	return slug
}

// SearchWords returns the words in a search query: runs of letters and digits.
func SearchWords(query string) []string {
	return strings.FieldsFunc(query, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	})
}

// minBeginning is the minimum length of a search word that is also used as a prefix. Shorter prefixes match too many
// words.
const minBeginning = 3

// FindsLonger reports whether a search word also finds longer words that start with it. Accents don't count as letters:
// the index ignores them, or splits words at them.
func FindsLonger(word string) bool {
	all := []rune(word)
	return len(all) >= minBeginning && !slices.ContainsFunc(all[len(all)-minBeginning:], unicode.IsMark)
}
