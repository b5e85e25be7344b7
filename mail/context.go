package mail

import "strings"

// escape is a way to escape a placeholder's value. The compiler chooses it according to the placeholder's context.
type escape uint8

const (
	escapeHeader escape = iota
	escapeText
	escapeHTML     // text of an element, or a quoted attribute
	escapeURLStart // start of a URL attribute: the scheme is checked
	escapeURLPart  // inside a URL: all but unreserved characters are encoded
)

// htmlState is a simplified state of the HTML tokenizer (WHATWG HTML section 13.2.5).
type htmlState uint8

const (
	inText htmlState = iota
	inTagOpen
	inTagName
	inTag
	inAttrName
	afterAttrName
	beforeValue
	inValueDQ
	inValueSQ
	inValueBare
	inMarkup
	inComment
	inBogus
	inRaw  // script, style and others: only their end tag matters
	inRead // title, textarea: the same, but with entities
)

// htmlContext is the HTML context of a piece of a template. It is comparable, so that the branches of an if can be
// compared.
type htmlContext struct {
	state   htmlState
	end     bool   // the current tag is an end tag
	tag     string // name of the current tag, or of the raw element
	attr    string
	url     urlPrefix // URL of the current attribute
	tail    string    // last bytes of a comment or raw element
	forged  bool      // a URL has ended whose scheme may include a placeholder's value
	equiv   bool      // the current tag is a meta with http-equiv
	content bool      // the current tag is a meta with a placeholder in content
}

// advance updates the context to the position after some static HTML. It stops at an error in that HTML.
func (c *htmlContext) advance(text string) {
	for i := 0; i < len(text) && !c.forged && !(c.equiv && c.content); i++ {
		if c.state == inText {
			n := strings.IndexByte(text[i:], '<')
			if n < 0 {
				return
			}
			i += n
		}
		c.step(text[i])
	}
}

// fewAttributes returns an error if a tag in an HTML part has too many attributes. It must run before an HTML parser
// reads the part.
func fewAttributes(tokens []token) error {
	c, n := htmlContext{}, 0
	for _, t := range tokens {
		if t.kind != tokenText {
			continue
		}
		for i := 0; i < len(t.body); i++ {
			if c.state == inText {
				k := strings.IndexByte(t.body[i:], '<')
				if k < 0 {
					break
				}
				i += k
			}
			before := c.state
			c.step(t.body[i])
			switch {
			case c.state == before:
			case c.state == inTagName:
				n = 0
			case c.state == inAttrName:
				if n++; n > maxAttributes {
					return t.src.fail(t.pos+i, "a tag has more than %d attributes", maxAttributes)
				}
			}
		}
	}
	return nil
}

func (c *htmlContext) step(b byte) {
	switch c.state {
	case inText:
		if b == '<' {
			c.state = inTagOpen
		}
	case inTagOpen:
		c.tagOpen(b)
	case inTagName:
		if !c.tagEnd(b) {
			c.tag = grow(c.tag, lower(b), 32)
		}
	case inTag, inAttrName, afterAttrName, beforeValue:
		c.attribute(b)
	case inValueDQ, inValueSQ, inValueBare:
		c.value(b)
	case inMarkup:
		c.markup(b)
	case inComment:
		c.tail = last(c.tail, b, 4)
		if strings.HasSuffix(c.tail, "-->") || c.tail == "--!>" {
			*c = htmlContext{}
		}
	case inBogus:
		if b == '>' {
			*c = htmlContext{}
		}
	case inRaw, inRead:
		c.raw(b)
	}
}

func (c *htmlContext) tagOpen(b byte) {
	switch {
	case isLetter(b):
		*c = htmlContext{state: inTagName, end: c.end, tag: string(lower(b))}
	case b == '/' && !c.end:
		c.end = true
	case b == '!':
		*c = htmlContext{state: inMarkup}
	case b == '?' || c.end && b != '>':
		*c = htmlContext{state: inBogus}
	case b == '<':
		*c = htmlContext{state: inTagOpen}
	default:
		*c = htmlContext{}
	}
}

// tagEnd handles a byte that ends a name inside a tag. It reports whether b is such a byte.
func (c *htmlContext) tagEnd(b byte) bool {
	switch {
	case b == '>':
		c.closeTag()
	case b == '/' || isSpace(b):
		c.state, c.attr = inTag, ""
	default:
		return false
	}
	return true
}

func (c *htmlContext) closeTag() {
	next := htmlContext{}
	if !c.end {
		switch c.tag {
		case "script", "style", "xmp", "iframe", "noembed", "noframes", "plaintext":
			next = htmlContext{state: inRaw, tag: c.tag}
		case "title", "textarea":
			next = htmlContext{state: inRead, tag: c.tag}
		}
	}
	*c = next
}

func (c *htmlContext) attribute(b byte) {
	switch {
	case c.state == beforeValue && b == '"':
		c.state, c.url = inValueDQ, ""
	case c.state == beforeValue && b == '\'':
		c.state, c.url = inValueSQ, ""
	case c.state == beforeValue && b != '>':
		if !isSpace(b) {
			c.state = inValueBare
		}
	case b == '>':
		c.closeTag()
	case b == '=' && c.state != inTag:
		c.state = beforeValue
		c.equiv = c.equiv || c.tag == "meta" && c.attr == "http-equiv"
	case isSpace(b):
		if c.state == inAttrName {
			c.state = afterAttrName
		}
	case b == '/':
		c.state, c.attr = inTag, ""
	case c.state == inAttrName:
		c.attr = grow(c.attr, lower(b), 64)
	default:
		c.state, c.attr = inAttrName, string(lower(b))
	}
}

