package markup

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"newsletterd/core"
)

// BlocksVersion is the version of the blocks format that newsletterd writes. It can read this version and all earlier
// ones.
const BlocksVersion = 1

// maxBlocks is the maximum number of blocks in a source, including those in columns and quotes.
const maxBlocks = 500

// blockTypes maps the type of a block to the other keys that it may have.
var blockTypes = map[string][]string{
	"heading": {"text", "level"},
	"text":    {"text"},
	"image":   {"src", "alt", "width", "href", "caption"},
	"button":  {"text", "href"},
	"columns": {"columns"},
	"divider": {},
	"spacer":  {"height"},
	"quote":   {"text", "blocks"},
	"callout": {"kind", "text", "blocks"},
	"social":  {"links"},
	"html":    {"html"},
}

// block is a block in JSON form. It has the keys of all block types; missing keys are nil.
type block struct {
	Type    string       `json:"type"`
	Text    *string      `json:"text"` // Markdown; a single line for headings and buttons
	Level   *int         `json:"level"`
	Src     *string      `json:"src"`
	Alt     *string      `json:"alt"`
	Width   *int         `json:"width"`
	Href    *string      `json:"href"`
	Caption *string      `json:"caption"`
	Columns [][]block    `json:"columns"`
	Height  *int         `json:"height"`
	Kind    *string      `json:"kind"`
	Blocks  []block      `json:"blocks"`
	Links   []socialLink `json:"links"`
	HTML    *string      `json:"html"`
}

// foreign returns the first of keys that is not valid for the block's type, or an empty string.
func (b *block) foreign(keys []string) string {
	for _, k := range []struct {
		name string
		has  bool
	}{
		{"alt", b.Alt != nil},
		{"blocks", b.Blocks != nil},
		{"caption", b.Caption != nil},
		{"columns", b.Columns != nil},
		{"height", b.Height != nil},
		{"href", b.Href != nil},
		{"html", b.HTML != nil},
		{"kind", b.Kind != nil},
		{"level", b.Level != nil},
		{"links", b.Links != nil},
		{"src", b.Src != nil},
		{"text", b.Text != nil},
		{"width", b.Width != nil},
	} {
		if k.has && !slices.Contains(keys, k.name) {
			return k.name
		}
	}
	return ""
}

// or returns *p, or the zero value if p is nil.
func or[T any](p *T) (t T) {
	if p != nil {
		t = *p
	}
	return t
}

// socialLink is a link to the sender's profile elsewhere.
type socialLink struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// readBlocks parses blocks (JSON) into the document.
func (d *document) readBlocks(source string) error {
	var all struct {
		Version int     `json:"version"`
		Blocks  []block `json:"blocks"`
	}
	dec := json.NewDecoder(strings.NewReader(source))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&all); err != nil {
		return blocksError(err, source, dec.InputOffset())
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return core.Invalidf("content.source", "content.source must contain exactly one JSON object.")
	}
	if all.Version < 1 || all.Version > BlocksVersion {
		return core.Invalidf("content.source", "version must be %d.", BlocksVersion)
	}
	r := &blocksReader{d: d}
	var err error
	d.body, err = r.blocks("blocks", all.Blocks, 0)
	return err
}

// hide replaces the placeholders in a block's text with marks.
func (r *blocksReader) hide(b *block) error {
	texts := []*string{b.Text, b.Src, b.Href, b.Caption, b.HTML, b.Alt}
	for i := range b.Links {
		texts = append(texts, &b.Links[i].Name, &b.Links[i].URL)
	}
	for _, t := range texts {
		if t == nil || *t == "" {
			continue
		}
		if err := r.d.bound(*t); err != nil {
			return err
		}
		hidden, err := r.d.marks.hide(*t)
		if err != nil {
			return err
		}
		*t = hidden
	}
	return nil
}

