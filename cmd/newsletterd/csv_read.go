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

	"newsletterd/cmd/newsletterd/terminal"
	"newsletterd/core"
	"newsletterd/store"
)

// maxCSVRecord is the size in bytes from which on a record is taken for one whose quote was never closed.
const maxCSVRecord = 1 << 20

// Names that the column of addresses may have, folded.
var emailColumns = []string{"email", "e-mail", "email address", "e-mail address", "mail"}

// Columns of our own export that aren't preferences.
var exportColumns = []string{"email", "status", "created_at", "preferences"}

// csvForm is the way in which a program exports its subscribers. It is known by its header.
type csvForm struct {
	known    []string          // columns that together tell the form
	email    string            // of addresses
	base     string            // a JSON object of preferences; empty: none
	created  string            // when the subscriber was added there, which is evidence; empty: none
	drop     []string          // bookkeeping, no preferences
	rename   map[string]string // of columns to preferences
	plainKey bool              // other columns become names that a placeholder can have: "Phone Number" is phone_number
	quoted   string            // a column of words in quotes, parted by commas; empty: none
}

// csvForms are looked through in order; a file of none of them has preferences in all columns but the address.
var csvForms = []csvForm{
	{
		known: []string{"status", "preferences"}, email: "email", base: "preferences", drop: exportColumns,
	},
	{ // listmonk
		known: []string{"uuid", "attributes", "status"}, email: "email", base: "attributes", created: "created_at",
		drop: []string{"uuid", "updated_at"},
	},
	{ // listmonk's table of subscribers
		known: []string{"uuid", "attribs", "status"}, email: "email", base: "attribs", created: "created_at",
		drop: []string{"id", "uuid", "updated_at"},
	},
	{ // Mailchimp: the three files of an audience (subscribed, unsubscribed, cleaned)
		known: []string{"LEID", "EUID"}, email: "Email Address",
		drop: []string{
			"MEMBER_RATING", "LATITUDE", "LONGITUDE", "GMTOFF", "DSTOFF", "TIMEZONE", "CC", "REGION", "LAST_CHANGED", "LEID", "EUID", "NOTES",
			"UNSUB_CAMPAIGN_TITLE", "UNSUB_CAMPAIGN_ID", "UNSUB_REASON", "UNSUB_REASON_OTHER", "CLEAN_CAMPAIGN_TITLE", "CLEAN_CAMPAIGN_ID",
		},
		rename: map[string]string{"FNAME": "first_name", "LNAME": "last_name"}, plainKey: true, quoted: "TAGS",
	},
}

// formOf finds the form of a file by its header; the zero one where it is none of them.
func formOf(header []string) csvForm {
	for _, f := range csvForms {
		if !slices.ContainsFunc(f.known, func(name string) bool { return !slices.Contains(header, name) }) {
			return f
		}
	}
	return csvForm{}
}

// key is the name of the preference that a column becomes; empty: it is none.
func (f *csvForm) key(name string) string {
	switch to := f.rename[name]; {
	case name != f.email && slices.Contains(f.drop, name):
		return ""
	case to != "":
		return to
	case f.plainKey:
		return strings.ToLower(strings.Join(strings.Fields(name), "_"))
	}
	return name
}

// csvReader reads subscribers line by line, in bounded memory.
type csvReader struct {
	csv     *csv.Reader
	source  *recordLimit
	header  []string
	form    csvForm
	email   int            // column of addresses
	status  []statusColumn // those that say whether somebody takes part
	base    int            // of the form's preferences; -1: none
	proof   []evidenceColumn
	keys    []string // by column: `"name":` of a preference; empty: not one
	scratch []byte

	askAgain   bool  // take those who never confirmed: they are mailed a link
	unreadable int64 // rows with evidence of a consent that is neither a time nor an address
}

// errLine is a fault of one line, which doesn't end the import.
type errLine struct {
	line int
	text string
}

func (e errLine) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.text) }

