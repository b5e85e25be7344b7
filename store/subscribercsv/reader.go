package subscribercsv

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/store/imports"
)

// MaxColumns is how many columns a file may have.
const MaxColumns = 1000

// exportColumns are the columns that Writer writes.
var exportColumns = []string{"email", "status", "created_at", "preferences"}

// ownColumns are those of both kinds of Writer that are no fields.
var ownColumns = append([]string{"list"}, exportColumns...)

// form describes the files that a program exports. It is recognised by the header.
type form struct {
	known    []string          // columns that only this form has together; none: marks tell it
	marks    []string          // columns that are enough, two of them or one with one of hints
	hints    []string          // columns that are this form's, and others' too
	email    string            // of addresses
	base     string            // a JSON object of preferences; empty: none
	drop     []string          // bookkeeping, no preferences
	rename   map[string]string // of columns to preferences
	plainKey bool              // other columns become names that a placeholder can have: "Phone Number" is phone_number
	quoted   string            // a column of words in quotes, separated by commas; empty: none
}

// forms are tried in order. In a file of none of them, each column but the address is a preference.
var forms = []form{
	{
		known: []string{"status", "preferences"}, email: "email", base: "preferences", drop: ownColumns,
	},
	{ // columns left out of it
		known: []string{"email", "preferences"}, email: "email", base: "preferences", drop: ownColumns,
	},
	{ // listmonk
		known: []string{"uuid", "attributes", "status"}, email: "email", base: "attributes",
		drop: []string{"uuid", "updated_at"},
	},
	{ // listmonk's table of subscribers
		known: []string{"uuid", "attribs", "status"}, email: "email", base: "attribs",
		drop: []string{"id", "uuid", "updated_at"},
	},
	{ // Mailchimp: the three files of an audience (subscribed, unsubscribed, cleaned)
		marks: []string{
			"MEMBER_RATING", "OPTIN_TIME", "OPTIN_IP", "CONFIRM_TIME", "CONFIRM_IP", "LEID", "EUID", "GMTOFF", "DSTOFF",
		},
		hints: []string{"LAST_CHANGED", "NOTES", "TAGS"}, email: "Email Address",
		drop: []string{
			"MEMBER_RATING", "LATITUDE", "LONGITUDE", "GMTOFF", "DSTOFF", "TIMEZONE", "CC", "REGION", "LAST_CHANGED",
			"LEID", "EUID", "NOTES", "UNSUB_CAMPAIGN_TITLE", "UNSUB_CAMPAIGN_ID", "UNSUB_REASON", "UNSUB_REASON_OTHER",
			"CLEAN_CAMPAIGN_TITLE", "CLEAN_CAMPAIGN_ID",
		},
		rename: map[string]string{"FNAME": "first_name", "LNAME": "last_name"}, plainKey: true, quoted: "TAGS",
	},
}

// formOf returns the form of a file by its header, or the zero form where no form fits.
func formOf(header []string) form {
	for _, f := range forms {
		if f.fits(header) {
			return f
		}
	}
	return form{}
}

func (f *form) fits(header []string) bool {
	has := func(names []string) (n int) {
		for _, name := range names {
			if slices.Contains(header, name) {
				n++
			}
		}
		return n
	}
	if len(f.known) > 0 {
		return has(f.known) == len(f.known)
	}
	marks := has(f.marks)
	return marks > 0 && marks+has(f.hints) > 1
}

// key returns the name of the preference that a column becomes. Empty: the column is dropped.
func (f *form) key(name string) string {
	switch to := f.rename[name]; {
	case name != f.email && slices.Contains(f.drop, name):
		return ""
	case to != "":
		return to
	case f.plainKey && !isEmailColumn(name):
		return strings.ToLower(strings.Join(strings.Fields(name), "_"))
	}
	return name
}

// Reader reads subscribers line by line, in bounded memory. It is not safe for concurrent use.
type Reader struct {
	AskAgain   bool         // take those who never confirmed: they are mailed a link
	Suppress   bool         // no line is a subscriber: each is an address that must not be emailed
	Now        core.Instant // evidence is of no later time than this; zero: of any
	Unreadable int64        // rows with evidence of a consent that is neither a time nor an address
	Future     int64        // rows with evidence of a time that is still to come
	// domains of those who are imported that are likely typing errors, no more than maxTypos
	Typos []core.DomainTypo

	*table
	options  Options
	form     form
	email    int            // column of addresses
	contacts bool           // the file is an address book
	further  []int          // columns of a contact's other addresses
	status   []statusColumn // those that say whether the subscriber takes part
	base     int            // column of the form's preferences; -1: none
	proof    []evidenceColumn
	keys     []string // by column: `"name":` of a preference; empty: not one
	// by column: whether its name or the mapping says what it is, see Questions
	declared []bool
	scratch  []byte
	mapped   bool // what the columns are is known
}

