package mail

import (
	"fmt"
	"regexp"
	"strings"
)

// tokenKind tells the three things that a template is made of.
type tokenKind uint8

const (
	tokenText   tokenKind = iota
	tokenOutput           // {{ … }}
	tokenTag              // {% … %}
	tokenTrack            // the token of a link that is followed by way of ours; link tells which
)

// token is a piece of template source. body is the text itself, or what stands between the braces, trimmed.
type token struct {
	kind tokenKind
	body string
	src  *source
	pos  int // octet in src
	// inURL: in a text part made of HTML, the placeholder stands inside a link's URL.
	inURL bool
	link  int // of tokenTrack; 0 is the pixel
}

// source is one template as its author wrote it, for the places in errors.
type source struct {
	field string
	text  string
}

// at is the line and column (in characters, from 1) of an octet.
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

// lex cuts a template into tokens. raw blocks become text, comments nothing; a dash at the inner side of a
// brace trims the white space next to it.
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

// braces returns what stands between the braces that open at pos, and the index after them. Quoted texts
// may hold closing braces.
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

// closingOf returns what closes a brace and the octet after it.
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

// typographic are the quotes that word processors and telephones write in place of straight ones, and those of HTML.
var typographic = strings.NewReplacer(
	"“", `"`, "”", `"`, "„", `"`, "‟", `"`, "«", `"`, "»", `"`, "″", `"`, "＂", `"`, "&quot;", `"`, "&#34;", `"`,
	"&ldquo;", `"`, "&rdquo;", `"`, "&bdquo;", `"`,
	"‘", "'", "’", "'", "‚", "'", "‛", "'", "‹", "'", "›", "'", "′", "'", "&#39;", "'", "&apos;", "'",
	"&lsquo;", "'", "&rsquo;", "'", "&sbquo;", "'", "&nbsp;", " ",
)

// straightTexts are texts in straight quotes: in them, any other quote is fine.
var straightTexts = regexp.MustCompile(`"[^"]*"|'[^']*'`)

// quotesHint says how to write what stands between braces whose quotes are not straight; empty: they are.
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

// verbatim finds the tag that ends a raw or comment block: where it begins and where it ends.
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
