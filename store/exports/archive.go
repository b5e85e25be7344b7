package exports

import (
	"archive/zip"
	"errors"
	"io"
	"io/fs"

	"newsletterd/core"
)

// Limits of an archive.
const (
	maxEntries   = 20_000
	maxUnpacked  = 2 << 30
	maxRatio     = 100     // maximum ratio of an entry's unpacked to packed bytes
	anyRatio     = 1 << 20 // unpacked size of an entry up to which any ratio is allowed
	maxDirectory = 8 << 20 // maximum size of the archive's table of contents, in bytes
)

// openArchive reads the table of contents of a zip archive and returns its files. If the archive is damaged or exceeds
// a limit, it returns a core.Invalid error.
func openArchive(f io.ReaderAt, size int64) ([]*zip.File, error) {
	m := &metered{f, maxDirectory}
	z, err := zip.NewReader(m, size)
	switch {
	case m.left < 0 || err == nil && len(z.File) > maxEntries:
		return nil, core.Invalidf("", "The archive has too many files (limit: %d). Remove files that you don't "+
			"need.", maxEntries)
	case err != nil:
		return nil, unreadable(err)
	}
	m.left = -1
	var total uint64
	var files []*zip.File
	for _, e := range z.File {
		mode := e.Mode()
		switch {
		case mode.IsDir():
			continue
		case mode.Type()&^fs.ModeDir != 0:
			return nil, core.Invalidf("",
				"The archive contains a symbolic link. Replace it with the file that it points to.")
		case e.Flags&1 != 0:
			return nil, core.Invalidf("", "The archive is encrypted. Pack it without a password.")
		case e.UncompressedSize64 > maxUnpacked, total+e.UncompressedSize64 > maxUnpacked:
			return nil, core.Invalidf("", "The unpacked files are too large (limit: %s). Remove files that you don't "+
				"need.", core.ByteSize(maxUnpacked))
		case e.UncompressedSize64 > anyRatio && e.UncompressedSize64/maxRatio > e.CompressedSize64:
			return nil, core.Invalidf("", "The archive unpacks to more than %d times its size. Pack it again with "+
				"less compression.", maxRatio)
		}
		total += e.UncompressedSize64
		files = append(files, e)
	}
	return files, nil
}

// unreadable returns the error for an archive that is damaged.
func unreadable(err error) error {
	if _, ours := errors.AsType[*core.Error](err); ours {
		return err
	}
	return core.Invalidf("", "The archive is damaged. Download it again.").With(err)
}

// metered limits how much of an archive is read for its table of contents, all of which the zip package keeps in
// memory.
type metered struct {
	io.ReaderAt
	left int64 // number of bytes that can still be read; below 0 means no limit
}

var errMetered = errors.New("the table of contents is too large")

func (m *metered) ReadAt(p []byte, at int64) (int, error) {
	if m.left >= 0 {
		if m.left -= int64(len(p)); m.left < 0 {
			return 0, errMetered
		}
	}
	return m.ReaderAt.ReadAt(p, at)
}

// openEntry opens an entry. At most the declared number of bytes can be read from it. If the entry is damaged or
// longer, opening or reading it returns a core.Invalid error.
func openEntry(e *zip.File) (io.ReadCloser, error) {
	r, err := e.Open()
	if err != nil {
		return nil, unreadable(err)
	}
	return &entry{r, int64(e.UncompressedSize64)}, nil //nolint:gosec // at most maxUnpacked
}

type entry struct {
	io.ReadCloser
	left int64
}

func (e *entry) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	if e.left -= int64(n); e.left < 0 {
		return 0, unreadable(zip.ErrFormat)
	}
	if err != nil && err != io.EOF {
		err = unreadable(err)
	}
	return n, err
}
