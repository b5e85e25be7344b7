package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"newsletterd/core"
)

// CSVImport says how a file is read. Every column but the address and those named by Columns becomes a field of the
// preferences, by its heading; empty cells are left out.
type CSVImport struct {
	ListID  string
	Status  string            // of new rows: active or pending
	Source  string            // for the ledger; a file's name
	Columns map[string]string // heading → "email", "status", "preferences", the name of a field, or "-" to ignore it
	Errors  io.Writer         // gets line, address and fault of each line that was not taken, as CSV; nil: dropped
	// Progress, if not nil, is told now and then how far it is: bytes and lines read, then rows written.
	Progress func(CSVProgress)
	Now      func() core.Instant
}

// CSVProgress is how far an import is.
type CSVProgress struct {
	Bytes   int64 // of the file, read so far
	Lines   int64
	Written int64 // rows
}

// The words of CSVImport.Columns that mean more than a field's name. A column of that heading needs no mapping.
const (
	columnEmail       = "email"
	columnStatus      = "status"      // rows that say unsubscribed are not taken
	columnPreferences = "preferences" // a JSON object, in place of all other fields
	columnIgnore      = "-"
)

const (
	maxRecord    = 1 << 20 // bytes of one line, quoted line ends included
	maxColumns   = 200
	progressEach = 10_000
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// ImportCSV reads a file with a heading line and imports it. It streams: memory stays bounded whatever the size, by way
// of files without a name beside the database. A faulty line is reported and left out; a faulty heading or a broken file is
// an error. Repeating it, after whatever end, changes nothing more.
func (s *Store) ImportCSV(ctx context.Context, r io.Reader, o CSVImport) (ImportCounts, error) {
	im, err := s.NewImport(ctx, o.ListID, o.Status, o.Source)
	if err != nil {
		return ImportCounts{}, err
	}
	c := csvImport{CSVImport: o, im: im, spool: spool{dir: filepath.Dir(s.path)}}
	defer c.spool.close()
	if o.Errors == nil {
		c.Errors = io.Discard
	}
	if err := c.read(ctx, r); err != nil {
		return im.Counts, err
	}
	if err := c.write(ctx); err != nil {
		return im.Counts, err
	}
	return im.Counts, im.End(ctx, o.Now())
}

type csvImport struct {
	CSVImport
	im       *Import
	spool    spool
	columns  []csvColumn
	email    int // its column
	progress CSVProgress
	faults   *csv.Writer
	b        []byte // reused
}

type csvColumn struct {
	kind string // one of the words above; empty: a field
	key  string // of a field, as JSON with its colon
}

// read takes every line into the spool.
func (c *csvImport) read(ctx context.Context, r io.Reader) error {
	br := bufio.NewReaderSize(r, 64<<10)
	if head, _ := br.Peek(3); bytes.Equal(head, byteOrderMark) {
		_, _ = br.Discard(3)
	}
	limited := &recordReader{r: br, left: maxRecord}
	cr := csv.NewReader(limited)
	cr.ReuseRecord, cr.FieldsPerRecord = true, -1
	heading, err := cr.Read()
	if err != nil {
		return fmt.Errorf("heading: %w", err)
	}
	if err := c.mapColumns(heading); err != nil {
		return err
	}
	c.faults = csv.NewWriter(c.Errors)
	defer c.faults.Flush()
	_ = c.faults.Write([]string{"line", "email", "error"})
	for {
		limited.left = maxRecord
		record, err := cr.Read()
		if errors.Is(err, io.EOF) {
			c.report(cr.InputOffset())
			return c.faults.Error()
		}
		var pe *csv.ParseError
		if err != nil && !errors.As(err, &pe) {
			return err
		}
		if c.progress.Lines++; c.progress.Lines%progressEach == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			c.report(cr.InputOffset())
		}
		if err == nil {
			err = c.take(record)
		} else {
			err, record = pe.Err, nil
		}
		if err := c.fault(cr, record, err); err != nil {
			return err
		}
	}
}

