package console

import (
	"regexp"
	"strings"

	"newsletterd/core"
)

// lineFault is a line of a file with an error.
type lineFault struct {
	Line  int64  `json:"line"`
	Error string `json:"error"`
}

// separator is what parts the cells of a CSV file for the spreadsheets of those who read the page.
func (p *Page) separator() string {
	if p.Lang == "de" {
		return "semicolon"
	}
	return "comma"
}

// lineFaults are the errors of lines, by the form of their text, with the sentence of pages: its values are a and b.
var lineFaults = []struct {
	form *regexp.Regexp
	say  func(p *Page, a, b string) string
}{
	{regexp.MustCompile(`^"(.*)" is no e-mail address$`), func(p *Page, a, _ string) string {
		if a == "" {
			return p.T("The address is missing.")
		}
		return p.T("“{{cell}}” is no e-mail address.", "cell", a)
	}},
	{regexp.MustCompile(`^has (\d+) columns, not (\d+)$`), func(p *Page, a, b string) string {
		return p.T("It has {{n}} cells, and the first line has {{all}}.", "n", a, "all", b)
	}},
	{regexp.MustCompile(`^unknown (.*) "(.*)"$`), func(p *Page, a, b string) string {
		return p.T("“{{cell}}” says nothing that is known in the column “{{column}}”.", "cell", b, "column", a)
	}},
	{regexp.MustCompile(`^a quote \("\) `), func(p *Page, _, _ string) string {
		return p.T("A quotation mark (\") is opened and not closed, or stands within a cell.")
	}},
	{regexp.MustCompile(`^line (\d+) says that this address has left$`), func(p *Page, a, _ string) string {
		return p.T("Line {{n}} says that this address has left.", "n", a)
	}},
}

// inBrackets is the name of a field after the message of an error.
var inBrackets = regexp.MustCompile(` \([a-z_.]+\)$`)

// FaultOfLine says what is wrong with a line of a file.
func (p *Page) FaultOfLine(f lineFault) string {
	for _, l := range lineFaults {
		if m := append(l.form.FindStringSubmatch(f.Error), "", ""); len(m) > 2 {
			unquote := strings.NewReplacer(`\"`, `"`, `\\`, `\`)
			return l.say(p, unquote.Replace(m[1]), unquote.Replace(m[2]))
		}
	}
	return p.faultText(&core.Error{Message: inBrackets.ReplaceAllString(f.Error, "")})
}
