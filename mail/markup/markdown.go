package markup

import (
	"bufio"
	"bytes"
	stdhtml "html"
	"regexp"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"newsletterd/core"
)

// path matches the part of a bare URL after the host. Unlike goldmark's pattern, it allows placeholders, and letters of
// scripts that put spaces between words.
const path = `(?:[/#?](?:[-a-zA-Z0-9@:%_+.~#$!?&/=(),;'">^{}\[\]` + "`" + `\p{Latin}\p{Greek}\p{Cyrillic}\p{M}]|` +
	outputForm + `)*)?`

// markdown is the parser. Its renderer is never used.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.NewLinkify(
		extension.WithLinkifyURLRegexp(regexp.MustCompile(`^(?:https?|ftp)://[-a-zA-Z0-9@:%._+~#=]{1,256}\.[a-z]+(?::\d+)?`+path)),
		extension.WithLinkifyWWWRegexp(regexp.MustCompile(`^www\.[-a-zA-Z0-9@:%._+~#=]{1,256}\.[a-z]+`+path)),
	)),
	goldmark.WithParserOptions(
		parser.WithBlockParsers(util.Prioritized(containerParser{}, 650)),
		parser.WithInlineParsers(util.Prioritized(attributeParser{}, 150)),
	),
).Parser()

// readMarkdown fills the document from Markdown.
func (d *document) readMarkdown(source string) error {
	if err := d.bound(source); err != nil {
		return err
	}
	src, err := d.marks.hide(source)
	if err != nil {
		return err
	}
	octets := []byte(src)
	r := &markdownReader{d: d, src: octets}
	d.body = r.blocks(markdown.Parse(text.NewReader(octets)), 0)
	return nil
}

// Limits for quantities with which the parsing time grows quadratically.
const (
	maxQuotes    = 100    // nested blocks started by one line
	maxSigns     = 2000   // signs of emphasis, links and URLs in lines without an empty line between them
	maxSignsEver = 20_000 // signs in the whole source
)

// maxCells is the maximum number of table cells. It limits memory use, because the parser extends every row to the
// number of columns in the header.
const maxCells = 100_000

// bound returns an error for Markdown that would take too long to parse. It counts signs and cells for the whole
// document.
func (d *document) bound(source string) error {
	if deepest(source) > maxQuotes {
		return core.Invalidf("content.source", "content.source must have at most %d levels of nesting.", maxQuotes)
	}
	run, at := 0, 0
	lines, pipes := 0, 0 // counts for the current run of lines; a table ends with it
	for line := range strings.Lines(source) {
		at++
		if strings.Trim(line, " \t\r\n") == "" {
			run, lines, pipes = 0, 0, 0
			continue
		}
		d.cells -= lines * pipes
		lines, pipes = lines+1, max(pipes, strings.Count(line, "|"))
		if d.cells += lines * pipes; d.cells > maxCells {
			return onLine(at, core.Invalidf("content.source", "line %d: adjacent tables have more than %d cells in "+
				"total. Shorten them, or put a blank line between them.", at, maxCells))
		}
		n := 0
		for i := range len(line) {
			if strings.IndexByte("*_~[@", line[i]) >= 0 {
				n++
			}
		}
		run, d.signs = run+n, d.signs+n
		if run > maxSigns {
			return onLine(at, core.Invalidf("content.source", "line %d: a paragraph, list or table has more than "+
				"%d emphasis marks and links. Split it with a blank line.", at, maxSigns))
		}
	}
	if d.signs > maxSignsEver {
		return core.Invalidf("content.source",
			"content.source must have at most %d emphasis marks and links. Remove some.",
			maxSignsEver)
	}
	return nil
}

// deepest returns an upper bound for the nesting depth of blocks: the largest number of quote and list signs at the
// start of a line or, if larger, of indentation steps in a list.
func deepest(source string) (most int) {
	for line := range strings.Lines(source) {
		n, blanks := 0, 0
		for _, c := range line {
			if c == '>' || c == '-' || c == '*' || c == '+' || c == ')' || c == '.' {
				n++
			} else if c == ' ' && n == 0 {
				blanks++
			} else if c == '\t' && n == 0 {
				blanks += 4
			} else if c != ' ' && c != '\t' && (c < '0' || c > '9') {
				break
			}
		}
		if strings.Trim(line, "-* \t\r\n+") == "" && !strings.ContainsRune(line, '>') {
			continue // a divider
		}
		if most = max(most, n); n > 0 {
			most = max(most, blanks/2)
		}
	}
	return most
}