// errSpool marks an error that is not the line's.
type errSpool struct{ error }

// fault writes down what is wrong with a line; only an error that is not the line's comes back.
func (c *csvImport) fault(cr *csv.Reader, record []string, err error) error {
	var sp errSpool
	if err == nil || errors.As(err, &sp) {
		return err
	}
	line, email := 0, ""
	if record != nil {
		line, _ = cr.FieldPos(0)
		if c.email < len(record) {
			email = record[c.email]
		}
	} else {
		line = int(c.progress.Lines) + 1 // the heading is line 1
	}
	c.im.Counts.Failed++
	var ce *core.Error
	text := err.Error()
	if errors.As(err, &ce) {
		text = strings.TrimSpace(ce.Field + " " + ce.Message)
	}
	_ = c.faults.Write([]string{strconv.Itoa(line), guardCell(email), text})
	return nil
}

func (c *csvImport) report(bytes int64) {
	c.progress.Bytes = bytes
	if c.Progress != nil {
		c.Progress(c.progress)
	}
}

// mapColumns decides what each column is.
func (c *csvImport) mapColumns(heading []string) error {
	if len(heading) > maxColumns {
		return core.Invalidf("file", "has more than %d columns", maxColumns)
	}
	seen := map[string]bool{}
	c.email = -1
	for i, h := range heading {
		h = strings.TrimSpace(h)
		to, mapped := c.Columns[h]
		if !mapped {
			to = h
			switch low := strings.ToLower(h); low {
			case columnEmail, columnStatus, columnPreferences:
				to = low
			case "e-mail", "email address", "e-mail address":
				to = columnEmail
			case "id", "list_id", "created_at": // of our own export
				to = columnIgnore
			case "":
				to = columnIgnore
			}
		}
		if to != columnIgnore && seen[to] {
			return core.Invalidf("file", "has two columns for %q", to)
		}
		seen[to] = true
		switch to {
		case columnEmail:
			c.email = i
			c.columns = append(c.columns, csvColumn{kind: to})
		case columnStatus, columnPreferences, columnIgnore:
			c.columns = append(c.columns, csvColumn{kind: to})
		default:
			key, err := json.Marshal(to)
			if err != nil || !utf8.ValidString(to) {
				return core.Invalidf("file", "has a heading that is not UTF-8")
			}
			c.columns = append(c.columns, csvColumn{key: string(key) + ":"})
		}
	}
	if c.email < 0 {
		return core.Invalidf("file", "has no column for the e-mail address; its headings are %s", strings.Join(heading, ", "))
	}
	fields := slices.ContainsFunc(c.columns, func(c csvColumn) bool { return c.kind == "" })
	if seen[columnPreferences] && fields {
		return core.Invalidf("file", "has a column preferences and others beside it: name those to be ignored")
	}
	return nil
}

// take turns a line into a row of the spool; the error is the line's unless it is an errSpool.
func (c *csvImport) take(record []string) error {
	if len(record) != len(c.columns) {
		return fmt.Errorf("has %d columns, the heading has %d", len(record), len(c.columns))
	}
	var row ImportRow
	c.b = c.b[:0]
	for i, cell := range record {
		cell = unguardCell(cell)
		if !utf8.ValidString(cell) {
			return errors.New("is not UTF-8")
		}
		col := c.columns[i]
		switch {
		case col.kind == columnEmail:
			email, err := core.ParseEmail(cell)
			if err != nil {
				return err
			}
			row.Email = email
		case col.kind == columnStatus:
			if err := checkStatusCell(cell); err != nil {
				return err
			}
		case col.kind == columnPreferences:
			row.Preferences = core.Preferences(strings.TrimSpace(cell))
		case col.kind == "" && cell != "":
			c.appendField(col.key, cell)
		}
	}
	if len(c.b) > 0 {
		row.Preferences = core.Preferences(append(c.b, '}'))
	}
	if err := row.Preferences.Check("preferences"); err != nil {
		return err
	}
	row = newImportRow(c.im.store.SubscriptionID(c.im.list.ID, row.Email.Key()), string(row.Email), string(row.Preferences))
	if err := c.spool.add(row); err != nil {
		return errSpool{err}
	}
	return nil
}

