package mail

import (
	"strings"
	"unicode/utf8"

	"newsletterd/mail/internal/octets"
)

// render is the state of rendering a template for one recipient.
type render struct {
	part  Part
	vars  *Vars
	prefs string
	work  int // bytes of preferences searched so far
}

// maxWork bounds the work of a hostile template for one recipient: reading 16 KiB of preferences 2,000 times.
const maxWork = 32 << 20

func (t *Template) begin(v *Vars) render {
	r := render{part: t.part, vars: v}
	if t.prefs {
		r.prefs = v.Preferences
	}
	return r
}

// next returns the index of the node to execute after node n, which is at pc.
func (r *render) next(n *node, pc int) int {
	if n.op == opJump || n.op == opUnless && !r.holds(&n.cond) {
		return n.target
	}
	return pc + 1
}

// append appends the value of an output node to dst, escaped.
func (r *render) append(dst []byte, n *node) []byte {
	v := r.value(&n.head)
	for i := range n.filter {
		v = n.filter[i].apply(v, r)
	}
	return appendEscaped(dst, v.text(), n.escape)
}

func (r *render) value(o *operand) value {
	v := r.vars
	switch o.root {
	case rootLiteral:
		return o.literal
	case rootEmail:
		return textValue(v.Email)
	case rootSubscriberID:
		return textValue(v.SubscriberID)
	case rootPreferences:
		if r.work += len(r.prefs); r.work > maxWork {
			return value{}
		}
		return jsonLookup(r.prefs, o.path)
	case rootUnsubscribeToken:
		return textValue(v.UnsubscribeToken)
	case rootUnsubscribeURL:
		return textValue(v.UnsubscribeURL)
	case rootViewURL:
		return textValue(v.ViewURL)
	case rootPreferencesURL:
		return textValue(v.PreferencesURL)
	case rootPollURL:
		return textValue(v.pollURL(o.answer))
	}
	if v.Shared == nil || o.root == rootNothing {
		return value{}
	}
	if o.root == rootJob && v.Subject != "" && o.path[0] == "subject" && r.part != PartHeader {
		return textValue(v.Subject) // a subject can't contain itself
	}
	return textValue(v.Shared.record(o.root)[o.path[0]])
}

func (r *render) holds(c *condition) bool {
	n := len(c.terms)
	held := r.term(&c.terms[n-1])
	for i := n - 2; i >= 0; i-- {
		t := &c.terms[i]
		if t.or {
			held = held || r.term(t)
		} else {
			held = held && r.term(t)
		}
	}
	return held != c.negate
}

func (r *render) term(t *term) bool {
	left := r.value(&t.left)
	switch t.how {
	case isEqual:
		return left.equal(r.value(&t.right))
	case isUnequal:
		return !left.equal(r.value(&t.right))
	case isContained:
		return left.contains(r.value(&t.right))
	}
	return left.truthy()
}

// appendEscaped appends a value escaped in the given way. It removes control characters, and replaces invalid UTF-8
// with U+FFFD.
func appendEscaped(dst []byte, s string, how escape) []byte {
	switch how {
	case escapeHeader:
		return append(dst, octets.CleanLine(s)...)
	case escapeText:
		return append(dst, cleanBody(s)...)
	case escapeURLStart:
		return appendURL(dst, s)
	case escapeURLPart:
		return appendPercent(dst, octets.CleanLine(s), "")
	}
	return appendHTML(dst, s)
}

func appendHTML(dst []byte, s string) []byte {
	s = cleanBody(s)
	from := 0
	for i := 0; i < len(s); i++ {
		var by string
		switch s[i] {
		case '&':
			by = "&amp;"
		case '<':
			by = "&lt;"
		case '>':
			by = "&gt;"
		case '"':
			by = "&#34;"
		case '\'':
			by = "&#39;"
		default:
			continue
		}
		dst = append(dst, s[from:i]...)
		dst = append(dst, by...)
		from = i + 1
	}
	return append(dst, s[from:]...)
}

// appendURL appends a value at the start of a URL. Schemes other than http, https, mailto and tel become "#".
func appendURL(dst []byte, s string) []byte {
	s = strings.TrimSpace(octets.CleanLine(s))
	if !schemeAllowed(s) {
		return append(dst, '#')
	}
	return appendPercent(dst, s, "!#$%&()*+,/:;=?@[]")
}

// appendPercent percent-encodes all bytes except the unreserved characters (RFC 3986 section 2.3) and those in keep. An
// ampersand in keep is escaped for an attribute.
func appendPercent(dst []byte, s, keep string) []byte {
	from := 0 // start of a run that needs no encoding
	for i := 0; i < len(s); i++ {
		c := s[i]
		if urlPlain[c] || c < utf8.RuneSelf && c != '&' && strings.IndexByte(keep, c) >= 0 {
			continue
		}
		dst = append(dst, s[from:i]...)
		if from = i + 1; c == '&' && strings.IndexByte(keep, c) >= 0 {
			dst = append(dst, "&amp;"...)
		} else {
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return append(dst, s[from:]...)
}

// urlPlain marks the unreserved characters.
var urlPlain = func() (t [256]bool) {
	for c := range t {
		b := byte(c)
		t[c] = isLetter(b) || octets.Digit(b) || strings.IndexByte("-._~", b) >= 0
	}
	return t
}()
