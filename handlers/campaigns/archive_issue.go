package campaigns

import (
	"bytes"
	"cmp"
	_ "embed"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/mail"
	"newsletterd/mail/article"
)

//go:embed archive.js
var archiveJS string

// archiveScript adjusts the frame around an issue's email to the email's height. Only issues that are shown as their
// email have a frame.
var archiveScript = page.Script{Path: "/archive.js", Body: archiveJS}

// openGraphLocales maps languages to Open Graph locales, which must include a territory.
var openGraphLocales = map[string]string{"en": "en_US", "de": "de_DE", "fr": "fr_FR", "es": "es_ES"}

// shownIssue is an issue as archive pages show it.
type shownIssue struct {
	Path, Title, Summary string
	Date, At             string // in words, and in RFC 3339 format
	Corrected            string // note of the correction; empty: not corrected
	Picture              string // URL of the image; empty: none
	Width, Height        int    // size of the image in pixels

	Marked, Found []piece // title and text with the matches of a search; empty: none
}

func (a archive) row(c *web.Call, list *core.ListWithTenant, i *core.Issue) shownIssue {
	w := page.WordsOf(c)
	return shownIssue{
		Path: a.path(list, i.Slug), Title: i.Title, Summary: cmp.Or(i.Summary, i.Excerpt),
		Date: w.DayOf(i.SentAt.Time()), At: i.SentAt.Time().Format(time.RFC3339), Corrected: w.CorrectedAt(i.Corrected),
		Picture: i.Picture, Width: i.Width, Height: i.Height,
	}
}

// joinBox is the signup form on archive pages, with only the required fields.
type joinBox struct {
	Action  string
	Fields  []page.FormField
	Consent []string
}

// join returns the signup form for a list, or nil if the list accepts no signups.
func (a archive) join(list *core.ListWithTenant) *joinBox {
	if !list.Active() {
		return nil
	}
	box := &joinBox{Action: a.MemberURL + page.SubscribePath(list.ID), Consent: page.Paragraphs(list.ConsentText)}
	for _, f := range list.Fields.Open() {
		if f.Required {
			box.Fields = append(box.Fields, page.FormField{Field: f})
		}
	}
	return box
}

// archiveIssue holds the data for handlers/page/pages/issue.html.
type archiveIssue struct {
	shownIssue
	List           string // name of the list
	Preview        string // preview text of the email; empty: none
	Author         string // name of the author; empty: the brand
	Minutes        string // reading time in words
	Text           template.HTML
	Frame          string // URL of the email, if the page shows the email in a frame
	All            string
	Earlier, Later *shownIssue
	Feed           string
	Join           *joinBox
}

func (a archive) issue(c *web.Call) error {
	if c.Param("issue") == page.FeedName {
		return a.feed(c)
	}
	list, i, err := a.found(c)
	if err != nil {
		return err
	}
	if i.Author, err = drafts.IssueAuthor(c, a.Store, &i); err != nil {
		return err
	}
	data := archiveIssue{
		shownIssue: a.row(c, list, &i), List: list.Name, Preview: i.Summary, Author: authorOf(list, &i),
		All: a.home(list), Feed: a.home(list) + page.FeedName, Join: a.join(list),
	}
	if err := a.around(c, list, &i, &data); err != nil {
		return err
	}
	text, err := a.article(c, list, &i)
	if err != nil {
		return err
	}
	v := page.View{Title: i.Title, Up: page.Link{Path: a.home(list), Text: list.Name}}
	if text.HTML == "" {
		data.Frame, v.Script = data.Path+"/mail", archiveScript.Address()
	} else {
		data.Text = template.HTML(text.HTML) // the article package has escaped or sanitized it
		data.Minutes = page.WordsOf(c).MinutesFor(len(strings.Fields(text.Words)))
	}
	v.Data = data
	v.Public = &page.PublicPage{
		URL: a.issueURL(list, i.Slug), Kind: "article", Title: i.Title, Summary: data.Summary, At: data.At,
		Image: i.Picture, Large: i.Picture != "", Data: a.posting(c, list, &i),
	}
	if text.HTML != "" {
		v.Public.Fonts = []string{page.Fonts.Upright}
	}
	if slanted.MatchString(text.HTML) {
		v.Public.Fonts = append(v.Public.Fonts, page.Fonts.Italic)
	}
	return a.page(c, list, "issue", v, sourcesOf(text.Pictures)...)
}

// slanted matches HTML elements that are set in italics.
var slanted = regexp.MustCompile(`<(?:em|i|cite|var|dfn|blockquote)\b`)

// article returns an issue's article, with links to other issues in the archive.
func (a archive) article(c *web.Call, list *core.ListWithTenant, i *core.Issue) (*article.Article, error) {
	return drafts.IssueArticle(c, a.Store, i, func(slug string) string { return a.issueURL(list, slug) })
}

