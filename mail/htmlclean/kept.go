package htmlclean

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// verbatim maps elements whose content is not HTML to expressions that match their tags. These elements are removed
// with their content.
var verbatim = tagsOf(atom.Iframe, atom.Noembed, atom.Noframes, atom.Noscript, atom.Script, atom.Style, atom.Textarea,
	atom.Title)

func tagsOf(names ...atom.Atom) map[atom.Atom]*regexp.Regexp {
	tags := make(map[atom.Atom]*regexp.Regexp, len(names))
	for _, name := range names {
		tags[name] = regexp.MustCompile(`(?i)<(/?)` + name.String() + `[\s/>]`)
	}
	return tags
}

// isRemoved reports whether an element with HTML content is removed with its content.
func isRemoved(name atom.Atom) bool {
	switch name {
	case atom.Audio, atom.Canvas, atom.Math, atom.Object, atom.Select, atom.Svg, atom.Template, atom.Video:
		return true
	}
	return false
}

// maxBroken is the maximum number of tags and comments without an end. After that, the rest of the page is text.
const maxBroken = 10

// piece is an HTML token.
type piece struct {
	html.Token
	raw  string
	last int // index of a removed element's end tag; 0: the end tag is missing
}

func (p *piece) starts() bool {
	return p.Type == html.StartTagToken || p.Type == html.SelfClosingTagToken
}

// isSource reports whether a piece can come between the start tag of a video or recording and the fallback content.
func (p *piece) isSource() bool {
	return p.DataAtom == atom.Source || p.DataAtom == atom.Track ||
		p.Type == html.TextToken && strings.TrimSpace(p.raw) == ""
}

// kept removes elements from HTML that must be removed with their content. It replaces frames, videos and recordings,
// which articles can't contain, with links. If an element's end tag is missing, its content stays.
func kept(page string) string {
	all := pieces(page)
	pair(all)
	var b strings.Builder
	for i := 0; i < len(all); i++ {
		p := &all[i]
		switch {
		case p.Type == html.TextToken:
			b.WriteString(strings.ReplaceAll(p.raw, "<", "&lt;")) // together with the next text, it could start a tag
		case isPlayer(p):
			link, last := playerAt(all, i)
			b.WriteString(link)
			i = last
		case isRemoved(p.DataAtom) || verbatim[p.DataAtom] != nil:
			i = max(i, p.last)
		default:
			b.WriteString(p.raw)
		}
	}
	return b.String()
}

// pair finds the end tag of each element to remove and sets its index.
func pair(all []piece) {
	open := map[atom.Atom][]int{}
	for i := range all {
		p := &all[i]
		if !isRemoved(p.DataAtom) {
			continue
		}
		starts := open[p.DataAtom]
		if p.Type == html.StartTagToken {
			open[p.DataAtom] = append(starts, i)
		} else if n := len(starts) - 1; p.Type == html.EndTagToken && n >= 0 {
			all[starts[n]].last = i
			open[p.DataAtom] = starts[:n]
		}
	}
}

// pieces splits HTML into tokens, without the content of verbatim elements. A tag without an end stops at the first >.
// Only the start of a comment without an end is removed.
func pieces(page string) (all []piece) {
	without := map[atom.Atom]bool{}
	broken := 0
	z := html.NewTokenizer(strings.NewReader(page))
	for rest := page; ; {
		kind := z.Next()
		p := piece{raw: rest[:len(z.Raw())]}
		if p.raw == "" {
			return all
		}
		rest = rest[len(p.raw):]
		if kind == html.ErrorToken || kind == html.CommentToken && rest == "" && isOpen(p.raw) {
			rest = afterBroken(p.raw)
			if broken++; broken > maxBroken {
				return append(all, piece{Token: html.Token{Type: html.TextToken}, raw: rest})
			}
			z = html.NewTokenizer(strings.NewReader(rest))
			continue
		}
		p.Token = z.Token()
		switch {
		case p.DataAtom == atom.Plaintext || p.DataAtom == atom.Xmp:
			z.NextIsNotRawText()
			continue
		case p.starts() && verbatim[p.DataAtom] != nil:
			if end := endOf(&p, rest, without); end >= 0 {
				rest = rest[end:]
				z = html.NewTokenizer(strings.NewReader(rest))
			} else {
				z.NextIsNotRawText()
			}
		}
		all = append(all, p)
	}
}

// isOpen reports whether a comment has no end.
func isOpen(comment string) bool {
	return strings.HasPrefix(comment, "<!--") && !strings.HasSuffix(comment, "-->") &&
		!strings.HasSuffix(comment, "--!>")
}

// afterBroken returns the text after the start of an unterminated comment or tag.
func afterBroken(raw string) string {
	if text, ok := strings.CutPrefix(raw, "<!--"); ok {
		return text
	}
	_, text, _ := strings.Cut(raw, ">")
	return text
}

// endOf returns the index in rest of the end tag of the verbatim element p, or -1 if it is missing. without holds the
// elements that have no more end tags. Unless p contains code, a start tag of the same kind means that the end tag is
// missing.
func endOf(p *piece, rest string, without map[atom.Atom]bool) int {
	isCode := p.Type == html.StartTagToken && (p.DataAtom == atom.Script || p.DataAtom == atom.Style) &&
		playerOf(&p.Token).address == ""
	for at := 0; !without[p.DataAtom]; {
		m := verbatim[p.DataAtom].FindStringSubmatchIndex(rest[at:])
		switch {
		case m == nil:
			without[p.DataAtom] = true
		case m[2] < m[3]:
			return at + m[0]
		case !isCode:
			return -1
		default:
			at += m[1]
		}
	}
	return -1
}
