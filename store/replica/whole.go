package replica

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/superfly/ltx"
	"golang.org/x/sync/errgroup"
)

const (
	// partPages is the number of pages in one part of a whole copy.
	partPages = 1024
	// partsAtOnce is the number of parts held in memory and uploaded at once.
	partsAtOnce = 4
)

// errMoved means that another program ran a checkpoint during a whole copy.
var errMoved = errors.New("another program checkpointed the -wal file meanwhile")

// whole is the database at one point in time. Pages come from the -wal if it has them, otherwise from the database
// file.
type whole struct {
	main, wal io.ReaderAt
	newest    map[uint32]uint32 // newest frame of each page in the -wal, 0-based
	end       walEnd
}

// readWhole returns the database as of end, a position in the -wal. backfilled is the number of frames before end that
// are in the database file. If that is all of them, readWhole doesn't read the -wal, which may be restarted.
func readWhole(files *walFiles, end walEnd, backfilled uint32) (w whole, err error) {
	w = whole{main: files.main, wal: files.wal, end: end}
	if backfilled < end.frames {
		w.newest, err = framesOf(files.wal, end)
	}
	return w, err
}

// page reads a page of the database into buf.
func (w whole) page(no uint32, buf []byte) ([]byte, error) {
	frame, there := w.newest[no]
	if !there {
		return readPage(w.main, no, buf)
	}
	_, err := w.wal.ReadAt(buf, walHeader+int64(frame)*frameSize+frameHeader)
	return buf, err
}

// encode writes the given pages as a log file.
func (w whole) encode(to io.Writer, h ltx.Header, pages iter.Seq[uint32]) error {
	enc, err := ltx.NewEncoder(to)
	if err != nil {
		return err
	}
	if err := enc.EncodeHeader(h); err != nil {
		return err
	}
	buf := make([]byte, pageSize)
	for no := range pages {
		page, err := w.page(no, buf)
		if err == nil {
			err = enc.EncodePage(ltx.PageHeader{Pgno: no}, page)
		}
		if err != nil {
			return err
		}
	}
	return enc.Close()
}

// pagesFrom yields the pages first to last, except the lock page, which SQLite never writes.
func pagesFrom(first, last uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for no := first; no <= last; no++ {
			if no != ltx.LockPgno(pageSize) && !yield(no) {
				return
			}
		}
	}
}

// sendWhole ships the whole database as of now, a position in the -wal, and so covers the commits up to note. A large
// database is split into several files with the same time. The first file has one page and is sent last. Until it
// arrives, there is a gap, and everything after the gap is ignored. Thus either all of the files are in the log or
// none. The caller holds captureMu.
func (s *shipper) sendWhole(note uint64, now walEnd) error {
	s.copying.Store(true)
	defer s.copying.Store(false)
	if err := s.emptied(s.copies); err != nil {
		return err
	}
	backfilled, last := uint32(0), uint32(0)
	var err error
	if now.frames > 0 {
		if err = s.files.reopen(s.path); err == nil {
			backfilled, err = readBackfill(s.path)
		}
		if err == nil {
			last, err = pageOfFrame(s.files.wal, now)
		}
	}
	if err != nil {
		return err
	}
	w, err := readWhole(s.files, now, backfilled)
	if err != nil {
		return err
	}
	c := changed{from: walEnd{salt: now.salt}, to: now}
	h := c.header(s.txid+1, s.lease.generation())
	if now.frames == 0 {
		h.WALOffset, h.WALSize, h.WALSalt1, h.WALSalt2 = 0, 0, 0, 0
	}
	n := max(s.begun, 1)
	if now.pages > partPages || n > 1 {
		n = max(n, 1+int((now.pages-1+partPages-1)/partPages))
		err = s.sendParts(w, h, n, last)
		h.WALOffset, h.WALSize, h.WALSalt1, h.WALSalt2 = 0, 0, 0, 0
	}
	if err == nil {
		err = s.stayed(now, backfilled)
	}
	if err != nil {
		return err
	}
	switch {
	case n == 1:
		err = s.sendPart(s.copies, w, h, pagesFrom(1, now.pages), new(bytes.Buffer))
	case h.MinTXID == 1: // a file that starts a log must have all pages
		h.Commit = 1
		fallthrough
	default:
		err = s.sendPart(s.copies, w, h, pagesFrom(1, 1), new(bytes.Buffer))
	}
	if err != nil {
		return err
	}
	s.begun, s.whole, s.end = 0, false, now
	s.wholes++
	if backfilled == now.frames {
		s.sealed = now // the -wal may have restarted
	}
	s.txid += uint64(n)
	s.mu.Lock()
	s.arrived, s.confirmed = s.txid, max(s.confirmed, note)
	s.puts++
	s.mu.Unlock()
	s.tell()
	return nil
}