func (c *htmlContext) value(b byte) {
	switch {
	case c.state == inValueDQ && b == '"', c.state == inValueSQ && b == '\'', c.state == inValueBare && isSpace(b):
		c.forged = c.forged || c.url.forged()
		c.state, c.attr, c.url = inTag, "", ""
	case c.state == inValueBare && b == '>':
		c.closeTag()
	case urlAttribute(c.attr):
		c.url = c.url.grow(b)
	}
}

func (c *htmlContext) markup(b byte) {
	c.tail = grow(c.tail, b, 2)
	switch {
	case c.tail == "--":
		// "<!-->" is a complete comment: the dashes of its start also count for its end.
		*c = htmlContext{state: inComment, tail: "--"}
	case b == '>':
		*c = htmlContext{}
	case c.tail != "-":
		*c = htmlContext{state: inBogus}
	}
}

func (c *htmlContext) raw(b byte) {
	c.tail = last(c.tail, lower(b), 16)
	if b != '>' && b != '/' && !isSpace(b) || c.tag == "plaintext" {
		return
	}
	if !strings.HasSuffix(c.tail[:len(c.tail)-1], "</"+c.tag) {
		return
	}
	*c = htmlContext{state: inTag, end: true, tag: c.tag}
	if b == '>' {
		*c = htmlContext{}
	}
}

// hole returns how to escape a placeholder's value at this position, or the reason why no placeholder is permitted.
// link is true if the value is an absolute http(s) URL.
func (c *htmlContext) hole(encoded, link bool) (escape, string) {
	switch c.state {
	case inText, inRead:
		return escapeHTML, ""
	case inValueDQ, inValueSQ:
		return c.attributeHole(encoded, link)
	case beforeValue, inValueBare:
		return 0, "a placeholder in an attribute needs quotes around the value"
	case inComment, inMarkup, inBogus:
		return 0, "placeholders aren't allowed in comments"
	case inRaw:
		return 0, "placeholders aren't allowed in <" + c.tag + ">"
	}
	return 0, "a placeholder in a tag is only allowed inside a quoted attribute value"
}

func (c *htmlContext) attributeHole(encoded, link bool) (how escape, problem string) {
	switch {
	case strings.HasPrefix(c.attr, "on") || c.attr == "style" || c.attr == "srcset" ||
		c.attr == "srcdoc" || c.attr == "ping":
		return 0, "placeholders aren't allowed in the attribute " + c.attr
	case c.tag == "meta" && c.attr == "http-equiv":
		return 0, inMetaEquiv
	case c.tag == "meta" && c.attr == "content":
		c.content = true
		return escapeHTML, ""
	case !urlAttribute(c.attr):
		return escapeHTML, ""
	}
	c.url, how, problem = c.url.hole(encoded, link)
	return how, problem
}

const inMetaEquiv = "placeholders aren't allowed in a <meta> with http-equiv, because they could redirect the recipient"

// fault describes an error in the last placeholder that is only detected in the text after it. Without an error, it
// returns "".
func (c *htmlContext) fault() string {
	switch {
	case c.forged:
		return `the value could become the scheme of the URL; put a "/", "?" or "#" between it and the ":"`
	case c.equiv && c.content:
		return inMetaEquiv
	}
	return ""
}

// join merges the context at the end of another branch into c, and reports whether the two are compatible.
func (c *htmlContext) join(o htmlContext) bool {
	a, b := *c, o
	if a.endBegun() != b.endBegun() {
		return false
	}
	c.url = a.url.join(b.url)
	a.url, a.tail, b.url, b.tail = "", "", "", ""
	return a == b
}

// endBegun returns the last bytes of a raw element's text that may be the start of its end tag, or "" if there are
// none.
func (c *htmlContext) endBegun() string {
	if i := strings.LastIndexByte(c.tail, '<'); i >= 0 && (c.state == inRaw || c.state == inRead) &&
		strings.HasPrefix("</"+c.tag, c.tail[i:]) {
		return c.tail[i:]
	}
	return ""
}

func urlAttribute(attr string) bool {
	if i := strings.LastIndexByte(attr, ':'); i >= 0 {
		attr = attr[i+1:]
	}
	switch attr {
	case "href", "src", "action", "formaction", "background", "cite", "poster", "longdesc",
		"data", "codebase", "dynsrc", "lowsrc", "manifest", "icon":
		return true
	}
	return false
}

// schemeAllowed reports whether a URL's scheme is safe: http, https, mailto, tel, or none.
func schemeAllowed(url string) bool {
	for _, scheme := range [...]string{"https:", "http:", "mailto:", "tel:"} {
		if len(url) >= len(scheme) && strings.EqualFold(url[:len(scheme)], scheme) {
			return true
		}
	}
	var b strings.Builder
	for _, r := range url {
		if r > ' ' { // browsers ignore control characters in a scheme
			b.WriteRune(r)
		}
	}
	scheme, _, ok := strings.Cut(b.String(), ":")
	if !ok || strings.ContainsAny(scheme, "/?#") {
		return true
	}
	switch strings.ToLower(scheme) { // without the control characters
	case "http", "https", "mailto", "tel":
		return true
	}
	return false
}

func isLetter(b byte) bool { return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' }
func isSpace(b byte) bool  { return b == ' ' || b == '\t' || b == '\n' || b == '\r' || b == '\f' }

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// grow appends b to s unless s has reached the limit, because longer names have no special meaning.
func grow(s string, b byte, limit int) string {
	if len(s) >= limit {
		return s
	}
	return s + string([]byte{b})
}

// last appends b to s and returns at most the last keep bytes.
func last(s string, b byte, keep int) string {
	s += string([]byte{b})
	return s[max(0, len(s)-keep):]
}
