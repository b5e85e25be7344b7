package mail

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"newsletterd/core"
)

// root is the first name of a path.
type root uint8

const (
	rootLiteral root = iota
	rootEmail
	rootSubscriberID
	rootPreferences
	rootList
	rootTenant
	rootJob
	rootUnsubscribeToken
	rootUnsubscribeURL
	rootViewURL
	rootPreferencesURL
	rootPollURL
	rootNothing // a known record with an unknown field
)

var rootNames = map[string]root{
	"email": rootEmail, "preferences": rootPreferences, "list": rootList, "tenant": rootTenant, "job": rootJob,
	"unsubscribe_token": rootUnsubscribeToken, "unsubscribe_url": rootUnsubscribeURL, "view_url": rootViewURL,
	"preferences_url": rootPreferencesURL, "poll_url": rootPollURL, "confirm_url": rootNothing,
}

// operand is a literal or a path.
type operand struct {
	root    root
	path    []string
	literal value
	answer  Answer // of rootPollURL
}

// link reports whether the operand is an absolute http(s) URL that the caller creates, such as unsubscribe_url.
func (o *operand) link() bool {
	return o.root == rootUnsubscribeURL || o.root == rootViewURL || o.root == rootPreferencesURL ||
		o.root == rootPollURL
}

// comparison is an operator that compares two operands of a condition.
type comparison uint8

const (
	isTrue comparison = iota
	isEqual
	isUnequal
	isContained
)

// term is one comparison of a condition.
type term struct {
	left, right operand
	how         comparison
	or          bool // the term is joined with those after it by or
}

// condition is a list of terms, evaluated from right to left as in Liquid: a and b or c means a and (b or c).
type condition struct {
	terms  []term
	negate bool
}

// expression is a parser for the text between the braces of a placeholder or tag.
type expression struct {
	tok  token
	rest string
	t    *Template
}

// fail returns an error at the position of the expression. If the expression contains curly quotes, the error is about
// them, because they are the likelier cause.
func (e *expression) fail(format string, args ...any) error {
	if hint := quotesHint(e.tok.src.text[e.tok.pos+1], e.tok.body); hint != "" {
		return e.tok.src.fail(e.tok.pos, "%s", hint)
	}
	return e.tok.src.fail(e.tok.pos, format, args...)
}

// blanks lists the characters that count as white space between braces. Some editors write U+00A0 for a space.
const blanks = " \t\r\n\u00a0"

// space skips white space.
func (e *expression) space() { e.rest = strings.TrimLeft(e.rest, blanks) }

// eat consumes s if it comes next, and reports whether it did.
func (e *expression) eat(s string) bool {
	e.space()
	if !strings.HasPrefix(e.rest, s) {
		return false
	}
	e.rest = e.rest[len(s):]
	return true
}

// name parses an identifier: letters, digits, _ and -, not starting with a digit.
func (e *expression) name() string {
	e.space()
	n := 0
	for n < len(e.rest) {
		r, size := utf8.DecodeRuneInString(e.rest[n:])
		if !unicode.IsLetter(r) && r != '_' && (n == 0 || !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '-') {
			break
		}
		n += size
	}
	s := e.rest[:n]
	e.rest = e.rest[n:]
	return s
}

// word consumes a keyword if it comes next, and reports whether it did.
func (e *expression) word(s string) bool {
	before := e.rest
	if e.name() == s {
		return true
	}
	e.rest = before
	return false
}

// operand parses an operand: a literal or a path.
func (e *expression) operand() (operand, error) {
	e.space()
	if e.rest == "" {
		return operand{}, e.fail("expected a name")
	}
	switch c := e.rest[0]; {
	case c == '"' || c == '\'':
		s, err := e.quoted()
		return operand{literal: textValue(s)}, err
	case c == '-' || '0' <= c && c <= '9':
		return e.number()
	}
	name := e.name()
	switch name {
	case "true", "false":
		return operand{literal: value{kindBool, name}}, nil
	case "nil", "null":
		return operand{}, nil
	case "empty", "blank":
		return operand{literal: textValue("")}, nil
	case "":
		if write := foreignInBraces(e.tok.body); write != "" && e.rest == e.tok.body {
			return operand{}, e.fail("%q is not a name: write %s", clip(e.rest), write)
		}
		return operand{}, e.fail("%q is not a name", clip(e.rest))
	}
	path, err := e.path()
	if err != nil {
		return operand{}, err
	}
	return e.resolve(name, path)
}