func blocksError(err error, source string, offset int64) error {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &wrong):
		return core.Invalidf("content.source", "%s can't be a JSON %s.", cmp.Or(wrong.Field, "content.source"),
			wrong.Value)
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		key := strings.TrimPrefix(err.Error(), "json: unknown field ")
		return core.Invalidf("content.source", "Unknown key %s. Remove it.", key)
	}
	line := lineAt(source, int(offset))
	return onLine(line, core.Invalidf("content.source", "line %d: this is not valid JSON. Use an object with the key "+
		"blocks.", line))
}

// blocksReader converts blocks to nodes.
type blocksReader struct {
	d *document
	n int // number of blocks read
}

func (r *blocksReader) blocks(place string, in []block, depth int) ([]node, error) {
	if depth > maxDepth/3 {
		return nil, core.Invalidf("content.source", "%s: blocks are nested too deeply. Move the inner blocks up.",
			place)
	}
	var out []node
	for i := range in {
		at := fmt.Sprintf("%s[%d]", place, i)
		if r.n++; r.n > maxBlocks {
			return nil, core.Invalidf("content.source", "content.source must have at most %d blocks. Remove some.",
				maxBlocks)
		}
		if depth == 0 {
			r.d.block = i + 1
		}
		if err := r.hide(&in[i]); err != nil {
			return nil, r.at(at, err)
		}
		n, err := r.block(at, &in[i], depth)
		if err != nil {
			return nil, err
		}
		if n != nil {
			out = append(out, n)
		}
	}
	if depth == 0 {
		r.d.block = 0
	}
	return out, nil
}

// at adds the position of a block to an error in the block's text.
func (r *blocksReader) at(place string, err error) error {
	if fault, ok := errors.AsType[*core.Error](err); ok {
		return core.Invalidf(fault.Field, "%s: %s", place, fault.Sentence())
	}
	return err
}

func (r *blocksReader) block(at string, b *block, depth int) (node, error) {
	keys, ok := blockTypes[b.Type]
	if !ok {
		return nil, core.Invalidf("content.source", "%s: unknown block type %q. Use one of %s.", at, b.Type,
			strings.Join(slices.Sorted(maps.Keys(blockTypes)), ", "))
	}
	if k := b.foreign(keys); k != "" {
		return nil, core.Invalidf("content.source", "%s: blocks of type %s have no key %s. Remove it.", at, b.Type, k)
	}
	switch b.Type {
	case "heading":
		level := cmp.Or(or(b.Level), 1)
		if level < 1 || level > 3 {
			return nil, core.Invalidf("content.source", "%s: level must be from 1 to 3.", at)
		}
		return heading{level, r.line(or(b.Text))}, nil
	case "text":
		return group{r.markdown(or(b.Text))}, nil
	case "image":
		return r.image(at, b)
	case "button":
		return r.button(at, b)
	case "columns":
		return r.columns(at, b, depth)
	case "divider":
		return divider{}, nil
	case "spacer":
		height := or(b.Height)
		if height < 4 || height > 120 {
			return nil, core.Invalidf("content.source", "%s: height must be from 4 to 120.", at)
		}
		return spacer{height}, nil
	case "quote":
		body, err := r.inner(at, b, depth)
		return quote{body}, err
	case "callout":
		kind := cmp.Or(strings.ToLower(or(b.Kind)), "note")
		if !slices.Contains(callouts, kind) {
			return nil, core.Invalidf("content.source", "%s: kind must be one of %s.", at, strings.Join(callouts, ", "))
		}
		body, err := r.inner(at, b, depth)
		return callout{kind, body}, err
	case "social":
		return r.social(at, b)
	}
	return r.html(b), nil
}

// inner reads the content of a quote or callout: text or blocks.
func (r *blocksReader) inner(at string, b *block, depth int) ([]node, error) {
	if len(b.Blocks) == 0 {
		return r.markdown(or(b.Text)), nil
	}
	if or(b.Text) != "" {
		return nil, core.Invalidf("content.source", "%s: set either text or blocks, not both.", at)
	}
	return r.blocks(at+".blocks", b.Blocks, depth+1)
}

