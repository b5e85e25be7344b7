package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/superfly/ltx"
)

// Sizes in the -wal and its index, https://www.sqlite.org/walformat.html and
// https://www.sqlite.org/fileformat2.html#walformat.
const (
	walHeader   = 32
	frameHeader = 24
	indexHeader = 48 // in the -shm, which has two copies
	pageSize    = 4096
	frameSize   = frameHeader + pageSize
	// fileFrames is the maximum number of frames in one log file, unless a single transaction has more.
	fileFrames = 4096
)

// errBroken means that the -wal is not the one read before: another program ran a checkpoint.
var errBroken = errors.New("another program restarted the -wal file")

// walEnd is a position in a -wal: the salts of its header, the number of committed frames, and the size of the database
// in pages at that point. The zero value is a -wal without frames.
type walEnd struct {
	salt   [2]uint32
	frames uint32
	pages  uint32
}

// offset returns the file offset of the frame after the last one.
func (e walEnd) offset() int64 { return walHeader + int64(e.frames)*frameSize }

// walFiles holds the database file and its -wal. They stay open as long as the shipper runs.
type walFiles struct{ main, wal *os.File }

// reopen opens the current -wal.
func (f *walFiles) reopen(path string) error {
	wal, err := os.Open(path + "-wal")
	if err != nil {
		return err
	}
	if f.wal != nil {
		_ = f.wal.Close()
	}
	f.wal = wal
	return nil
}

// hasMore reports whether something was written to the -wal after end: another frame, or a restarted -wal. The -wal may
// no longer exist.
func (f *walFiles) hasMore(end walEnd) (bool, error) {
	if f.wal == nil {
		return end.frames > 0, nil
	}
	var h [walHeader]byte
	if n, err := f.wal.ReadAt(h[:], 0); n == 0 && errors.Is(err, io.EOF) {
		return end.frames > 0, nil
	} else if err != nil {
		return true, err
	}
	if end.salt != saltOf(h[16:]) {
		return true, nil
	}
	n, err := f.wal.ReadAt(h[:frameHeader], end.offset())
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n == frameHeader && end.salt == saltOf(h[8:]), err
}

func (f *walFiles) close() {
	if f == nil {
		return
	}
	_ = f.main.Close()
	if f.wal != nil {
		_ = f.wal.Close()
	}
}

// indexes holds the -shm files that this process has read, by name. They are never closed. A process that closes any
// descriptor of a file loses all its POSIX locks on it, and SQLite protects the -wal with POSIX locks on the -shm.
// Without them, SQLite would keep writing while other processes could write too.
var indexes struct {
	mu   sync.Mutex
	open map[string][]*os.File
}