// quoted parses a quoted string.
func (e *expression) quoted() (string, error) {
	quote := e.rest[0]
	s, rest, ok := strings.Cut(e.rest[1:], string(quote))
	if !ok {
		return "", e.fail("a string has no closing %c", quote)
	}
	e.rest = rest
	return s, nil
}

// number parses a number.
func (e *expression) number() (operand, error) {
	n := 1
	for n < len(e.rest) && (e.rest[n] == '.' || '0' <= e.rest[n] && e.rest[n] <= '9') {
		n++
	}
	s := e.rest[:n]
	if _, err := strconv.ParseFloat(s, 64); err != nil {
		return operand{}, e.fail("%q is not a number", s)
	}
	e.rest = e.rest[n:]
	return operand{literal: value{kindNumber, s}}, nil
}

// path parses .name, .0, ["any name"] and [0] after a name.
func (e *expression) path() ([]string, error) {
	var path []string
	for len(path) < 16 {
		switch {
		case strings.HasPrefix(e.rest, "."):
			e.rest = e.rest[1:]
			key := e.key()
			if key == "" {
				return nil, e.fail("expected a name after the dot")
			}
			path = append(path, key)
		case strings.HasPrefix(e.rest, "["):
			e.rest = e.rest[1:]
			key, err := e.index()
			if err != nil {
				return nil, err
			}
			path = append(path, key)
		default:
			return path, nil
		}
	}
	return nil, e.fail("the path is too long")
}

// key parses the name or index that follows a dot in a path.
func (e *expression) key() string {
	if e.rest == "" || e.rest[0] == ' ' {
		return ""
	}
	n := 0
	for n < len(e.rest) && '0' <= e.rest[n] && e.rest[n] <= '9' {
		n++
	}
	s := e.rest[:n]
	e.rest = e.rest[n:]
	if e.rest != "" && !isSpace(e.rest[0]) {
		s += e.name()
	}
	return s
}

// index parses the quoted name or the index between brackets in a path.
func (e *expression) index() (string, error) {
	e.space()
	var key string
	if e.rest != "" && (e.rest[0] == '"' || e.rest[0] == '\'') {
		var err error
		if key, err = e.quoted(); err != nil {
			return "", err
		}
	} else {
		o, err := e.digits()
		if err != nil {
			return "", err
		}
		key = o
	}
	if !e.eat("]") {
		return "", e.fail("] is missing")
	}
	return key, nil
}

// digits parses a list index.
func (e *expression) digits() (string, error) {
	n := 0
	for n < len(e.rest) && '0' <= e.rest[n] && e.rest[n] <= '9' {
		n++
	}
	if n == 0 {
		return "", e.fail("expected a quoted name or a number between [ and ]")
	}
	s := e.rest[:n]
	e.rest = e.rest[n:]
	return s, nil
}

const unknownField = "is not a known field and stays empty"

// unknown returns the error for a path whose first name is unknown. If another newsletter service uses that name, the
// error suggests a placeholder.
func (e *expression) unknown(name string) error {
	write := foreignInBraces(e.tok.body)
	if e.tok.kind != tokenOutput {
		write = ""
	}
	err := e.fail("unknown name %q; use email, subscriber, preferences, list, tenant, job, unsubscribe_token, "+
		"unsubscribe_url, view_url, preferences_url or confirm_url", name)
	if write != "" {
		err = e.fail("unknown name %q: write %s", name, write)
	}
	fault, ok := errors.AsType[*TemplateError](err)
	if ok && quotesHint(e.tok.src.text[e.tok.pos+1], e.tok.body) == "" { // otherwise, the error is about quotes
		fault.Name, fault.Write = name, write
	}
	return err
}

