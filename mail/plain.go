package mail

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Marks replace the placeholders and tags of a template while its HTML is converted to text. They start with
// noncharacters, which valid text never contains.
const (
	markOpen, markClose = '\uFDD0', '\uFDD1'
	markTag             = 't' // after markOpen: mark of a block tag
	markURL             = 'u' // placeholder inside a URL
)

// plainTokens generates a template for the text part from one for the HTML part. It has the same placeholders and
// blocks in the same order.
func plainTokens(tokens []token) []token {
	var b strings.Builder
	first := map[string]int{} // the same placeholder always gets the same mark, so that a link's text can equal its URL
	for i, t := range tokens {
		if t.kind == tokenText {
			b.WriteString(dropMarks(t.body))
			continue
		}
		b.WriteRune(markOpen)
		if t.kind == tokenTag {
			b.WriteByte(markTag)
		} else if n, ok := first[t.body]; ok {
			i = n
		} else {
			first[t.body] = i
		}
		b.WriteString(strconv.Itoa(i))
		b.WriteRune(markClose)
	}
	return unmark(HTMLToText(b.String()), tokens)
}

func dropMarks(s string) string {
	return strings.Map(func(r rune) rune {
		if r == markOpen || r == markClose {
			return -1
		}
		return r
	}, s)
}

// unmark replaces marks in text with the placeholders and tags that they represent.
func unmark(text string, tokens []token) []token {
	var out []token
	src := &source{"text generated from the HTML", text}
	if len(tokens) > 0 {
		src = tokens[0].src
	}
	for text != "" {
		before, rest, ok := strings.Cut(text, string(markOpen))
		if before != "" {
			out = append(out, token{kind: tokenText, body: before, src: src})
		}
		if !ok {
			break
		}
		number, after, _ := strings.Cut(rest, string(markClose))
		digits := strings.TrimLeft(number, string([]rune{markTag, markURL}))
		if i, err := strconv.Atoi(digits); err == nil && i < len(tokens) {
			t := tokens[i]
			t.inURL = strings.HasPrefix(number, string(markURL))
			out = append(out, t)
		}
		text = after
	}
	return out
}

// HTMLToText converts HTML for a text/plain part. Blocks are on separate lines, list items start with a dash, and
// images become their alt text. Links become "text (URL)", or only the URL if that is the text. Scripts, styles, the
// head and hidden elements are left out. It reads a stream of tags instead of building a tree, which would move some
// text out of tables.
func HTMLToText(src string) string {
	w := &plainWriter{}
	z := html.NewTokenizer(strings.NewReader(src))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return w.finish() // reading a string can only fail at its end
		case html.TextToken:
			w.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			w.open(&t)
		case html.EndTagToken:
			t := z.Token()
			w.close(t.DataAtom)
		}
	}
}

// imagesWithoutAlt counts the images without an alt attribute. An empty alt is deliberate and does not count.
func imagesWithoutAlt(src string) (n int) {
	z := html.NewTokenizer(strings.NewReader(src))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		t := z.Token()
		if t.DataAtom == atom.Img && !slices.ContainsFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "alt" }) {
			n++
		}
	}
	return n
}

// plainWriter writes plain text word by word. White space stays pending until the next word.
type plainWriter struct {
	b      strings.Builder
	any    bool // a word was written
	breaks int  // pending line breaks, at most 2
	space  bool // a space is pending
	paid   int  // line breaks already written before a block's mark
	blank  bool // a space was already written
	skip   []atom.Atom
	href   string
	link   int // start of the link's text in b
	inLink bool
	pre    int
	lists  []int // number of the next item per open list; 0: bullets
}

func (w *plainWriter) text(s string) {
	if len(w.skip) > 0 {
		w.blocksOnly(s)
		return
	}
	if w.pre > 0 {
		w.preformatted(s)
		return
	}
	for s != "" {
		before, rest, ok := strings.Cut(s, string(markOpen))
		w.words(before)
		if !ok {
			return
		}
		var number string
		number, s, _ = strings.Cut(rest, string(markClose))
		w.mark(number)
	}
}

