package markup

// node is a block-level node of a document. It has one of the types below.
type node interface{ isNode() }

type (
	heading struct {
		level int // 1 to 6
		text  []span
	}
	paragraph struct{ text []span }
	// figure is an image that is alone in its paragraph. href is the URL that it links to, if any
	figure struct {
		picture
		href string
	}
	button struct {
		label []span
		href  string
	}
	columns struct{ cells [][]node }
	divider struct{}
	spacer  struct{ height int } // in pixels
	quote   struct{ body []node }
	code    struct{ text string }
	list    struct {
		ordered bool
		start   int // first number of an ordered list
		tight   bool
		items   [][]node
	}
	table struct {
		align []string // left, center, right or empty, for each column
		head  [][]span
		rows  [][][]span
	}
	callout struct {
		kind string // note, tip or warning
		body []node
	}
	social struct{ links []link }
	// group is a group of blocks without a frame
	group struct{ body []node }
	// tags are template tags in a paragraph of their own. They are written between blocks
	tags struct{ text string }
	// rawHTML is HTML written by the author
	rawHTML struct{ text string }
)

func (heading) isNode()   {}
func (paragraph) isNode() {}
func (figure) isNode()    {}
func (button) isNode()    {}
func (columns) isNode()   {}
func (divider) isNode()   {}
func (spacer) isNode()    {}
func (quote) isNode()     {}
func (code) isNode()      {}
func (list) isNode()      {}
func (table) isNode()     {}
func (callout) isNode()   {}
func (social) isNode()    {}
func (group) isNode()     {}
func (tags) isNode()      {}
func (rawHTML) isNode()   {}

// span is an inline node of a document. It has one of the types below.
type span interface{ isSpan() }

type (
	words    string // text with marks for placeholders
	emphasis struct {
		tag  string // em, strong or del
		body []span
	}
	codeSpan string
	link     struct {
		href, title string
		body        []span
	}
	picture struct {
		src, alt, title string
		width           int // pixels; 0: the available width
	}
	lineBreak struct{}
	rawSpan   string // HTML written by the author
)

func (words) isSpan()     {}
func (emphasis) isSpan()  {}
func (codeSpan) isSpan()  {}
func (link) isSpan()      {}
func (picture) isSpan()   {}
func (lineBreak) isSpan() {}
func (rawSpan) isSpan()   {}

// withoutLinks returns spans with each link replaced by its content.
func withoutLinks(spans []span) (out []span) {
	for _, s := range spans {
		switch s := s.(type) {
		case link:
			out = append(out, withoutLinks(s.body)...)
		case emphasis:
			out = append(out, emphasis{s.tag, withoutLinks(s.body)})
		default:
			out = append(out, s)
		}
	}
	return out
}

// plain returns the text of spans. Images become their alt text.
func plain(spans []span) string {
	var out []byte
	for _, s := range spans {
		switch s := s.(type) {
		case words:
			out = append(out, s...)
		case codeSpan:
			out = append(out, s...)
		case emphasis:
			out = append(out, plain(s.body)...)
		case link:
			out = append(out, plain(s.body)...)
		case picture:
			out = append(out, s.alt...)
		case lineBreak:
			out = append(out, ' ')
		}
	}
	return string(out)
}
