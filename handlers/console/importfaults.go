package console

import (
	"strconv"
	"strings"

	"newsletterd/core"
)

// lineFault is an error in one line of a file.
type lineFault struct {
	Line  int64  `json:"line"`
	File  string `json:"file"` // name in an archive; empty if there is only one
	Error string `json:"error"`
}

// separator returns the CSV separator that spreadsheet programs expect in the page's language.
func (p *Page) separator() string {
	if p.Lang == "de" {
		return "semicolon"
	}
	return "comma"
}

// lineFaults maps formats of line errors to functions that describe the error. If a function is nil, faultText
// describes it. Imports store errors as text, so their values are parsed from that text.
var lineFaults = []struct {
	format string
	say    func(p *Page, values []string) string
}{
	{"%q is not a valid email address", func(p *Page, v []string) string {
		if v[0] == "" {
			return p.T("The email address is missing.")
		}
		return p.T("“{{cell}}” isn't an email address.", "cell", v[0])
	}},
	{"%q may mean that the person unsubscribed", func(p *Page, v []string) string {
		return p.T("“{{cell}}” may mean that this person unsubscribed. To import the person, enter only the address.",
			"cell", v[0])
	}},
	{"%q contains more than names and email addresses", func(p *Page, v []string) string {
		return p.T("“{{cell}}” contains more than names and email addresses. To import other columns, add a first row "+
			"that names them.", "cell", v[0])
	}},
	{"%q contains %q before the @", func(p *Page, v []string) string {
		return p.T("“{{cell}}”: email addresses can't contain “{{letter}}” before the @.", "cell", v[0], "letter", v[1])
	}},
	{"has %d columns, not %d", func(p *Page, v []string) string {
		return p.T("This row has {{n}} cells, but the header has {{all}}.", "n", v[0], "all", v[1])
	}},
	{"unknown %s %q", func(p *Page, v []string) string {
		return p.T("Unknown value “{{cell}}” in column “{{column}}”.", "cell", v[1], "column", v[0])
	}},
	{`a quote (") %s`, func(p *Page, _ []string) string {
		return p.T("A quotation mark (\") isn't closed or is inside a cell.")
	}},
	{"unsubscribed according to line %d of %s", func(p *Page, v []string) string {
		return p.T("Unsubscribed according to line {{n}} of {{file}}.", "n", v[0], "file", v[1])
	}},
	{"unsubscribed according to line %d", func(p *Page, v []string) string {
		return p.T("Unsubscribed according to line {{n}}.", "n", v[0])
	}},
	{"%q in column %s is not a date.", nil},
	{"%q in column %s is not an IP address.", nil},
	{"Column %s is not valid UTF-8 or contains NUL.", nil},
	{"%s must have at most 16 KiB.", nil},
	{"%s must be a JSON object.", nil},
	{"%s must have at most %d levels of nesting.", nil},
}

// FaultOfLine describes an error in a line of a file.
func (p *Page) FaultOfLine(f lineFault) string {
	text := f.Error
	if at := strings.LastIndex(text, " ("); at >= 0 && strings.HasSuffix(text, ")") && !strings.Contains(text[at:], `"`) {
		text = text[:at] // the name of the field in an error
	}
	for _, l := range lineFaults {
		values, ok := valuesOf(l.format, text)
		if ok && l.say != nil {
			return l.say(p, values)
		}
		if ok {
			args := make([]any, len(values))
			for i, v := range values {
				args[i] = v
			}
			return p.faultText((&core.Error{}).Sayf(l.format, args...))
		}
	}
	return p.faultText(&core.Error{Message: text})
}

// valuesOf returns the values in text that was formatted with format. If text has a different format, ok is false.
func valuesOf(format, text string) (values []string, ok bool) {
	format = strings.ReplaceAll(format, "%q", `"%s"`)
	for {
		literal, rest, more := strings.Cut(format, "%")
		if text, ok = strings.CutPrefix(text, literal); !ok || !more {
			return values, ok && text == ""
		}
		format = rest[1:]
		end, next := len(text), format
		if at := strings.IndexByte(next, '%'); at >= 0 {
			next = next[:at]
		}
		if next != "" {
			if end = strings.LastIndex(text, next); end < 0 {
				return nil, false
			}
		}
		value := text[:end]
		if strings.HasSuffix(literal, `"`) {
			if plain, err := strconv.Unquote(`"` + value + `"`); err == nil {
				value = plain
			}
		}
		values, text = append(values, value), text[end:]
	}
}

// mappingFaults is like lineFaults, for errors in a file's column names.
var mappingFaults = []struct {
	format string
	say    func(p *Page, values []string) string
}{
	{"no column is named email; the file has %s", func(p *Page, v []string) string {
		return p.T("No column is named “Email”. The columns are: {{columns}}", "columns", v[0])
	}},
	{"column %q not found; the file has %s", func(p *Page, v []string) string {
		return p.T("The file has no column “{{column}}”. It has these columns: {{columns}}",
			"column", v[0], "columns", v[1])
	}},
	{"two columns contain email addresses: %q and %q", func(p *Page, v []string) string {
		return p.T("Two columns contain email addresses: “{{one}}” and “{{other}}”", "one", v[0], "other", v[1])
	}},
	{"two columns are named %q", func(p *Page, v []string) string {
		return p.T("Two columns are named “{{column}}”", "column", v[0])
	}},
}

// MappingFault describes an error in a file's column names. It returns other text unchanged.
func (p *Page) MappingFault(text string) string {
	for _, f := range mappingFaults {
		if values, ok := valuesOf(f.format, text); ok {
			return f.say(p, values)
		}
	}
	return text
}
