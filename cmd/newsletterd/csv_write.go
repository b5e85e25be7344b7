package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"

	"newsletterd/core"
)

// subscriptionWriter writes subscriptions one by one: CSV, or one JSON object a line.
type subscriptionWriter struct {
	buffer *bufio.Writer
	csv    *csv.Writer
	json   *json.Encoder
}

func newSubscriptionWriter(out io.Writer, asJSON bool) *subscriptionWriter {
	w := &subscriptionWriter{buffer: bufio.NewWriterSize(out, 64<<10)}
	if asJSON {
		w.json = json.NewEncoder(w.buffer)
		w.json.SetEscapeHTML(false)
		return w
	}
	w.csv = csv.NewWriter(w.buffer)
	_ = w.csv.Write(exportColumns) // into the buffer; close tells whether it could be written
	return w
}

func (w *subscriptionWriter) write(s *core.Subscription) error {
	if w.json != nil {
		return w.json.Encode(s)
	}
	return w.csv.Write([]string{
		spreadsheetCell(string(s.Email)), s.Status, s.CreatedAt.String(), spreadsheetCell(string(s.Preferences.OrEmpty())),
	})
}

func (w *subscriptionWriter) close() error {
	if w.csv != nil {
		w.csv.Flush()
		if err := w.csv.Error(); err != nil {
			return err
		}
	}
	return w.buffer.Flush()
}
