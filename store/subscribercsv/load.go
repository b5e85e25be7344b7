package subscribercsv

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"strconv"

	"newsletterd/store/imports"
)

// Load reads the file to its end, puts its lines into an import, and counts the lines that are not imported. It passes
// each faulty line to faulty, with the line's cells. Import.Write skips a line if, according to another line, its
// subscriber unsubscribed. Load reports such a line without cells, so that an import of the reported lines can't add
// the address.
func (c *Reader) Load(ctx context.Context, im *imports.Import,
	faulty func(fault LineError, record []string) error,
) error {
	report := func(fault LineError, record []string) error {
		fault.File, fault.Line = c.options.Survey.place(fault.Line)
		return faulty(fault, record)
	}
	im.OnContradicted = func(line, left int) error {
		file, left := c.options.Survey.place(left)
		text := "unsubscribed according to line " + strconv.Itoa(left)
		if file != "" {
			text += " of " + file
		}
		return report(LineError{Line: line, Text: text}, make([]string, len(c.header)))
	}
	for {
		row, record, err := c.Next()
		var fault LineError
		switch {
		case err == nil, row.Left:
			err = im.Put(row)
		case errors.Is(err, ErrLeft):
			im.Counts.Kept++
			err = nil
		case errors.Is(err, ErrNoAddress):
			im.Counts.NoAddress++
			err = nil
		case errors.Is(err, ErrPending):
			im.Counts.Pending++
			err = nil
		case errors.As(err, &fault):
			im.Counts.Failed++
			err = report(fault, record)
		case errors.Is(err, io.EOF):
			im.Counts.EvidenceUnreadable, im.Counts.EvidenceFuture = c.Unreadable, c.Future
			im.Counts.TagsSkipped = c.BadTags
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// Faults writes the lines with errors of a file as CSV: the line's number, the error and the cells. In a merged file,
// the number follows the name of the file and a colon.
type Faults struct{ csv *csv.Writer }

// FaultsBegin is the beginning of every file that Faults writes.
const FaultsBegin = "line,error,"

// NewFaults returns a Faults writer and writes the names of the columns.
func NewFaults(w io.Writer, header []string) (*Faults, error) {
	f := &Faults{csv.NewWriter(w)}
	return f, f.csv.Write(append([]string{"line", "error"}, shown(header)...))
}

// Report writes one line.
func (f *Faults) Report(fault LineError, record []string) error {
	line := strconv.Itoa(fault.Line)
	if fault.File != "" {
		line = spreadsheetCell(fault.File + ":" + line)
	}
	return f.csv.Write(append([]string{line, fault.Text}, shown(record)...))
}

// shown returns the cells in a form that spreadsheet programs don't run as formulas. Reader restores the original
// cells.
func shown(record []string) []string {
	cells := make([]string, len(record))
	for i, s := range record {
		cells[i] = spreadsheetCell(s)
	}
	return cells
}

// Flush writes the buffered data.
func (f *Faults) Flush() error {
	f.csv.Flush()
	return f.csv.Error()
}
