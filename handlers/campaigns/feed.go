package campaigns

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/mail/article"
	"newsletterd/store/campaigns"
)

const (
	feedIssues  = 20            // number of issues in a feed
	feedContent = 900 * web.KiB // maximum size of the content in a feed; further entries have only summaries
	feedsKept   = 16 * web.MiB  // maximum size of the feeds in memory
)

// atomFeed is an Atom feed (RFC 4287 section 4.1.1).
type atomFeed struct {
	XMLName   xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	Lang      string      `xml:"xml:lang,attr"`
	ID        string      `xml:"id"`
	Title     string      `xml:"title"`
	Subtitle  string      `xml:"subtitle,omitempty"`
	Updated   string      `xml:"updated"`
	Author    string      `xml:"author>name"`
	Links     []atomLink  `xml:"link"`
	Logo      string      `xml:"logo,omitempty"`
	Generator string      `xml:"generator"`
	Entries   []atomEntry `xml:"entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr"`
	Href string `xml:"href,attr"`
}

// atomEntry is an issue in an Atom feed (RFC 4287 section 4.1.2).
type atomEntry struct {
	ID        string       `xml:"id"`
	Title     string       `xml:"title"`
	Published string       `xml:"published"`
	Updated   string       `xml:"updated"`
	Link      atomLink     `xml:"link"`
	Summary   string       `xml:"summary,omitempty"`
	Content   *atomContent `xml:"content"`
}

// atomContent is escaped HTML (RFC 4287 section 4.1.3.3).
type atomContent struct {
	Type string `xml:"type,attr"`
	HTML string `xml:",chardata"`
}

// feed responds with the newest issues in an archive as an Atom feed.
func (a archive) feed(c *web.Call) error {
	list, err := a.find(c, c.Param("list"))
	if err != nil {
		return err
	}
	issues, err := a.Store.IssuesBefore(c, list.ID, core.Issue{}, feedIssues)
	if err != nil {
		return err
	}
	key, err := a.feedKey(c, list, issues)
	if err != nil {
		return err
	}
	f, err := a.feeds.of(list.ID, key, c.Now, func() ([]byte, error) {
		return a.writeFeed(c, list, issues)
	})
	if err != nil {
		return err
	}
	serveText(c, "application/atom+xml; charset=utf-8", f.body, f.since.Time())
	return nil
}

// feedKey returns a key for the contents of a feed with these issues. Imported issues can link to issues that aren't in
// the feed.
func (a archive) feedKey(c *web.Call, list *core.ListWithTenant, issues []core.Issue) (key string, err error) {
	mark := ""
	if slices.ContainsFunc(issues, func(i core.Issue) bool { return i.Imported }) {
		mark, err = campaigns.IssuesMark(c, a.Store.DB, list.ID)
	}
	return fmt.Sprint(a.url(list), list.UpdatedAt, list.Tenant.UpdatedAt, mark, issues), err
}

// entryID returns an issue's id in feeds (RFC 4287 section 4.2.6). It stays the same if the archive moves to the root
// of the host.
func (a archive) entryID(list *core.ListWithTenant, i *core.Issue) string {
	if i.Imported {
		return list.Tenant.Origin(a.Origin) + list.ArchivePath() + i.Slug
	}
	return "urn:uuid:" + i.CampaignID
}

