package markup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/mail"
)

// The kinds of source that Compile accepts.
const (
	KindMarkdown = "markdown"
	KindBlocks   = "blocks"
)

// These size limits of a source and its output bound the work for a hostile source.
const (
	maxSource = 512 << 10 // bytes of a source
	maxOutput = 1 << 20   // bytes of a part
	maxDepth  = 12        // nested blocks
)

// Options configures the compilation of a source.
type Options struct {
	Theme    *Theme // nil: the first built-in theme
	Language string // language of footer and document, one of core.Languages
	Title    string // title of the HTML document; a template like the subject
	// Name is shown in the masthead at the top of the email; empty: nothing.
	Name string
	// Logo is shown instead of the name, which becomes its alt text.
	Logo      string
	DarkLogo  string // logo in dark mode; empty means the same
	LogoWidth int    // width in pixels
	Footer    string // lines before the unsubscribe link
	Social    []core.SocialLink
	Address   string // lines of the postal address
	// Beginning adds the first words of the content as preview text. Without it, inboxes show the name or logo.
	Beginning bool
	Polls     []core.Poll // polls that placeholders such as {{ poll.1 }} insert
	// AllowHTML permits HTML in Markdown, which is otherwise shown as text.
	AllowHTML bool
}

// Warning describes content that is permitted but probably unintended. Line is a line of Markdown, and Block the number
// of a block. Both start at 1, and 0 means none. Code is one of the codes for core.CampaignFinding.
type Warning struct {
	Line  int    `json:"line,omitempty"`
	Block int    `json:"block,omitempty"`
	Code  string `json:"code"`
	Text  string `json:"text"`
	Name  string `json:"name,omitempty"` // image that the warning is about; empty: none or unknown
}

// The values of Warning.Code.
const (
	doubtful   = "content_doubtful"
	badLink    = "link_malformed"
	withoutAlt = "image_without_alt"
	htmlAsText = "html_as_text"
	localImage = mail.LocalPictureCode
)

// String returns the warning with its position.
func (w Warning) String() string {
	switch {
	case w.Line > 0:
		return fmt.Sprintf("line %d: %s", w.Line, w.Text)
	case w.Block > 0:
		return fmt.Sprintf("block %d: %s", w.Block, w.Text)
	}
	return w.Text
}

// Result is Compile's output: two templates for mail.CompileBulk that contain the source's placeholders unchanged.
type Result struct {
	HTML     string    `json:"html"`
	Text     string    `json:"text"`
	Warnings []Warning `json:"warnings"`
}

// Compile compiles a source into the parts of an email. Errors are *core.Error of kind Invalid. They name
// content.source with a position in the message, content.kind, or a theme field.
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

// document is the parsed content of an email.
type document struct {
	options  *Options
	marks    placeholders
	body     []node
	warnings []Warning
	block    int // number of the current block
	signs    int // number of emphasis and link signs, for bound
	cells    int // number of table cells, for bound
	octets   int // size of the source in bytes
}

func (d *document) warn(line int, code, text string) {
	d.warnings = append(d.warnings, Warning{Line: line, Block: d.block, Code: code, Text: text})
}

// warnLocal adds a warning if an image's file is on the author's computer, and reports whether it is.
func (d *document) warnLocal(line int, src, alt string) bool {
	name, text := mail.LocalPicture(src, alt)
	if text != "" {
		d.warnings = append(d.warnings, Warning{Line: line, Block: d.block, Code: localImage, Text: text, Name: name})
	}
	return text != ""
}
