package markup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/mail"
)

// The kinds of source that Compile reads.
const (
	KindMarkdown = "markdown"
	KindBlocks   = "blocks"
)

// Limits of a source and of what it becomes. They bound the work of a hostile one.
const (
	maxSource = 512 << 10 // octets
	maxOutput = 1 << 20   // octets of a part
	maxDepth  = 12        // blocks in blocks
)

// Options say how a source is compiled.
type Options struct {
	Theme    *Theme // nil: the first of the built-in ones
	Language string // one of core.Languages, of the footer and of the document
	Title    string // of the document; a template, as a subject is
	// Name stands at the head of the mail, as a newspaper's does; empty: nothing stands there.
	Name string
	// Logo stands there in place of the name, which is then its alt text.
	Logo      string
	LogoWidth int    // pixels
	Footer    string // in lines, before the link to leave
	Social    []core.SocialLink
	Address   string // postal, in lines
	// Beginning has the mail tell inboxes its first words, which else show the name or the logo at its head.
	Beginning bool
	// AllowHTML lets HTML in Markdown through. It is shown as text otherwise.
	AllowHTML bool
}

// Warning tells of what is allowed and probably not meant. Line is that of Markdown, from 1; Block that of blocks, from
// 1; 0 where it belongs to none. Code is that of core.CampaignFinding.
type Warning struct {
	Line  int    `json:"line,omitempty"`
	Block int    `json:"block,omitempty"`
	Code  string `json:"code"`
	Text  string `json:"text"`
}

// Codes of a Warning.
const (
	doubtful   = "content_doubtful"
	badLink    = "link_malformed"
	withoutAlt = "image_without_alt"
	htmlAsText = "html_as_text"
	localImage = mail.LocalPictureCode
)

// String returns the warning with its place.
func (w Warning) String() string {
	switch {
	case w.Line > 0:
		return fmt.Sprintf("line %d: %s", w.Line, w.Text)
	case w.Block > 0:
		return fmt.Sprintf("block %d: %s", w.Block, w.Text)
	}
	return w.Text
}

// Result is what a source becomes: two templates for mail.CompileBulk, in which the placeholders of the source stand as
// they stood there.
type Result struct {
	HTML     string    `json:"html"`
	Text     string    `json:"text"`
	Warnings []Warning `json:"warnings"`
}

// Compile turns a source of a kind into the parts of a mail. Errors are *core.Error of kind Invalid, with the field
// content.source and a place in the message, or content.kind, or a field of the theme.
func Compile(kind, source string, o Options) (*Result, error) {
	if o.Theme == nil {
		o.Theme = &themes[0]
	}
	if err := o.Theme.Check(); err != nil {
		return nil, err
	}
	if len(source) > maxSource {
		return nil, core.Invalidf("content.source", "content.source must have at most %d bytes.", maxSource)
	}
	source = strings.ToValidUTF8(source, "\uFFFD")
	d := &document{options: &o, octets: len(source)}
	switch kind {
	case KindMarkdown:
		if err := d.readMarkdown(source); err != nil {
			return nil, err
		}
	case KindBlocks:
		if err := d.readBlocks(source); err != nil {
			return nil, d.inBlock(source, err)
		}
	default:
		return nil, core.Invalidf("content.kind", "content.kind must be markdown or blocks.")
	}
	r := &Result{HTML: writeHTML(d), Text: writeText(d)}
	if len(r.HTML) > maxOutput || len(r.Text) > maxOutput {
		return nil, core.Invalidf("content.source", "content.source renders to more than %d bytes. Shorten it.",
			maxOutput)
	}
	slices.SortStableFunc(d.warnings, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Block, b.Block))
	})
	r.Warnings = append([]Warning{}, slices.Compact(d.warnings)...)
	return r, nil
}

// document is a source that was read.
type document struct {
	options  *Options
	marks    placeholders
	body     []node
	warnings []Warning
	block    int // at hand, of blocks
	signs    int // of emphasis and links, for bound
	cells    int // of tables, for bound
	octets   int // of the source
}

func (d *document) warn(line int, code, text string) {
	d.warnings = append(d.warnings, Warning{Line: line, Block: d.block, Code: code, Text: text})
}
