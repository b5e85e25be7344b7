package campaigns

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
)

// Limits for archive searches. Longer queries are truncated.
const (
	searchesPerMinute = 60  // searches per IP address
	maxQuery          = 200 // characters per query
)

func newSearchLimiter() *web.Limiter {
	l, err := web.NewLimiter(searchesPerMinute, time.Minute)
	if err != nil {
		panic(err) // can't happen, because the limit is constant
	}
	return l
}

// search responds with the issues in an archive that match a query. Any query is valid.
func (a archive) search(c *web.Call, list *core.ListWithTenant, query string, before core.Issue) error {
	if key := web.AddressKey(c.Remote); key.IsValid() {
		if err := c.CountBy(a.searches, key.String()); err != nil {
			return err
		}
	}
	if all := []rune(query); len(all) > maxQuery {
		query = string(all[:maxQuery])
	}
	issues, err := a.Store.SearchIssues(c, &list.List, query, before.No, archivePage+1)
	if err != nil {
		return err
	}
	data := archiveIndex{
		Query: query, Path: a.home(list), Feed: a.home(list) + page.FeedName, Join: a.join(list),
	}
	if len(issues) > archivePage {
		issues = issues[:archivePage]
		data.Older = searchPath(data.Path, query, issues[archivePage-1].Slug)
	}
	if before.No != 0 {
		data.First = searchPath(data.Path, query, "")
	}
	find := finderOf(query)
	data.Issues = web.RowsOf(issues, func(i *core.Issue) shownIssue {
		row := a.row(c, list, i)
		row.Marked, row.Found = find.mark(i.Title), find.mark(find.around(i.Words))
		if !hit(row.Found) {
			row.Found = find.mark(cmp.Or(i.Summary, i.Excerpt))
		}
		return row
	})
	title := strings.Replace(page.WordsOf(c).ArchiveFound, "{{query}}", query, 1)
	return a.page(c, list, "archive", page.View{
		Title: title, Data: data, Up: page.Link{Path: data.Path, Text: list.Name},
		Public: &page.PublicPage{Hidden: true},
	})
}

func searchPath(home, query, before string) string {
	q := url.Values{"q": {query}}
	if before != "" {
		q.Set("before", before)
	}
	return home + "?" + q.Encode()
}

// piece is a part of a string. Hit is true if it matches the search.
type piece struct {
	Text string
	Hit  bool
}

func hit(all []piece) bool { return slices.ContainsFunc(all, func(p piece) bool { return p.Hit }) }

// finder finds a query's words in text. It ignores case and diacritics, as the search does.
type finder [][]rune

func finderOf(query string) (f finder) {
	for _, w := range core.SearchWords(query) {
		f = append(f, folded(w))
	}
	return f
}

// folded returns text in lower case and without diacritics. The result has as many runes as the text.
func folded(s string) []rune {
	all := []rune(s)
	for i, r := range all {
		if r >= 0x80 {
			r = []rune(norm.NFD.String(string(r)))[0]
		}
		all[i] = unicode.ToLower(r)
	}
	return all
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

// next returns the position of the first word at or after at that matches the query. text must be folded. Only the
// query's last word can match a longer word, if core.FindsLonger allows it. If nothing matches, from is -1.
func (f finder) next(text []rune, at int) (from, to int) {
	longer := len(f) > 0 && core.FindsLonger(string(f[len(f)-1]))
	for i := at; i < len(text); i++ {
		if !inWord(text[i]) || i > 0 && inWord(text[i-1]) {
			continue
		}
		end := i
		for end < len(text) && inWord(text[end]) {
			end++
		}
		word := string(text[i:end])
		for k, w := range f {
			if word == string(w) || k == len(f)-1 && longer && strings.HasPrefix(word, string(w)) {
				return i, end
			}
		}
		i = end
	}
	return -1, -1
}

// mark splits text into pieces. Each matching word is a separate piece.
func (f finder) mark(text string) (all []piece) {
	runes, fold, at := []rune(text), folded(text), 0
	for {
		from, to := f.next(fold, at)
		if from < 0 {
			break
		}
		if from > at {
			all = append(all, piece{string(runes[at:from]), false})
		}
		all, at = append(all, piece{string(runes[from:to]), true}), to
	}
	if at < len(runes) {
		all = append(all, piece{string(runes[at:]), false})
	}
	return all
}

// Number of characters shown before and after the first match.
const beforeHit, afterHit = 60, 140

// around returns the part of text around the query's first match, or an empty string if nothing matches.
func (f finder) around(text string) string {
	runes := []rune(strings.ReplaceAll(text, "\n", " "))
	from, to := f.next(folded(string(runes)), 0)
	if from < 0 {
		return ""
	}
	first, last := max(0, from-beforeHit), min(len(runes), to+afterHit)
	for first > 0 && first < from && runes[first-1] != ' ' {
		first++
	}
	for last < len(runes) && last > to && runes[last] != ' ' {
		last--
	}
	part := string(runes[first:last])
	if first > 0 {
		part = "… " + part
	}
	if last < len(runes) {
		part += " …"
	}
	return part
}
