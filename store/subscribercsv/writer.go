package subscribercsv

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"newsletterd/core"
)

// Writer writes subscriptions one by one, as CSV or as one JSON object per line.
type Writer struct {
	buffer *bufio.Writer
	csv    *csv.Writer
	json   *json.Encoder

	fields []string // fields with their own column
}

// fixedColumns lists the columns before the fields in the output of a NewFieldWriter.
var fixedColumns = []string{"email", "list", "status", "created_at", "tags", "signed_up_at", "unsubscribed_at"}

// NewFieldWriter returns a Writer of CSV with a column for each field, and writes the names of the columns. The last
// column contains all other preferences as JSON, including any field that has the name of another column. For
// spreadsheet programs, pass the character between cells, as for WriteSpreadsheet; otherwise 0.
func NewFieldWriter(out io.Writer, fields []string, comma rune) *Writer {
	w := newCSV(out, comma)
	taken := append(slices.Clone(fixedColumns), "preferences")
	columns := slices.Clone(fixedColumns)
	for _, name := range fields {
		if !slices.Contains(taken, name) {
			taken = append(taken, name)
			w.fields = append(w.fields, name)
			columns = append(columns, spreadsheetCell(name))
		}
	}
	_ = w.csv.Write(append(columns, "preferences")) // writes to the buffer; Close returns the error
	return w
}

// newCSV returns a Writer of CSV with the character comma between cells, for spreadsheet programs with a byte order
// mark. If comma is 0, it writes neither.
func newCSV(out io.Writer, comma rune) *Writer {
	w := &Writer{buffer: bufio.NewWriterSize(out, 64<<10)}
	w.csv = csv.NewWriter(w.buffer)
	if comma != 0 {
		w.csv.Comma = comma
		_, _ = w.buffer.WriteString(ByteOrderMark) // Close returns the error
	}
	return w
}

// WriteOn writes one subscription with its tags, the name of its list and the times when the person signed up and
// unsubscribed, or 0. It requires a Writer from NewFieldWriter.
func (w *Writer) WriteOn(list string, s *core.Subscription, tags []string, signedUp, left core.Instant) error {
	values := s.Preferences.Values()
	record := []string{
		spreadsheetCell(string(s.Email)), spreadsheetCell(list), s.Status, s.CreatedAt.String(), tagsCell(tags),
		timeCell(signedUp), timeCell(left),
	}
	for _, name := range w.fields {
		value := values[name]
		if len(value) > 0 && (value[0] == '{' || value[0] == '[') { // as a column, it would become text
			record = append(record, "")
			continue
		}
		delete(values, name)
		record = append(record, spreadsheetCell(cellOf(value)))
	}
	rest := ""
	if len(values) > 0 {
		b, err := json.Marshal(values)
		if err != nil {
			return err
		}
		rest = string(b)
	}
	return w.csv.Write(append(record, rest))
}

// timeCell returns a time as a cell, which is empty for 0.
func timeCell(at core.Instant) string {
	if at == 0 {
		return ""
	}
	return at.String()
}

// cellOf returns a preference as a cell. A missing value or null becomes an empty cell.
func cellOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil { // a number, a boolean or null
		return string(value)
	}
	return text
}

// NewWriter returns a Writer of JSON if asJSON is true, otherwise of CSV. For CSV, it writes the names of the columns;
// comma is as for NewFieldWriter.
func NewWriter(out io.Writer, asJSON bool, comma rune) *Writer {
	return newWriter(out, asJSON, comma, exportColumns)
}

func newWriter(out io.Writer, asJSON bool, comma rune, columns []string) *Writer {
	if asJSON {
		w := &Writer{buffer: bufio.NewWriterSize(out, 64<<10)}
		w.json = json.NewEncoder(w.buffer)
		w.json.SetEscapeHTML(false)
		return w
	}
	w := newCSV(out, comma)
	_ = w.csv.Write(columns) // writes to the buffer; Close returns the error
	return w
}

// Write writes one subscription with its tags.
func (w *Writer) Write(s *core.Subscription, tags []string) error {
	if w.json != nil {
		return w.json.Encode(struct {
			*core.Subscription
			Tags []string `json:"tags,omitempty"`
		}{s, tags})
	}
	return w.csv.Write([]string{
		spreadsheetCell(string(s.Email)), s.Status, s.CreatedAt.String(), tagsCell(tags),
		spreadsheetCell(string(s.Preferences.OrEmpty())),
	})
}

// tagsCell returns a cell that splitTags splits into the given tags.
func tagsCell(tags []string) string {
	cell := strings.Join(tags, ", ")
	if strings.ContainsAny(cell, "\"[") || strings.Contains(cell, severalValues) {
		b, err := json.Marshal(tags)
		if err == nil {
			cell = string(b)
		}
	}
	return spreadsheetCell(cell)
}

// Close writes the buffered data. It does not close the underlying writer.
func (w *Writer) Close() error {
	if w.csv != nil {
		w.csv.Flush()
		if err := w.csv.Error(); err != nil {
			return err
		}
	}
	return w.buffer.Flush()
}
