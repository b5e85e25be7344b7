package handlers

import (
	"context"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"newsletterd/core"
)

// programPaths are where nothing is ever a page but what the table says: they are for programs, also when a browser asks.
var programPaths = []string{"/api", "/webhooks", "/.well-known", "/healthz", "/openapi"}

// readsPages reports whether the request is a browser's for a path that people may end up at.
func (c *Call) readsPages(path string) bool {
	for _, p := range programPaths {
		if rest, ok := strings.CutPrefix(path, p); ok && (rest == "" || rest[0] == '/' || rest[0] == '.' || rest[0] == '-') {
			return false
		}
	}
	return prefersHTML(c.Request.Header.Get("Accept"))
}

// prefersHTML reports whether a header Accept (RFC 9110 section 12.5.1) names text/html, and no form of JSON that it likes better.
func prefersHTML(accept string) bool {
	html, json := 0.0, 0.0
	for part := range strings.SplitSeq(accept, ",") {
		kind, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q := 1.0
		if s := params["q"]; s != "" {
			if q, err = strconv.ParseFloat(s, 64); err != nil || q < 0 || q > 1 {
				continue
			}
		}
		switch kind {
		case "text/html", "application/xhtml+xml":
			html = max(html, q)
		case "application/json", "application/problem+json":
			json = max(json, q)
		}
	}
	return html > 0 && html >= json
}

// noPath answers a path that is not in the table. A browser gets a page, with the looks of the tenant whose host it asked; at
// the root that is the tenant's lists, and at the daemon's own host the way to sign in.
func (h *Handler) noPath(c *Call, path string) {
	if !c.readsPages(path) {
		c.fail(errNoRoute)
		return
	}
	answer := h.rootPage
	if path != "/" || c.Request.Method != http.MethodGet && c.Request.Method != http.MethodHead {
		answer = h.lostPage
	}
	ctx, cancel := context.WithTimeout(c.Context, handlerTimeout)
	defer cancel()
	c.Context = ctx
	v, err := answer(c)
	switch {
	case err != nil:
		c.fail(err)
	case v.To != "":
		c.redirect(v.To)
	default:
		c.write(http.StatusOK, "text/html; charset=utf-8", v.Body)
	}
}

func (h *Handler) lostPage(c *Call) (HTML, error) {
	if _, _, err := h.hostTenant(c); err != nil {
		return HTML{}, err
	}
	return HTML{}, errNoRoute
}

// listLink is a list on the page of a tenant.
type listLink struct {
	Name, Path  string
	Description []string
}

// rootPage is the page of the tenant whose public_url names the host, with a link to the form of each active list.
func (h *Handler) rootPage(c *Call) (HTML, error) {
	lists, found, err := h.hostTenant(c)
	if err != nil {
		return HTML{}, err
	}
	if !found {
		to := "/login"
		if c.cookie(sessionCookie) != "" {
			to = accountPath
		}
		return HTML{To: h.publicURL + to}, nil
	}
	data := struct {
		Lists       []listLink
		Preferences string
	}{}
	for _, l := range lists {
		data.Lists = append(data.Lists, listLink{l.Name, subscribePath(l.ID), paragraphs(l.Description)})
		data.Preferences = preferencesPath(l.ID)
	}
	return c.render(0, "home", view{Title: c.dress.say(c.words().HomeTitle), Data: data})
}

// hostTenant dresses the pages as the tenant whose public_url names the host that was asked wants them, and returns its active lists.
// The daemon's own host is nobody else's.
func (h *Handler) hostTenant(c *Call) (lists []core.List, found bool, err error) {
	host := hostOf(c.Request.Host)
	if own, err := url.Parse(h.publicURL); err != nil || host == "" || host == hostOf(own.Host) {
		return nil, false, nil
	}
	tenants, err := h.options.Store.TenantsAt(c, host)
	if err != nil || len(tenants) == 0 {
		return nil, false, err
	}
	t := &tenants[0]
	c.Tenant = t.ID
	c.wearTenant(t)
	all, err := h.options.Store.Lists(c, []string{t.ID}, false, core.Page{Limit: maxHomeLists})
	for _, l := range all {
		if l.Active() {
			lists = append(lists, l)
		}
	}
	return lists, true, err
}

// maxHomeLists is how many lists the page of a tenant looks at.
const maxHomeLists = 100

// hostOf is a host with its port in lower case, without the port that a scheme has anyway; empty for what is no host.
func hostOf(s string) string {
	s = strings.ToLower(s)
	if host, port, err := net.SplitHostPort(s); err == nil && (port == "443" || port == "80") {
		return host
	}
	return s
}
