package subscribercsv

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"newsletterd/core"
)

// People converts a list of people without a header, such as "Ann Gray <ann@example.com>" or "ann@example.com; Ann" on
// each line, to CSV with a header. Lines that contain no person, or anything but names next to the addresses, become
// rows with an invalid address, so that an import reports them.
type People struct {
	lines   *bufio.Reader // in UTF-8, or in the encoding of the file if that has one byte for each character
	out     bytes.Buffer
	csv     *csv.Writer
	line    int    // lines of the list that were read
	row     int    // rows that were written, including the header
	heading string // a status above the next lines, such as "Unsubscribed:"; they contain no people
	sources []Source
	err     error
}

const (
	maxPeopleLine = peeked // maximum number of bytes of a line
	maxShownLine  = 200    // number of bytes that are kept of a line without a person
	headerLines   = 20     // number of lines, except empty ones, among which a header can be
)

// ReadPeople returns the people in r if the first line of r contains a person, and none of the next lines is a header
// or a status without a person. Otherwise, it returns nil and a reader of the same bytes as r.
func ReadPeople(r io.Reader) (*People, io.Reader, error) {
	b := bufio.NewReaderSize(r, peeked)
	head, err := b.Peek(peeked)
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	text, _ := io.ReadAll(Text(bytes.NewReader(head))) // an error means that the file is not text
	if !isPeople(strings.TrimLeft(string(text), " \t\r\n")) {
		return nil, b, nil
	}
	p := &People{lines: bufio.NewReaderSize(Text(b), maxPeopleLine)}
	p.csv = csv.NewWriter(&p.out)
	p.write(core.PeopleColumns)
	return p, nil, nil
}

// isPeople reports whether text is the beginning of a list of people without a header.
func isPeople(text string) bool {
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		line = withoutMarks(line)
		switch {
		case strings.HasPrefix(line, "+"): // changes to a list, in which "-" is no bullet
			return false
		case n == 0 && (line == "" || line[0] == '{' || line[0] == '[' || !beginsPeople(line)):
			return false
		case line == "":
			continue
		case n < headerLines && isHeaderLine(line), isStatusLine(line):
			return false
		}
		n++
	}
	return true
}

// beginsPeople reports whether a list of people can begin with a line: it contains an address, has no more columns than
// a list, and can't be a heading with the status of the next lines.
func beginsPeople(line string) bool {
	switch {
	case len(peopleOf(line)) > 0:
		return true
	case !hasAddress(line), !strings.Contains(line, "<") && len(cellsOf(line)) > len(core.PeopleColumns):
		return false
	}
	return !saysStatus(withoutAddresses(line))
}

// hasAddress reports whether a line contains an address, also one with a core.ForeignLetter.
func hasAddress(line string) bool {
	return slices.ContainsFunc(spellings(wideSpaces.Replace(line)), func(line string) bool {
		return withoutAddresses(line) != line || core.ForeignLetter(line) != ""
	})
}

// withoutAddresses removes the addresses in a line.
func withoutAddresses(line string) string {
	var rest strings.Builder
	line = wideSpaces.Replace(line)
	for line != "" {
		end := strings.IndexAny(line, " \t,;<>()\"'")
		if end < 0 {
			end = len(line)
		}
		if onlyAddress(line[:end]) == "" {
			rest.WriteString(line[:end])
		}
		if line = line[end:]; line != "" {
			rest.WriteByte(line[0])
			line = line[1:]
		}
	}
	return rest.String()
}

// bullets matches what can precede a person in a list: a bullet, a number or separators.
var bullets = regexp.MustCompile(`^(?:[-*–][ \t]+|[•‣▪◦·][ \t]*|[0-9]{1,5}[.)][ \t]+|[,;][ \t]*)+`)

// withoutMarks removes spaces, bullets and separators around the people in a line.
func withoutMarks(line string) string {
	line = bullets.ReplaceAllString(cleanCell(line), "")
	return strings.TrimRight(line, ",; \t")
}

// Sources returns the lines that the rows come from, for Survey.Sources. The list must have been read to its end.
func (p *People) Sources() []Source { return p.sources }

// Read implements io.Reader.
func (p *People) Read(b []byte) (int, error) {
	for p.out.Len() == 0 && p.err == nil {
		p.err = p.next()
	}
	if p.out.Len() > 0 {
		return p.out.Read(b)
	}
	return 0, p.err
}

