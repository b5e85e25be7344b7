package markup

import (
	"bytes"
	"fmt"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// attributeParser parses {.button} and {width=300} after a link or an image.
type attributeParser struct{}

// attributes is an inline node with attributes such as {.button}.
type attributes struct{ ast.BaseInline }

var kindAttributes = ast.NewNodeKind("Attributes")

// Kind implements ast.Node.
func (*attributes) Kind() ast.NodeKind { return kindAttributes }

// Dump implements ast.Node.
func (a *attributes) Dump(source []byte, level int) { ast.DumpHelper(a, source, level, nil, nil) }

// Trigger implements parser.InlineParser.
func (attributeParser) Trigger() []byte { return []byte{'{'} }

// Parse implements parser.InlineParser.
func (attributeParser) Parse(parent ast.Node, block text.Reader, _ parser.Context) ast.Node {
	before := parent.LastChild()
	switch before.(type) {
	case *ast.Link, *ast.Image:
	default:
		return nil
	}
	found, ok := parser.ParseAttributes(block)
	if !ok {
		return nil
	}
	if l, ok := before.(*ast.Link); ok && linkedImage(l) != nil {
		before = linkedImage(l)
	}
	for _, a := range found {
		before.SetAttribute(a.Name, a.Value)
	}
	return &attributes{}
}

// skipAttributes returns the first of n and its next siblings that isn't an attributes node.
func skipAttributes(n ast.Node) ast.Node {
	for n != nil && n.Kind() == kindAttributes {
		n = n.NextSibling()
	}
	return n
}

// linkedImage returns the image in a link that contains nothing else, or nil.
func linkedImage(l *ast.Link) *ast.Image {
	if img, ok := l.FirstChild().(*ast.Image); ok && skipAttributes(img.NextSibling()) == nil {
		return img
	}
	return nil
}

func isButton(n *ast.Link) bool {
	class, _ := n.AttributeString("class")
	return bytes.Contains([]byte(attributeText(class)), []byte("button"))
}

// attributeText returns an attribute value, which the parser provides as bytes or as a number.
func attributeText(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}
