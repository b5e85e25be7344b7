package campaigns

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"reflect"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
)

// archive serves the public archives of lists, which contain the campaigns sent to a list. The responses are the same
// for every caller.
type archive struct {
	*Room
	feeds    *feedCache
	logos    *logoCache
	searches *web.Limiter
}

type archivePath struct {
	List string `path:"list,text"`
}

// archiveQuery is the query of an archive page.
type archiveQuery struct {
	Q      string `query:"q" about:"Words in the title or text"`
	Before string `query:"before" about:"Slug of an issue; the page lists older ones"`
}

// archiveRoutes adds the routes for public archives.
func (r *Room) archiveRoutes(t *web.Table) {
	a := archive{r, new(feedCache), new(logoCache), newSearchLimiter()}
	t.Add("GET", "/archive.js", web.Public(), web.Page, web.Query(archiveScript.Serve).Answers("text/javascript"),
		"Script for public archives")
	t.Add("GET", "/a/:list", web.Public(), web.Page, web.Query(a.slash).Fails(core.NotFound),
		"Redirect to the public archive of a list").Named("findArchive")
	t.Add("GET", "/a/:list/", web.Public(), web.Page, web.Serve(a.index).Answers("text/html").
		DescribesQuery(reflect.TypeFor[archiveQuery]()).Fails(core.NotFound, core.TooMany),
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
	return web.Redirect{URL: a.home(list)}, nil
}

// find returns the list with the given slug or id, and applies the list's style to the request's pages. If the list has
// no archive at the requested host, it returns core.ErrListNotFound.
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

// hosts reports whether the requested host serves a tenant's archives. If the tenant has its own host, only that one
// does. Otherwise, every host that doesn't belong to another tenant does.
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

// missing returns the error page for an unknown path in a list's archive. The page links to the archive.
func (a archive) missing(c *web.Call, list *core.ListWithTenant, err error) error {
	page.StyleOf(c).Link, page.StyleOf(c).LinkText = a.home(list), page.WordsOf(c).ArchiveAll
	return page.LinkError(c, err)
}

// archivePage is the number of issues on one archive page.
const archivePage = 20

// archiveIndex holds the data for handlers/page/pages/archive.html.
type archiveIndex struct {
	About        []string    // paragraphs of the description
	Newest       *shownIssue // issue shown large; nil: none
	Issues       []shownIssue
	Older, First string // URLs of other pages; empty: none
	Query        string // search text; empty: no search
	Path         string // path of the archive
	Feed         string
	Join         *joinBox
	Others       []otherList
}

// otherList is one of the tenant's other lists, with the path of its signup form.
type otherList struct{ Name, Path string }

// others returns the tenant's other lists if this list's archive is the start page of its host.
func (a archive) others(c *web.Call, list *core.ListWithTenant) (all []otherList, err error) {
	if a.home(list) != "/" {
		return nil, nil
	}
	lists, err := a.Store.Lists(c, []string{list.TenantID}, false, core.Page{Limit: archivePage})
	for i := range lists {
		if l := &lists[i]; l.ID != list.ID && l.Active() {
			all = append(all, otherList{l.Name, a.MemberURL + page.SubscribePath(l.ID)})
		}
	}
	return all, err
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
	if q := strings.TrimSpace(c.Request.URL.Query().Get("q")); q != "" {
		return a.search(c, list, q, before)
	}
	issues, err := a.Store.IssuesBefore(c, list.ID, before, archivePage+1)
	if err != nil {
		return err
	}
	home := a.home(list)
	data := archiveIndex{Path: home, Feed: home + page.FeedName, Join: a.join(list)}
	url := a.url(list)
	if before.No != 0 {
		data.First, url = home, url+"?before="+before.Slug
	} else {
		data.About = page.Paragraphs(list.Description)
		if data.Others, err = a.others(c, list); err != nil {
			return err
		}
	}
	if len(issues) > archivePage {
		issues = issues[:archivePage]
		data.Older = home + "?before=" + issues[archivePage-1].Slug
	}
	data.Issues = web.RowsOf(issues, func(i *core.Issue) shownIssue { return a.row(c, list, i) })
	v := page.View{Title: list.Name, Public: &page.PublicPage{
		URL: url, Kind: "website", Title: list.Name, Summary: firstOf(page.Paragraphs(list.Description)),
		Data: a.blog(c, list, issues),
	}}
	if before.No == 0 && len(issues) > 0 {
		data.Newest, data.Issues = &data.Issues[0], data.Issues[1:]
	}
	v.Data = data
	return a.page(c, list, "archive", v)
}

func firstOf(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[0]
}

// found returns the list and the issue in the request's path.
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

// page responds with an archive page. pictures holds the CSP sources for images on other hosts.
func (a archive) page(c *web.Call, list *core.ListWithTenant, name string, v page.View, pictures ...string) error {
	brand := page.StyleOf(c).Brand
	v.Public.Site, v.Public.Home = brand.Name, a.home(list)
	if v.Public.Home == "/" {
		v.Public.Manage = a.MemberURL + page.PreferencesPath(list.ID)
	}
	if v.Public.Image == "" {
		v.Public.Image = brand.Logo
	}
	v.Public.Plate = brand.Logo != "" && brand.Dark == "" &&
		a.logos.dark(brand.Logo, func() bool { return a.HiddenInDark(c, brand.Logo) })
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
	policy := h.Get("Content-Security-Policy")
	for _, p := range pictures {
		policy = strings.Replace(policy, "img-src 'self' data:", "img-src 'self' data: "+p, 1)
	}
	h.Set("Content-Security-Policy", policy+"; frame-src 'self'")
	serveText(c, "text/html; charset=utf-8", out.Body, time.Time{})
	return nil
}

// archiveCache lets caches keep an archive page for one minute. A removed page can stay visible for that long.
const archiveCache = "public, max-age=60"

// serveText responds with content that is the same for every caller. It supports conditional requests (RFC 9110 section
// 13).
func serveText(c *web.Call, kind string, body []byte, modified time.Time) {
	h, sum := c.Header(), sha256.Sum256(body)
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", archiveCache)
	h.Set("Etag", `"`+hex.EncodeToString(sum[:])+`"`)
	c.Request.Header.Del("Range")
	http.ServeContent(c.Stream(), c.Request, "", modified, bytes.NewReader(body))
}