// mark writes the mark of a placeholder or tag as a word. Before a block tag it writes pending white space: the text of
// the branch may be omitted, and the next branch also starts here.
func (w *plainWriter) mark(number string) {
	if strings.HasPrefix(number, string(markTag)) {
		if w.any {
			w.paid, w.blank = max(w.paid, w.breaks), w.blank || w.space || w.breaks > 0
		}
		w.settle()
		w.b.WriteString(string(markOpen) + number + string(markClose))
		return
	}
	w.word(string(markOpen) + number + string(markClose))
}

func (w *plainWriter) words(s string) {
	for s != "" {
		n := strings.IndexFunc(s, blankRune)
		if n != 0 {
			if n < 0 {
				n = len(s)
			}
			w.word(dropZeroWidth(s[:n]))
			s = s[n:]
			continue
		}
		w.space = !w.blank
		s = strings.TrimLeftFunc(s, blankRune)
	}
}

func blankRune(r rune) bool {
	return r == ' ' || r == '\t' || r == '\n' || r == '\r' || r == '\f' || r == '\u00a0'
}

// dropZeroWidth removes the invisible characters with which authors pad a preheader.
func dropZeroWidth(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '\u200b', '\u200c', '\ufeff', '\u00ad', '\u034f', '\u2007':
			return -1
		}
		return r
	}, s)
}

func (w *plainWriter) word(s string) {
	if s == "" {
		return
	}
	w.settle()
	w.wrote(s)
}

func (w *plainWriter) wrote(s string) {
	w.b.WriteString(s)
	w.any, w.paid, w.blank = true, 0, false
}

// settle writes the pending white space.
func (w *plainWriter) settle() {
	if w.any {
		switch {
		case w.breaks > 0:
			w.b.WriteString(strings.Repeat("\n", w.breaks))
		case w.space:
			w.b.WriteByte(' ')
		}
	}
	w.breaks, w.space = 0, false
}

func (w *plainWriter) preformatted(s string) {
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			w.breaks = min(2, w.breaks+1)
		}
		if line != "" {
			w.settle()
			w.wrote(strings.TrimRight(line, "\r"))
		}
	}
}

// blocksOnly writes only the marks of block tags in s, which is omitted text. Otherwise blocks would become unbalanced,
// for example an if in the head without its endif.
func (w *plainWriter) blocksOnly(s string) {
	for {
		_, rest, ok := strings.Cut(s, string(markOpen))
		if !ok {
			return
		}
		var number string
		if number, s, _ = strings.Cut(rest, string(markClose)); strings.HasPrefix(number, string(markTag)) {
			w.mark(number)
		}
	}
}

func (w *plainWriter) open(t *html.Token) {
	if len(w.skip) > 0 && impliedEnd(w.skip[0], t.DataAtom) {
		w.skip = nil
	}
	if len(w.skip) > 0 {
		if t.DataAtom == w.skip[0] && t.Type == html.StartTagToken && !void(t.DataAtom) {
			w.skip = append(w.skip, t.DataAtom)
		}
		return
	}
	if hidden(t) && !void(t.DataAtom) && t.Type == html.StartTagToken {
		w.skip = append(w.skip, t.DataAtom)
		return
	}
	switch t.DataAtom {
	case atom.Br:
		w.breaks = min(2, w.breaks+1)
		w.space = false
	case atom.Img:
		w.text(" " + attribute(t, "alt") + " ")
	case atom.A:
		w.endLink()
		w.href, w.link, w.inLink = strings.TrimSpace(attribute(t, "href")), w.b.Len(), true
	case atom.Ul:
		w.block(1)
		w.lists = append(w.lists, 0)
	case atom.Ol:
		w.block(1)
		w.lists = append(w.lists, 1)
	case atom.Li:
		w.item()
	case atom.Hr:
		w.block(2)
		w.word("----")
		w.block(2)
	case atom.Pre:
		w.block(2)
		w.pre++
	case atom.Td, atom.Th:
		w.space = true
	default:
		w.block(breaksAround(t.DataAtom))
	}
}

