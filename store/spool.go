package store

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
)

// spool sorts rows by id in bounded memory: runs of up to runBytes are sorted and written to a file that has no name,
// then merged. Subscriptions are keyed by ids that are as good as random; in file order each row would dirty pages of
// its own, and writing them is what an import of any size would spend its time on.
type spool struct {
	dir    string
	rows   []ImportRow
	bytes  int
	runs   []*os.File
	sorted chan error // of the run being written; nil: none
}

const (
	runBytes   = 8 << 20
	rowBytes   = 160 // of an ImportRow without its texts
	mergeBytes = 32 << 10
)

func (p *spool) add(r ImportRow) error {
	p.rows = append(p.rows, r)
	if p.bytes += rowBytes + len(r.Email) + len(r.Preferences) + len(r.Evidence); p.bytes < runBytes {
		return nil
	}
	return p.spill()
}

// spill hands the rows over to be sorted and written while the next ones are read.
func (p *spool) spill() error {
	if err := p.settle(); err != nil {
		return err
	}
	f, err := os.CreateTemp(p.dir, ".import-*")
	if err != nil {
		return err
	}
	p.runs = append(p.runs, f)
	if err := os.Remove(f.Name()); err != nil {
		return err
	}
	rows := p.rows
	p.rows, p.bytes = make([]ImportRow, 0, len(rows)), 0
	p.sorted = make(chan error, 1)
	go func() { p.sorted <- writeRun(f, rows) }()
	return nil
}

func (p *spool) settle() error {
	if p.sorted == nil {
		return nil
	}
	err := <-p.sorted
	p.sorted = nil
	return err
}

// close lets go of the files.
func (p *spool) close() {
	_ = p.settle()
	for _, f := range p.runs {
		_ = f.Close()
	}
	p.runs = nil
}

// compare orders rows by id, and those who have left before others of the same one.
func (r *ImportRow) compare(other *ImportRow) int {
	if c := cmp.Compare(r.id, other.id); c != 0 || r.Left == other.Left {
		return c
	}
	if r.Left {
		return -1
	}
	return 1
}

func sortRows(rows []ImportRow) {
	slices.SortStableFunc(rows, func(a, b ImportRow) int { return a.compare(&b) })
}

func writeRun(f *os.File, rows []ImportRow) error {
	sortRows(rows)
	w := bufio.NewWriterSize(f, 64<<10)
	var head []byte
	for i := range rows {
		r := &rows[i]
		head = append(head[:0], r.id...)
		left := uint64(0)
		if r.Left {
			left = 1
		}
		head = binary.AppendUvarint(head, uint64(len(r.Email))<<1|left)
		head = binary.AppendUvarint(head, uint64(len(r.Preferences)))
		head = binary.AppendUvarint(head, uint64(len(r.Evidence)))
		head = binary.AppendUvarint(head, uint64(r.Line))
		_, _ = w.Write(head) // the writer keeps its error for Flush
		_, _ = w.WriteString(string(r.Email))
		_, _ = w.WriteString(string(r.Preferences))
		_, _ = w.WriteString(r.Evidence)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// each calls fn for every row, in the order of ids; among equal ones, those who have left come first, and others in the
// order of the file.
func (p *spool) each(fn func(ImportRow) error) error {
	if len(p.runs) == 0 {
		sortRows(p.rows)
		for _, r := range p.rows {
			if err := fn(r); err != nil {
				return err
			}
		}
		return nil
	}
	if err := p.spill(); err != nil {
		return err
	}
	if err := p.settle(); err != nil {
		return err
	}
	p.rows = nil
	var m merge
	for i, f := range p.runs {
		if err := m.push(&run{no: i, r: bufio.NewReaderSize(f, mergeBytes)}); err != nil {
			return err
		}
	}
	for len(m) > 0 {
		head := m[0]
		if err := fn(head.row); err != nil {
			return err
		}
		m = m[1:]
		if err := m.push(head); err != nil {
			return err
		}
	}
	return nil
}

// run is one sorted file with its next row.
type run struct {
	no  int
	r   *bufio.Reader
	row ImportRow
}

// merge holds the runs in the order of their next rows. There are a few dozen: a sorted slice does.
type merge []*run

// push reads the next row of a run and puts it in its place; a run at its end is left out.
func (m *merge) push(r *run) error {
	if err := r.next(); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	at, _ := slices.BinarySearchFunc(*m, r, func(a, b *run) int {
		return cmp.Or(a.row.compare(&b.row), cmp.Compare(a.no, b.no))
	})
	*m = slices.Insert(*m, at, r)
	return nil
}

func (r *run) next() error {
	var id [36]byte
	if _, err := io.ReadFull(r.r, id[:]); err != nil {
		return err
	}
	email, err := binary.ReadUvarint(r.r)
	if err != nil {
		return err
	}
	prefs, err := binary.ReadUvarint(r.r)
	if err != nil {
		return err
	}
	evidence, err := binary.ReadUvarint(r.r)
	if err != nil {
		return err
	}
	line, err := binary.ReadUvarint(r.r)
	if err != nil {
		return err
	}
	left := email&1 == 1
	email >>= 1
	b := make([]byte, email+prefs+evidence)
	if _, err := io.ReadFull(r.r, b); err != nil {
		return err
	}
	r.row = newImportRow(string(id[:]), string(b[:email]), string(b[email:email+prefs]), left)
	r.row.Evidence, r.row.Line = string(b[email+prefs:]), int(line)
	return nil
}
