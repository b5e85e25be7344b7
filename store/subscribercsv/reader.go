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

// MaxColumns is the maximum number of columns that a file can have.
const MaxColumns = 1000

// exportColumns are the columns that Writer writes.
var exportColumns = []string{"email", "status", "created_at", "tags", "preferences"}

// ownColumns lists the columns of both kinds of Writer. An import ignores them unless they have another meaning.
var ownColumns = append([]string{"list", "signed_up_at", "unsubscribed_at"}, exportColumns...)

// form describes the export files of a program. A file's header shows its form.
type form struct {
	known    []string          // columns that occur together only in this form; if empty, marks identify the form
	marks    []string          // columns of which two, or one together with one of hints, identify the form
	hints    []string          // columns of this form that other files also have
	email    string            // address column
	base     string            // column with a JSON object of preferences; empty if there is none
	drop     []string          // internal columns, which don't become preferences
	rename   map[string]string // column names to preferences
	plainKey bool              // other columns get names that work as placeholders: "Phone Number" becomes phone_number
	quoted   string            // column with quoted words separated by commas; empty if there is none
}

// forms are tried in order. In a file without a known form, each column except the address column becomes a preference.
var forms = []form{
	{
		known: []string{"status", "preferences"}, email: "email", base: "preferences", drop: ownColumns,
	},
	{ // an export of newsletterd with some columns removed
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

// formOf returns the form of a file by its header, or the zero form if none matches.
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

// key returns the name of the preference that a column becomes, or an empty string if the column is dropped.
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
	AskAgain   bool         // whether to import people who never confirmed; each gets a confirmation email
	Suppress   bool         // whether each line is an address that must not be emailed, not a subscriber
	Now        core.Instant // latest valid time of evidence; 0 means no limit
	Unreadable int64        // rows with evidence that is neither a time nor an IP address
	Future     int64        // rows with evidence of a time in the future
	BadTags    int64        // number of invalid names of tags
	// domains with a likely typo in the addresses of imported people, at most maxTypos
	Typos []core.DomainTypo

	*table
	options  Options
	form     form
	email    int            // address column; -1 if there is none
	contacts bool           // the file is an address book
	further  []int          // columns with further addresses of a contact
	status   []statusColumn // status columns
	base     int            // column with the form's preferences; -1 if there is none
	tags     []int          // columns with tags
	fullName int            // column with whole names, which become first_name and last_name; -1 if there is none
	proof    []evidenceColumn
	keys     []string // for each column, the `"name":` of its preference; empty if it has none
	// for each column, whether its name or the mapping declares its use; see Questions
	declared []bool
	scratch  []byte
	mapped   bool // whether the use of the columns is known
}

// LineError is an error in one line. It doesn't end the import.
type LineError struct {
	Line int
	Text string
	File string // name of the line's file in an archive whose files were merged; otherwise empty
}

func (e LineError) Error() string {
	if e.File != "" {
		return fmt.Sprintf("%s, line %d: %s", e.File, e.Line, e.Text)
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Text)
}

// MappingError is returned if the names of a file's columns don't determine their use. The user can fix it with a
// mapping.
type MappingError struct {
	Text string
	hint string // about the flag --map
}

func (e MappingError) Error() string { return e.Text + e.hint }

// Options sets how a file is read.
type Options struct {
	// maps column names to preferences or to email; an empty value drops the column
	Map map[string]string
	// survey of the whole file; nil means that only its beginning is known
	Survey *Survey
	// fields of the list; a column with the name of a field becomes the field
	Fields core.Fields
	// drop columns without a known meaning, that is, those that are not in Map or Fields and are not names, addresses
	// or the like
	KnownOnly bool
	// names of tags for everyone in the file
	Tags []string
}

// NewReader returns a Reader of r and reads the header. If the error is a MappingError, it also returns the Reader,
// which then has a Header but can't read lines.
func NewReader(r io.Reader, o Options) (*Reader, error) {
	t, err := open(r, o.Survey)
	if err != nil {
		return nil, err
	}
	c := &Reader{table: t, options: o, email: -1, base: -1, fullName: -1}
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
	var problem error // the first error; later columns still get their use
	for i, name := range names {
		to, renamed := rename[name]
		used[name] = used[name] || renamed
		c.declared[i] = renamed || c.form.bookkeeping(name)
		if !renamed && c.formColumn(i, name) {
			// A column of times is declared only if it is a status column. In other columns of times, the meaning of a
			// no is unknown; see Questions.
			c.declared[i] = name != "" && (datedColumns[foldWord(name)].what == "" || statusOf(name, names) != nil)
			continue
		}
		if renamed && foldWord(to) == UseStatus {
			c.status = append(c.status, statusColumn{i, name, meaningOf(name, names), false, subjectOf(name)})
			continue
		}
		if renamed && to == BecomesFullName && c.fullName < 0 && !c.hasField(to) {
			c.fullName = i
			continue
		}
		if renamed && foldWord(to) == UseTags || !renamed && c.namesTags(name) {
			c.tags = append(c.tags, i)
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
			return fmt.Errorf("the name of column %d is not valid UTF-8 or contains NUL. Save the file as UTF-8", i+1)
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
				". Correct --map",
			}
		}
	}
	if c.otherEmail(names, rename); c.email < 0 {
		return MappingError{
			fmt.Sprintf("no column is named email; the file has %s", strings.Join(c.header, ", ")),
			`. To name it, pass --map "NAME=email"`,
		}
	}
	return nil
}

