package mail

import (
	"html"
	"net/url"
	"regexp"
	"strings"

	"newsletterd/core"
)

// Tracking selects what is tracked in the HTML part of a job's messages. The text part is never tracked.
type Tracking struct {
	Open   bool   // add a pixel before the end of the body
	Click  bool   // redirect http and https links through this server
	Origin string // origin of pixel and link URLs: scheme and host
	// Named adds a sentence for subscribers who agreed to tracking by name. It says that opens and clicks are tracked,
	// and has a link to withdraw consent. It is omitted if the author prints preferences_url.
	Named bool
	// Totals creates tokens that are the same in all messages and identify no recipient. If it is nil, each message has
	// its own tokens, from Recipient.Track.
	Totals *Tracker
}

// withTotals returns an HTML template with t's tokens for links and pixel, so that they are the same for all
// recipients.
func withTotals(tokens []token, t *Tracker) (out []token) {
	for _, tok := range tokens {
		if tok.kind == tokenTrack {
			tok.kind, tok.body = tokenText, string(t.append(nil, tok.link))
		}
		if n := len(out); n > 0 && tok.kind == tokenText && out[n-1].kind == tokenText {
			out[n-1].body += tok.body
			continue
		}
		out = append(out, tok)
	}
	return out
}

// Tracker creates the tokens for one message.
type Tracker struct {
	Ident    *Ident
	Job, Seq int64
	// Links holds the numbers of the links in Bulk.Links, in the same order.
	Links []int64
}

// append appends the token for link n of the Bulk, starting at 1, or for the pixel if n is 0.
func (t *Tracker) append(dst []byte, n int) []byte {
	switch {
	case t == nil:
		return dst
	case n == 0:
		return t.Ident.appendTrack(dst, t.Job, t.Seq, 0)
	case n == canary:
		return t.Ident.appendTrack(dst, t.Job, t.Seq, core.CanaryLink)
	case n > len(t.Links):
		return dst
	}
	return t.Ident.appendTrack(dst, t.Job, t.Seq, t.Links[n-1])
}

// The URL paths of the pixel and of tracked links, which a token follows.
const (
	PixelPath = "/t/o/"
	ClickPath = "/t/c/"
	PixelName = ".gif" // follows the pixel's token
)

// Links returns the original URLs of the tracked links, without duplicates.
func (b *Bulk) Links() []string { return b.links }

// pixelTokens returns the HTML of the tracking pixel.
func pixelTokens(origin string) []token {
	src := &source{"built-in", ""}
	return []token{
		{kind: tokenText, body: `<img src="` + html.EscapeString(origin) + PixelPath, src: src},
		{kind: tokenTrack, src: src},
		{kind: tokenText, body: PixelName + `" alt="" width="1" height="1" border="0" ` +
			`style="height:1px!important;width:1px!important;border:0;margin:0;padding:0">`, src: src},
	}
}

// canary is the number that stands for core.CanaryLink in tokens of kind tokenTrack.
const canary = -1

// canaryTokens returns a link that only bots follow. It has no content, so no email client shows it, whatever styles it
// supports. Outlook for Windows needs mso-hide in addition to display:none. Screen readers and the tab key skip the
// link.
func canaryTokens(origin string) []token {
	src := &source{"built-in", ""}
	return []token{
		{kind: tokenText, body: `<a href="` + html.EscapeString(origin) + ClickPath, src: src},
		{kind: tokenTrack, src: src, link: canary},
		{kind: tokenText, body: `" aria-hidden="true" tabindex="-1" style="display:none;mso-hide:all;font-size:0;` +
			`line-height:0"></a>`, src: src},
	}
}

// untracked matches the marks of links that their author excludes from tracking.
var untracked = regexp.MustCompile(`(?i)\sdata-no-track\b|\sclicktracking\s*=\s*["']?off\b`)

// linkFinder scans an HTML template's tokens and records the positions of link URLs.
type linkFinder struct {
	ctx      htmlContext
	branches []htmlContext
	tag      strings.Builder // static text of the current tag
	href     place           // href of the current tag
	open     bool            // href has started, but not ended
	seen     bool            // the current tag already has an href: a second one is ignored
	found    []place
	all      bool // include links that their author excludes from tracking
}

// place is a range of a text token: [from, to).
type place struct{ token, from, to int }

// trackLinks inserts tokens into the links in an HTML template and returns their original URLs. It skips links with
// placeholders (such as unsubscribe links), links with other schemes, and links that are marked as untracked.
func trackLinks(tokens []token, origin string) (out []token, links []string) {
	prefix := html.EscapeString(origin) + ClickPath
	numbers := map[string]int{}
	out = replaceLinks(tokens, false, func(t *token, before, target string, pos int) []token {
		if numbers[target] == 0 {
			links = append(links, target)
			numbers[target] = len(links)
		}
		return []token{
			{kind: tokenText, body: before + prefix, src: t.src, pos: pos - len(before)},
			{kind: tokenTrack, src: t.src, pos: pos, link: numbers[target]},
		}
	})
	return out, links
}

