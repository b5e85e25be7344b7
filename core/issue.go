package core

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Words of Campaign.InArchive.
const (
	ArchiveShown  = "shown"
	ArchiveHidden = "hidden"
)

// Issue is a campaign that was sent, as the public archive of a list shows it.
type Issue struct {
	No         int64   `db:"no"`
	ListID     string  `db:"list_id"`
	CampaignNo int64   `db:"campaign_no"`
	Slug       string  `db:"slug"`         // of its address, below that of the list
	Title      string  `db:"title"`        // its subject, as a reader of whom nothing is known sees it
	Summary    string  `db:"summary"`      // its preheader likewise; empty: it has none
	ChangedAt  Instant `db:"changed_at"`   // when a link was mended, or it was corrected last; 0: never
	Corrected  Instant `db:"corrected_at"` // when what is shown was written; 0: it is as it was sent
	SentAt     Instant `db:"sent_at"`      // when the first mail could go out; 0: not yet

	CampaignID string `db:"campaign_id"`
	JobNo      int64  `db:"job_no"` // the first job that sent mails of it
}

// maxSlug is the number of characters that the slug of a list or an issue may have.
const maxSlug = 80

// ArchivePath is the path of the list's public archive, with a slash at the end.
func (l *List) ArchivePath() string {
	if l.Slug != "" {
		return "/a/" + l.Slug + "/"
	}
	return "/a/" + l.ID + "/"
}

// checkSlug checks the slug of a list: lower-case letters and digits of ASCII, and single hyphens within. It is no id,
// which names another list.
func checkSlug(s string) error {
	if s == "" {
		return nil
	}
	if _, id := ParseID(s); id || len(s) > maxSlug || s != Slug(s) {
		return Invalidf("slug",
			"slug must have 1 to %d characters: lower-case letters a–z, digits, and single hyphens between them.",
			maxSlug)
	}
	return nil
}

// Slug makes the part of an address of a title: lower-case letters and digits of ASCII, with hyphens between words. It
// is empty where the title has none that can be written so.
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

// foldedLetters are letters of Latin scripts as ASCII writes them.
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

// IssueSlug returns the slug of an issue with a title that is not taken: the first of title, title-2, title-3 and so
// on.
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
