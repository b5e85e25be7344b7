package mail

import (
	"html"
	"net/url"
	"regexp"
	"strings"

	"newsletterd/core"
)

// Tracking says what of the HTML part of a job's mails is tracked. The text part never is.
type Tracking struct {
	Open   bool   // a pixel before the end of the body
	Click  bool   // http and https links lead by way of ours
	Origin string // of pixel and links: scheme and host
	// Named says to the reader, who has agreed to it, that openings and clicks are seen, with the link to withdraw that;
	// nothing where the author prints preferences_url.
	Named bool
	// Totals makes the tokens of all mails, which name no recipient and so are part of the content; nil: each mail has
	// its own, by Recipient.Track.
	Totals *Tracker
}

// withTotals returns an HTML template whose tokens of links and pixel are the same for all.
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

// Tracker makes the tokens of one mail.
type Tracker struct {
	Ident    *Ident
	Job, Seq int64
	// Links are the numbers of the links that Bulk.Links lists, in its order.
	Links []int64
}

// append writes the token of link n of the Bulk, from 1 on; 0 is the pixel.
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

// Where pixel and links lead to, after the origin; the token follows.
const (
	PixelPath = "/t/o/"
	ClickPath = "/t/c/"
	PixelName = ".gif" // after the pixel's token
)

// Links are the addresses that links of the mail lead to by way of ours, each once.
func (b *Bulk) Links() []string { return b.links }

// pixelTokens returns an invisible image.
func pixelTokens(origin string) []token {
	src := &source{"built-in", ""}
	return []token{
		{kind: tokenText, body: `<img src="` + html.EscapeString(origin) + PixelPath, src: src},
		{kind: tokenTrack, src: src},
		{kind: tokenText, body: PixelName + `" alt="" width="1" height="1" border="0" ` +
			`style="height:1px!important;width:1px!important;border:0;margin:0;padding:0">`, src: src},
	}
}

// canary is the link of a token that no person sees.
const canary = -1

// canaryTokens returns a link that only a program follows. It has no content, so no mail program shows it, whatever it
// makes of the styles; Outlook for Windows wants mso-hide in addition to display:none. Screen readers and the tab key
// pass it.
func canaryTokens(origin string) []token {
	src := &source{"built-in", ""}
	return []token{
		{kind: tokenText, body: `<a href="` + html.EscapeString(origin) + ClickPath, src: src},
		{kind: tokenTrack, src: src, link: canary},
		{kind: tokenText, body: `" aria-hidden="true" tabindex="-1" style="display:none;mso-hide:all;font-size:0;` +
			`line-height:0"></a>`, src: src},
	}
}

// untracked are the marks of links that their author wants left alone.
var untracked = regexp.MustCompile(`(?i)\sdata-no-track\b|\sclicktracking\s*=\s*["']?off\b`)

// linkFinder walks over the tokens of an HTML template and notes where the addresses of its links stand.
type linkFinder struct {
	ctx      htmlContext
	branches []htmlContext
	tag      strings.Builder // of the tag at hand, as far as it is text
	href     place           // of the tag at hand
	open     bool            // href has begun, and has not ended
	seen     bool            // the tag at hand has had an href: a second one means nothing
	found    []place
	all      bool // also those that their author wants left alone
}

// place is a piece of a text token, from inclusive to exclusive.
type place struct{ token, from, to int }

// trackLinks puts tokens into the links of an HTML template, and lists the addresses that they had. Left alone are
// links with placeholders (those of unsubscribing, among others), of other schemes, and those that say so.
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

// mendLinks puts other addresses into the links of an HTML template, by those that they have.
func mendLinks(tokens []token, instead map[string]string) []token {
	return replaceLinks(tokens, true, func(t *token, before, target string, pos int) []token {
		mended := instead[target]
		if mended == "" {
			return nil
		}
		return []token{{kind: tokenText, body: before + html.EscapeString(mended), src: t.src, pos: pos - len(before)}}
	})
}

// replaceLinks calls with for each link of an HTML template that has an address of the web, with the text before it in
// its token and its place there. What it returns, unless it is nil, stands instead of both. all: links too that their
// author wants left alone.
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

// trackable returns the address that an href means, empty if it is none that is tracked.
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
	if t.kind != tokenText && f.open { // an address with a placeholder in it
		f.href, f.open = place{}, false
	}
}

// branch keeps the place in the HTML that the branches of a block begin in.
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
