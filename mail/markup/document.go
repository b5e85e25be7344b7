package markup

// node is a block of a document. The types below are all there are.
type node interface{ isNode() }

type (
	heading struct {
		level int // 1 to 6
		text  []span
	}
	paragraph struct{ text []span }
	// figure is a picture alone in its paragraph. href is where a click on it leads, if anywhere.
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
	spacer  struct{ height int } // pixels
	quote   struct{ body []node }
	code    struct{ text string }
	list    struct {
		ordered bool
		start   int // of an ordered list
		tight   bool
		items   [][]node
	}
	table struct {
		align []string // left, center, right or empty; one a column
		head  [][]span
		rows  [][][]span
	}
	callout struct {
		kind string // note, tip or warning
		body []node
	}
	social struct{ links []link }
	// group is blocks without a frame of their own.
	group struct{ body []node }
	// tags are block tags of the template language alone in their paragraph. They stand between blocks, not in one.
	tags struct{ text string }
	// rawHTML is HTML that the author wrote.
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

// span is a piece of a line. The types below are all there are.
type span interface{ isSpan() }

type (
	words    string // text, with the marks of placeholders in it
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
		width           int // pixels; 0: as wide as there is room
	}
	lineBreak struct{}
	rawSpan   string // HTML that the author wrote
)

func (words) isSpan()     {}
func (emphasis) isSpan()  {}
func (codeSpan) isSpan()  {}
func (link) isSpan()      {}
func (picture) isSpan()   {}
func (lineBreak) isSpan() {}
func (rawSpan) isSpan()   {}

// withoutLinks returns spans with the words of links in the place of these.
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

// plain returns the words of spans, pictures by their alt text.
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
