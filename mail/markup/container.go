package markup

import (
	"bytes"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// container is the content between an opening line of three colons and a name, and a closing line of only three colons,
// which ends the innermost container.
type container struct {
	ast.BaseBlock
	name string
	line int // byte offset of its start
}

var kindContainer = ast.NewNodeKind("Container")

// Kind implements ast.Node.
func (*container) Kind() ast.NodeKind { return kindContainer }

// Dump implements ast.Node.
func (c *container) Dump(source []byte, level int) {
	ast.DumpHelper(c, source, level, map[string]string{"name": c.name}, nil)
}

// containerParser parses containers. It implements parser.BlockParser.
type containerParser struct{}

// fence parses a line that starts with at least three colons and returns the name after them. ok is false for any other
// line.
func fence(line []byte) (name string, ok bool) {
	line = bytes.TrimRight(line, " \t\r\n")
	rest := bytes.TrimLeft(line, ":")
	if len(line)-len(rest) < 3 {
		return "", false
	}
	return strings.ToLower(strings.Trim(string(rest), " \t{.}:")), true
}

// Trigger implements parser.BlockParser.
func (containerParser) Trigger() []byte { return []byte{':'} }

// Open implements parser.BlockParser.
func (containerParser) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	pos := pc.BlockOffset()
	if pos < 0 {
		return nil, parser.NoChildren
	}
	name, ok := fence(line[pos:])
	if !ok || name == "" || strings.ContainsAny(name, " \t") || len(pc.OpenedBlocks()) > maxQuotes {
		return nil, parser.NoChildren
	}
	advanceToEnd(line, segment, reader)
	return &container{name: name, line: segment.Start}, parser.HasChildren
}

// Continue implements parser.BlockParser.
func (containerParser) Continue(node ast.Node, reader text.Reader, pc parser.Context) parser.State {
	line, segment := reader.PeekLine()
	name, ok := fence(bytes.TrimLeft(line, " "))
	if !ok || name != "" || !innermost(node, pc.OpenedBlocks()) {
		return parser.Continue | parser.HasChildren
	}
	advanceToEnd(line, segment, reader)
	return parser.Close
}

// innermost reports whether a line of colons ends the container node. It doesn't if a nested container or a code block
// is still open.
func innermost(node ast.Node, opened []parser.Block) bool {
	at := slices.IndexFunc(opened, func(b parser.Block) bool { return b.Node == node })
	for _, b := range opened[at+1:] {
		switch b.Node.(type) {
		case *container, *ast.FencedCodeBlock:
			return false
		}
	}
	return true
}

// advanceToEnd moves the reader to the end of its line, before the line feed.
func advanceToEnd(line []byte, segment text.Segment, reader text.Reader) {
	feed := 0
	if bytes.HasSuffix(line, []byte("\n")) {
		feed = 1
	}
	reader.Advance(segment.Len() - feed)
}

// Close implements parser.BlockParser.
func (containerParser) Close(ast.Node, text.Reader, parser.Context) {}

// CanInterruptParagraph reports whether a container can start without an empty line before it. It implements
// parser.BlockParser.
func (containerParser) CanInterruptParagraph() bool { return true }

// CanAcceptIndentedLine reports whether indented code can be a container. It implements parser.BlockParser.
func (containerParser) CanAcceptIndentedLine() bool { return false }

// callouts lists the kinds of callouts.
var callouts = []string{"note", "tip", "warning"}

// container converts a container to a document node. The content of a container with an unknown name gets no frame.
func (r *markdownReader) container(n *container, depth int) node {
	switch {
	case slices.Contains(callouts, n.name):
		return callout{n.name, r.blocks(n, depth)}
	case n.name == "columns":
		var c columns
		for child := n.FirstChild(); child != nil; child = child.NextSibling() {
			if inner, ok := child.(*container); ok && inner.name == "column" {
				c.cells = append(c.cells, r.blocks(inner, depth))
			} else {
				r.warnAt(n.line, doubtful, "Between ::: columns and its end, use only ::: column.")
			}
		}
		if len(c.cells) < 2 || len(c.cells) > 3 {
			r.warnAt(n.line, doubtful, "Use two or three columns side by side. These are placed below each other.")
			return group{slices.Concat(c.cells...)}
		}
		return c
	}
	r.warnAt(n.line, doubtful, "::: "+n.name+" is unknown. Use note, tip, warning or columns.")
	return group{r.blocks(n, depth)}
}

// warnAt adds a warning with the line that contains a byte offset.
func (r *markdownReader) warnAt(octet int, code, text string) { r.d.warn(r.lineAt(octet), code, text) }

// lineAt returns the line that contains a byte offset in the source, or 0 if the source is a block's text.
func (r *markdownReader) lineAt(octet int) int {
	if r.ofBlock {
		return 0
	}
	if r.feeds == nil {
		r.feeds = []int{}
		for i, c := range r.src {
			if c == '\n' {
				r.feeds = append(r.feeds, i)
			}
		}
	}
	before, _ := slices.BinarySearch(r.feeds, octet)
	return 1 + before
}
