package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"newsletterd/core"
	"newsletterd/store"
)

// maxCSVRecord is the size in bytes from which on a record is taken for one whose quote was never closed.
const maxCSVRecord = 1 << 20

// Names that the column of addresses may have, folded.
var emailColumns = []string{"email", "e-mail", "email address", "e-mail address", "mail"}

// Columns of our own export that aren't preferences. status holds back those who have left.
var exportColumns = []string{"email", "status", "created_at", "preferences"}

// csvReader reads subscribers line by line, in bounded memory.
type csvReader struct {
	csv     *csv.Reader
	source  *recordLimit
	header  []string
	email   int      // column of addresses
	status  int      // of our export's status; -1: none
	base    int      // of our export's preferences; -1: none
	keys    []string // by column: `"name":` of a preference; empty: not one
	scratch []byte
}

// errLine is a fault of one line, which doesn't end the import.
type errLine struct {
	line int
	text string
}

func (e errLine) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.text) }

// errLeft says that a line is about somebody who isn't to be imported.
var errLeft = errors.New("has left")

// newCSVReader reads the header. rename maps names of the file to ours; an empty one drops the column.
func newCSVReader(r io.Reader, rename map[string]string) (*csvReader, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	if bom, err := buffered.Peek(3); err == nil && bytes.Equal(bom, []byte("\xef\xbb\xbf")) {
		_, _ = buffered.Discard(3)
	}
	limit := &recordLimit{r: buffered}
	c := &csvReader{csv: csv.NewReader(limit), source: limit, email: -1, status: -1, base: -1}
	c.csv.Comma = delimiter(buffered)
	c.csv.ReuseRecord = true
	limit.next()
	header, err := c.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty: its first line must name the columns")
	}
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	c.header = slices.Clone(header)
	return c, c.columns(rename)
}

// delimiter looks at the first line: spreadsheets write semicolons or tabs where commas stand in numbers.
func delimiter(r *bufio.Reader) rune {
	head, _ := r.Peek(4096)
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	best := ','
	for _, d := range []rune{';', '\t'} {
		if bytes.Count(line, []byte(string(d))) > bytes.Count(line, []byte(string(best))) {
			best = d
		}
	}
	return best
}

func (c *csvReader) columns(rename map[string]string) error {
	ours := slices.Contains(c.header, "status") && slices.Contains(c.header, "preferences")
	used := map[string]bool{}
	c.keys = make([]string, len(c.header))
	for i, name := range c.header {
		name = strings.TrimSpace(name)
		to, renamed := rename[name]
		if renamed {
			name = to
			used[strings.TrimSpace(c.header[i])] = true
		}
		switch folded := strings.ToLower(name); {
		case name == "":
		case !utf8.ValidString(name):
			return fmt.Errorf("the name of column %d is not UTF-8: save the file as UTF-8", i+1)
		case c.email < 0 && slices.Contains(emailColumns, folded):
			c.email = i
		case ours && name == "status":
			c.status = i
		case ours && name == "preferences":
			c.base = i
		case ours && slices.Contains(exportColumns, name):
		default:
			key := string(appendJSONString(nil, name)) + ":"
			if slices.Contains(c.keys, key) {
				return fmt.Errorf("two columns are named %q", name)
			}
			c.keys[i] = key
		}
	}
	for from := range rename {
		if !used[from] {
			return fmt.Errorf("--map: there is no column %q among %s", from, strings.Join(c.header, ", "))
		}
	}
	if c.email < 0 {
		return fmt.Errorf("no column is named email; there are %s (--map \"NAME=email\" names it)", strings.Join(c.header, ", "))
	}
	return nil
}