func (a archive) writeFeed(c *web.Call, list *core.ListWithTenant, issues []core.Issue) ([]byte, error) {
	updated := list.CreatedAt
	for i := range issues {
		updated = max(updated, issues[i].SentAt, issues[i].ChangedAt)
	}
	url := a.url(list)
	f := atomFeed{
		Lang: list.PageLanguage(), ID: "urn:uuid:" + list.ID, Title: list.Name, Subtitle: list.Description,
		Updated: updated.Time().Format(time.RFC3339), Author: page.StyleOf(c).Brand.Name,
		Logo:      page.StyleOf(c).Brand.Logo,
		Generator: page.OwnName,
		Links: []atomLink{
			{"self", "application/atom+xml", url + page.FeedName}, {"alternate", "text/html", url},
		},
	}
	size := 0
	for i := range issues {
		sent := issues[i].SentAt.Time().Format(time.RFC3339)
		e := atomEntry{
			ID: a.entryID(list, &issues[i]), Title: issues[i].Title, Published: sent,
			Updated: max(issues[i].SentAt, issues[i].ChangedAt).Time().Format(time.RFC3339),
			Link:    atomLink{"alternate", "text/html", a.issueURL(list, issues[i].Slug)}, Summary: issues[i].Summary,
		}
		body, err := a.feedText(c, list, &issues[i])
		if err != nil {
			return nil, err
		}
		if more := escapedSize(body); size+more <= feedContent {
			e.Content = &atomContent{"html", body}
			size += more
		} else if e.Summary == "" {
			e.Summary = e.Title // section 4.1.2: an entry without content must have a summary
		}
		f.Entries = append(f.Entries, e)
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	err := xml.NewEncoder(&b).Encode(&f)
	return b.Bytes(), err
}

// escapedSize estimates the size in bytes of text that encoding/xml has escaped.
func escapedSize(s string) int {
	n := len(s)
	for _, c := range []byte(s) {
		switch c {
		case '<', '>', '&', '"', '\'', '\n', '\t', '\r':
			n += 4
		}
	}
	return n
}

// feedText returns the content of an issue: its article or, if archives show the email in a frame, the email's body.
// Its URLs are absolute, as in emails.
func (a archive) feedText(c *web.Call, list *core.ListWithTenant, i *core.Issue) (string, error) {
	text, err := a.article(c, list, i)
	if err != nil {
		return "", err
	}
	if text.HTML != "" {
		if note := page.WordsOf(c).CorrectedAt(i.Corrected); note != "" {
			return "<p><em>" + html.EscapeString(note) + "</em></p>\n" + text.HTML, nil
		}
		return text.HTML, nil
	}
	email, err := a.render(c, list, i)
	if err != nil {
		return "", err
	}
	whole := fragment(email)
	if mended, err := article.WellFormed(whole); err == nil {
		return mended, nil
	}
	return whole, nil // nested too deeply for the parser
}

var outOfPlace = regexp.MustCompile(`(?is)<!--.*?-->|<style(\s[^>]*)?>.*?</style\s*>`)

// fragment returns the contents of a page's body as HTML for use in another page.
func fragment(page []byte) string {
	return strings.TrimSpace(outOfPlace.ReplaceAllString(article.InBody(string(page)), ""))
}

// feedCache holds the latest version of each feed, because a feed requires rendering up to feedIssues issues.
type feedCache struct {
	writing sync.Mutex // held while a feed is written, so that concurrent requests don't write the same one
	mu      sync.Mutex
	feeds   map[string]keptFeed // feeds by list id
	size    int                 // size of all feeds, in bytes
}

type keptFeed struct {
	key   string // identifies the contents
	body  []byte
	since core.Instant // time when the feed got these contents
}

// held returns a list's feed if it is in the cache with the contents that key identifies.
func (k *feedCache) held(listID, key string) (f keptFeed, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f = k.feeds[listID]
	return f, f.key == key
}

// of returns a list's feed. If it isn't in the cache with the contents that key identifies, of calls write and returns
// write's errors.
func (k *feedCache) of(listID, key string, now core.Instant, write func() ([]byte, error)) (keptFeed, error) {
	if f, ok := k.held(listID, key); ok {
		return f, nil
	}
	k.writing.Lock()
	defer k.writing.Unlock()
	if f, ok := k.held(listID, key); ok {
		return f, nil
	}
	body, err := write()
	if err != nil {
		return keptFeed{}, err
	}
	f := keptFeed{key, body, now}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.size += len(f.body) - len(k.feeds[listID].body); k.feeds == nil || k.size > feedsKept {
		k.feeds, k.size = map[string]keptFeed{}, len(f.body)
	}
	k.feeds[listID] = f
	return f, nil
}
