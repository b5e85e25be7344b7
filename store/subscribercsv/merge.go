package subscribercsv

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
)

// Part is one of several files to merge.
type Part struct {
	Name   string // name of the file, for errors
	Open   func() (io.ReadCloser, error)
	Status string // status of all people in the file; empty if the rows contain it
}

// PartError is an error in a file that is merged.
type PartError struct{ error }

// HeaderOf returns the columns of a file that starts with head, and reports whether one of them has addresses. If the
// file is not a CSV file, header is empty.
func HeaderOf(head []byte) (header []string, people bool) {
	c, err := NewReader(bytes.NewReader(head), Options{})
	if c == nil || err != nil && !IsMapping(err) {
		return nil, false
	}
	return c.names(), c.email >= 0
}

// Merge writes the rows of several files as one CSV file that has the columns of all files. Columns with the same name
// become one column, and so do the columns of addresses. Merge writes faulty lines with too many cells, so that they
// stay faulty. It returns the sources of the lines, sorted by Line, for Survey.Sources; the header has none.
func Merge(ctx context.Context, w io.Writer, parts []Part) ([]Source, error) {
	m := merging{ctx: ctx, columns: map[string]int{}}
	for i := range parts {
		if err := m.columnsOf(&parts[i]); err != nil {
			return nil, err
		}
	}
	m.status = m.numbered(core.ImportFileStatus, 0)
	m.absent = make([]string, len(m.header))
	for i, name := range m.header {
		if mean := statusOf(name, m.header); mean != nil && mean("") == unknown {
			m.absent[i] = string(joined)
		}
	}
	out := csv.NewWriter(w)
	if err := m.write(out, m.header); err != nil {
		return nil, err
	}
	for i := range parts {
		if err := m.rows(out, &parts[i], i); err != nil {
			return nil, err
		}
	}
	out.Flush()
	return m.sources, out.Error()
}

// maxSources is the maximum number of sources of a merged file, unless it has more files. After that, blank lines in
// its files are not counted.
const maxSources = 1000

type merging struct {
	ctx     context.Context
	header  []string
	columns map[string]int // index in header by key
	address string         // name of the column of addresses
	status  int
	// for each column, the cell for rows of a file without the column. In a status column, this cell says that the
	// person has not left. An empty cell would be an error.
	absent  []string
	at      [][]int // for each part, the index in header of its columns
	surveys []*Survey
	lines   int // number of lines written
	sources []Source
}

// write writes a row, which is several lines if its cells contain line breaks.
func (m *merging) write(out *csv.Writer, row []string) error {
	m.lines++
	for _, cell := range row {
		m.lines += strings.Count(cell, "\n")
	}
	return out.Write(row)
}

// from records that the next line of the merged file comes from the given line of p. first is true for the first line
// of p.
func (m *merging) from(p *Part, line int, first bool) {
	next := m.lines + 1
	if n := len(m.sources); n > 0 && !first {
		if last := &m.sources[n-1]; n >= maxSources || line-last.At == next-last.Line {
			return
		}
	}
	m.sources = append(m.sources, Source{Line: next, File: p.Name, At: line})
}

// numbered returns the index of the nth column with the given name, counted from 0. It adds the column if it is new.
func (m *merging) numbered(name string, n int) int {
	key := name + "\x00" + strconv.Itoa(n)
	i, ok := m.columns[key]
	if !ok {
		i = len(m.header)
		m.columns[key], m.header = i, append(m.header, name)
	}
	return i
}

// columnsOf surveys a file and maps its columns to those of the merged file.
func (m *merging) columnsOf(p *Part) error {
	r, err := p.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	s, err := Look(m.ctx, r)
	if err != nil {
		return p.faultOf(err)
	}
	again, err := p.Open()
	if err != nil {
		return err
	}
	defer again.Close()
	c, err := NewReader(again, Options{Survey: s})
	if err != nil && !IsMapping(err) {
		return p.faultOf(err)
	}
	names := slices.Clone(c.names())
	if c.email >= 0 && m.address == "" {
		m.address = names[c.email]
	}
	if c.email >= 0 && !slices.Contains(names, m.address) {
		names[c.email] = m.address
	}
	seen := map[string]int{}
	at := make([]int, len(names))
	for i, name := range names {
		at[i] = m.numbered(name, seen[name])
		seen[name]++
	}
	if len(m.header) > MaxColumns {
		return PartError{fmt.Errorf("its files have more than %d different columns", MaxColumns)}
	}
	m.at, m.surveys = append(m.at, at), append(m.surveys, s)
	return nil
}

func (m *merging) rows(out *csv.Writer, p *Part, no int) error {
	r, err := p.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	t, err := open(r, m.surveys[no])
	if err != nil {
		return p.faultOf(err)
	}
	first := true
	for n := 0; ; n++ {
		if n%surveyStep == 0 && m.ctx.Err() != nil {
			return m.ctx.Err()
		}
		record, err := t.read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		t.set.toUTF8(record)
		var row []string
		var line int
		switch fault, faulty := errors.AsType[LineError](err); {
		case faulty:
			line = fault.Line
			row = make([]string, len(m.header)+1)
			copy(row, record)
		case err != nil:
			return p.faultOf(err)
		case isBlank(record):
			continue
		default:
			line, _ = t.csv.FieldPos(0)
			row = slices.Clone(m.absent)
			for i, cell := range record {
				row[m.at[no][i]] = cell
			}
			if p.Status != "" {
				row[m.status] = p.Status
			}
		}
		m.from(p, line, first)
		first = false
		if err := m.write(out, row); err != nil {
			return err
		}
	}
}

// faultOf marks err as an error in the file, unless err means that the context has ended.
func (p *Part) faultOf(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if p.Name != "" {
		err = fmt.Errorf("%s: %w", p.Name, err)
	}
	return PartError{err}
}
