package subscribercsv

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"

	"newsletterd/core"
)

// Writer writes subscriptions one by one, as CSV or as one JSON object a line.
type Writer struct {
	buffer *bufio.Writer
	csv    *csv.Writer
	json   *json.Encoder
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