// mendLinks replaces URLs of links in an HTML template according to instead, which maps old URLs to new ones.
func mendLinks(tokens []token, instead map[string]string) []token {
	return replaceLinks(tokens, true, func(t *token, before, target string, pos int) []token {
		mended := instead[target]
		if mended == "" {
			return nil
		}
		return []token{{kind: tokenText, body: before + html.EscapeString(mended), src: t.src, pos: pos - len(before)}}
	})
}

// replaceLinks calls a function, with, for each http or https link in an HTML template. The arguments are the token,
// the text before the link, the URL, and the link's position. If the result is not nil, it replaces that text and the
// URL. If all is true, links that their author excludes from tracking are included.
func replaceLinks(tokens []token, all bool, with func(t *token, before, target string, pos int) []token) (out []token) {
	f := linkFinder{all: all}
	for i := range tokens {
		f.token(i, &tokens[i])
	}
	next := 0
	for i, t := range tokens {
		at := 0
		for ; next < len(f.found) && f.found[next].token == i; next++ {
			p := f.found[next]
			target := trackable(t.body[p.from:p.to])
			if target == "" {
				continue
			}
			if instead := with(&t, t.body[at:p.from], target, t.pos+p.from); instead != nil {
				out = append(out, instead...)
				at = p.to
			}
		}
		if at == 0 {
			out = append(out, t)
		} else if at < len(t.body) {
			out = append(out, token{kind: tokenText, body: t.body[at:], src: t.src, pos: t.pos + at})
		}
	}
	return out
}

// trackable returns the URL of an href, or an empty string if it can't be tracked.
func trackable(value string) string {
	target := strings.TrimSpace(AttributeText(value))
	u, err := url.Parse(target)
	if err != nil || len(target) > core.MaxTarget || u.Host == "" ||
		u.Scheme != "http" && u.Scheme != "https" || strings.ContainsAny(target, " \r\n\t") {
		return ""
	}
	return target
}

func (f *linkFinder) token(i int, t *token) {
	switch t.kind {
	case tokenText:
		f.text(i, t.body)
	case tokenTag:
		f.branch(firstWord(t.body))
	}
	if t.kind != tokenText && f.open { // a URL with a placeholder in it
		f.href, f.open = place{}, false
	}
}

// branch saves and restores the HTML context at the branches of blocks, according to a tag's first word.
func (f *linkFinder) branch(word string) {
	n := len(f.branches)
	switch {
	case word == "if" || word == "unless":
		f.branches = append(f.branches, f.ctx)
	case n == 0:
	case word == "elsif" || word == "else":
		f.ctx = f.branches[n-1]
	case word == "endif" || word == "endunless":
		f.branches = f.branches[:n-1]
	}
}

func (f *linkFinder) inValue() bool {
	return f.ctx.state == inValueDQ || f.ctx.state == inValueSQ || f.ctx.state == inValueBare
}

func (f *linkFinder) text(i int, s string) {
	for k := 0; k < len(s); k++ {
		if f.ctx.state == inText {
			n := strings.IndexByte(s[k:], '<')
			if n < 0 {
				return
			}
			k += n
		}
		was := f.ctx.state
		attr := f.ctx.attr
		f.ctx.step(s[k])
		if f.ctx.state == inTagName && was == inTagOpen {
			f.tag.Reset()
			f.href, f.open, f.seen = place{}, false, false
		}
		if was >= inTagName && was <= inValueBare {
			f.tag.WriteByte(s[k])
		}
		now := f.inValue()
		switch inside := was == inValueDQ || was == inValueSQ || was == inValueBare; {
		case now && !inside && f.ctx.attr == "href" && (f.ctx.tag == "a" || f.ctx.tag == "area") && !f.ctx.end && !f.seen:
			f.href, f.open, f.seen = place{i, k + 1, 0}, true, true
			if f.ctx.state == inValueBare {
				f.href.from = k
			}
		case inside && !now && f.open && attr == "href":
			f.href.to, f.open = k, false
		}
		if was >= inTagName && was <= inValueBare && s[k] == '>' && !now &&
			f.ctx.state != inTagName && (f.href.to > f.href.from || f.all && f.href.from > 0 && f.href.to == f.href.from) {
			if f.all || !untracked.MatchString(f.tag.String()) {
				f.found = append(f.found, f.href)
			}
			f.href = place{}
		}
	}
}
