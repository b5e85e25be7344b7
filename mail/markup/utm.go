package markup

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"newsletterd/core"
	"newsletterd/mail"
)

var (
	anyPlaceholder = regexp.MustCompile(`(?s)\{\{.*?\}\}|\{%.*?%\}`)
	keptMark       = regexp.MustCompile("\x01([0-9]+)\x02")
	hrefValue      = regexp.MustCompile(`(?is)\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)
	textAddress    = regexp.MustCompile(`(?i)https?://[^\s<>"'()\[\]]+`)
	utmGiven       = regexp.MustCompile(`(?i)[?&;]utm_[a-z]+=`)
	ownPlaceholder = regexp.MustCompile(`\b(unsubscribe_url|unsubscribe_token|preferences_url|view_url)\b`)
)

// tagger adds a query with UTM parameters to the links in an email part.
type tagger struct {
	query string
	own   string // host of our pages; empty: unknown
	kept  []string
}

// addUTM adds a query to the http and https links in both parts of an email. It skips links that have utm parameters,
// links to subscriber pages on newsletterd's own host, links whose host is a placeholder, and links that contain a
// block. own is the origin of newsletterd's pages.
func addUTM(page, text, query, own string) (tagged, taggedText string) {
	if query == "" {
		return page, text
	}
	g := tagger{query: query}
	if o, err := url.Parse(own); err == nil {
		g.own = o.Host
	}
	return g.html(page), g.text(text)
}

// WithUTM returns a link's URL with the campaign's UTM parameters added. It returns some URLs unchanged, such as those
// of newsletterd's subscriber pages. own is the origin of newsletterd's pages.
func WithUTM(address string, utm *core.UTM, own string) string {
	query := utm.Query()
	if query == "" {
		return address
	}
	g := tagger{query: query}
	if o, err := url.Parse(own); err == nil {
		g.own = o.Host
	}
	return g.address(address, query)
}

// notMarks removes characters that look like placeholder marks.
var notMarks = strings.NewReplacer("\x01", "", "\x02", "")

// attributeOf escapes text for an HTML attribute. It also escapes braces, which might otherwise become part of a
// placeholder.
func attributeOf(text string) string {
	return strings.ReplaceAll(html.EscapeString(text), "{", "&#123;")
}

// mask replaces the placeholders in a part with marks, because placeholders contain characters that are not valid in
// HTML and URLs.
func (g *tagger) mask(part string) string {
	g.kept = nil
	return anyPlaceholder.ReplaceAllStringFunc(notMarks.Replace(part),
		func(p string) string {
			g.kept = append(g.kept, p)
			return "\x01" + strconv.Itoa(len(g.kept)-1) + "\x02"
		})
}

func (g *tagger) unmask(part string) string {
	return keptMark.ReplaceAllStringFunc(part, func(mark string) string {
		n, _ := strconv.Atoi(mark[1 : len(mark)-1]) // created by mask
		return g.kept[n]
	})
}

func (g *tagger) html(page string) string {
	var out strings.Builder
	z := html.NewTokenizer(strings.NewReader(g.mask(page)))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		raw := string(z.Raw())
		if kind == html.StartTagToken || kind == html.SelfClosingTagToken {
			name, _ := z.TagName()
			if a := atom.Lookup(name); a == atom.A || a == atom.Area {
				raw = g.tag(raw)
			}
		}
		out.WriteString(raw)
	}
	out.Write(z.Raw()) // an unfinished tag at the end
	return g.unmask(out.String())
}

// tag adds the query to the URL in the start tag of a link.
func (g *tagger) tag(raw string) string {
	at := hrefValue.FindStringSubmatchIndex(raw)
	for i := 2; i+1 < len(at); i += 2 {
		from, to := at[i], at[i+1]
		if from < 0 {
			continue
		}
		address := meaning(raw[from:to])
		tagged := g.address(address, g.query)
		switch value := attributeOf(tagged); {
		case tagged == address:
			return raw
		case raw[from-1] == '=' || strings.IndexByte(" \t\r\n\f", raw[from-1]) >= 0: // without quotes
			return raw[:from] + `"` + value + `"` + raw[to:]
		default:
			return raw[:from] + value + raw[to:]
		}
	}
	return raw
}

// meaning decodes an attribute value. It doesn't decode an incomplete character reference that a placeholder may
// continue.
func meaning(value string) string {
	var out strings.Builder
	decoded := func(piece string) string { return notMarks.Replace(mail.AttributeText(piece)) }
	at := 0
	for _, mark := range keptMark.FindAllStringIndex(value, -1) {
		const letter = "z" // possible first letter of a placeholder's value, not part of a number
		out.WriteString(strings.TrimSuffix(decoded(value[at:mark[0]]+letter), letter))
		out.WriteString(value[mark[0]:mark[1]])
		at = mark[1]
	}
	return out.String() + decoded(value[at:])
}

func (g *tagger) text(part string) string {
	return g.unmask(textAddress.ReplaceAllStringFunc(g.mask(part), func(address string) string {
		end := len(strings.TrimRight(address, ".,;:!?"))
		return g.address(address[:end], g.query) + address[end:]
	}))
}

// address adds the query to a URL. It returns a URL unchanged that doesn't get the query.
func (g *tagger) address(address, query string) string {
	lower := strings.ToLower(strings.TrimLeft(address, " \t\r\n"))
	_, rest, found := strings.Cut(lower, "://")
	if !found || !strings.HasPrefix(lower, "http://") && !strings.HasPrefix(lower, "https://") {
		return address
	}
	host, path := rest, ""
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		host, path = rest[:end], rest[end:]
	}
	whole := g.unmask(address)
	if host == "" || strings.Contains(host, "\x01") || strings.Contains(whole, "{%") || utmGiven.MatchString(whole) ||
		host == strings.ToLower(g.own) && ownPage.MatchString(path) {
		return address
	}
	for _, p := range anyPlaceholder.FindAllString(whole, -1) {
		if ownPlaceholder.MatchString(p) {
			return address
		}
	}
	end := len(strings.TrimRight(address, " \t\r\n"))
	if i := strings.IndexByte(address, '#'); i >= 0 {
		end = min(end, i)
	}
	before := address[:end]
	join := "?"
	switch {
	case strings.HasSuffix(before, "?") || strings.HasSuffix(before, "&"):
		join = ""
	case strings.Contains(before, "?"):
		join = "&"
	}
	return before + join + query + address[end:]
}

// ownPage matches the paths of pages that belong to one subscriber.
var ownPage = regexp.MustCompile(`^/(unsubscribe|preferences|v|t|confirm|verify)\b`)
