package web

import (
	"mime"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/text/language"

	"newsletterd/core"
)

// PageHeaders sets the headers of every page. They forbid framing, loading from other sites and posting to them, and
// send no referrer. images is an additional CSP source for images, script is the CSP source for scripts, and targets
// are additional origins for the page's forms. The layout relaxes no-referrer to same-origin, which reveals no more to
// other sites. With no-referrer, a form's Origin would be null. Browsers that don't send Sec-Fetch-Site couldn't submit
// forms: old browsers, and all browsers over plain HTTP.
func (c *Call) PageHeaders(images, script string, targets ...string) {
	csp := "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self' data:" + images + "; form-action 'self'"
	for _, t := range targets {
		csp += " " + t
	}
	if script != "" {
		csp += "; script-src " + script
	}
	h := c.Header()
	h.Set("Content-Security-Policy", csp+"; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	if c.frame.secure() {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// secure reports whether the public URL uses https.
func (h *Handler) secure() bool { return strings.HasPrefix(h.publicURL, "https://") }

// SourceOf returns the CSP source of a URL: its origin, or only the scheme if the URL has no host (RFC 8252 section
// 7.1).
func SourceOf(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Scheme == "":
		return "'self'"
	case u.Host == "" || (u.Scheme != "https" && u.Scheme != "http"):
		return u.Scheme + ":"
	}
	return u.Scheme + "://" + u.Host
}

var browserLanguages = func() language.Matcher {
	var tags []language.Tag
	for _, lang := range core.Languages {
		tags = append(tags, language.MustParse(lang))
	}
	return language.NewMatcher(tags)
}()

// Language returns the language that the signed-in user chose, or else the supported one that the browser prefers (RFC
// 9110 section 12.5.4). It returns an empty string if the browser accepts none of them.
func (c *Call) Language() string {
	if c.chosen != "" {
		return c.chosen
	}
	tags, _, err := language.ParseAcceptLanguage(c.Request.Header.Get("Accept-Language"))
	if err != nil {
		return ""
	}
	_, i, sure := browserLanguages.Match(tags...)
	if sure == language.No {
		return ""
	}
	return core.Languages[i]
}

// PrefersHTML reports whether an Accept header (RFC 9110 section 12.5.1) contains text/html and doesn't rank a JSON
// type higher.
func PrefersHTML(accept string) bool {
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
