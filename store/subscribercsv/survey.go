package subscribercsv

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Survey holds facts about a whole file that no single line shows. Its size is bounded for any file. It doesn't depend
// on a mapping, so that all dry runs and the import can use the same survey.
type Survey struct {
	Encoding  string         `json:"encoding"`         // encoding of the cells that aren't UTF-8; or UTF8
	Delimiter string         `json:"delimiter"`        // character between cells
	Backslash bool           `json:"backslash"`        // whether a backslash escapes quotes in cells
	Rows      int64          `json:"rows"`             // readable rows, without the header
	Faulty    int64          `json:"faulty,omitempty"` // lines with a CSV error
	Columns   []ColumnSurvey `json:"columns"`
	Sources   []Source       `json:"sources,omitempty"` // sources of a merged file, by Line
}

// Source is the origin of lines in a merged file: the lines from Line on, up to the next Source, are the lines of File
// from At on. Lines are counted from 1.
type Source struct {
	Line int    `json:"line"`
	File string `json:"file"` // name of the file that the line comes from
	At   int    `json:"at"`   // the line in that file
}

// place returns the file and the line that a line of a merged file comes from. For other files, it returns the line.
func (s *Survey) place(line int) (file string, at int) {
	if s == nil {
		return "", line
	}
	i, found := slices.BinarySearchFunc(s.Sources, line, func(f Source, line int) int {
		return cmp.Compare(f.Line, line)
	})
	if !found {
		i--
	}
	if i < 0 {
		return "", line
	}
	return s.Sources[i].File, s.Sources[i].At + line - s.Sources[i].Line
}

// ColumnSurvey summarizes the cells of a column.
type ColumnSurvey struct {
	Name   string `json:"name"`
	Filled int64  `json:"filled"` // non-empty cells
	// distinct cells, folded by foldCell, in the order of the file; empty if there are more than maxValues
	Values []Value `json:"values,omitempty"`
	Many   bool    `json:"many,omitempty"` // whether there are more than maxValues distinct cells, or long ones
	// cells that are or contain a status word; if Many is set, also cells that mean yes or no
	Words     []Value   `json:"words,omitempty"`
	Addresses int64     `json:"addresses,omitempty"` // cells that look like an email address
	Dates     DateCount `json:"dates,omitzero"`
}

// Value is a cell and the number of rows that have it in a column.
type Value struct {
	Text  string `json:"text" about:"The value, as in its first row"`
	Word  string `json:"word" about:"The value in lower case, without quotes and symbols around it"`
	Rows  int64  `json:"rows" about:"Number of rows with this value"`
	First int    `json:"first" about:"Line of the first such row"`
}

// Limits of a Survey.
const (
	maxValues     = 32      // maximum number of distinct cells of a column
	maxAllValues  = 2048    // maximum number of distinct cells of all columns
	maxValueBytes = 64      // maximum number of bytes of a cell
	maxWordBytes  = 256     // maximum number of bytes of a cell with a status word among tags
	surveyStep    = 1 << 10 // number of rows between two checks of the context
	undatedAfter  = 1 << 10 // cells without a date after which a column counts as having none
)

// Look surveys a whole file in bounded memory, until ctx ends. It leaves out lines with errors, and everything after an
// error that ends an import. The import reports these errors. Look returns the errors of r, an error of kind
// core.MediaType if the file is not text, and the error of an unreadable header.
func Look(ctx context.Context, r io.Reader) (*Survey, error) {
	c, err := open(r, nil)
	if err != nil {
		return nil, err
	}
	l := looking{columns: make([]columnLook, len(c.header))}
	for i := range l.columns {
		l.columns[i].about = subjectOf(c.header[i])
	}
	s := &Survey{Delimiter: string(c.csv.Comma)}
	for n := 0; ; n++ {
		if n%surveyStep == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		record, fault := c.read()
		if _, ok := errors.AsType[LineError](fault); ok {
			s.Faulty++
			continue
		}
		if fault != nil {
			if err := c.source.broken(); err != nil {
				return nil, err
			}
			break
		}
		s.Rows++
		line, _ := c.csv.FieldPos(0)
		l.row(record, line)
	}
	l.score.addAll(c.raw)
	s.Encoding, s.Backslash = UTF8, c.quotes.seen
	if l.foreign || !allUTF8(c.raw) {
		s.Encoding = l.score.best()
	}
	charset := charsetOf(s.Encoding)
	names := slices.Clone(c.raw)
	charset.toUTF8(names)
	for i := range l.columns {
		s.Columns = append(s.Columns, l.columns[i].survey(cleanCell(names[i]), charset))
	}
	return s, nil
}

func allUTF8(cells []string) bool {
	return !slices.ContainsFunc(cells, func(s string) bool { return !utf8.ValidString(s) })
}

// looking is the state of a Survey while the file is read.
type looking struct {
	columns []columnLook
	values  int // number of distinct cells of all columns
	foreign bool
	score   charsetScore
}

type columnLook struct {
	filled, addresses int64
	many              bool
	about             subject
	values            map[string]*Value // by cell
	words             map[string]*Value
	last              *Value
	dates             DateCount
}

func (l *looking) row(record []string, line int) {
	for i, cell := range record {
		if cell == "" {
			continue
		}
		if !utf8.ValidString(cell) {
			l.foreign = true
			l.score.add(cell)
		}
		l.cell(&l.columns[i], cell, line)
	}
}

