package members

import (
	"bufio"
	"errors"
	"io"
	"os"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/exports"
	"newsletterd/store/imports"
)

// exportedPeople is the CSV file to import. It is the body, or a file made of an archive in the body.
type exportedPeople struct {
	io.Reader
	made  io.Closer
	spool *os.File
}

// Close releases the archive.
func (e *exportedPeople) Close() {
	if e.made != nil {
		_ = e.made.Close()
	}
	if e.spool != nil {
		_ = e.spool.Close()
	}
}

// people returns the CSV file of an upload. Other files than recognized exports are returned unchanged.
func (a importsAPI) people(c *web.Call, up *imports.ImportUpload, body io.Reader, now func() core.Instant) (
	*exportedPeople, error,
) {
	begun := bufio.NewReader(body)
	head, err := begun.Peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if !exports.IsArchive(head) {
		return &exportedPeople{Reader: begun}, nil
	}
	f, size, err := up.Spool(c, begun, now)
	if err != nil {
		return nil, err
	}
	people := &exportedPeople{Reader: f, spool: f}
	export, err := exports.Open(f, size)
	if err == nil {
		up.Tool = export.Tool
		made := export.CSV(c)
		people.Reader, people.made = made, made
		return people, nil
	}
	if errors.Is(err, exports.ErrUnknown) {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		people.Close()
		return nil, err
	}
	return people, nil
}