// around sets the links to the previous and next issue.
func (a archive) around(c *web.Call, list *core.ListWithTenant, i *core.Issue, data *archiveIssue) error {
	earlier, err := a.Store.IssuesBefore(c, list.ID, *i, 1)
	if err != nil {
		return err
	}
	later, err := a.Store.IssuesAfter(c, list.ID, *i, 1)
	if err != nil {
		return err
	}
	for k := range earlier {
		data.Earlier = new(a.row(c, list, &earlier[k]))
	}
	for k := range later {
		data.Later = new(a.row(c, list, &later[k]))
	}
	return nil
}

// authorOf returns the author of an issue, or the sender name of the list's emails. If that is the brand's name, it
// returns an empty string.
func authorOf(list *core.ListWithTenant, i *core.Issue) string {
	name := cmp.Or(i.Author, list.Tenant.MailFromName)
	if strings.EqualFold(name, cmp.Or(list.Tenant.BrandName, list.Tenant.Name)) || strings.EqualFold(name, list.Name) {
		return ""
	}
	return name
}

// maxPictureSources is the maximum number of image hosts in a page's CSP. If there are more, the CSP allows all hosts.
const maxPictureSources = 20

// sourcesOf returns the CSP sources for the images.
func sourcesOf(pictures []article.Picture) []string {
	var all []string
	for _, p := range pictures {
		u, err := url.Parse(p.Address)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" ||
			strings.ContainsAny(u.Host, ";, '\"") {
			continue
		}
		all = append(all, web.SourceOf(p.Address))
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > maxPictureSources {
		return []string{"https: http:"}
	}
	return all
}

// logoCache caches which logos need a light background in dark mode, because finding that out requires decoding the
// image.
type logoCache struct {
	mu    sync.Mutex
	known map[string]bool // results by URL; the URL of a stored image changes with its content
}

// maxLogos is the maximum number of logos in a logoCache. When the limit is reached, the cache is emptied.
const maxLogos = 1000

func (k *logoCache) dark(address string, look func() bool) bool {
	k.mu.Lock()
	hidden, ok := k.known[address]
	k.mu.Unlock()
	if ok {
		return hidden
	}
	hidden = look()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= maxLogos {
		k.known = map[string]bool{}
	}
	k.known[address] = hidden
	return hidden
}

// framePolicy is viewPolicy for an email in a frame on this server's pages. The surrounding page may read the email's
// height. The email itself can't run scripts.
var framePolicy = strings.NewReplacer("sandbox ", "sandbox allow-same-origin ", "frame-ancestors 'none'",
	"frame-ancestors 'self'").Replace(viewPolicy)

func (a archive) mail(c *web.Call) error {
	list, i, err := a.found(c)
	if err != nil {
		return err
	}
	page, err := a.render(c, list, &i)
	if err != nil {
		return err
	}
	c.PageHeaders("", "")
	c.Header().Set("Content-Security-Policy", framePolicy)
	c.Header().Set("X-Robots-Tag", "noindex, indexifembedded") // search engines index the surrounding page
	serveText(c, "text/html; charset=utf-8", outOfFrame(page), time.Time{})
	return nil
}

// render renders an issue's email for a subscriber with no details. The email contains the content that was approved
// and sent, without tracking and with links that need no token.
func (a archive) render(c *web.Call, list *core.ListWithTenant, i *core.Issue) ([]byte, error) {
	j, err := a.Store.SendJobByNo(c, i.JobNo)
	if err != nil {
		return nil, err
	}
	mended, err := a.Store.Mended(c, j.CampaignID)
	if err != nil {
		return nil, err
	}
	spec, _, err := drafts.MendedSpec(c, a.Store, &mended, &j, list.ID)
	if err != nil {
		return nil, err
	}
	spec.UnsubscribeURL, spec.Preheader = "", ""
	bulk, err := a.mails.compile("archive", spec)
	if err != nil {
		return nil, err
	}
	leave := cmp.Or(a.MemberURL, list.Tenant.Origin(a.Origin)) + page.PreferencesPath(list.ID)
	return bulk.Page(&mail.Recipient{
		Preferences: "{}", Date: i.SentAt.Time(), UnsubscribeURL: leave, PreferencesURL: leave,
		ViewURL: a.issueURL(list, i.Slug), PollURL: list.Tenant.Origin(a.Origin) + mail.PollPath,
	})
}

var headTag = regexp.MustCompile(`(?i)<head(\s[^>]*)?>`)

// outOfFrame makes the links in an email open outside its frame.
func outOfFrame(page []byte) []byte {
	const base = `<base target="_top">`
	if at := headTag.FindIndex(page); at != nil {
		return append(append(bytes.Clone(page[:at[1]]), base...), page[at[1]:]...)
	}
	return append([]byte(base), page...)
}