func (l *looking) cell(c *columnLook, cell string, line int) {
	if c.last != nil && c.last.Text == cell {
		c.last.Rows++
		c.filled++
		c.count(cell)
		return
	}
	cell = strings.TrimSpace(cell)
	if cell == "" {
		return
	}
	c.filled++
	c.count(cell)
	if c.many {
		c.word(cell, line)
		return
	}
	v := c.values[cell]
	if v == nil && (len(cell) > maxValueBytes || len(c.values) == maxValues || l.values == maxAllValues) {
		for _, v := range c.values { // the status words among them are kept
			if word, spelled := c.wordOf(v.Text); word != "" {
				w := note(&c.words, word, spelled, v.First)
				w.Rows += v.Rows - 1
				if v.First < w.First {
					w.First, w.Text = v.First, spelled
				}
			}
		}
		l.values -= len(c.values)
		c.values, c.last, c.many = nil, nil, true
		c.word(cell, line)
		return
	}
	if v == nil {
		l.values++
	}
	c.last = note(&c.values, cell, cell, line)
}

// word counts a cell of a column with many distinct cells if it is or contains a status word. Cells are counted by
// their folded word, so their number is bounded.
func (c *columnLook) word(cell string, line int) {
	c.last = nil
	if word, spelled := c.wordOf(cell); word != "" {
		note(&c.words, word, spelled, line)
	}
}

// note counts a cell under a key in a map, which it creates if necessary.
func note(in *map[string]*Value, key, cell string, line int) *Value {
	v := (*in)[key]
	if v == nil {
		// the memory of cell and key belongs to a record and is reused
		if v = (&Value{Text: strings.Clone(cell), First: line}); *in == nil {
			*in = map[string]*Value{}
		}
		(*in)[strings.Clone(key)] = v
	}
	v.Rows++
	return v
}

func (c *columnLook) count(cell string) {
	if strings.IndexByte(cell, '@') > 0 {
		c.addresses++
		return
	}
	if c.dates.any() || c.filled <= undatedAfter {
		c.dates.add(cell)
	}
}

// wordOf returns the status word, the yes or the no in a cell, folded by foldCell. It tries both charsets. text is the
// cell or, if the word is in a long list, the part of the list that contains the word. Both are empty if there is no
// such word.
func (c *columnLook) wordOf(cell string) (word, text string) {
	spelled := []string{cell}
	if !utf8.ValidString(cell) {
		spelled = []string{charsets[0].decode(cell), charsets[1].decode(cell)}
	}
	if len(cell) <= maxWordBytes {
		for _, s := range spelled {
			if word := foldCell(s); says(word) {
				return word, cell
			}
		}
	}
	for _, s := range spelled {
		if word, part := listWord(s, c.about); word != "" {
			if len(cell) > maxValueBytes {
				return word, part
			}
			return word, cell
		}
	}
	return "", ""
}

func (c *columnLook) survey(name string, charset *charset) ColumnSurvey {
	s := ColumnSurvey{Name: name, Filled: c.filled, Many: c.many, Addresses: c.addresses, Dates: c.dates}
	s.Values = foldedValues(c.values, charset, func(word, _ string) string { return word })
	if c.many {
		s.Words = foldedValues(c.words, charset, func(word, cell string) string {
			if !says(word) {
				word, _ = listWord(cell, c.about)
			}
			return word
		})
		return s
	}
	for _, v := range s.Values {
		if statusWords[v.Word] == unknown {
			v.Word, _ = listWord(v.Text, c.about)
		}
		if v.Word != "" {
			s.Words = append(s.Words, v)
		}
	}
	return s
}

// foldedValues returns values in the order of the file, with different spellings of a word as one value. named returns
// the word of a cell, given the folded cell and the cell itself.
func foldedValues(values map[string]*Value, charset *charset, named func(word, cell string) string) (all []Value) {
	for _, v := range values {
		cell := []string{v.Text}
		charset.toUTF8(cell)
		v.Text = strings.ToValidUTF8(cell[0], "\ufffd")
		v.Word = named(foldCell(v.Text), v.Text)
		all = append(all, *v)
	}
	slices.SortFunc(all, func(a, b Value) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Text, b.Text))
	})
	at := map[string]int{}
	folded := all[:0]
	for _, v := range all {
		if i, ok := at[v.Word]; ok {
			folded[i].Rows += v.Rows
			continue
		}
		at[v.Word] = len(folded)
		folded = append(folded, v)
	}
	return folded
}

// LookWhile returns the text of a file, as Text does, and surveys the file while the caller reads the text. done ends
// the survey and returns it. The caller must call done, and must not read the text afterwards. If the survey fails,
// reading the text returns the same error, because such a file need not be stored.
func LookWhile(ctx context.Context, r io.Reader) (kept io.Reader, done func() (*Survey, error)) {
	out, in := io.Pipe()
	var s *Survey
	var fault error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if s, fault = Look(ctx, out); fault != nil {
			_ = out.CloseWithError(fault)
			return
		}
		_, _ = io.Copy(io.Discard, out) // skip the text after a quote that is never closed
	}()
	t := &looked{r: Text(r), in: in}
	return t, func() (*Survey, error) {
		_ = in.CloseWithError(io.ErrUnexpectedEOF)
		<-ended
		return s, fault
	}
}

// looked is a reader that copies what it reads to a pipe.
type looked struct {
	r  io.Reader
	in *io.PipeWriter
}

func (l *looked) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if _, fault := l.in.Write(p[:n]); fault != nil {
		return n, fault
	}
	if err == io.EOF {
		_ = l.in.Close()
	}
	return n, err
}
