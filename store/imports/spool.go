package imports

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
)

// spool sorts rows by id in bounded memory. It sorts runs of up to runBytes, writes them to unnamed files and then
// merges them. Imports need the order because subscription ids are practically random: in the order of the file, each
// row would change different database pages, and writing these would take most of an import's time.
type spool struct {
	dir    string
	rows   packedRows
	spare  packedRows // memory for reuse
	runs   []*os.File
	sorted chan error // result of writing the run in spare; nil if none is being written
}

const (
	runBytes   = 4 << 20
	mergeBytes = 32 << 10
	idBytes    = 36 // length of an id in its string form
)

// packedRows holds rows in consecutive memory, without pointers that the garbage collector would have to follow.
type packedRows struct {
	text  []byte
	order []packedRow
}

// packedRow describes where a row is stored and how it is sorted.
type packedRow struct {
	id   uint64 // first bytes of the id, as a number with the same order
	at   uint32
	size uint32 // size in bytes; the highest bit is set if the row does not have Left
}

const stays = 1 << 31

// tagsFollow separates the evidence of a row, which can't contain it, from the row's tags.
const tagsFollow = 0

func (p *packedRows) add(r *ImportRow) {
	at := len(p.text)
	p.text = append(p.text, r.id...)
	p.text = binary.AppendUvarint(p.text, uint64(r.Line))
	p.text = binary.AppendUvarint(p.text, uint64(len(r.Email)))
	p.text = binary.AppendUvarint(p.text, uint64(len(r.Preferences)))
	if r.Left {
		p.text = r.Departure.append(p.text)
	}
	p.text = append(p.text, r.Email...)
	p.text = append(p.text, r.Preferences...)
	p.text = append(p.text, r.Evidence...)
	if r.Tags != "" {
		p.text = append(append(p.text, tagsFollow), r.Tags...)
	}
	size := uint32(len(p.text) - at)
	if !r.Left {
		size |= stays
	}
	p.order = append(p.order, packedRow{binary.BigEndian.Uint64(p.text[at:]), uint32(at), size})
}

// bytes returns the number of bytes of memory that the rows use.
func (p *packedRows) bytes() int { return len(p.text) + 16*len(p.order) }

// of returns the packed bytes of a row.
func (p *packedRows) of(r packedRow) []byte { return p.text[r.at : r.at+r.size&^stays] }

// sort sorts the rows by id. Among rows with the same id, those with Left come first. Otherwise, rows keep the order in
// which they were added.
func (p *packedRows) sort() {
	slices.SortFunc(p.order, func(a, b packedRow) int {
		if a.id != b.id {
			return cmp.Compare(a.id, b.id)
		}
		if c := bytes.Compare(p.text[a.at:a.at+idBytes], p.text[b.at:b.at+idBytes]); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(a.size&stays, b.size&stays), cmp.Compare(a.at, b.at))
	})
}

// write writes the rows to f, each after its size.
func (p *packedRows) write(f *os.File) error {
	w := bufio.NewWriterSize(f, 64<<10)
	var size [4]byte
	for _, r := range p.order {
		binary.LittleEndian.PutUint32(size[:], r.size)
		_, _ = w.Write(size[:]) // Flush returns the error
		_, _ = w.Write(p.of(r))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}

func unpackRow(b []byte, left bool) ImportRow {
	line, n := binary.Uvarint(b[idBytes:])
	at := idBytes + n
	email, n := binary.Uvarint(b[at:])
	at += n
	prefs, n := binary.Uvarint(b[at:])
	at += n
	var departed Departure
	if left {
		departed, n = readDeparture(b[at:])
		at += n
	}
	all := string(b) // the strings below share its memory
	rest := all[at:]
	r := newImportRow(all[:idBytes], rest[:email], rest[email:email+prefs], left)
	r.Evidence, r.Line, r.Departure = rest[email+prefs:], int(line), departed
	if at := strings.IndexByte(r.Evidence, tagsFollow); at >= 0 {
		r.Evidence, r.Tags = r.Evidence[:at], r.Evidence[at+1:]
	}
	return r
}

func (p *spool) add(r *ImportRow) error {
	p.rows.add(r)
	if p.rows.bytes() < runBytes {
		return nil
	}
	return p.spill()
}

// spill starts sorting and writing the rows while further rows are read.
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
	full := p.rows
	p.rows, p.spare = packedRows{p.spare.text[:0], p.spare.order[:0]}, full
	p.sorted = make(chan error, 1)
	go func() {
		full.sort()
		p.sorted <- full.write(f)
	}()
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

// close releases the files.
func (p *spool) close() {
	_ = p.settle()
	for _, f := range p.runs {
		_ = f.Close()
	}
	p.runs = nil
}

// compare compares rows by id. Among rows with the same id, one with Left comes first.
func (r *ImportRow) compare(other *ImportRow) int {
	if c := cmp.Compare(r.id, other.id); c != 0 || r.Left == other.Left {
		return c
	}
	if r.Left {
		return -1
	}
	return 1
}

// inOrder calls fn for every row in the order of ids. Among rows with the same id, those with Left come first, then the
// others in the order of the file.
func (p *spool) inOrder(fn func(ImportRow) error) error {
	if len(p.runs) == 0 {
		p.rows.sort()
		for _, r := range p.rows.order {
			if err := fn(unpackRow(p.rows.of(r), r.size&stays == 0)); err != nil {
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
	p.rows, p.spare = packedRows{}, packedRows{}
	var m merge
	for i, f := range p.runs {
		m = slices.Insert(m, 0, &run{no: i, r: bufio.NewReaderSize(f, mergeBytes)})
		if err := m.next(); err != nil {
			return err
		}
	}
	for len(m) > 0 {
		if err := fn(m[0].row); err != nil {
			return err
		}
		if err := m.next(); err != nil {
			return err
		}
	}
	return nil
}

// run reads a file of sorted rows, and holds its next row.
type run struct {
	no     int
	r      *bufio.Reader
	packed []byte
	row    ImportRow
}

// merge holds the runs that are being merged, sorted by their next rows. There are only a few dozen runs, so a sorted
// slice is enough.
type merge []*run

// next reads the next row of the first run and moves the run to its new position. If the run has ended, next removes
// it.
func (m *merge) next() error {
	r := (*m)[0]
	if err := r.next(); err != nil {
		if errors.Is(err, io.EOF) {
			*m = slices.Delete(*m, 0, 1)
			return nil
		}
		return err
	}
	at, _ := slices.BinarySearchFunc((*m)[1:], r, func(a, b *run) int {
		return cmp.Or(a.row.compare(&b.row), cmp.Compare(a.no, b.no))
	})
	copy(*m, (*m)[1:at+1])
	(*m)[at] = r
	return nil
}

func (r *run) next() error {
	var head [4]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return err
	}
	size := binary.LittleEndian.Uint32(head[:])
	r.packed = slices.Grow(r.packed[:0], int(size&^stays))[:size&^stays]
	if _, err := io.ReadFull(r.r, r.packed); err != nil {
		return err
	}
	r.row = unpackRow(r.packed, size&stays == 0)
	return nil
}
