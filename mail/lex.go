package mail

import (
	"fmt"
	"regexp"
	"strings"
)

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	tokenText   tokenKind = iota
	tokenOutput           // {{ … }}
	tokenTag              // {% … %}
	tokenTrack            // token of a tracked link; link is its number
)

// token is a piece of a template's source. body is the text, or the trimmed content of the braces.
type token struct {
	kind tokenKind
	body string
	src  *source
	pos  int // byte offset in src
	// inURL is set for a placeholder inside a link's URL, in a text part generated from HTML
	inURL bool
	link  int // number of tokenTrack; 0 is the pixel
}

// source is a template's source, from which the positions in errors are determined.
type source struct {
	field string
	text  string
}

// at returns the line and column of the byte at pos, both starting at 1. The column counts characters.
func (s *source) at(pos int) (line, col int) {
	before := s.text[:min(pos, len(s.text))]
	line = 1 + strings.Count(before, "\n")
	return line, 1 + len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
}

func (s *source) fail(pos int, format string, args ...any) error {
	e := &TemplateError{Field: s.field, Problem: fmt.Sprintf(format, args...)}
	e.Line, e.Col = s.at(pos)
	if rest := s.text[min(pos, len(s.text)):]; strings.HasPrefix(rest, "{{") || strings.HasPrefix(rest, "{%") {
		if end, ok := s.closing(pos); ok {
			e.Placeholder = s.text[pos:end]
			e.Later = strings.Count(s.text[end:], e.Placeholder)
		}
	}
	return e.Invalid()
}

// lex splits a template into tokens. raw blocks become text, and comments are dropped. A dash inside a brace trims the
// adjacent white space.
func lex(src *source) ([]token, error) {
	if len(src.text) > maxTemplate {
		return nil, src.fail(0, "the template must have at most %d bytes", maxTemplate)
	}
	var out []token
	text, trim := src.text, false
	emit := func(from, to int) {
		t := text[from:to]
		if trim {
			cut := strings.TrimLeft(t, " \t\r\n")
			from += len(t) - len(cut)
			t, trim = cut, false
		}
		if t != "" {
			out = append(out, token{kind: tokenText, body: t, src: src, pos: from})
		}
	}
	for pos := 0; ; {
		open := nextOpen(text, pos)
		if open < 0 {
			emit(pos, len(text))
			return out, nil
		}
		emit(pos, open)
		body, end, err := src.braces(open)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(body, "-") {
			body = body[1:]
			trimTail(out)
		}
		if trim = strings.HasSuffix(body, "-"); trim {
			body = body[:len(body)-1]
		}
		body = strings.TrimSpace(body)
		pos = end
		switch kind := text[open+1]; {
		case kind == '{':
			out = append(out, token{kind: tokenOutput, body: body, src: src, pos: open})
		case body == "raw" || body == "comment":
			from, to, err := src.verbatim(open, end, "end"+body)
			if err != nil {
				return nil, err
			}
			if trim = false; body == "raw" {
				emit(end, from)
			}
			pos = to
		default:
			out = append(out, token{kind: tokenTag, body: body, src: src, pos: open})
		}
		if len(out) > 2*maxNodes {
			return nil, src.fail(open, "the template must have at most %d parts", maxNodes)
		}
	}
}

func trimTail(out []token) {
	if n := len(out); n > 0 && out[n-1].kind == tokenText {
		out[n-1].body = strings.TrimRight(out[n-1].body, " \t\r\n")
	}
}

func nextOpen(s string, from int) int {
	for i := from; ; i++ {
		n := strings.IndexByte(s[i:], '{')
		if n < 0 || i+n+1 >= len(s) {
			return -1
		}
		if i += n; s[i+1] == '{' || s[i+1] == '%' {
			return i
		}
	}
}

// braces returns the text between the braces that open at pos, and the index after the closing ones. Quoted strings may
// contain closing braces.
func (s *source) braces(pos int) (body string, end int, err error) {
	if end, ok := s.closing(pos); ok {
		return s.text[pos+2 : end-2], end, nil
	}
	closing := closingOf(s.text[pos+1])
	if body, _, ok := strings.Cut(s.text[pos+2:min(len(s.text), pos+maxExpression)], closing); ok {
		if hint := quotesHint(s.text[pos+1], body); hint != "" {
			return "", 0, s.fail(pos, "%s", hint)
		}
	}
	return "", 0, s.fail(pos, "%q has no closing %q", s.text[pos:pos+2], closing)
}

// closingOf returns the closing braces, given the second byte of the opening ones.
func closingOf(second byte) string {
	if second == '%' {
		return "%}"
	}
	return "}}"
}

// closing returns the index after the braces that close those at pos.
func (s *source) closing(pos int) (end int, ok bool) {
	closing := closingOf(s.text[pos+1])
	quote := byte(0)
	for i := pos + 2; i < len(s.text) && i < pos+maxExpression; i++ {
		switch c := s.text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == closing[0] && strings.HasPrefix(s.text[i:], closing):
			return i + 2, true
		}
	}
	return 0, false
}

// typographic replaces curly quotes, which word processors and phones insert, and HTML character references for quotes
// with straight quotes.
var typographic = strings.NewReplacer(
	"“", `"`, "”", `"`, "„", `"`, "‟", `"`, "«", `"`, "»", `"`, "″", `"`, "＂", `"`, "&quot;", `"`, "&#34;", `"`,
	"&ldquo;", `"`, "&rdquo;", `"`, "&bdquo;", `"`,
	"‘", "'", "’", "'", "‚", "'", "‛", "'", "‹", "'", "›", "'", "′", "'", "&#39;", "'", "&apos;", "'",
	"&lsquo;", "'", "&rsquo;", "'", "&sbquo;", "'", "&nbsp;", " ",
)

// straightTexts matches strings in straight quotes, which may contain any other kind of quote.
var straightTexts = regexp.MustCompile(`"[^"]*"|'[^']*'`)

// quotesHint returns a placeholder or tag with straight quotes if its body contains other quotes. Otherwise it returns
// an empty string.
func quotesHint(kind byte, body string) string {
	if rest := straightTexts.ReplaceAllString(body, ""); typographic.Replace(rest) == rest {
		return ""
	}
	straight := strings.TrimSpace(typographic.Replace(body))
	if len(straight) > 200 {
		return "use straight quotes"
	}
	return "use straight quotes: {" + string(kind) + " " + straight + " " + closingOf(kind)
}

// verbatim returns the start and the end of the closing tag of a raw or comment block.
func (s *source) verbatim(open, from int, name string) (begin, end int, err error) {
	for i := from; ; {
		n := strings.Index(s.text[i:], "{%")
		if n < 0 {
			return 0, 0, s.fail(open, "{%% %s %%} is missing", name)
		}
		i += n
		rest := s.text[i+2 : min(len(s.text), i+maxExpression)]
		if c := strings.Index(rest, "%}"); c >= 0 && strings.Trim(rest[:c], " \t\r\n-") == name {
			return i, i + 2 + c + 2, nil
		}
		i += 2
	}
}
