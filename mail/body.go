package mail

import (
	"fmt"
	"html"
	"math/bits"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"newsletterd/mail/internal/octets"
	"newsletterd/mail/internal/words"
)

// Footers for content without an unsubscribe link. They are templates, built from Reason and Leave in words.List. In
// HTML, the postal address is between the two halves of the footer.
const (
	htmlFooter = `<table role="presentation" width="100%%" cellpadding="0" cellspacing="0" border="0"><tr>` +
		`<td align="center" style="padding:24px 12px;font-family:Helvetica,Arial,sans-serif;font-size:14px;` +
		`line-height:20px;color:#5f5f67">` +
		`%s <a href="{{ unsubscribe_url }}" style="color:#5f5f67">%s</a>`
	htmlFooterEnd = "</td></tr></table>"
	htmlNamed     = `<table role="presentation" width="100%%" cellpadding="0" cellspacing="0" border="0"><tr>` +
		`<td align="center" style="padding:0 12px 24px;font-family:Helvetica,Arial,sans-serif;font-size:14px;` +
		`line-height:20px;color:#5f5f67">` +
		`%s <a href="{{ preferences_url }}" style="color:#5f5f67">%s</a></td></tr></table>`
	textFooter = "\n-- \n%s\n%s: {{ unsubscribe_url }}\n" +
		"{%% if tenant.postal_address %%}{{ tenant.postal_address }}\n{%% endif %%}"

	preheaderOpen  = `<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">`
	preheaderClose = `</div>`
	preheaderPad   = "&#8204;&#160;"
)

// HiddenPreheader returns the HTML of a preheader, for the start of a message. Only inboxes show it, and they don't
// continue with the text that follows.
func HiddenPreheader(template string) string {
	return preheaderOpen + template + strings.Repeat(preheaderPad, 60) + preheaderClose
}

// bodyTokens returns the templates for both parts of the email, with layout, preheader, footer and tracking. For a
// text-only email, html is nil.
func (b *Bulk) bodyTokens() (html, text []token, err error) {
	s, w := &b.spec, words.Of(b.spec.Language)
	if s.HTML != "" {
		if html, err = withLayout(PartHTML, "body_html", s.HTML, s.HTMLLayout); err != nil {
			return nil, nil, err
		}
		if err = fewAttributes(html); err != nil {
			return nil, nil, err
		}
	}
	if s.Text != "" {
		text, err = withLayout(PartText, "body_text", s.Text, s.TextLayout)
	} else {
		text = plainTokens(html)
	}
	if err != nil {
		return nil, nil, err
	}
	if !prints(text, unsubscribeNames...) {
		text = append(trimEnd(text), mustLex(fmt.Sprintf(textFooter, w.Reason, w.Leave))...)
	}
	if html == nil {
		return nil, text, nil
	}
	if !prints(html, unsubscribeNames...) {
		html = insertBefore(html, "</body", footerTokens(w, s.Shared.Tenant["postal_address"]))
	}
	if s.Track.Named && !prints(html, "preferences_url") {
		html = insertBefore(html, "</body", mustLex(fmt.Sprintf(htmlNamed, w.Named, w.Withdraw)))
	}
	if s.Preheader != "" {
		inner, err := lex(&source{"template.preheader", cleanBody(s.Preheader)})
		if err != nil {
			return nil, nil, err
		}
		pre := mustLex(preheaderOpen)
		for _, t := range inner {
			if t.kind == tokenText { // The preheader is text, so anything that looks like HTML is escaped.
				t.body = string(appendHTML(nil, t.body))
			}
			pre = append(pre, t)
		}
		pre = append(pre, mustLex(strings.Repeat(preheaderPad, 60)+preheaderClose)...)
		html = insertAfterBody(html, pre)
	}
	if s.Notice != "" {
		html = insertAfterBody(html, noticeTokens(s.Notice))
	}
	if len(s.Mended) > 0 {
		html = mendLinks(html, s.Mended)
	}
	if s.Track.Click {
		html, b.links = trackLinks(html, s.Track.Origin)
		if len(b.links) > 0 {
			html = insertBefore(html, "</body", canaryTokens(s.Track.Origin))
		}
	}
	if s.Track.Open {
		html = insertBefore(html, "</body", pixelTokens(s.Track.Origin))
	}
	if s.Track.Totals != nil {
		html = withTotals(html, s.Track.Totals)
	}
	return html, text, nil
}

// noticeTokens returns the HTML for a sentence in a box.
func noticeTokens(sentence string) []token {
	return []token{{kind: tokenText, src: &source{"built-in", ""}, body: `<div style="margin:0;padding:8px 12px;` +
		`background-color:#fff4cc;color:#4a3b00;font-family:Helvetica,Arial,sans-serif;font-size:14px;line-height:20px;` +
		`text-align:center">` + html.EscapeString(sentence) + `</div>`}}
}

// footerTokens returns the HTML footer with the postal address escaped.
func footerTokens(w *words.List, postalAddress string) []token {
	tokens := mustLex(fmt.Sprintf(htmlFooter, w.Reason, w.Leave))
	var address strings.Builder
	for _, line := range words.Lines(postalAddress) {
		address.WriteString("<br>" + html.EscapeString(line))
	}
	end := token{kind: tokenText, body: address.String() + htmlFooterEnd, src: tokens[0].src}
	return append(tokens, end)
}