// impliedEnd reports whether the start of the element next ends the element open: a body ends the head, and a block
// ends a paragraph.
func impliedEnd(open, next atom.Atom) bool {
	return open == atom.Head && next == atom.Body || open == atom.P && breaksAround(next) > 0
}

// maxIndent is the maximum indentation depth of nested lists.
const maxIndent = 8

func (w *plainWriter) item() {
	w.block(1)
	mark := "- "
	if n := len(w.lists); n > 0 {
		indent := strings.Repeat("  ", min(n-1, maxIndent)) // otherwise nested lists would grow quadratically
		mark = indent + mark
		if w.lists[n-1] > 0 {
			mark = indent + strconv.Itoa(w.lists[n-1]) + ". "
			w.lists[n-1]++
		}
	}
	w.settle()
	w.wrote(mark)
	w.blank = true
}

func (w *plainWriter) close(a atom.Atom) {
	if n := len(w.skip); n > 0 {
		if a == w.skip[0] {
			w.skip = w.skip[:n-1]
		}
		return
	}
	switch a {
	case atom.A:
		w.endLink()
	case atom.Ul, atom.Ol:
		if n := len(w.lists); n > 0 {
			w.lists = w.lists[:n-1]
		}
		w.block(min(2, 2-min(1, len(w.lists))))
	case atom.Pre:
		w.pre = max(0, w.pre-1)
		w.block(2)
	default:
		w.block(breaksAround(a))
	}
}

// endLink writes the URL of a link after its text, or instead of it.
func (w *plainWriter) endLink() {
	if !w.inLink {
		return
	}
	w.inLink = false
	if w.href == "" || strings.HasPrefix(w.href, "#") {
		return
	}
	url := strings.TrimPrefix(strings.TrimPrefix(w.href, "mailto:"), "tel:")
	if url != "" {
		_, n := utf8.DecodeRuneInString(url)
		url = url[:n] + strings.ReplaceAll(url[n:], string(markOpen), string(markOpen)+string(markURL))
	}
	text := strings.TrimSpace(w.b.String()[min(w.link, w.b.Len()):])
	switch {
	case text == "":
		w.word(url)
	case text == url || text == w.href || "https://"+text == url || "http://"+text == url:
	default:
		w.space = w.breaks == 0
		w.word("(" + url + ")")
	}
}

func (w *plainWriter) block(breaks int) {
	if breaks > 0 {
		w.breaks, w.space = max(w.breaks, breaks-w.paid), false
	}
}

func (w *plainWriter) finish() string {
	w.endLink()
	if w.b.Len() == 0 {
		return ""
	}
	return w.b.String() + "\n"
}

// breaksAround returns the number of line breaks before and after an element.
func breaksAround(a atom.Atom) int {
	switch a {
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Blockquote, atom.Table, atom.Dl, atom.Figure:
		return 2
	case atom.Div, atom.Tr, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Main, atom.Nav, atom.Aside,
		atom.Address, atom.Center, atom.Dt, atom.Dd, atom.Form, atom.Fieldset,
		atom.Body, atom.Li, atom.Tbody, atom.Caption, atom.Figcaption:
		return 1
	}
	return 0
}

// hidden reports whether an element is invisible because of its name, an attribute or its style.
func hidden(t *html.Token) bool {
	switch t.DataAtom {
	case atom.Script, atom.Style, atom.Head, atom.Title, atom.Template, atom.Noframes, atom.Iframe, atom.Object, atom.Svg:
		return true
	}
	for _, a := range t.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "style":
			s := strings.ToLower(strings.ReplaceAll(a.Val, " ", ""))
			if strings.Contains(s, "display:none") || strings.Contains(s, "visibility:hidden") {
				return true
			}
		}
	}
	return false
}

func void(a atom.Atom) bool {
	switch a {
	case atom.Br, atom.Img, atom.Hr, atom.Input, atom.Meta, atom.Link, atom.Area, atom.Base,
		atom.Col, atom.Embed, atom.Source, atom.Track, atom.Wbr:
		return true
	}
	return false
}

func attribute(t *html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