// takeColumn makes a column the address column or a preference. An empty name drops the column.
func (c *Reader) takeColumn(i int, names []string, to string, isEmail bool) error {
	switch {
	case to == "":
	case isEmail && c.email >= 0:
		return MappingError{
			fmt.Sprintf("two columns contain email addresses: %q and %q", names[c.email], names[i]),
			`. To skip one, pass --map "NAME="; to keep it as a custom field, --map "NAME=FIELD"`,
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

// formColumn notes a column with a special meaning in the file's form, and reports whether it has one.
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

// ErrNoAddress is returned for the line of a contact without an email address.
var ErrNoAddress = errors.New("has no address")

// NameColumn returns the column that becomes the preference "name", in upper or lower case. If there is none, or a
// column becomes first_name, it returns empty strings.
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

// Next returns the row of the next line and the line's cells, which are valid until the next call. If the line is
// faulty, the error is a LineError. If the line's person must not be imported as a subscriber, the error is ErrLeft or
// ErrPending. For a contact without an address, it is ErrNoAddress. At the end of the file, it is io.EOF. With ErrLeft,
// row.Left is set if the address is valid. Any other error ends the import.
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
		return row, record, LineError{Line: line, Text: addressFault(record[c.email])}
	}
	if row.Preferences, err = c.preferences(record); err != nil {
		return row, record, LineError{Line: line, Text: faultText(err)}
	}
	if row.Evidence, err = c.evidence(record); err != nil {
		return row, record, LineError{Line: line, Text: faultText(err)}
	}
	row.Tags = c.tagsOf(record)
	c.noteTypo(row.Email)
	return row, record, nil
}

// preferences returns the preferences of a line as a JSON object. The line's columns override members of the JSON
// object in an export. If none does, the object is copied unchanged. Empty cells are left out.
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
	b = c.appendNames(b, record)
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

// appendQuoted appends a cell with quoted words, separated by commas, as an array. It appends any other cell as a
// string.
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

// overlay merges two objects. Members of over replace those of base.
func overlay(base, over core.Preferences) (core.Preferences, error) {
	if over == "" {
		return base, nil
	}
	if err := base.Check("preferences"); err != nil { // unmarshaling into a map would hide a duplicate key
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

// Cell returns s in a form that spreadsheet programs show as text and don't run as a formula.
func Cell(s string) string { return spreadsheetCell(s) }

// spreadsheetCell returns s in a form that spreadsheet programs show as text and don't run as a formula.
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
			_ = enc.Encode(s) // encoding a string never fails
			return append(b, bytes.TrimRight(buf.Bytes(), "\n")...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// faultText returns the message of an error for the owner of the file.
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