// markdownReader converts the syntax tree of the parser to document nodes.
type markdownReader struct {
	d       *document
	src     []byte
	feeds   []int // byte offsets of the line feeds in src; set by lineAt
	ofBlock bool  // the source is a block's text, so its lines are not lines of a file
}

func (r *markdownReader) blocks(parent ast.Node, depth int) (out []node) {
	if depth > maxDepth {
		r.warn(parent, doubtful, "Blocks are nested too deeply for email programs. The inner ones are left out.")
		return nil
	}
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if b := r.block(n, depth+1); b != nil {
			out = append(out, b)
		}
	}
	return out
}

func (r *markdownReader) block(n ast.Node, depth int) node {
	switch n := n.(type) {
	case *ast.Heading:
		return heading{n.Level, r.spans(n)}
	case *ast.Paragraph:
		return r.paragraph(n)
	case *ast.TextBlock:
		return r.paragraph(n)
	case *ast.ThematicBreak:
		return divider{}
	case *ast.Blockquote:
		return quote{r.blocks(n, depth)}
	case *ast.FencedCodeBlock:
		return code{string(n.Lines().Value(r.src))}
	case *ast.CodeBlock:
		return code{string(n.Lines().Value(r.src))}
	case *ast.List:
		l := list{ordered: n.IsOrdered(), start: n.Start, tight: n.IsTight}
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			l.items = append(l.items, r.blocks(item, depth))
		}
		return l
	case *ast.HTMLBlock:
		return r.htmlBlock(n)
	case *extast.Table:
		return r.table(n)
	case *container:
		return r.container(n, depth)
	}
	return nil // a link definition
}

// paragraph converts a paragraph to a node: text or, if alone in the paragraph, an image, a button or template tags.
func (r *markdownReader) paragraph(n ast.Node) node {
	if r.d.marks.onlyTags(string(n.Lines().Value(r.src))) {
		return tags{string(n.Lines().Value(r.src))}
	}
	if p := r.d.pollOf(string(n.Lines().Value(r.src))); p != nil {
		return p
	}
	if only := n.FirstChild(); only != nil && skipAttributes(only.NextSibling()) == nil {
		switch l := only.(type) {
		case *ast.Image:
			return figure{picture: r.picture(l)}
		case *ast.Link:
			if isButton(l) {
				return button{r.spans(l), r.href(l, r.resolve(l.Destination))}
			}
			if img := linkedImage(l); img != nil {
				return figure{r.picture(img), r.href(l, r.resolve(l.Destination))}
			}
		}
	}
	spans := r.spans(n)
	if len(spans) == 0 {
		return nil
	}
	return paragraph{spans}
}

func (r *markdownReader) spans(parent ast.Node) (out []span) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			out = append(out, words(r.unescape(n.Value(r.src))))
			if n.HardLineBreak() {
				out = append(out, lineBreak{})
			} else if n.SoftLineBreak() {
				out = append(out, words("\n"))
			}
		case *ast.String:
			out = append(out, words(n.Value))
		case *ast.CodeSpan:
			out = append(out, codeSpan(r.codeText(n)))
		case *ast.Emphasis:
			tag := "em"
			if n.Level == 2 {
				tag = "strong"
			}
			out = append(out, emphasis{tag, r.spans(n)})
		case *extast.Strikethrough:
			out = append(out, emphasis{"del", r.spans(n)})
		case *ast.Link:
			out = append(out, r.link(n)...)
		case *ast.Image:
			out = append(out, r.picture(n))
		case *ast.AutoLink:
			out = append(out, r.autoLink(n)...)
		case *ast.RawHTML:
			out = append(out, r.rawSpans(n)...)
		}
	}
	return out
}

// unescape resolves the escapes that the parser leaves in text: backslashes, entities and NUL bytes.
func (r *markdownReader) unescape(text []byte) string {
	return r.d.marks.between(text, func(text string) string {
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		html.DefaultWriter.Write(w, []byte(text))
		_ = w.Flush() // can't fail: it writes to memory
		return stdhtml.UnescapeString(b.String())
	})
}

func (r *markdownReader) codeText(n ast.Node) string {
	var b bytes.Buffer
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(bytes.ReplaceAll(t.Segment.Value(r.src), []byte("\n"), []byte(" ")))
		}
	}
	return b.String()
}

