package exports

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"newsletterd/core"
	"newsletterd/store/subscribercsv"
)

// Export is a recognized export.
type Export struct {
	Tool   string // program that wrote it; empty if unknown
	people []subscribercsv.Part
}

// ErrUnknown is returned for a file that is not an export.
var ErrUnknown = errors.New("not an export of a newsletter program")

// headBytes is the size of the beginning of a file that shows what it is.
const headBytes = 64 << 10

// IsArchive reports whether a file with this beginning is a zip archive.
func IsArchive(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06"))
}

// isWorkbook reports whether an archive with this beginning is a spreadsheet.
func isWorkbook(head []byte) bool {
	return bytes.Contains(head, []byte("[Content_Types].xml")) || bytes.Contains(head, []byte("opendocument.spreadsheet"))
}

// Open recognizes an export. If the file is something else, it returns ErrUnknown. The file must stay readable as long
// as the Export is used.
func Open(f io.ReaderAt, size int64) (*Export, error) {
	head := make([]byte, min(size, 4096))
	if _, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	if !IsArchive(head) || isWorkbook(head) {
		return nil, ErrUnknown
	}
	entries, err := openArchive(f, size)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(entries, func(e *zip.File) bool { return e.Name == "[Content_Types].xml" }) {
		return nil, ErrUnknown // a workbook
	}
	e := &Export{}
	for _, file := range entries {
		if err := e.note(file); err != nil {
			return nil, err
		}
	}
	if len(e.people) == 0 {
		return nil, ErrUnknown
	}
	return e, nil
}

// note adds an entry if it has people.
func (e *Export) note(file *zip.File) error {
	if file.UncompressedSize64 == 0 {
		return nil
	}
	r, err := openEntry(file)
	if err != nil {
		return err
	}
	defer r.Close()
	head := make([]byte, headBytes)
	n, err := io.ReadFull(r, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	header, ok := subscribercsv.PeopleHeader(head[:n])
	if !ok {
		return nil
	}
	header = folded(header)
	if slices.ContainsFunc(header, func(name string) bool { return slices.Contains(eventColumns, name) }) {
		return nil
	}
	part := subscribercsv.Part{Open: func() (io.ReadCloser, error) { return openEntry(file) }}
	tool := toolOf(header)
	if e.Tool == "" {
		e.Tool = tool.name
	}
	if !tool.spoken {
		part.Status = statusOfName(file.Name)
	}
	e.people = append(e.people, part)
	return nil
}

// CSV returns all people of the export as one CSV file. If the export consists of several files, or the name of its
// file tells a status, a column says which. The caller must close the file.
func (e *Export) CSV(ctx context.Context) io.ReadCloser {
	r, w := io.Pipe()
	go func() { _ = w.CloseWithError(e.write(ctx, w)) }()
	return r
}

func (e *Export) write(ctx context.Context, w io.Writer) error {
	if len(e.people) > 1 || e.people[0].Status != "" {
		err := subscribercsv.Merge(ctx, w, e.people)
		if fault, ok := errors.AsType[subscribercsv.PartError](err); ok {
			return core.Invalidf("", "A file in the archive can't be read: %s.", fault.Error())
		}
		return err
	}
	r, err := e.people[0].Open()
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(w, r)
	return err
}