// withLayout returns the tokens of a layout in which the body replaces {{content}}. In HTML, {{content}} must be
// between tags.
func withLayout(part Part, field, src, layout string) ([]token, error) {
	body, err := lex(&source{field, cleanBody(src)})
	if err != nil || layout == "" {
		return body, err
	}
	frame, err := lex(&source{"template", cleanBody(layout)})
	if err != nil {
		return nil, err
	}
	at := -1
	for i, t := range frame {
		if t.kind != tokenOutput || t.body != "content" {
			continue
		}
		if at >= 0 {
			return nil, t.src.fail(t.pos, "a layout can contain {{content}} only once")
		}
		at = i
	}
	if at < 0 {
		return nil, (&TemplateError{Field: "template", Line: 1, Col: 1, Problem: "the layout must contain " +
			"{{content}}"}).Invalid()
	}
	if part == PartHTML {
		if err := betweenTags(frame[:at], frame[at]); err != nil {
			return nil, err
		}
	}
	return splice(frame, at, at+1, body), nil
}

// betweenTags returns an error if {{content}} is in a tag, an attribute, a comment, or a text-only element.
func betweenTags(before []token, content token) error {
	c := &compiler{t: &Template{part: PartHTML}}
	for _, t := range before {
		if err := c.token(t); err != nil {
			return err
		}
	}
	if c.ctx.state != inText {
		return content.src.fail(content.pos, "{{content}} must be between tags")
	}
	return nil
}

// splice returns tokens with the range [from, to) replaced by with.
func splice(tokens []token, from, to int, with []token) []token {
	out := make([]token, 0, len(tokens)+len(with))
	out = append(out, tokens[:from]...)
	out = append(out, with...)
	return append(out, tokens[to:]...)
}

// mustLex lexes a constant template.
func mustLex(src string) []token {
	tokens, err := lex(&source{"built-in", src})
	if err != nil {
		panic(err) // a constant in this file
	}
	return tokens
}

// unsubscribeNames lists the placeholders for unsubscribe links.
var unsubscribeNames = []string{"unsubscribe_url", "unsubscribe_token"}

// prints reports whether every subscriber sees at least one of the given placeholders. Placeholders in a conditional
// block, in a default or in truncated text don't count.
func prints(tokens []token, names ...string) bool {
	depth := 0
	for _, t := range tokens {
		switch word := firstWord(t.body); {
		case t.kind == tokenTag && (word == "if" || word == "unless"):
			depth++
		case t.kind == tokenTag && (word == "endif" || word == "endunless"):
			depth--
		case t.kind == tokenOutput && depth == 0 && !strings.Contains(t.body, "truncate"):
			name, _, _ := strings.Cut(t.body, "|")
			if slices.Contains(names, strings.TrimSpace(name)) {
				return true
			}
		}
	}
	return false
}

// insertBefore inserts tokens before the last occurrence of a tag, or at the end if there is none.
func insertBefore(tokens []token, tag string, with []token) []token {
	for i := len(tokens) - 1; i >= 0; i-- {
		t := tokens[i]
		if t.kind != tokenText {
			continue
		}
		if at := lastFold(t.body, tag); at >= 0 {
			return splice(tokens, i, i+1, cutAt(t, at, with))
		}
	}
	return append(tokens[:len(tokens):len(tokens)], with...)
}

// insertAfterBody inserts tokens after the opening body tag, or at the start if there is none.
func insertAfterBody(tokens []token, with []token) []token {
	inBody := false
	for i, t := range tokens {
		if t.kind != tokenText {
			continue
		}
		from := 0
		if !inBody {
			if from = indexFold(t.body, "<body"); from < 0 {
				continue
			}
			inBody = true
		}
		if end := strings.IndexByte(t.body[from:], '>'); end >= 0 {
			return splice(tokens, i, i+1, cutAt(t, from+end+1, with))
		}
	}
	return splice(tokens, 0, 0, with)
}

// cutAt splits a text token in two at an offset and inserts tokens between the halves.
func cutAt(t token, at int, with []token) []token {
	var out []token
	if at > 0 {
		out = append(out, token{kind: tokenText, body: t.body[:at], src: t.src, pos: t.pos})
	}
	out = append(out, with...)
	if at < len(t.body) {
		out = append(out, token{kind: tokenText, body: t.body[at:], src: t.src, pos: t.pos + at})
	}
	return out
}

// trimEnd trims tokens so that they end with exactly one line break.
func trimEnd(tokens []token) []token {
	n := len(tokens)
	if n == 0 || tokens[n-1].kind != tokenText {
		return append(tokens[:n:n], mustLex("\n")...)
	}
	out := append([]token(nil), tokens...)
	out[n-1].body = strings.TrimRight(out[n-1].body, " \t\r\n") + "\n"
	return out
}

// indexFold returns the first index of an ASCII tag, ignoring case, or -1 if there is none.
func indexFold(s, tag string) int {
	for i := 0; i+len(tag) <= len(s); i++ {
		if s[i] == tag[0] && strings.EqualFold(s[i:i+len(tag)], tag) {
			return i
		}
	}
	return -1
}

// lastFold returns the last index of an ASCII tag, ignoring case, or -1 if there is none.
func lastFold(s, tag string) int {
	for i := len(s) - len(tag); i >= 0; i-- {
		if s[i] == tag[0] && strings.EqualFold(s[i:i+len(tag)], tag) {
			return i
		}
	}
	return -1
}

// httpURL reports whether s is an absolute http or https URL.
func httpURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// headerURL reports whether a URL is valid between angle brackets in a header.
func headerURL(s string) bool {
	for _, c := range []byte{' ', '<', '>', ','} {
		if strings.IndexByte(s, c) >= 0 {
			return false
		}
	}
	return octets.Plain(s) && strings.HasPrefix(s, "http") && len(s) < hardLine-10
}

// countHigh returns the number of non-ASCII bytes in s, and the total number of bytes.
func countHigh(s string) (high, size int) {
	size = len(s)
	for ; len(s) >= 8; s = s[8:] {
		high += bits.OnesCount64(octets.Eight(s) & 0x8080_8080_8080_8080)
	}
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			high++
		}
	}
	return high, size
}
