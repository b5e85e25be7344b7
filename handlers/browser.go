package handlers

import (
	"net/http"
	"net/url"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
)

// programPaths lists the root paths for API clients. If a path at or below them is not in the table, even browsers get
// a JSON error.
var programPaths = []string{"/api", "/webhooks", "/.well-known", "/healthz", "/openapi"}

// readsPages reports whether the response to the request should be a page: a browser sent it, and the path is not for
// API clients.
func readsPages(c *web.Call, path string) bool {
	for _, p := range programPaths {
		if rest, ok := strings.CutPrefix(path, p); ok && (rest == "" || rest[0] == '/' || rest[0] == '.' || rest[0] == '-') {
			return false
		}
	}
	return web.PrefersHTML(c.Request.Header.Get("Accept"))
}

// dialectOf returns the error dialect for a path that is not in the table.
func dialectOf(c *web.Call, path string) web.Dialect {
	if readsPages(c, path) {
		return web.Page
	}
	for _, a := range areas {
		if strings.HasPrefix(path, a.prefix) {
			return a.dialect
		}
	}
	return web.Member
}

// pageRoutes adds the routes that all pages share.
func (h *Handler) pageRoutes(t *web.Table) {
	t.Add("GET", "/style.css", web.Public(), web.Page, web.Query(page.ServeStyle).Answers("text/css"),
		"Stylesheet for all pages")
	t.Add("GET", page.FontPath, web.Public(), web.Page, web.Query(page.ServeFont).Answers("font/woff2"),
		"Font of public archives")
	t.Add("GET", page.ItalicFontPath, web.Public(), web.Page, web.Query(page.ServeItalicFont).Answers("font/woff2"),
		"Italic font of public archives")
}

// areas lists the path prefixes that have their own error dialect.
var areas = []struct {
	prefix  string
	dialect web.Dialect
}{
	{"/api/send-jobs", web.Send},
	{"/api/media", web.Send},
	{"/webhooks", web.Send},
	{"/healthz", web.Send},
	{"/api/devices", web.Device},
	{"/api/agents", web.Device},
	{"/api/models", web.Device},
	{"/api/oauth", web.OAuth},
}

// fallback renders the page for a browser that requests a path not in the table. The page has the design of the tenant
// with the requested host. The root path shows the tenant's lists. If the host belongs to no tenant, the root path
// redirects to the sign-in page or the console.
func (h *Handler) fallback(c *web.Call, path string) (web.HTML, error) {
	if path == "/" && (c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead) {
		return h.rootPage(c)
	}
	return h.lostPage(c)
}

// errorPage renders an error page. If the status is 404, the page links to the start page.
func errorPage(c *web.Call, status int, e web.ErrorBody) (web.HTML, error) {
	if s := page.StyleOf(c); status == http.StatusNotFound && s.Link == "" {
		s.Link, s.LinkText = "/", page.WordsOf(c).ToHome
		if path := c.Request.URL.Path; path == page.ConsolePath || strings.HasPrefix(path, page.ConsolePath+"/") {
			s.Link, s.LinkText = page.ConsolePath, page.WordsOf(c).ToConsole
		}
	}
	return page.ErrorPage(c, status, e)
}

func (h *Handler) lostPage(c *web.Call) (web.HTML, error) {
	if _, _, err := h.hostTenant(c); err != nil {
		return web.HTML{}, err
	}
	return web.HTML{}, web.ErrNoRoute
}

// listLink is a link to a list on a tenant's start page.
type listLink struct {
	Name, Path  string
	Archive     string // URL of its archive; empty if it has none
	Description []string
}

// rootPage shows the start page of the tenant whose public_url has the requested host, with a link to each active
// list's signup form. If there is no such tenant, it redirects to the sign-in page or the console.
func (h *Handler) rootPage(c *web.Call) (web.HTML, error) {
	lists, found, err := h.hostTenant(c)
	if err != nil {
		return web.HTML{}, err
	}
	if !found {
		to := "/login"
		if c.Cookie(web.SessionCookie) != "" {
			to = page.ConsolePath
		}
		return web.HTML{To: h.publicURL + to}, nil
	}
	data := struct {
		Lists       []listLink
		Preferences string
	}{}
	for _, l := range lists {
		data.Lists = append(data.Lists, listLink{
			Name: l.Name, Path: page.SubscribePath(l.ID),
			Description: page.Paragraphs(l.Description),
		})
		if l.Archive {
			data.Lists[len(data.Lists)-1].Archive = l.ArchivePath()
		}
		data.Preferences = page.PreferencesPath(l.ID)
	}
	return page.Render(c, 0, "home", page.View{Title: page.StyleOf(c).Expand(page.WordsOf(c).HomeTitle), Data: data})
}

// hostTenant applies the style of the tenant whose public_url has the requested host, and returns its active lists. The
// server's own host belongs to no tenant.
func (h *Handler) hostTenant(c *web.Call) (lists []core.List, found bool, err error) {
	host := web.HostOf(c.Request.Host)
	if own, err := url.Parse(h.publicURL); err != nil || host == "" || host == web.HostOf(own.Host) {
		return nil, false, nil
	}
	tenants, err := h.options.Store.TenantsAt(c, host)
	if err != nil || len(tenants) == 0 {
		return nil, false, err
	}
	t := &tenants[0]
	c.Tenant = t.ID
	page.ApplyTenant(c, t)
	all, err := h.options.Store.Lists(c, []string{t.ID}, false, core.Page{Limit: maxHomeLists})
	for _, l := range all {
		if l.Active() {
			lists = append(lists, l)
		}
	}
	return lists, true, err
}

// maxHomeLists is the maximum number of lists read for a tenant's start page.
const maxHomeLists = 100
