package subscribercsv

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"newsletterd/core"
)

// People is a list of people without a header, such as "Ann Gray <ann@example.com>" or "ann@example.com; Ann" on each
// line, as CSV with a header. Lines that contain no person become rows with an invalid address, so that an import
// reports them.
type People struct {
	lines   *bufio.Reader // in UTF-8, or in the encoding of the file if that has one byte for each character
	out     bytes.Buffer
	csv     *csv.Writer
	line    int // lines of the list that were read
	row     int // rows that were written, including the header
	sources []Source
	err     error
}

// peopleHeader is the header of People.
var peopleHeader = []string{"email", "first_name", "last_name"}

const (
	maxPeopleLine = 4 << 10 // maximum number of bytes of a line
	maxShownLine  = 200     // number of bytes that are kept of a line without a person
)

// ReadPeople returns the people in r if the first line of r is a person, not a header. Otherwise, it returns nil and a
// reader of the same bytes as r.
func ReadPeople(r io.Reader) (*People, io.Reader, error) {
	b := bufio.NewReaderSize(r, peeked)
	head, err := b.Peek(peeked)
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	text, _ := io.ReadAll(Text(bytes.NewReader(head))) // an error means that the file is not text
	first, _, _ := bytes.Cut(bytes.TrimLeft(text, " \t\r\n"), []byte("\n"))
	if len(first) == 0 || first[0] == '{' || first[0] == '[' || !isPeopleLine(string(first)) {
		return nil, b, nil
	}
	p := &People{lines: bufio.NewReaderSize(Text(b), maxPeopleLine)}
	p.csv = csv.NewWriter(&p.out)
	p.write(peopleHeader)
	return p, nil, nil
}

// isPeopleLine reports whether a line contains nothing but people.
func isPeopleLine(line string) bool {
	return len(line) < maxPeopleLine && len(peopleOf(line)) > 0
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
	text = cleanCell(text)
	var found [][]string
	if text != "" && !long {
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

// unreadLine returns the beginning of a line without a person, in a form that is not an address.
func unreadLine(line string) string {
	if len(line) > maxShownLine {
		end := maxShownLine
		for end > maxShownLine-utf8.UTFMax && !utf8.RuneStart(line[end]) {
			end--
		}
		line = line[:end] + "…"
	}
	if _, err := core.ParseEmail(cleanAddress(line)); err == nil {
		line += " …"
	}
	return line
}

// peopleOf returns the people in a line as rows for peopleHeader, or nil if the line contains anything else.
func peopleOf(line string) [][]string {
	if strings.Contains(line, "<") {
		return bracketed(line)
	}
	var rest, addresses []string
	cells := cellsOf(line)
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
	}
	switch {
	case len(addresses) == 1 && len(rest) == 2: // in two columns
		return [][]string{{addresses[0], rest[0], rest[1]}}
	case len(addresses) == 1 && len(rest) < 2:
		return [][]string{named(addresses[0], strings.Join(rest, ""))}
	case len(rest) > 0:
		return nil
	}
	var found [][]string
	for _, a := range addresses {
		found = append(found, []string{a, "", ""})
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
		found, line = append(found, named(address, name)), after
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
		return [][]string{named(found[0][0], rest)}
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
	if _, err := core.ParseEmail(cleanAddress(cell)); err == nil {
		return cleanAddress(cell), ""
	}
	var words []string
	for _, word := range strings.Fields(cell) {
		if plain := cleanAddress(strings.Trim(word, "(),;")); address == "" && strings.Contains(plain, "@") {
			if _, err := core.ParseEmail(plain); err == nil {
				address = plain
				continue
			}
		}
		words = append(words, word)
	}
	return address, strings.Join(words, " ")
}

// unquoted removes the quotes around a cell.
func unquoted(s string) string {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		return cleanCell(strings.ReplaceAll(s[1:len(s)-1], `""`, `"`))
	}
	return strings.Trim(s, `"`)
}

// named returns the row of a person with a name such as "Ann Gray", "Gray, Ann" or "Ann". Only a name that is the
// address again is left out.
func named(address, name string) []string {
	name = unquoted(cleanCell(name))
	if strings.EqualFold(strings.Trim(name, `"'`), address) {
		return []string{address, "", ""}
	}
	if last, first, ok := strings.Cut(name, ","); ok {
		return []string{address, cleanCell(first), cleanCell(last)}
	}
	words := strings.Fields(name)
	if len(words) < 2 {
		return []string{address, name, ""}
	}
	return []string{address, strings.Join(words[:len(words)-1], " "), words[len(words)-1]}
}
