package mail

import (
	"slices"
	"strings"
)

// urlPrefix is the known start of a URL in an attribute, as far as it determines the URL's scheme. It is one string or,
// after differing branches, several sorted strings separated by NUL. urlValue stands for a placeholder. The empty
// string is a URL that has not started.
type urlPrefix string

// A string becomes one of these as soon as its scheme is known.
const (
	urlHarmless = "/"  // http, https, mailto, tel, or none
	urlForeign  = ":"  // another scheme, from static text only
	urlForged   = "*:" // a scheme that may include a placeholder's value
	urlValue    = "*"  // no permitted scheme contains it
)

const (
	maxURLPrefix   = 64 // bytes of a string with an unknown scheme; longer ones are foreign
	maxURLBranches = 8
	urlBranch      = "\x00"
)

// grow appends a byte of static text to each string.
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

// join returns the union of the strings in u and o, for two branches that meet.
func (u urlPrefix) join(o urlPrefix) urlPrefix {
	if u == o {
		return u
	}
	return urlPrefix(string(u) + urlBranch + string(o)).each(func(text string) string { return text })
}

// hole returns how to escape a placeholder at this position, or the reason why no placeholder is permitted. link is
// true if its value is an absolute http(s) URL.
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
			problem = "a placeholder can't follow an unfinished character reference; end it with a semicolon"
			return text
		}
		switch scheme := urlSchemeOf(text, true); scheme {
		case urlHarmless:
			return scheme
		case urlForeign, urlForged:
			problem = "placeholders aren't allowed in URLs of this scheme"
			return scheme
		}
		return text + urlValue
	})
	switch {
	case problem != "":
		return u, 0, problem
	case begins && goesOn:
		return u, 0, "the placeholder starts the URL in one branch and continues it in another"
	case begins:
		return next, escapeURLStart, ""
	case encoded:
		return next, escapeHTML, ""
	}
	return next, escapeURLPart, ""
}

// forged reports whether a placeholder's value may be part of the scheme. Call it at the end of the URL.
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

// urlSchemeOf reduces the start of a URL to urlHarmless, urlForeign or urlForged if its scheme is known, and otherwise
// returns it unchanged. It does not decode an incomplete character reference at the end of text unless ended is true.
func urlSchemeOf(text string, ended bool) string {
	static := text
	if !ended {
		static = text[:urlUnfinished(text)]
	}
	var b strings.Builder
	for _, r := range AttributeText(static) {
		if r > ' ' { // browsers ignore control characters in a scheme
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

// urlUnfinished returns the start of an incomplete character reference at the end of text, or len(text) if there is
// none.
func urlUnfinished(text string) int {
	i := strings.LastIndexByte(text, '&')
	if i < 0 || strings.ContainsFunc(text[i+1:], func(r rune) bool {
		return r != '#' && !('0' <= r && r <= '9') && (r > 0x7f || !isLetter(byte(r)))
	}) {
		return len(text)
	}
	return i
}