// next reads a line. errLine: this line is at fault; errLeft: it is to be skipped; io.EOF: the end; any other error ends
// the import. record is valid until the next call.
func (c *csvReader) next() (row store.ImportRow, record []string, err error) {
	c.source.next()
	record, err = c.csv.Read()
	if err != nil {
		if pe, ok := errors.AsType[*csv.ParseError](err); ok && c.source.err == nil {
			if errors.Is(pe.Err, csv.ErrFieldCount) {
				return row, record, errLine{pe.Line, fmt.Sprintf("has %d columns, not %d", len(record), len(c.header))}
			}
			return row, record, errLine{pe.Line, pe.Err.Error()}
		}
		if c.source.err != nil && !errors.Is(c.source.err, io.EOF) {
			line, _ := c.csv.FieldPos(0)
			return row, nil, fmt.Errorf("behind line %d: %w", line, c.source.err)
		}
		return row, nil, err
	}
	line, _ := c.csv.FieldPos(0)
	if c.status >= 0 {
		switch record[c.status] {
		case core.SubscriptionActive, core.SubscriptionPending, "":
		case core.SubscriptionUnsubscribed:
			return row, record, errLeft
		default:
			return row, record, errLine{line, fmt.Sprintf("unknown status %q", record[c.status])}
		}
	}
	if row.Email, err = core.ParseEmail(plainCell(record[c.email])); err != nil {
		return row, record, errLine{line, fmt.Sprintf("%q is no e-mail address", record[c.email])}
	}
	if row.Preferences, err = c.preferences(record); err != nil {
		return row, record, errLine{line, plainError(err)}
	}
	return row, record, nil
}

// preferences makes the JSON object of a line: its own columns over those of an export, whose text is kept as it is where
// there is nothing to put over it. Empty cells are left out.
func (c *csvReader) preferences(record []string) (core.Preferences, error) {
	b := append(c.scratch[:0], '{')
	for i, key := range c.keys {
		if key == "" || record[i] == "" {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		if !utf8.ValidString(record[i]) {
			return "", core.Invalidf("preferences", "Column %s is not UTF-8.", c.header[i])
		}
		b = append(b, key...)
		b = appendJSONString(b, plainCell(record[i]))
	}
	c.scratch = append(b, '}')
	var p core.Preferences
	if len(b) > 1 {
		p = core.Preferences(c.scratch)
	}
	if c.base >= 0 && record[c.base] != "" {
		var err error
		if p, err = overlay(core.Preferences(record[c.base]), p); err != nil {
			return "", err
		}
	}
	return p, p.Check("preferences")
}

// overlay puts the members of one object over those of another.
func overlay(base, over core.Preferences) (core.Preferences, error) {
	if over == "" {
		return base, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(base), &all); err != nil || all == nil {
		return "", core.Invalidf("preferences", "The column preferences holds no JSON object.")
	}
	if err := json.Unmarshal([]byte(over), &all); err != nil {
		return "", err
	}
	text, err := json.Marshal(all)
	return core.Preferences(text), err
}

// plainCell undoes what export does to cells that a spreadsheet would run as a formula.
func plainCell(s string) string {
	if len(s) > 1 && s[0] == '\'' && strings.IndexByte(formulaStarts, s[1]) >= 0 {
		return s[1:]
	}
	return s
}

const formulaStarts = "=+-@\t\r"

// spreadsheetCell makes a text that a spreadsheet shows and never runs.
func spreadsheetCell(s string) string {
	if s != "" && strings.IndexByte(formulaStarts, s[0]) >= 0 {
		return "'" + s
	}
	return s
}

// appendJSONString appends valid UTF-8 as a JSON string.
func appendJSONString(b []byte, s string) []byte {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == '"' || s[i] == '\\' {
			var buf bytes.Buffer
			enc := json.NewEncoder(&buf)
			enc.SetEscapeHTML(false)
			_ = enc.Encode(s) // a string always encodes
			return append(b, bytes.TrimRight(buf.Bytes(), "\n")...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// recordLimit fails when one record takes more than maxCSVRecord: the csv package would gather it in memory.
type recordLimit struct {
	r   io.Reader
	n   int
	err error
}

func (l *recordLimit) next() { l.n = 0 }

func (l *recordLimit) Read(p []byte) (int, error) {
	if l.n > maxCSVRecord {
		l.err = fmt.Errorf("a record is longer than %d bytes: is a quote not closed?", maxCSVRecord)
		return 0, l.err
	}
	n, err := l.r.Read(p)
	l.n += n
	if err != nil {
		l.err = err
	}
	return n, err
}