// newCSVReader reads the header. rename maps names of the file to ours; an empty one drops the column.
func newCSVReader(r io.Reader, rename map[string]string) (*csvReader, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	if bom, err := buffered.Peek(3); err == nil && bytes.Equal(bom, []byte("\xef\xbb\xbf")) {
		_, _ = buffered.Discard(3)
	}
	limit := &recordLimit{r: buffered}
	c := &csvReader{csv: csv.NewReader(limit), source: limit, email: -1, base: -1}
	c.csv.Comma = delimiter(buffered)
	c.csv.ReuseRecord = true
	limit.next()
	header, err := c.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty: its first line must name the columns")
	}
	if err != nil {
		if pe, ok := errors.AsType[*csv.ParseError](err); ok && (limit.err == nil || errors.Is(limit.err, io.EOF)) {
			err = c.quoteFault(pe)
		}
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
	names := make([]string, len(c.header))
	for i, name := range c.header {
		names[i] = strings.TrimSpace(name)
	}
	c.form = formOf(names)
	used := map[string]bool{}
	c.keys = make([]string, len(c.header))
	for i, name := range names {
		to, renamed := rename[name]
		used[name] = used[name] || renamed
		if !renamed && c.formColumn(i, name) {
			continue
		}
		if !renamed {
			to = c.form.key(name)
		}
		switch {
		case to == "":
		case !core.CleanText(to):
			return fmt.Errorf("the name of column %d is not UTF-8, or holds NUL: save the file as UTF-8", i+1)
		case slices.Contains(emailColumns, strings.ToLower(to)) && c.email >= 0:
			return fmt.Errorf("two columns hold addresses, %q and %q: --map \"NAME=\" drops one, --map \"NAME=OTHER\" makes it a preference", names[c.email], name)
		case slices.Contains(emailColumns, strings.ToLower(to)):
			c.email = i
		default:
			key := string(appendJSONString(nil, to)) + ":"
			if slices.Contains(c.keys, key) {
				return fmt.Errorf("two columns are named %q", to)
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

// formColumn notes a column that has a meaning of its own in the file's form, and tells whether it does.
func (c *csvReader) formColumn(i int, name string) bool {
	switch {
	case name == "":
		return true
	case name == c.form.email && c.email < 0:
		c.email = i
	case statusColumns[foldWord(name)] != nil:
		c.status = append(c.status, statusColumn{i, name, statusColumns[foldWord(name)]})
	case name == c.form.base:
		c.base = i
	default:
		return c.noteEvidence(i, name)
	}
	return true
}

// nameColumn returns the column that becomes the preference "name" in a file without first_name; empty: there is none.
func (c *csvReader) nameColumn() string {
	if slices.Contains(c.keys, `"first_name":`) {
		return ""
	}
	for i, key := range c.keys {
		if strings.EqualFold(key, `"name":`) {
			return strings.TrimSpace(c.header[i])
		}
	}
	return ""
}

// next reads a line. errLine: this line is at fault; errLeft: it is about somebody who is not to be imported, and row.Left tells whether
// the address can be read; io.EOF: the end; any other error ends the import. record is valid until the next call.
func (c *csvReader) next() (row store.ImportRow, record []string, err error) {
	c.source.next()
	record, err = c.csv.Read()
	if err != nil {
		if pe, ok := errors.AsType[*csv.ParseError](err); ok && (c.source.err == nil || errors.Is(c.source.err, io.EOF)) {
			if errors.Is(pe.Err, csv.ErrFieldCount) {
				return row, record, errLine{pe.Line, fmt.Sprintf("has %d columns, not %d", len(record), len(c.header))}
			}
			return row, record, c.quoteFault(pe)
		}
		if c.source.err != nil && !errors.Is(c.source.err, io.EOF) {
			line, _ := c.csv.FieldPos(0)
			return row, nil, fmt.Errorf("behind line %d: %w", line, c.source.err)
		}
		return row, nil, err
	}
	line, _ := c.csv.FieldPos(0)
	part := c.takesPart(line, record)
	if part != nil && !errors.Is(part, errLeft) {
		return row, record, part
	}
	row.Email, err = core.ParseEmail(plainCell(record[c.email]))
	if part != nil {
		row.Left = err == nil
		return row, record, part
	}
	if err != nil {
		return row, record, errLine{line, fmt.Sprintf("%q is no e-mail address", record[c.email])}
	}
	if row.Preferences, err = c.preferences(record); err != nil {
		return row, record, errLine{line, terminal.Message(err)}
	}
	if len(c.proof) > 0 {
		var readable bool
		if row.Evidence, readable = c.evidence(record); !readable {
			c.unreadable++
		}
	}
	return row, record, nil
}

// quoteFault says where a quote is wrong. One that is not closed takes all lines up to the next quote for one cell: at the end
// of the file that ends the import, for nobody knows how many subscribers are in there.
func (c *csvReader) quoteFault(pe *csv.ParseError) error {
	switch {
	case pe.StartLine == pe.Line:
		return errLine{pe.Line, `a quote (") stands in the middle of a cell, or is not closed`}
	case errors.Is(c.source.err, io.EOF) && c.csv.InputOffset() == c.source.total:
		return fmt.Errorf(`line %d: a quote (") is opened and not closed before the end of the file`, pe.StartLine)
	}
	return errLine{pe.StartLine, fmt.Sprintf(`a quote (") is opened and not closed in the right place: lines %d to %d are taken for one`, pe.StartLine, pe.Line)}
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
		if !core.CleanText(record[i]) {
			return "", core.Invalidf("preferences", "Column %s is not UTF-8, or holds NUL.", c.header[i])
		}
		b = append(b, key...)
		if c.form.quoted != "" && strings.TrimSpace(c.header[i]) == c.form.quoted {
			b = appendQuoted(b, record[i])
			continue
		}
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

// appendQuoted appends an array of the words of a cell that holds them in quotes, parted by commas; else the cell as a text.
func appendQuoted(b []byte, cell string) []byte {
	words, err := csv.NewReader(strings.NewReader(cell)).Read()
	if err != nil || !strings.HasPrefix(cell, `"`) {
		return appendJSONString(b, plainCell(cell))
	}
	b = append(b, '[')
	for i, w := range words {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSONString(b, w)
	}
	return append(b, ']')
}

// overlay puts the members of one object over those of another.
func overlay(base, over core.Preferences) (core.Preferences, error) {
	if over == "" {
		return base, nil
	}
	if err := base.Check("preferences"); err != nil { // the map would hide a key that stands twice
		return "", err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(base), &all); err != nil || all == nil {
		return "", core.Invalidf("preferences", "The column holds no JSON object.")
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
	r     io.Reader
	n     int
	total int64 // bytes read so far
	err   error
}

func (l *recordLimit) next() { l.n = 0 }

func (l *recordLimit) Read(p []byte) (int, error) {
	if l.n > maxCSVRecord {
		l.err = fmt.Errorf("a record is longer than %d bytes: is a quote not closed?", maxCSVRecord)
		return 0, l.err
	}
	n, err := l.r.Read(p)
	l.n += n
	l.total += int64(n)
	if err != nil {
		l.err = err
	}
	return n, err
}