// sendParts ships the parts of a whole copy after the first of n. The last part records the position in the -wal that
// the log continues from, and contains the page of the last frame before it, which identifies that position later.
func (s *shipper) sendParts(w whole, h ltx.Header, n int, last uint32) error {
	group, ctx := errgroup.WithContext(s.copies)
	group.SetLimit(partsAtOnce)
	memory := make(chan *bytes.Buffer, partsAtOnce)
	for range partsAtOnce {
		memory <- bytes.NewBuffer(make([]byte, 0, partPages*(pageSize+64)))
	}
	for part := 1; part < n; part++ {
		if ctx.Err() != nil {
			break
		}
		s.begun = max(s.begun, part+1)
		h := h
		h.MinTXID += ltx.TXID(part)
		h.MaxTXID = h.MinTXID
		first := uint32(part-1)*partPages + 2
		pages := slices.Collect(pagesFrom(first, min(first+partPages-1, w.end.pages)))
		if part < n-1 {
			h.WALOffset, h.WALSize, h.WALSalt1, h.WALSalt2 = 0, 0, 0, 0
		} else if last > 0 && !slices.Contains(pages, last) {
			pages = append(pages, last)
			slices.Sort(pages)
		}
		if len(pages) == 0 { // the copy that was given up had more parts
			pages = append(pages, 1)
		}
		group.Go(func() error {
			b := <-memory
			defer func() { memory <- b }()
			return s.sendPart(ctx, w, h, slices.Values(pages), b)
		})
	}
	return cmp.Or(group.Wait(), s.copies.Err()) // a stop between two parts leaves some out, although all Puts succeeded
}

// sendPart ships some pages as one file. It uses b as a buffer.
func (s *shipper) sendPart(
	ctx context.Context, w whole, h ltx.Header, pages iter.Seq[uint32], b *bytes.Buffer,
) error {
	b.Reset()
	if err := w.encode(b, h, pages); err != nil {
		return err
	}
	err := s.put(&parcel{txid: uint64(h.MinTXID), body: b.Bytes(), context: ctx, part: true})
	if errors.Is(err, ErrLost) {
		s.failed(err)
	}
	return err
}

// stayed returns errMoved if a checkpoint ran after the -wal was at end with backfilled frames in the database file.
func (s *shipper) stayed(end walEnd, backfilled uint32) error {
	now, err := readIndex(s.path)
	if err != nil {
		return err
	}
	after, err := readBackfill(s.path)
	switch {
	case err != nil:
		return err
	case now.salt == end.salt && after == backfilled, now.frames == 0 && end.frames == 0,
		backfilled == end.frames && after == 0: // the -wal has restarted
		return nil
	}
	return errMoved
}

// framesOf maps each page in the -wal to the 0-based number of its newest frame.
func framesOf(wal io.ReaderAt, end walEnd) (map[uint32]uint32, error) {
	newest := map[uint32]uint32{}
	for i := range end.frames {
		no, err := pageOfFrame(wal, walEnd{salt: end.salt, frames: i + 1})
		if err != nil {
			return nil, err
		}
		newest[no] = i
	}
	return newest, nil
}

// pageOfFrame returns the page of the last frame before end.
func pageOfFrame(wal io.ReaderAt, end walEnd) (uint32, error) {
	var h [frameHeader]byte
	if _, err := wal.ReadAt(h[:], end.offset()-frameSize); err != nil {
		return 0, fmt.Errorf("read the -wal: %w", err)
	}
	if end.salt != saltOf(h[8:]) {
		return 0, errBroken
	}
	return binary.BigEndian.Uint32(h[:]), nil
}
