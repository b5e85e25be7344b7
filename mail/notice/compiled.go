package notice

import (
	"crypto/rand"
	"maps"
	"strings"
	"sync/atomic"

	"newsletterd/core"
)

// compiledNotice is a rendered notice in which only the address and the link, which differ between emails, are missing.
type compiledNotice struct{ subject, text, html compiledText }

// compiledText is text with placeholders: placeholders[i] follows segments[i].
type compiledText struct {
	segments     []string
	placeholders []placeholder
	size         int // bytes of all segments
}

// placeholder identifies the value to insert between two segments: the address or the link.
type placeholder uint8

const (
	address placeholder = iota
	link
)

// Placeholders for the address and the link in rendered notices. Tenants can't guess them, and the templates don't
// escape any of their characters.
var (
	standInTo  = strings.ToLower(rand.Text()) + "@example.invalid"
	standInURL = "https://example.invalid/" + strings.ToLower(rand.Text())
)

// cacheKey holds everything that a compiled notice depends on.
type cacheKey struct {
	kind Kind
	data Data // without To and URL
}

// maxCompiled limits the memory of the cache. Each list needs a few entries.
const maxCompiled = 512

var cache atomic.Pointer[map[cacheKey]*compiledNotice]

// fills reports whether the address and link can be inserted into a compiled notice, because they contain no characters
// that the templates escape, except those in entities. All other notices are rendered by the templates, for example if
// the address contains an apostrophe. So are notices about reviews, because no two of these are alike.
func (d *Data) fills() bool {
	absolute := strings.HasPrefix(d.URL, "https://") || strings.HasPrefix(d.URL, "http://")
	return d.To != "" && d.Review == (core.ReviewMail{}) && absolute && plainLink(d.To) && plainLink(d.URL)
}

// plainLink reports whether s contains only characters that the templates don't escape or that entities replaces.
func plainLink(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte("-._~@/:?=+&", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// entities escapes like html/template, in text and in quoted attributes.
var entities = strings.NewReplacer("&", "&amp;", "+", "&#43;")

// compile returns a compiled notice from the cache. If it is missing there, compile renders it with placeholders.
func (k Kind) compile(d Data) (*compiledNotice, error) {
	d.To, d.URL = "", ""
	key := cacheKey{k, d}
	old := cache.Load()
	if old != nil {
		if c := (*old)[key]; c != nil {
			return c, nil
		}
	}
	d.To, d.URL = standInTo, standInURL
	subject, text, html, err := k.execute(d)
	if err != nil {
		return nil, err
	}
	c := &compiledNotice{compileText(subject), compileText(text), compileText(html)}
	all := map[cacheKey]*compiledNotice{}
	if old != nil && len(*old) < maxCompiled {
		maps.Copy(all, *old)
	}
	all[key] = c
	cache.Store(&all) // may drop a notice compiled concurrently, which is compiled again later
	return c, nil
}

// compileText splits rendered text at its placeholders.
func compileText(s string) (c compiledText) {
	for {
		to, url := strings.Index(s, standInTo), strings.Index(s, standInURL)
		switch {
		case to >= 0 && (url < 0 || to < url):
			c.segments, c.placeholders = append(c.segments, s[:to]), append(c.placeholders, address)
			s = s[to+len(standInTo):]
		case url >= 0:
			c.segments, c.placeholders = append(c.segments, s[:url]), append(c.placeholders, link)
			s = s[url+len(standInURL):]
		default:
			c.segments = append(c.segments, s)
			for _, p := range c.segments {
				c.size += len(p)
			}
			return c
		}
	}
}

// fill returns the text with the given address and link inserted.
func (c *compiledText) fill(to, url string) string {
	if len(c.placeholders) == 0 {
		return c.segments[0]
	}
	var b strings.Builder
	b.Grow(c.size + len(c.placeholders)*max(len(to), len(url)))
	for i, p := range c.placeholders {
		b.WriteString(c.segments[i])
		if p == address {
			b.WriteString(to)
		} else {
			b.WriteString(url)
		}
	}
	b.WriteString(c.segments[len(c.placeholders)])
	return b.String()
}