// next converts the next line.
func (p *People) next() error {
	line, err := p.lines.ReadSlice('\n')
	text, long := string(line), errors.Is(err, bufio.ErrBufferFull)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = p.lines.ReadSlice('\n')
	}
	if err != nil && err != io.EOF {
		return err
	}
	p.line++
	text = withoutMarks(text)
	var found [][]string
	switch {
	case text == "":
	case p.heading != "":
		text = p.heading + " " + text
	case isStatusLine(text):
		p.heading = text
	case !long:
		found = peopleOf(text)
	}
	if text != "" && len(found) == 0 {
		found = [][]string{{unreadLine(text), "", ""}}
	}
	for _, row := range found {
		if last := len(p.sources) - 1; last < 0 ||
			last+1 < maxSources && p.line-p.sources[last].At != p.row+1-p.sources[last].Line {
			p.sources = append(p.sources, Source{Line: p.row + 1, At: p.line})
		}
		p.write(row)
	}
	return err
}

func (p *People) write(row []string) {
	p.row++
	_ = p.csv.Write(row) // into memory
	p.csv.Flush()
}

// unread precedes a line that contains more than people and addresses. It keeps the line from being an address.
const unread = "… "

// hideAddresses replaces the brackets of addresses in a line after unread.
var hideAddresses, showAddresses = strings.NewReplacer("<", "‹", ">", "›"), strings.NewReplacer("‹", "<", "›", ">")

// unreadLine returns the beginning of a line without a person, in a form that is not an address.
func unreadLine(line string) string {
	if len(line) > maxShownLine {
		end := maxShownLine
		for end > maxShownLine-utf8.UTFMax && !utf8.RuneStart(line[end]) {
			end--
		}
		line = line[:end] + "…"
	}
	for _, s := range spellings(line) {
		if _, err := core.ParseEmail(cleanAddress(s)); err == nil || hasAddress(s) {
			return unread + hideAddresses.Replace(line)
		}
	}
	return line
}

// addressFault describes what is wrong with a cell that is not an address.
func addressFault(cell string) string {
	line, isLine := strings.CutPrefix(cell, unread)
	if isLine {
		line = showAddresses.Replace(line)
	}
	letter := core.ForeignLetter(line)
	switch {
	case letter != "":
		return fmt.Sprintf("%q contains %q before the @", line, letter)
	case isLine && saysStatus(withoutAddresses(line)):
		return fmt.Sprintf("%q may mean that the person unsubscribed", line)
	case isLine:
		return fmt.Sprintf("%q contains more than names and email addresses", line)
	}
	return fmt.Sprintf("%q is not a valid email address", line)
}

// peopleOf returns the people in a line as rows for core.PeopleColumns, or nil if the line contains anything else.
func peopleOf(line string) [][]string {
	line = wideSpaces.Replace(line)
	if strings.Contains(line, "<") {
		return bracketed(line)
	}
	var rest, addresses []string
	var found [][]string
	cells := slices.DeleteFunc(cellsOf(line), func(cell string) bool { return unquoted(cleanCell(cell)) == "" })
	for _, cell := range cells {
		address, other := addressIn(cell)
		if address != "" {
			addresses = append(addresses, address)
		}
		if other != "" {
			rest = append(rest, other)
		}
		if strings.Contains(other, "@") {
			return nil
		}
		if address != "" {
			found = append(found, named(address, other)...)
		}
	}
	switch {
	case len(addresses) == 1 && len(rest) == 2: // in two columns
		if !isName(rest[0]) || !isName(rest[1]) || saysStatus(strings.Join(rest, " ")) {
			return nil
		}
		return [][]string{{addresses[0], rest[0], rest[1]}}
	case len(addresses) == 1 && len(rest) < 2:
		return named(addresses[0], strings.Join(rest, ""))
	case len(addresses) < len(cells), len(found) < len(cells): // a cell without a person
		return nil
	}
	return found
}