func (r *markdownReader) link(n *ast.Link) []span {
	body, href := r.spans(n), r.href(n, r.resolve(n.Destination))
	if isButton(n) {
		r.warn(n, doubtful, "A button must be alone in its paragraph. This one becomes a link.")
	}
	if href == "" {
		return body
	}
	return []span{link{href, r.unescape(n.Title), body}}
}

func (r *markdownReader) autoLink(n *ast.AutoLink) []span {
	label, url := string(n.Label(r.src)), string(n.URL(r.src))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(url, "mailto:") {
		url = "mailto:" + url
	}
	if href := r.href(n, url); href != "" {
		return []span{link{href: href, body: []span{words(label)}}}
	}
	return []span{words(label)}
}

func (r *markdownReader) picture(n *ast.Image) picture {
	p := picture{alt: plain(r.spans(n)), title: r.unescape(n.Title)}
	if v, ok := n.AttributeString("width"); ok {
		if w, err := strconv.Atoi(attributeText(v)); err == nil && w > 0 && w <= 2000 {
			p.width = w
		} else {
			r.warn(n, doubtful, "The width of an image must be from 1 to 2000 pixels.")
		}
	}
	src := r.resolve(n.Destination)
	if r.d.warnLocal(r.lineOf(n), src, p.alt) {
		return p
	}
	if strings.TrimSpace(p.alt) == "" {
		r.warn(n, withoutAlt, "An image has no alt text. Add it: ![What it shows](…).")
	}
	p.src = r.imageURL(n, src)
	return p
}

func (r *markdownReader) table(n *extast.Table) node {
	t := table{}
	for _, a := range n.Alignments {
		word := a.String()
		if a == extast.AlignNone {
			word = ""
		}
		t.align = append(t.align, word)
	}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells [][]span
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, r.spans(cell))
		}
		if row.Kind() == extast.KindTableHeader {
			t.head = cells
		} else {
			t.rows = append(t.rows, cells)
		}
	}
	return t
}

func (r *markdownReader) htmlBlock(n *ast.HTMLBlock) node {
	var b bytes.Buffer
	b.Write(n.Lines().Value(r.src))
	if n.HasClosure() {
		b.Write(n.ClosureLine.Value(r.src))
	}
	return r.rawBlock(n, b.String())
}

func (r *markdownReader) rawBlock(n ast.Node, source string) node {
	source = dropComments(source)
	switch {
	case strings.TrimSpace(source) == "":
		return nil
	case r.d.options.AllowHTML:
		return rawHTML{source}
	}
	r.warn(n, htmlAsText, "HTML is shown as text here.")
	return paragraph{[]span{words(strings.TrimSpace(source))}}
}

func (r *markdownReader) rawSpans(n *ast.RawHTML) []span {
	var b bytes.Buffer
	for i := range n.Segments.Len() {
		s := n.Segments.At(i)
		b.Write(s.Value(r.src))
	}
	source := dropComments(b.String())
	switch {
	case source == "":
		return nil
	case r.d.options.AllowHTML:
		return []span{rawSpan(source)}
	}
	r.warn(n, htmlAsText, "HTML is shown as text here.")
	return []span{words(source)}
}

// dropComments removes HTML comments, which subscribers don't see and in which placeholders are not allowed.
func dropComments(s string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "<!--")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		if _, s, ok = strings.Cut(rest, "-->"); !ok {
			return b.String()
		}
	}
}

// warn adds a warning at the line where a node's block starts.
func (r *markdownReader) warn(n ast.Node, code, text string) { r.d.warn(r.lineOf(n), code, text) }

// lineOf returns the line where a node's block starts; 0: unknown.
func (r *markdownReader) lineOf(n ast.Node) int {
	for n.Type() == ast.TypeInline && n.Parent() != nil {
		n = n.Parent()
	}
	if at, ok := begin(n); ok {
		return r.lineAt(at)
	}
	return 0
}

// begin returns the byte offset at which a block starts.
func begin(n ast.Node) (octet int, ok bool) {
	if n.Type() == ast.TypeInline {
		return 0, false
	}
	if l := n.Lines(); n.Type() == ast.TypeBlock && l != nil && l.Len() > 0 {
		return l.At(0).Start, true
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if octet, ok = begin(c); ok {
			return octet, true
		}
	}
	return 0, false
}
