package mail

import (
	"slices"
	"strings"
)

// urlPrefix is what is known of the beginning of a URL in an attribute, as far as it decides the URL's scheme: one
// text or, after branches that differ, several in order, separated by NUL. A placeholder stands in a text as
// urlValue. The empty text is a URL that has not begun.
type urlPrefix string

// What a text becomes as soon as its scheme is known.
const (
	urlHarmless = "/"  // http, https, mailto, tel, or none
	urlForeign  = ":"  // another one, of static text alone
	urlForged   = "*:" // one that the value of a placeholder is part of
	urlValue    = "*"  // no scheme that is allowed has it
)

const (
	maxURLPrefix   = 64 // octets of a text whose scheme is not known: longer ones are foreign
	maxURLBranches = 8
	urlBranch      = "\x00"
)

// grow appends an octet of static text to each text.
func (u urlPrefix) grow(b byte) urlPrefix {
	switch u {
	case "":
		if isSpace(b) {
			return u
		}
	case urlHarmless, urlForeign, urlForged:
		return u
	}
	if strings.Contains(string(u), urlBranch) {
		return u.each(func(text string) string { return string(urlPrefix(text).grow(b)) })
	}
	grown := string(u) + string([]byte{b})
	if strings.IndexByte(":/?#;", b) >= 0 {
		grown = urlSchemeOf(grown, false)
	}
	if len(grown) > maxURLPrefix {
		return urlForeign
	}
	return urlPrefix(grown)
}

func (u urlPrefix) each(change func(text string) string) urlPrefix {
	texts := strings.Split(string(u), urlBranch)
	for i := range texts {
		texts[i] = change(texts[i])
	}
	slices.Sort(texts)
	if texts = slices.Compact(texts); len(texts) > maxURLBranches {
		return urlForeign
	}
	return urlPrefix(strings.Join(texts, urlBranch))
}

// join returns the texts of both.
func (u urlPrefix) join(o urlPrefix) urlPrefix {
	if u == o {
		return u
	}
	return urlPrefix(string(u) + urlBranch + string(o)).each(func(text string) string { return text })
}

// hole says how a placeholder is escaped that follows, or why none may. link: its value is an absolute http(s) URL.
func (u urlPrefix) hole(encoded, link bool) (next urlPrefix, how escape, problem string) {
	begins, goesOn := false, false
	next = u.each(func(text string) string {
		begins, goesOn = begins || text == "", goesOn || text != ""
		switch {
		case text == "" && link:
			return urlHarmless
		case text == "":
			return urlValue
		case urlUnfinished(text) != len(text):
			problem = "no placeholder may follow an unfinished character reference"
			return text
		}
		switch scheme := urlSchemeOf(text, true); scheme {
		case urlHarmless:
			return scheme
		case urlForeign, urlForged:
			problem = "no placeholder may stand in a URL of this scheme"
			return scheme
		}
		return text + urlValue
	})
	switch {
	case problem != "":
		return u, 0, problem
	case begins && goesOn:
		return u, 0, "the placeholder begins the URL in one branch and goes on with it in another"
	case begins:
		return next, escapeURLStart, ""
	case encoded:
		return next, escapeHTML, ""
	}
	return next, escapeURLPart, ""
}

// forged reports whether, at the end of the URL, the value of a placeholder may be part of its scheme.
func (u urlPrefix) forged() bool {
	if !strings.Contains(string(u), urlValue) {
		return false
	}
	for text := range strings.SplitSeq(string(u), urlBranch) {
		if urlSchemeOf(text, true) == urlForged {
			return true
		}
	}
	return false
}

// urlSchemeOf returns the text itself where its scheme is not known yet. A character reference at its end that more
// text may go on with is not read unless the text has ended.
func urlSchemeOf(text string, ended bool) string {
	static := text
	if !ended {
		static = text[:urlUnfinished(text)]
	}
	var b strings.Builder
	for _, r := range AttributeText(static) {
		if r > ' ' { // browsers drop controls inside a scheme
			b.WriteRune(r)
		}
	}
	plain := b.String()
	i := strings.IndexAny(plain, ":/?#")
	switch {
	case i < 0:
		return text
	case plain[i] != ':':
		return urlHarmless
	}
	switch strings.ToLower(plain[:i]) {
	case "http", "https", "mailto", "tel":
		return urlHarmless
	}
	if strings.Contains(plain[:i], urlValue) {
		return urlForged
	}
	return urlForeign
}

// urlUnfinished is where a character reference begins that the text ends within; len(text) if there is none.
func urlUnfinished(text string) int {
	i := strings.LastIndexByte(text, '&')
	if i < 0 || strings.ContainsFunc(text[i+1:], func(r rune) bool {
		return r != '#' && !('0' <= r && r <= '9') && (r > 0x7f || !isLetter(byte(r)))
	}) {
		return len(text)
	}
	return i
}