// openIndex returns the current -shm. The caller must not close it.
func openIndex(path string) (*os.File, error) {
	name := path + "-shm"
	now, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	indexes.mu.Lock()
	defer indexes.mu.Unlock()
	for _, f := range indexes.open[name] {
		if then, err := f.Stat(); err == nil && os.SameFile(now, then) {
			return f, nil
		}
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if indexes.open == nil {
		indexes.open = map[string][]*os.File{}
	}
	indexes.open[name] = append(indexes.open[name], f)
	return f, nil
}

// readIndex returns the end of the -wal according to its index in the -shm, which SQLite updates with each commit. A
// missing -shm means a -wal without frames.
func readIndex(path string) (end walEnd, err error) {
	f, err := openIndex(path)
	if errors.Is(err, os.ErrNotExist) {
		return end, nil
	}
	if err != nil {
		return end, err
	}
	var b [2 * indexHeader]byte
	for range 100 { // the two copies differ during a commit
		n, err := f.ReadAt(b[:], 0)
		if errors.Is(err, io.EOF) && n == 0 {
			return end, nil
		}
		if err != nil {
			return end, err
		}
		first, second := b[:indexHeader], b[indexHeader:]
		if string(first) == string(second) {
			return parseIndex(first)
		}
		time.Sleep(50 * time.Microsecond)
	}
	return end, errors.New("the index of the -wal file keeps changing")
}

// readBackfill returns how many frames of the -wal have been moved into the database file, according to the index of
// the -wal.
func readBackfill(path string) (uint32, error) {
	f, err := openIndex(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var b [4]byte
	if n, err := f.ReadAt(b[:], 2*indexHeader); err != nil && !(errors.Is(err, io.EOF) && n == 0) {
		return 0, err
	}
	return binary.NativeEndian.Uint32(b[:]), nil
}

// parseIndex reads a WalIndexHdr. Numbers are in native byte order; the salts are copied from the header of the -wal.
func parseIndex(b []byte) (end walEnd, err error) {
	if b[12] == 0 { // isInit
		return end, nil
	}
	size := binary.NativeEndian.Uint16(b[14:])
	end.frames = binary.NativeEndian.Uint32(b[16:])
	end.pages = binary.NativeEndian.Uint32(b[20:])
	end.salt = [2]uint32{binary.BigEndian.Uint32(b[32:]), binary.BigEndian.Uint32(b[36:])}
	if end.frames > 0 && size != pageSize {
		return end, fmt.Errorf("the page size is %d bytes, not %d", size, pageSize)
	}
	return end, nil
}

// changed holds the pages that a section of the -wal changes, as they are at the end of the section.
type changed struct {
	from, to walEnd
	pages    map[uint32][]byte
}

// readWAL reads the frames between the positions from and to. If there are many, it stops at an earlier commit. Both
// positions are ends of commits in the same -wal. The slices of the result are valid until the next call with the same
// buffer.
func readWAL(f io.ReaderAt, from, to walEnd, buffer *[]byte) (c changed, err error) {
	c = changed{from: from, pages: map[uint32][]byte{}}
	for at := from.frames; ; {
		n := min(to.frames-at, fileFrames)
		size := int(n) * frameSize
		kept := int(at-from.frames) * frameSize
		*buffer = slices.Grow((*buffer)[:kept], size)[:kept+size]
		if _, err := f.ReadAt((*buffer)[kept:], walHeader+int64(at)*frameSize); err != nil {
			return c, fmt.Errorf("read the -wal: %w", err)
		}
		at += n
		end, pages, err := lastCommit(*buffer, to.salt)
		if err != nil {
			return c, err
		}
		if end == 0 && at < to.frames {
			continue // a single transaction has more frames than that
		}
		if end == 0 {
			return c, errBroken
		}
		c.to = walEnd{salt: to.salt, frames: from.frames + uint32(end), pages: pages}
		break
	}
	for i := range int(c.to.frames - from.frames) {
		frame := (*buffer)[i*frameSize:][:frameSize]
		c.pages[binary.BigEndian.Uint32(frame)] = frame[frameHeader:]
	}
	maps.DeleteFunc(c.pages, func(no uint32, _ []byte) bool { return no > c.to.pages })
	return c, nil
}

// lastCommit returns the number of frames up to the last commit, and the size of the database in pages at that commit.
// Both are 0 if there is no commit.
func lastCommit(frames []byte, salt [2]uint32) (n int, pages uint32, err error) {
	for i := range len(frames) / frameSize {
		h := frames[i*frameSize:]
		if salt != saltOf(h[8:]) {
			return 0, 0, errBroken
		}
		if size := binary.BigEndian.Uint32(h[4:]); size > 0 {
			n, pages = i+1, size
		}
	}
	return n, pages, nil
}

// saltOf reads the salts of a -wal or of a frame.
func saltOf(b []byte) [2]uint32 {
	return [2]uint32{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])}
}

// header returns the header of a log file. generation is the generation of the lease that writes the file.
func (c *changed) header(txid, generation uint64) ltx.Header {
	return ltx.Header{
		Version: ltx.Version, Flags: ltx.HeaderFlagNoChecksum, PageSize: pageSize, Commit: c.to.pages,
		MinTXID: ltx.TXID(txid), MaxTXID: ltx.TXID(txid), Timestamp: time.Now().UnixMilli(),
		WALOffset: c.from.offset(), WALSize: c.to.offset() - c.from.offset(),
		WALSalt1: c.to.salt[0], WALSalt2: c.to.salt[1], NodeID: generation,
	}
}

// walEndOf returns the end of the -wal that a log file reaches. It has no frames for a whole copy.
func walEndOf(h ltx.Header) walEnd {
	end := walEnd{salt: [2]uint32{h.WALSalt1, h.WALSalt2}, pages: h.Commit}
	if h.WALOffset > 0 {
		end.frames = uint32((h.WALOffset + h.WALSize - walHeader) / frameSize)
	}
	return end
}

// encode writes a log file. If the database has grown by a page that is in no frame, SQLite never wrote that page:
// encode reads it from main, the database file, or leaves it empty.
func (c *changed) encode(w io.Writer, main io.ReaderAt, txid, generation uint64) error {
	enc, err := ltx.NewEncoder(w)
	if err != nil {
		return err
	}
	if err := enc.EncodeHeader(c.header(txid, generation)); err != nil {
		return err
	}
	numbers := slices.Collect(maps.Keys(c.pages))
	for no := c.from.pages + 1; no <= c.to.pages; no++ {
		if _, there := c.pages[no]; !there && no != ltx.LockPgno(pageSize) {
			numbers = append(numbers, no)
		}
	}
	slices.Sort(numbers)
	spare := make([]byte, pageSize)
	for _, no := range numbers {
		page, there := c.pages[no]
		if !there {
			if page, err = readPage(main, no, spare); err != nil {
				return err
			}
		}
		if err := enc.EncodePage(ltx.PageHeader{Pgno: no}, page); err != nil {
			return err
		}
	}
	return enc.Close()
}

// readPage reads a page of the database file. A page beyond the end of the file is empty.
func readPage(main io.ReaderAt, no uint32, page []byte) ([]byte, error) {
	n, err := main.ReadAt(page, int64(no-1)*pageSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	clear(page[n:])
	return page, nil
}