// LineError is an error of one line, which does not end the import.
type LineError struct {
	Line int
	Text string
}

func (e LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

// MappingError is returned where the columns of a file can't be told by their names: another mapping mends it.
type MappingError struct {
	Text string
	hint string // of the flag --map
}

func (e MappingError) Error() string { return e.Text + e.hint }

// Options say how a file is read.
type Options struct {
	// maps names of columns to those of preferences, or to email; an empty name drops the column
	Map map[string]string
	// what a look through the whole file has told; nil: only its beginning is known
	Survey *Survey
	// of the list: a column that is named like one of them becomes it
	Fields core.Fields
	// leave out columns that have no known meaning: all but those of Map, Fields, names, addresses and the like
	KnownOnly bool
}

// NewReader reads the header. With a MappingError the Reader is returned, too: it has a Header, and reads nothing.
func NewReader(r io.Reader, o Options) (*Reader, error) {
	t, err := open(r, o.Survey)
	if err != nil {
		return nil, err
	}
	c := &Reader{table: t, options: o, email: -1, base: -1}
	err = c.columns(o.Map)
	c.mapped = err == nil
	return c, err
}

func (c *Reader) columns(rename map[string]string) error {
	names := c.names()
	c.form = formOf(names)
	c.findContacts(names, rename)
	used := map[string]bool{}
	c.keys, c.declared = make([]string, len(c.header)), make([]bool, len(c.header))
	var problem error // the first; the columns after it are told all the same
	for i, name := range names {
		to, renamed := rename[name]
		used[name] = used[name] || renamed
		c.declared[i] = renamed || c.form.bookkeeping(name)
		if !renamed && c.formColumn(i, name) {
			// of times, where a no among them is not understood: see Questions
			c.declared[i] = name != "" && (datedColumns[foldWord(name)].what == "" || statusOf(name, names) != nil)
			continue
		}
		if renamed && foldWord(to) == UseStatus {
			c.status = append(c.status, statusColumn{i, name, meaningOf(name, names), false, subjectOf(name)})
			continue
		}
		if renamed {
			if found, err := c.mapEvidence(i, name, to); found {
				problem = cmp.Or(problem, err)
				continue
			}
		} else {
			to = c.ownKey(name, names)
		}
		if !core.CleanText(to) {
			return fmt.Errorf("the name of column %d is not valid UTF-8 or contains NUL: save the file as UTF-8", i+1)
		}
		isEmail := renamed && slices.Contains(mappedEmail, strings.ToLower(to)) || !renamed && isEmailColumn(to)
		if err := c.takeColumn(i, names, to, isEmail); problem == nil {
			problem = err
		}
	}
	if problem != nil {
		return problem
	}
	for from := range rename {
		if !used[from] {
			return MappingError{
				fmt.Sprintf("column %q not found; the file has %s", from, strings.Join(c.header, ", ")),
				" (--map)",
			}
		}
	}
	if c.otherEmail(names, rename); c.email < 0 {
		return MappingError{
			fmt.Sprintf("no column is named email; the file has %s", strings.Join(c.header, ", ")),
			` (--map "NAME=email" names it)`,
		}
	}
	return nil
}

// takeColumn makes a column the one of the addresses, or a preference; with an empty name it is dropped.
func (c *Reader) takeColumn(i int, names []string, to string, isEmail bool) error {
	switch {
	case to == "":
	case isEmail && c.email >= 0:
		return MappingError{
			fmt.Sprintf("two columns contain email addresses: %q and %q", names[c.email], names[i]),
			`: --map "NAME=" drops one, --map "NAME=OTHER" makes it a preference`,
		}
	case isEmail:
		c.email = i
	default:
		key := string(appendJSONString(nil, to)) + ":"
		if slices.Contains(c.keys, key) {
			return MappingError{fmt.Sprintf("two columns are named %q", to), ""}
		}
		c.keys[i] = key
	}
	return nil
}

// formColumn notes a column that has a meaning of its own in the file's form, and reports whether it has one.
func (c *Reader) formColumn(i int, name string) bool {
	switch {
	case name == "":
		return true
	case name == c.form.email && c.email < 0:
		c.email = i
	case c.isDated(i) && datedColumns[foldWord(name)].what != "":
		c.noteEvidence(i, name)
		if mean := statusOf(name, c.names()); mean != nil {
			c.status = append(c.status, statusColumn{i, name, mean, true, subjectOf(name)})
		}
	case statusOf(name, c.names()) != nil:
		c.status = append(c.status, statusColumn{i, name, statusOf(name, c.names()), false, subjectOf(name)})
	case name == c.form.base:
		c.base = i
	default:
		return c.noteEvidence(i, name)
	}
	return true
}

// Header returns the names of the columns as they are in the file.
func (c *Reader) Header() []string { return c.header }

// ErrNoAddress is returned for the line of a contact without an e-mail address.
var ErrNoAddress = errors.New("has no address")

// NameColumn returns the column that becomes the preference "name", however that is spelled there, in a file without
// first_name, or nothing.
func (c *Reader) NameColumn() (column, preference string) {
	if slices.Contains(c.keys, `"first_name":`) {
		return "", ""
	}
	for i, key := range c.keys {
		if strings.EqualFold(key, `"name":`) {
			return strings.TrimSpace(c.header[i]), strings.Trim(key, `":`)
		}
	}
	return "", ""
}

// Next returns the row of the next line, and the cells of the line, which are valid until the next call. The error is a
// LineError if this line is faulty, ErrLeft or ErrPending if its subscriber must not be imported, ErrNoAddress for a
// contact without an address, and io.EOF at the end. With ErrLeft, row.Left is set if the address can be read. Any
// other error ends the import.
func (c *Reader) Next() (row imports.ImportRow, record []string, err error) {
	for {
		record, err = c.read()
		c.set.toUTF8(record)
		if err != nil {
			return row, record, err
		}
		if !isBlank(record) {
			break
		}
	}
	line, _ := c.csv.FieldPos(0)
	row.Line = line
	address := c.address(record)
	if address == "" && c.contacts {
		return row, record, ErrNoAddress
	}
	part := c.takesPart(line, record)
	if part.err != nil && !errors.Is(part.err, ErrLeft) && !c.Suppress {
		return row, record, part.err
	}
	row.Email, err = core.ParseEmail(address)
	if c.Suppress && err == nil {
		part = part.suppressed()
	}
	if part.err != nil && (err == nil || !c.Suppress) {
		row.Left, row.Departure = err == nil, part.left
		return row, record, part.err
	}
	if err != nil {
		return row, record, LineError{line, fmt.Sprintf("%q is not a valid email address", record[c.email])}
	}
	if row.Preferences, err = c.preferences(record); err != nil {
		return row, record, LineError{line, faultText(err)}
	}
	if row.Evidence, err = c.evidence(record); err != nil {
		return row, record, LineError{line, faultText(err)}
	}
	c.noteTypo(row.Email)
	return row, record, nil
}

// preferences returns the JSON object of a line: its own columns over those of an export. The text of the export is
// kept as it is where no column overrides it. Empty cells are left out.
func (c *Reader) preferences(record []string) (core.Preferences, error) {
	b := append(c.scratch[:0], '{')
	for i, key := range c.keys {
		cell := strings.Trim(record[i], unseen)
		if key == "" || cell == "" {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		if !core.CleanText(cell) {
			return "", core.Invalidf("preferences", "Column %s is not valid UTF-8 or contains NUL.", c.header[i])
		}
		b = append(b, key...)
		if c.form.quoted != "" && strings.TrimSpace(c.header[i]) == c.form.quoted {
			b = appendQuoted(b, cell)
			continue
		}
		b = appendJSONString(b, plainCell(cell))
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

// appendQuoted appends an array of the words of a cell that holds them in quotes, separated by commas. Any other cell
// is appended as a string.
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

// overlay returns an object with the members of both, in which those of over win.
func overlay(base, over core.Preferences) (core.Preferences, error) {
	if over == "" {
		return base, nil
	}
	if err := base.Check("preferences"); err != nil { // the map would hide a key that stands twice
		return "", err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(base), &all); err != nil || all == nil {
		return "", core.Invalidf("preferences", "preferences must be a JSON object.")
	}
	if err := json.Unmarshal([]byte(over), &all); err != nil {
		return "", err
	}
	text, err := json.Marshal(all)
	return core.Preferences(text), err
}

// plainCell removes the apostrophe that spreadsheetCell adds.
func plainCell(s string) string {
	if len(s) > 1 && s[0] == '\'' && strings.IndexByte(formulaStarts, s[1]) >= 0 {
		return s[1:]
	}
	return s
}

const formulaStarts = "=+-@\t\r"

// Cell returns a cell that a spreadsheet shows and does not run as a formula.
func Cell(s string) string { return spreadsheetCell(s) }

// spreadsheetCell returns a cell that a spreadsheet shows and does not run as a formula.
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

// faultText returns an error in words for the person who keeps the file.
func faultText(err error) string {
	fault, ok := errors.AsType[*core.Error](err)
	if !ok || fault.Message == "" {
		return err.Error()
	}
	if fault.Field != "" && !strings.Contains(fault.Message, fault.Field) {
		return fault.Message + " (" + fault.Field + ")"
	}
	return fault.Message
}