// resolve converts a path to an operand. It returns an error if name, the first name of the path, is unknown. Only
// preferences can have arbitrary fields.
func (e *expression) resolve(name string, path []string) (operand, error) {
	if name == "subscriber" {
		return e.subscriber(path)
	}
	r, ok := rootNames[name]
	if !ok {
		return operand{}, e.unknown(clip(name))
	}
	switch r {
	case rootPreferences:
		e.t.prefs = true
	case rootViewURL:
		e.t.view = true
	case rootPollURL:
		return e.pollURL(path)
	case rootList, rootTenant, rootJob:
		if len(path) != 1 {
			return operand{}, e.fail("%s needs one field, as in %s.name", name, name)
		}
		if !knownField(r, path[0]) {
			e.t.warn(warning{name: name + "." + clip(path[0]), text: unknownField})
		}
		e.t.subject = e.t.subject || r == rootJob && path[0] == "subject"
	default:
		if len(path) > 0 {
			return operand{}, e.fail("%s has no fields", name)
		}
		if r == rootNothing {
			e.t.warn(warning{name: name, text: "stays empty: the recipients of a send job are confirmed"})
		}
	}
	return operand{root: r, path: path}, nil
}

// subscriber resolves a path below subscriber.
func (e *expression) subscriber(path []string) (operand, error) {
	if len(path) == 0 {
		return operand{}, e.fail("subscriber needs a field, as in subscriber.email")
	}
	switch path[0] {
	case "id":
		return operand{root: rootSubscriberID}, nil
	case "email":
		return operand{root: rootEmail}, nil
	case "preferences":
		return e.resolve("preferences", path[1:])
	}
	if write := foreignInBraces("subscriber." + strings.Join(path, ".")); write != "" {
		e.t.warn(warning{"subscriber." + clip(path[0]), unknownField, write})
		return operand{root: rootNothing}, nil
	}
	e.t.warn(warning{name: "subscriber." + clip(path[0]), text: unknownField})
	return operand{root: rootNothing}, nil
}

// sharedFields contains the known fields of each shared record, with empty values.
var sharedFields = JobSpec("", &core.Content{}, Address{}).Shared

// knownField reports whether a shared record has a field.
func knownField(r root, field string) bool {
	_, known := sharedFields.record(r)[field]
	return known
}

// filters parses the filters up to the end of the expression.
func (e *expression) filters() ([]filterCall, error) {
	var out []filterCall
	for e.eat("|") {
		if len(out) == 20 {
			return nil, e.fail("use at most 20 filters")
		}
		name := e.name()
		var args []operand
		if e.eat(":") {
			for {
				a, err := e.operand()
				if err != nil {
					return nil, err
				}
				args = append(args, a)
				if !e.eat(",") {
					break
				}
			}
		}
		call, problem := newFilter(name, args)
		if problem != "" {
			return nil, e.fail("%s", problem)
		}
		out = append(out, call)
	}
	if e.space(); e.rest != "" {
		return nil, e.fail("unexpected %q", clip(e.rest))
	}
	return out, nil
}

// condition parses a condition up to the end of the expression.
func (e *expression) condition() (condition, error) {
	var c condition
	for {
		t, err := e.term()
		if err != nil {
			return c, err
		}
		more := true
		switch {
		case e.word("and"):
		case e.word("or"):
			t.or = true
		default:
			more = false
		}
		c.terms = append(c.terms, t)
		if len(c.terms) > 50 {
			return c, e.fail("use at most 50 comparisons")
		}
		if !more {
			break
		}
	}
	if e.space(); e.rest != "" {
		return c, e.fail("unexpected %q in a condition; use ==, !=, contains, and, or", clip(e.rest))
	}
	return c, nil
}

// term parses one comparison.
func (e *expression) term() (t term, err error) {
	if t.left, err = e.operand(); err != nil {
		return t, err
	}
	switch {
	case e.eat("=="):
		t.how = isEqual
	case e.eat("!="):
		t.how = isUnequal
	case e.word("contains"):
		t.how = isContained
	default:
		return t, nil
	}
	t.right, err = e.operand()
	return t, err
}

// clip shortens s for an error message.
func clip(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}
