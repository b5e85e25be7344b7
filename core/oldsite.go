package core

import (
	"net/url"
	"strings"
)

// OldSite is the address of a site that another tool serves, such as https://blog.example.org or
// https://example.org/blog. It has no trailing slash. It is empty if the address is unknown.
type OldSite string

// ParseOldSite parses a site's address as people write it. The default scheme is https.
func ParseOldSite(s string) (OldSite, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return "", nil
	}
	if !strings.Contains(s, "://") {
		s = "https://" + s
	}
	u, err := url.Parse(s)
	if err != nil || !isWebURL(s) || !hasWholeHost(s) || u.RawQuery != "" || u.Fragment != "" {
		return "", Invalidf("site", "site must be the URL of your old site, for example https://blog.example.org.")
	}
	return OldSite(strings.TrimRight(s, "/")), nil
}

// IsRelative reports whether an address in a post is relative to the post's site.
func IsRelative(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "" && u.Host == "" && u.Path != ""
}

// At returns the absolute form of a URL that occurs in one of the site's posts. If the site is unknown, it returns an
// empty string for a relative address.
func (s OldSite) At(address string) string {
	if !IsRelative(address) {
		return address
	}
	site, err := url.Parse(string(s))
	if s == "" || err != nil {
		return ""
	}
	u, _ := url.Parse(address) // IsRelative has parsed it
	at := site.JoinPath(u.EscapedPath())
	at.RawQuery, at.Fragment = u.RawQuery, u.Fragment
	return at.String()
}

// Path returns the path below the site for an address in one of its posts, or an empty string if the address leads
// elsewhere. A leading www in the host is ignored.
func (s OldSite) Path(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Path == "" {
		return ""
	}
	if IsRelative(address) {
		return "/" + strings.TrimLeft(u.Path, "/")
	}
	site, err := url.Parse(string(s))
	if err != nil || site.Host == "" || bareHost(u) != bareHost(site) || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	path, ok := strings.CutPrefix(u.Path, site.Path+"/")
	if !ok {
		return ""
	}
	return "/" + path
}

func bareHost(u *url.URL) string { return strings.TrimPrefix(strings.ToLower(u.Host), "www.") }
