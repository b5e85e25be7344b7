package subscribercsv

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"

	"newsletterd/core"
)

// Writer writes subscriptions one by one, as CSV or as one JSON object a line.
type Writer struct {
	buffer *bufio.Writer
	csv    *csv.Writer
	json   *json.Encoder

	fields []string // those that have one
}

// fixedColumns are those of a Writer of NewFieldWriter before the fields.
var fixedColumns = []string{"email", "list", "status", "created_at"}

// NewFieldWriter returns a Writer of CSV with a column for each of fields, and the names of the columns written. What
// the preferences hold besides is in the last column, as JSON; a field whose name is that of another column is there,
// too.
func NewFieldWriter(out io.Writer, fields []string) *Writer {
	w := &Writer{buffer: bufio.NewWriterSize(out, 64<<10)}
	w.csv = csv.NewWriter(w.buffer)
	taken := append(slices.Clone(fixedColumns), "preferences")
	columns := slices.Clone(fixedColumns)
	for _, name := range fields {
		if !slices.Contains(taken, name) {
			taken = append(taken, name)
			w.fields = append(w.fields, name)
			columns = append(columns, spreadsheetCell(name))
		}
	}
	_ = w.csv.Write(append(columns, "preferences")) // into the buffer; Close returns the error
	return w
}

// WriteOn writes one subscription, on a list by its name. It is for a Writer of NewFieldWriter.
func (w *Writer) WriteOn(list string, s *core.Subscription) error {
	values := s.Preferences.Values()
	record := []string{spreadsheetCell(string(s.Email)), spreadsheetCell(list), s.Status, s.CreatedAt.String()}
	for _, name := range w.fields {
		value := values[name]
		if len(value) > 0 && (value[0] == '{' || value[0] == '[') { // it would come back as a text
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

// cellOf is a value of the preferences as a cell has it; one that is not there, or null, is empty.
func cellOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil { // a number, a boolean, or nothing
		return string(value)
	}
	return text
}

// NewWriter returns a Writer that has written the names of the columns where the form is CSV.
func NewWriter(out io.Writer, asJSON bool) *Writer {
	w := &Writer{buffer: bufio.NewWriterSize(out, 64<<10)}
	if asJSON {
		w.json = json.NewEncoder(w.buffer)
		w.json.SetEscapeHTML(false)
		return w
	}
	w.csv = csv.NewWriter(w.buffer)
	_ = w.csv.Write(exportColumns) // into the buffer; Close returns the error
	return w
}

// Write writes one subscription.
func (w *Writer) Write(s *core.Subscription) error {
	if w.json != nil {
		return w.json.Encode(s)
	}
	return w.csv.Write([]string{
		spreadsheetCell(string(s.Email)), s.Status, s.CreatedAt.String(), spreadsheetCell(string(s.Preferences.OrEmpty())),
	})
}

// Close writes what is buffered. It does not close the underlying writer.
func (w *Writer) Close() error {
	if w.csv != nil {
		w.csv.Flush()
		if err := w.csv.Error(); err != nil {
			return err
		}
	}
	return w.buffer.Flush()
}