// markdown parses the Markdown in a block's text.
func (r *blocksReader) markdown(s string) []node {
	if deepest(s) > maxQuotes {
		s = strings.ReplaceAll(s, ">", "")
	}
	m := &markdownReader{d: r.d, src: []byte(s), ofBlock: true}
	return m.blocks(markdown.Parse(text.NewReader(m.src)), 0)
}

// line parses the first paragraph of Markdown as one line.
func (r *blocksReader) line(s string) []span {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < utf8.RuneSelf && unicode.IsSpace(r) }), " ")
	m := &markdownReader{d: r.d, src: []byte(s), ofBlock: true}
	first := markdown.Parse(text.NewReader(m.src)).FirstChild()
	if p, ok := first.(*ast.Paragraph); ok && first.NextSibling() == nil {
		return m.spans(p)
	}
	return []span{words(s)}
}

func (r *blocksReader) image(at string, b *block) (node, error) {
	src, width := or(b.Src), or(b.Width)
	if src == "" {
		return nil, core.Invalidf("content.source", "%s: src is missing.", at)
	}
	if width < 0 || width > 2000 {
		return nil, core.Invalidf("content.source", "%s: width must be from 1 to 2000.", at)
	}
	f := figure{picture: picture{title: or(b.Caption), width: width}}
	if !r.d.warnLocal(0, src, or(b.Alt)) {
		f.src = r.url(src, false)
		if b.Alt == nil {
			r.d.warn(0, withoutAlt, `An image has no alt text. Set "alt", or leave it empty for a decorative image.`)
		}
	}
	f.alt = or(b.Alt)
	if href := or(b.Href); href != "" {
		f.href = r.url(href, true)
	}
	return f, nil
}

func (r *blocksReader) button(at string, b *block) (node, error) {
	if strings.TrimSpace(or(b.Text)) == "" || or(b.Href) == "" {
		return nil, core.Invalidf("content.source", "%s: a button needs text and href.", at)
	}
	return button{withoutLinks(r.line(*b.Text)), r.url(*b.Href, true)}, nil
}

func (r *blocksReader) columns(at string, b *block, depth int) (node, error) {
	if len(b.Columns) < 2 || len(b.Columns) > 3 {
		return nil, core.Invalidf("content.source", "%s: set two or three columns.", at)
	}
	if depth > 0 {
		return nil, core.Invalidf("content.source", "%s: columns can't be inside another block.", at)
	}
	var c columns
	for i, cell := range b.Columns {
		nodes, err := r.blocks(fmt.Sprintf("%s.columns[%d]", at, i), cell, depth+1)
		if err != nil {
			return nil, err
		}
		c.cells = append(c.cells, nodes)
	}
	return c, nil
}

func (r *blocksReader) social(at string, b *block) (node, error) {
	if len(b.Links) == 0 || len(b.Links) > 10 {
		return nil, core.Invalidf("content.source", "%s: set 1 to 10 links.", at)
	}
	var s social
	for i, l := range b.Links {
		href := r.url(l.URL, true)
		if href == "" || strings.TrimSpace(l.Name) == "" {
			return nil, core.Invalidf("content.source", "%s.links[%d]: a link needs name and url.", at, i)
		}
		s.links = append(s.links, link{href: href, body: []span{words(l.Name)}})
	}
	return s, nil
}

func (r *blocksReader) html(b *block) node {
	source := dropComments(or(b.HTML))
	if r.d.options.AllowHTML {
		return rawHTML{source}
	}
	r.d.warn(0, htmlAsText, "HTML is shown as text here.")
	return paragraph{[]span{words(source)}}
}

func (r *blocksReader) url(raw string, isLink bool) string {
	clean, problem := r.d.cleanURL(raw, isLink)
	if problem != "" {
		r.d.warn(0, badLink, problem)
	}
	return clean
}