// bracketed returns the people in a line such as `Ann <ann@example.com>, bob@example.com, "Gray, Eve" <eve@…>`.
func bracketed(line string) (found [][]string) {
	for {
		name, rest, more := strings.Cut(line, "<")
		if !more {
			break
		}
		text, after, closed := strings.Cut(rest, ">")
		address, other := addressIn(text)
		if !closed || address == "" || other != "" {
			return nil
		}
		name = strings.Trim(cleanCell(name), ",;\t ")
		if strings.Contains(name, "@") && !strings.EqualFold(strings.Trim(name, `"'`), address) {
			before, last := name, ""
			if at := strings.LastIndexAny(name, ",;"); at >= 0 && !strings.Contains(name[at:], "@") {
				before, last = name[:at], name[at+1:]
			}
			others := peopleOf(before)
			if others == nil {
				return nil
			}
			found, name = append(found, others...), last
		}
		person := named(address, name)
		if person == nil {
			return nil
		}
		found, line = append(found, person...), after
	}
	rest := strings.Trim(cleanCell(line), ",;\t ")
	switch {
	case rest == "":
	case strings.Contains(rest, "@"):
		others := peopleOf(rest)
		if others == nil {
			return nil
		}
		found = append(found, others...)
	case len(found) == 1 && found[0][1] == "" && found[0][2] == "":
		return named(found[0][0], rest)
	default:
		return nil
	}
	return found
}

// cellsOf splits a line at tabs or, if it has none, at semicolons or commas outside of quotes.
func cellsOf(line string) (cells []string) {
	separator := byte(',')
	for _, c := range []byte{'\t', ';'} {
		if strings.IndexByte(line, c) >= 0 {
			separator = c
			break
		}
	}
	quotes := strings.Count(line, `"`)%2 == 0
	quoted, start := false, 0
	for i := range len(line) {
		switch line[i] {
		case '"':
			quoted = quotes && !quoted
		case separator:
			if !quoted {
				cells, start = append(cells, line[start:i]), i+1
			}
		}
	}
	return append(cells, line[start:])
}

// addressIn returns the address in a cell and the other words. If the cell contains several addresses, the others
// count as words.
func addressIn(cell string) (address, other string) {
	cell = unquoted(cleanCell(cell))
	if address = onlyAddress(cell); address != "" {
		return address, ""
	}
	var words []string
	for _, word := range strings.Fields(cell) {
		if plain := onlyAddress(strings.Trim(word, "(),;")); address == "" && plain != "" {
			address = plain
			continue
		}
		words = append(words, word)
	}
	return address, strings.Join(words, " ")
}

// onlyAddress returns the address in s if s contains no other words, otherwise an empty string. The query of a link,
// several addresses and a status next to a separator count as other words.
func onlyAddress(s string) string {
	address := cleanAddress(s)
	if _, err := core.ParseEmail(address); err != nil {
		return ""
	}
	local := address[:strings.LastIndexByte(address, '@')]
	if strings.Contains(s, strings.TrimSpace(severalValues)) || strings.Count(s, "?") != strings.Count(address, "?") ||
		strings.ContainsAny(local, "|=/#!") && saysStatus(local) {
		return ""
	}
	return address
}

// wideSpaces replaces the special spaces that cells can contain with plain ones.
var wideSpaces = strings.NewReplacer("\u00a0", " ", "\u202f", " ")

// unquoted removes the quotes around a cell.
func unquoted(s string) string {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		return cleanCell(strings.ReplaceAll(s[1:len(s)-1], `""`, `"`))
	}
	return strings.Trim(s, `"`)
}

// named returns the row of a person with a name such as "Ann Gray", "Gray, Ann" or "Ann", or nil if name is not a name.
// A name that only repeats the address is left out.
func named(address, name string) [][]string {
	name = unquoted(cleanCell(name))
	if name == "" || strings.EqualFold(strings.Trim(name, `"'`), address) {
		return [][]string{{address, "", ""}}
	}
	first, last := core.SplitName(name)
	parts := []string{name}
	if before, after, ok := strings.Cut(name, ","); ok {
		parts = []string{cleanCell(after), cleanCell(before)}
	}
	for _, part := range parts {
		if !looksLikeName(part) {
			return nil
		}
	}
	if saysStatus(withoutSurname(strings.Join(parts, " "), address)) ||
		len(parts) > 1 && saysStatus(withoutSurname(last+" "+first, address)) {
		return nil
	}
	return [][]string{{address, first, last}}
}
