package markup

import (
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
	"golang.org/x/net/idna"

	"newsletterd/mail"
)

// resolve resolves the escapes in the destination of a Markdown link.
func (r *markdownReader) resolve(destination []byte) string {
	return r.d.marks.between(destination, func(text string) string {
		return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations([]byte(text)))))
	})
}

// href percent-encodes the URL of a link, except for marks. If no email client would open the URL, href adds a warning
// and returns an empty string.
func (r *markdownReader) href(n ast.Node, destination string) string {
	clean, problem := r.d.cleanURL(destination, true)
	if problem != "" {
		r.warn(n, badLink, problem)
	}
	return clean
}

// imageURL is like href, for the URL of an image.
func (r *markdownReader) imageURL(n ast.Node, destination string) string {
	clean, problem := r.d.cleanURL(destination, false)
	if problem != "" {
		r.warn(n, badLink, problem)
	}
	return clean
}

// cleanURL returns a URL in the form for an attribute, and a description of the problem with it, if any. isLink is true
// for links and false for images.
func (d *document) cleanURL(raw string, isLink bool) (clean, problem string) {
	raw = strings.TrimSpace(raw)
	scheme, _, found := strings.Cut(raw, ":")
	switch scheme = strings.ToLower(scheme); {
	case raw == "" && isLink:
		return "", "A link has no URL."
	case raw == "":
		return "", "An image has no URL."
	case strings.HasPrefix(raw, string(markOpen)):
		return d.escapeURL(raw), ""
	case strings.HasPrefix(raw, "#"):
		return "", "A link points inside the email. Many email programs don't support that, so it is left out."
	case (!found || strings.ContainsAny(scheme, "/?#")) && isLink:
		return "", "A link needs a full URL, starting with https://."
	case !found || strings.ContainsAny(scheme, "/?#"):
		return d.escapeURL(raw), "An image needs a full URL, starting with https://."
	case scheme == "https", scheme == "http":
		u, err := url.Parse(d.marks.bare(raw))
		if err != nil || u.Host == "" {
			return "", "A URL is malformed. Its link is left out."
		}
		if ascii, err := idna.Lookup.ToASCII(u.Hostname()); err == nil && ascii != u.Hostname() {
			raw = strings.Replace(raw, u.Hostname(), ascii, 1)
		}
		return d.escapeURL(raw), ""
	case isLink && (scheme == "mailto" || scheme == "tel"):
		return d.escapeURL(raw), ""
	}
	return "", "Email programs don't open URLs that start with " + strings.ToValidUTF8(scheme, "") + ":"
}

// escapeURL percent-encodes the characters that are not valid in a URL, except for marks.
func (d *document) escapeURL(raw string) string {
	var b strings.Builder
	d.marks.each(raw, func(text string) {
		b.Write(util.URLEscape([]byte(text), false))
	}, func(mark string, _ mail.Placeholder) { b.WriteString(mark) })
	return b.String()
}