func (c *csvImport) appendField(key, cell string) {
	if len(c.b) == 0 {
		c.b = append(c.b, '{')
	} else {
		c.b = append(c.b, ',')
	}
	c.b = appendJSONString(append(c.b, key...), cell)
}

// appendJSONString appends a text in quotes; only one that holds what JSON escapes goes the long way.
func appendJSONString(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c == 0x7f {
			q, _ := json.Marshal(s)
			return append(b, q...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// checkStatusCell refuses a row that must not become mailable.
func checkStatusCell(cell string) error {
	switch strings.ToLower(strings.TrimSpace(cell)) {
	case "", "active", "pending", "subscribed", "enabled", "confirmed":
		return nil
	}
	return fmt.Errorf("status %q: only active and pending rows are imported", cell)
}

// write imports the spooled rows in the order of their ids.
func (c *csvImport) write(ctx context.Context) error {
	batch := make([]ImportRow, 0, importBatch)
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := c.im.Add(ctx, batch, c.Now()); err != nil {
			return err
		}
		c.progress.Written += int64(len(batch))
		batch = batch[:0]
		if c.Progress != nil {
			c.Progress(c.progress)
		}
		return nil
	}
	err := c.spool.each(func(r ImportRow) error {
		if batch = append(batch, r); len(batch) < importBatch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// recordReader bounds a line, which an unclosed quote would make as long as the file.
type recordReader struct {
	r    *bufio.Reader
	left int
}

func (r *recordReader) Read(b []byte) (int, error) {
	if r.left <= 0 {
		return 0, core.Invalidf("file", "has a line of more than %d bytes, or a quote that is never closed", maxRecord)
	}
	n, err := r.r.Read(b[:min(len(b), r.left)])
	r.left -= n
	return n, err
}

// guardCell keeps a spreadsheet from taking a cell for a formula.
func guardCell(s string) string {
	if s != "" && strings.IndexByte("=+-@\t\r", s[0]) >= 0 {
		return "'" + s
	}
	return s
}

// unguardCell undoes guardCell, so that an exported file can be imported.
func unguardCell(s string) string {
	if len(s) > 1 && s[0] == '\'' && strings.IndexByte("=+-@\t\r", s[1]) >= 0 {
		return s[1:]
	}
	return s
}

// ExportCSV writes a list as CSV: email, status, created_at and preferences as JSON, in pages of 500 rows, each a read of
// its own. It returns the number of rows; progress, if not nil, is told after each page.
func (s *Store) ExportCSV(ctx context.Context, w io.Writer, listID string, progress func(rows int64)) (rows int64, err error) {
	if _, err := s.ListRecord(ctx, listID); err != nil {
		return 0, err
	}
	bw := bufio.NewWriterSize(w, 64<<10)
	cw := csv.NewWriter(bw)
	if err := cw.Write([]string{columnEmail, columnStatus, "created_at", columnPreferences}); err != nil {
		return 0, err
	}
	for after := ""; ; {
		page, err := s.Subscriptions(ctx, listID, after, core.SyncBatch)
		if err != nil {
			return rows, err
		}
		if len(page) == 0 {
			break
		}
		for _, sub := range page {
			if err := cw.Write([]string{guardCell(string(sub.Email)), sub.Status, sub.CreatedAt.String(), string(sub.Preferences)}); err != nil {
				return rows, err
			}
		}
		rows, after = rows+int64(len(page)), page[len(page)-1].ID
		if progress != nil {
			progress(rows)
		}
	}
	cw.Flush()
	if err := cw.Error(); err != nil {
		return rows, err
	}
	return rows, bw.Flush()
}
