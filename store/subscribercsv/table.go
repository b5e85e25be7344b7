package subscribercsv

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxRecord is the maximum number of bytes of a record. A longer record is assumed to have a quote that was never
// closed.
const maxRecord = 1 << 20

// table reads the records of a file, after its header.
type table struct {
	csv    *csv.Reader
	source *recordLimit
	quotes *unescape
	raw    []string // header in the encoding of the file
	header []string // header in UTF-8
	set    *charset // charset of cells that aren't UTF-8
}

// open returns the table of a file and reads the header. s is the survey of the file, or nil if only its beginning is
// known.
func open(r io.Reader, s *Survey) (*table, error) {
	buffered := bufio.NewReaderSize(Text(r), peeked)
	head, err := buffered.Peek(peeked)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	t := &table{set: charsetOf("")}
	if s != nil {
		t.set = charsetOf(s.Encoding)
	} else if !utf8.Valid(head) {
		var score charsetScore
		score.addAll(strings.Split(string(head), "\n"))
		t.set = charsetOf(score.best())
	}
	comma := delimiter(buffered)
	t.quotes = newUnescape(buffered, comma, s != nil && s.Backslash)
	t.source = &recordLimit{r: t.quotes}
	t.csv = csv.NewReader(t.source)
	t.csv.Comma, t.csv.ReuseRecord = comma, true
	t.source.next()
	header, err := t.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty. Its first line must name the columns")
	}
	if err != nil {
		if pe, ok := errors.AsType[*csv.ParseError](err); ok && t.source.broken() == nil {
			err = t.quoteFault(pe)
		}
		return nil, fmt.Errorf("header: %w", err)
	}
	if len(header) > MaxColumns {
		return nil, fmt.Errorf("the file has %d columns, but at most %d are allowed. Remove the ones you don't need",
			len(header), MaxColumns)
	}
	t.raw = slices.Clone(header)
	t.header = slices.Clone(t.raw)
	t.set.toUTF8(t.header)
	return t, nil
}

func (s *charsetScore) addAll(cells []string) {
	for _, cell := range cells {
		if !utf8.ValidString(cell) {
			s.add(cell)
		}
	}
}

// read returns the cells of the next record as in the file. They are valid until the next call. If the record is
// faulty, the error is a LineError. At the end of the file, it is io.EOF. Any other error ends the import.
func (t *table) read() ([]string, error) {
	t.source.next()
	record, err := t.csv.Read()
	if err == nil {
		return record, nil
	}
	if broken := t.source.broken(); broken != nil {
		line, _ := t.csv.FieldPos(0)
		return nil, fmt.Errorf("after line %d: %w", line, broken)
	}
	pe, ok := errors.AsType[*csv.ParseError](err)
	switch {
	case !ok:
		return nil, err
	case errors.Is(pe.Err, csv.ErrFieldCount):
		return record, LineError{Line: pe.Line, Text: fmt.Sprintf("has %d columns, not %d", len(record), len(t.header))}
	}
	return record, t.quoteFault(pe)
}

// quoteFault returns the error for a wrong quote. If a quote is not closed, all lines up to the next quote become one
// cell. If that cell extends to the end of the file, the import ends, because the cell may contain any number of
// subscribers.
func (t *table) quoteFault(pe *csv.ParseError) error {
	switch {
	case pe.StartLine == pe.Line:
		return LineError{Line: pe.Line, Text: `a quote (") is inside a cell or is never closed`}
	case errors.Is(t.source.err, io.EOF) && t.csv.InputOffset() == t.source.total:
		return fmt.Errorf(`line %d: a quote (") is never closed`, pe.StartLine)
	}
	return LineError{Line: pe.StartLine, Text: fmt.Sprintf(`a quote (") is not closed where it should be: `+
		`lines %d to %d are read as one`, pe.StartLine, pe.Line)}
}

// recordLimit is a reader that fails if a record is longer than maxRecord, because the csv package holds a record in
// memory.
type recordLimit struct {
	r     io.Reader
	n     int
	total int64 // bytes read so far
	err   error
}

func (l *recordLimit) next() { l.n = 0 }

// broken returns the error that ended reading, unless it is the end of the file.
func (l *recordLimit) broken() error {
	if errors.Is(l.err, io.EOF) {
		return nil
	}
	return l.err
}

func (l *recordLimit) Read(p []byte) (int, error) {
	if l.n > maxRecord {
		l.err = fmt.Errorf("a row is longer than %d bytes. Check for a quote that is not closed", maxRecord)
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
