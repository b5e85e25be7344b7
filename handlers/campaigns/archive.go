package campaigns

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/mail"
)

// archive serves the public archives of lists, which contain the campaigns sent to a list. The responses are the same
// for every caller.
type archive struct {
	*Room
	feeds *feedCache
}

//go:embed archive.js
var archiveJS string

// archiveScript sets the height of an email's frame to that of its contents.
var archiveScript = page.Script{Path: "/archive.js", Body: archiveJS}

type archivePath struct {
	List string `path:"list,text"`
}

// archiveRoutes adds the routes of the public archives.
func (r *Room) archiveRoutes(t *web.Table) {
	a := archive{r, new(feedCache)}
	t.Add("GET", "/archive.js", web.Public(), web.Page, web.Query(archiveScript.Serve).Answers("text/javascript"),
		"Script for public archives")
	t.Add("GET", "/a/:list", web.Public(), web.Page, web.Query(a.slash).Fails(core.NotFound),
		"Redirect to the public archive of a list").Named("findArchive")
	t.Add("GET", "/a/:list/", web.Public(), web.Page, web.Serve(a.index).Answers("text/html").Fails(core.NotFound),
		"Show the public archive of a list, newest issue first").Named("showArchive")
	t.Add("GET", "/a/:list/:issue", web.Public(), web.Page, web.Serve(a.issue).Answers("text/html",
		"application/atom+xml").Fails(core.NotFound),
		"Show an issue in the public archive").Named("showIssue")
	t.Add("GET", "/a/:list/:issue/mail", web.Public(), web.Page,
		web.Serve(a.mail).Answers("text/html").Fails(core.NotFound),
		"Show an issue's email, framed by the issue's page").Named("showIssueMail")
}

func (a archive) slash(c *web.Call, in archivePath) (web.Redirect, error) {
	list, err := a.find(c, in.List)
	if err != nil {
		return web.Redirect{}, err
	}
	return web.Redirect{URL: list.ArchivePath()}, nil
}

// find returns the list with a slug or an id, and applies its style. It returns core.ErrListNotFound if the list has no
// archive at the requested host.
func (a archive) find(c *web.Call, slug string) (*core.ListWithTenant, error) {
	ids := []string{slug}
	if id, ok := core.ParseID(slug); ok {
		ids[0] = id
	} else {
		found, err := a.Store.ListsBySlug(c, slug)
		if err != nil {
			return nil, err
		}
		ids = found
	}
	for _, id := range ids {
		list, err := a.Store.ListWithTenant(c, id)
		if core.KindOf(err) == core.NotFound {
			continue
		}
		here := false
		if err == nil && list.Archive && list.Tenant.Active() {
			here, err = a.hosts(c, &list.Tenant)
		}
		if err != nil {
			return nil, err
		}
		if here {
			page.ApplyList(c, list, "")
			return list, nil
		}
	}
	return nil, core.ErrListNotFound
}

// hosts reports whether the archives of a tenant are at the requested host. They are at the tenant's own host. If the
// tenant has none, they are at every host that doesn't belong to another tenant.
func (a archive) hosts(c *web.Call, t *core.Tenant) (bool, error) {
	host := web.HostOf(c.Request.Host)
	if host == core.OriginHost(t.Origin(a.Origin)) {
		return true, nil
	}
	if t.PublicURL != "" {
		return false, nil
	}
	others, err := a.Store.TenantsAt(c, host)
	return len(others) == 0, err
}

// missing returns the error page for a path that the archive of a list doesn't have. The page links to the archive.
func (a archive) missing(c *web.Call, list *core.ListWithTenant, err error) error {
	page.StyleOf(c).Link, page.StyleOf(c).LinkText = list.ArchivePath(), page.WordsOf(c).ArchiveAll
	return page.LinkError(c, err)
}

// openGraphLocales maps languages to the form of the Open Graph protocol, which requires a territory.
var openGraphLocales = map[string]string{"en": "en_US", "de": "de_DE", "fr": "fr_FR", "es": "es_ES"}

// shownIssue holds an issue in the form that pages show.
type shownIssue struct {
	Path, Title, Summary string
	Date, At             string // in words, and machine-readable
	Corrected            string // in words; empty: not corrected
}

func issueRow(c *web.Call, list *core.ListWithTenant, i *core.Issue) shownIssue {
	return shownIssue{
		list.ArchivePath() + i.Slug, i.Title, i.Summary, page.WordsOf(c).DayOf(i.SentAt.Time()),
		i.SentAt.Time().Format(time.RFC3339), page.WordsOf(c).CorrectedAt(i.Corrected),
	}
}

// joinBox is the signup form below an issue. It contains only the required fields.
type joinBox struct {
	Action  string
	Fields  []page.FormField
	Consent []string
}

// join returns the signup form of a list, or nil if the list accepts no signups.
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

func (a archive) url(list *core.ListWithTenant) string { return page.ArchiveURL(list, a.Origin) }

// archivePage is the number of issues on a page of an archive.
const archivePage = 20

// archiveIndex is the Data of handlers/page/pages/archive.html.
type archiveIndex struct {
	About         []string // paragraphs
	Issues        []shownIssue
	Older, Newest string // URLs of other pages; empty: none
	Feed          string
	Join          *joinBox
}

