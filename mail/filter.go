package mail

import (
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

type filterID uint8

const (
	filterDefault filterID = iota
	filterEscape
	filterUpcase
	filterDowncase
	filterCapitalize
	filterTruncate
	filterDate
	filterURLEncode
)

// filterCall is a filter with validated arguments.
type filterCall struct {
	id     filterID
	arg    operand
	limit  int    // limit of truncate, in characters
	ending string // ending of truncate
	layout string // layout of date, with % verbs
}

// maxTruncate is the maximum argument of truncate, in characters.
const maxTruncate = 10_000

// newFilter validates a filter's name and arguments. It returns the filter, or a description of the problem.
func newFilter(name string, args []operand) (f filterCall, problem string) {
	want := 0
	switch name {
	case "default":
		f.id, want = filterDefault, 1
		if len(args) == 1 {
			f.arg = args[0]
		}
	case "escape":
		f.id = filterEscape // no effect, because all output is escaped for its context
	case "upcase":
		f.id = filterUpcase
	case "downcase":
		f.id = filterDowncase
	case "capitalize":
		f.id = filterCapitalize
	case "url_encode":
		f.id = filterURLEncode
	case "truncate":
		return newTruncate(args)
	case "date":
		return newDate(args)
	default:
		return f, "unknown filter " + strconv.Quote(clip(name)) +
			"; use default, escape, upcase, downcase, capitalize, truncate, date or url_encode"
	}
	if len(args) != want {
		return f, "the filter " + name + " takes " + strconv.Itoa(want) + " arguments"
	}
	return f, ""
}

func newTruncate(args []operand) (f filterCall, problem string) {
	f = filterCall{id: filterTruncate, limit: 50, ending: "..."}
	if len(args) > 2 {
		return f, "the filter truncate takes a length and an ending"
	}
	if len(args) > 0 {
		n, err := strconv.Atoi(args[0].literal.s)
		if args[0].literal.kind != kindNumber || err != nil || n < 0 || n > maxTruncate {
			return f, "truncate needs a length from 0 to " + strconv.Itoa(maxTruncate)
		}
		f.limit = n
	}
	if len(args) > 1 {
		if args[1].literal.kind != kindString {
			return f, "the ending of truncate must be quoted text"
		}
		f.ending = args[1].literal.s
	}
	return f, ""
}

// dateVerbs maps the verbs of date to Go layouts.
var dateVerbs = map[byte]string{
	'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'e': "_2", 'B': "January", 'b': "Jan", 'A': "Monday", 'a': "Mon",
	'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'F': "2006-01-02", 'T': "15:04:05", '%': "%",
}

func newDate(args []operand) (f filterCall, problem string) {
	f = filterCall{id: filterDate, layout: "%-d %B %Y"}
	if len(args) == 0 {
		return f, ""
	}
	format := args[0].literal
	if len(args) != 1 || format.kind != kindString || len(format.s) > 100 {
		return f, `date needs a quoted format, as in date: "%d %B %Y"`
	}
	for i := 0; i < len(format.s); i++ {
		if format.s[i] != '%' {
			continue
		}
		i++
		if i < len(format.s) && format.s[i] == '-' {
			i++
		}
		if i >= len(format.s) || dateVerbs[format.s[i]] == "" {
			return f, "date supports %Y %y %m %d %-d %e %B %b %A %a %H %I %M %S %p %F %T"
		}
	}
	f.layout = format.s
	return f, ""
}

// apply runs a filter on v. The result is longer than v by at most the filter's argument, or at most three times as
// long.
func (f *filterCall) apply(v value, r *render) value {
	switch f.id {
	case filterDefault:
		if !v.truthy() {
			return r.value(&f.arg)
		}
		return v
	case filterUpcase:
		return textValue(strings.ToUpper(v.text()))
	case filterDowncase:
		return textValue(strings.ToLower(v.text()))
	case filterCapitalize:
		return textValue(capitalize(v.text()))
	case filterTruncate:
		return textValue(truncate(v.text(), f.limit, f.ending))
	case filterDate:
		return formatDate(v, f.layout, r.vars.Date)
	case filterURLEncode:
		return textValue(url.QueryEscape(v.text()))
	}
	return v
}

func capitalize(s string) string {
	c, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return string(unicode.ToUpper(c)) + s[n:]
}

// truncate cuts s to limit characters, including the ending.
func truncate(s string, limit int, ending string) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	keep := max(0, limit-utf8.RuneCountInString(ending))
	for i := range s {
		if keep == 0 {
			return s[:i] + ending
		}
		keep--
	}
	return s
}

var dateLayouts = [...]string{time.RFC3339, "2006-01-02", "2006-01-02 15:04:05", "2006-01-02T15:04:05"}

// formatDate formats a date given as RFC 3339, as a date without a time, or as Unix seconds. "now" means the
// email's date. formatDate returns any other string unchanged.
func formatDate(v value, layout string, now time.Time) value {
	s := v.text()
	var at time.Time
	ok := false
	if s == "now" || s == "today" {
		at, ok = now, true
	}
	for i := 0; i < len(dateLayouts) && !ok; i++ {
		t, err := time.Parse(dateLayouts[i], s)
		at, ok = t, err == nil
	}
	if !ok && v.kind == kindNumber {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 && n < 1<<38 {
			at, ok = time.Unix(n, 0).UTC(), true
		}
	}
	if !ok {
		return v
	}
	return textValue(strftime(at, layout))
}

func strftime(at time.Time, format string) string {
	var b []byte
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b = append(b, format[i])
			continue
		}
		i++
		bare := format[i] == '-'
		if bare {
			i++
		}
		from := len(b)
		if b = at.AppendFormat(b, dateVerbs[format[i]]); bare && b[from] == '0' && len(b) > from+1 {
			b = append(b[:from], b[from+1:]...)
		}
	}
	return string(b)
}
