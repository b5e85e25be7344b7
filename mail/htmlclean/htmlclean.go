package htmlclean

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/microcosm-cc/bluemonday"
)

// maxInline is the maximum size of an inline image, in bytes of its URL.
const maxInline = 100 << 10

// inlinePicture matches an image's data URL after "data:". It doesn't match SVG, because SVG can contain scripts.
var inlinePicture = regexp.MustCompile(`^image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$`)

var policy, postPolicy = newPolicy(), newPostPolicy()

func newPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("article", "section", "p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre",
		"code", "em", "strong", "b", "i", "u", "s", "del", "ins", "mark", "small", "sub", "sup", "kbd", "samp", "var",
		"abbr", "cite", "q", "ul", "dl", "dt", "dd", "div", "span", "figure", "figcaption", "picture", "details",
		"summary", "time", "caption", "thead", "tbody", "tfoot", "tr", "table", "li")
	p.AllowAttrs("start", "reversed").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowElements("ol")
	p.AllowAttrs("colspan", "rowspan").Matching(bluemonday.Integer).OnElements("td", "th")
	p.AllowElements("td", "th")
	p.AllowAttrs("datetime").Matching(bluemonday.ISO8601).OnElements("time")
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("src").OnElements("img")
	p.AllowAttrs("alt", "title").OnElements("img")
	p.AllowAttrs("width", "height").Matching(bluemonday.Integer).OnElements("img")
	p.AllowURLSchemes("http", "https", "mailto", "tel")
	p.AllowURLSchemeWithCustomPolicy("data", func(u *url.URL) bool {
		return len(u.Opaque) <= maxInline && u.RawQuery == "" && u.Fragment == "" && inlinePicture.MatchString(u.Opaque)
	})
	p.AllowRelativeURLs(true)
	p.RequireParseableURLs(true)
	p.RequireNoReferrerOnLinks(true)
	p.AddSpaceWhenStrippingTag(false)
	// The content of these was already removed. bluemonday would also remove what follows if a tag is missing.
	p.AllowElementsContent("frame", "frameset", "iframe", "noembed", "noframes", "noscript", "nostyle", "object",
		"title")
	return p
}

// anchor matches the ids that are kept so that links can lead to them.
var anchor = regexp.MustCompile(`^[\w:.-]{1,100}$`)

// newPostPolicy returns a policy that also keeps ids and classes.
func newPostPolicy() *bluemonday.Policy {
	p := newPolicy()
	p.AllowAttrs("id").Matching(anchor).Globally()
	p.AllowAttrs("class").Matching(bluemonday.SpaceSeparatedTokens).OnElements("div", "p")
	return p
}

// Post is like Body, but keeps ids and the classes of some elements. The caller must remove the classes, and all ids
// that the surrounding page also has.
func Post(html string) string { return strings.TrimSpace(postPolicy.Sanitize(kept(html))) }

// Body sanitizes HTML and returns a fragment for the body of a page.
func Body(html string) string { return strings.TrimSpace(policy.Sanitize(kept(html))) }