func (a archive) index(c *web.Call) error {
	list, err := a.find(c, c.Param("list"))
	if err != nil {
		return err
	}
	before := core.Issue{}
	if slug := c.Request.URL.Query().Get("before"); slug != "" {
		if before, err = a.Store.Issue(c, list.ID, slug); err != nil {
			return a.missing(c, list, err)
		}
	}
	issues, err := a.Store.IssuesBefore(c, list.ID, before, archivePage+1)
	if err != nil {
		return err
	}
	data := archiveIndex{Feed: list.ArchivePath() + page.FeedName, Join: a.join(list)}
	url := a.url(list)
	if before.No != 0 {
		data.Newest, url = list.ArchivePath(), url+"?before="+before.Slug
	} else {
		data.About = page.Paragraphs(list.Description)
	}
	if len(issues) > archivePage {
		issues = issues[:archivePage]
		data.Older = list.ArchivePath() + "?before=" + issues[archivePage-1].Slug
	}
	data.Issues = web.RowsOf(issues, func(i *core.Issue) shownIssue { return issueRow(c, list, i) })
	return a.page(c, list, "archive", page.View{Title: list.Name, Data: data, Public: &page.PublicPage{
		URL: url, Kind: "website", Title: list.Name, Summary: firstOf(page.Paragraphs(list.Description)),
	}})
}

func firstOf(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[0]
}

// archiveIssue is the Data of handlers/page/pages/issue.html.
type archiveIssue struct {
	shownIssue
	Frame          string
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
	data := archiveIssue{
		shownIssue: issueRow(c, list, &i), Frame: list.ArchivePath() + i.Slug + "/mail", All: list.ArchivePath(),
		Feed: list.ArchivePath() + page.FeedName, Join: a.join(list),
	}
	earlier, err := a.Store.IssuesBefore(c, list.ID, i, 1)
	if err != nil {
		return err
	}
	later, err := a.Store.IssuesAfter(c, list.ID, i, 1)
	if err != nil {
		return err
	}
	for k := range earlier {
		data.Earlier = new(issueRow(c, list, &earlier[k]))
	}
	for k := range later {
		data.Later = new(issueRow(c, list, &later[k]))
	}
	v := page.View{Title: i.Title, Data: data, Script: archiveScript.Address(), Up: page.Link{
		Path: list.ArchivePath(),
		Text: list.Name,
	}}
	v.Public = &page.PublicPage{
		URL: a.url(list) + i.Slug, Kind: "article", Title: i.Title, Summary: i.Summary,
		At: data.At,
	}
	return a.page(c, list, "issue", v)
}

// found returns the list and the issue of the path.
func (a archive) found(c *web.Call) (*core.ListWithTenant, core.Issue, error) {
	list, err := a.find(c, c.Param("list"))
	if err != nil {
		return nil, core.Issue{}, err
	}
	i, err := a.Store.Issue(c, list.ID, c.Param("issue"))
	if err != nil {
		return nil, i, a.missing(c, list, err)
	}
	return list, i, nil
}

// page writes a page of an archive as the response.
func (a archive) page(c *web.Call, list *core.ListWithTenant, name string, v page.View) error {
	v.Public.Site, v.Public.Image = page.StyleOf(c).Brand.Name, page.StyleOf(c).Brand.Logo
	v.Public.Locale = openGraphLocales[page.StyleOf(c).Lang]
	v.Feed = a.url(list) + page.FeedName
	targets := page.RedirectSource(list.SubscribeRedirectURL)
	if a.MemberURL != "" {
		targets = append(targets, web.SourceOf(a.MemberURL))
	}
	out, err := page.Render(c, 0, name, v, targets...)
	if err != nil {
		return err
	}
	h := c.Header()
	h.Set("Content-Security-Policy", h.Get("Content-Security-Policy")+"; frame-src 'self'")
	serveText(c, "text/html; charset=utf-8", out.Body, time.Time{})
	return nil
}

// archiveCache lets caches keep a page of an archive for one minute. A page that is removed can be visible for that
// long.
const archiveCache = "public, max-age=60"

// serveText writes a text that is the same for every caller. For a conditional request it can respond that the text
// hasn't changed (RFC 9110 section 13).
func serveText(c *web.Call, kind string, body []byte, modified time.Time) {
	h, sum := c.Header(), sha256.Sum256(body)
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", archiveCache)
	h.Set("Etag", `"`+hex.EncodeToString(sum[:])+`"`)
	c.Request.Header.Del("Range")
	http.ServeContent(c.Stream(), c.Request, "", modified, bytes.NewReader(body))
}

// framePolicy is viewPolicy for an email in a frame on this server's pages. The page around the frame may read the
// height of the email. The email itself can't run scripts.
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
	c.Header().Set("X-Robots-Tag", "noindex, indexifembedded") // search engines index the page around it
	serveText(c, "text/html; charset=utf-8", outOfFrame(page), time.Time{})
	return nil
}

// render returns the email of an issue for a subscriber with no details. It contains what was approved and sent,
// without tracking and with links that need no token.
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
		Preferences: "{}", Date: i.SentAt.Time(), UnsubscribeURL: leave, PreferencesURL: leave, ViewURL: a.url(list) + i.Slug,
	})
}

var headTag = regexp.MustCompile(`(?i)<head(\s[^>]*)?>`)

// outOfFrame makes the links of an email open outside its frame.
func outOfFrame(page []byte) []byte {
	const base = `<base target="_top">`
	if at := headTag.FindIndex(page); at != nil {
		return append(append(bytes.Clone(page[:at[1]]), base...), page[at[1]:]...)
	}
	return append([]byte(base), page...)
}
