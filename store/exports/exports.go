package exports

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"unicode"

	"newsletterd/core"
	"newsletterd/store/subscribercsv"
)

// Export is a recognized export.
type Export struct {
	Tool    string // program that wrote it; empty if unknown
	people  []subscribercsv.Part
	sources []subscribercsv.Source // sources of the lines about people, after the files were merged
	tables  []*postTable
	pages   map[string]*zip.File // HTML files by name, without folder and extension
	texts   map[string]*zip.File // Markdown files, likewise
	ghost   opener               // content of a Ghost site; nil if there is none

	pictures  []packedPicture // sorted by sortPictures
	matters   []*zip.File     // Markdown files whose front matter describes a post
	mailchimp bool            // a page is a Mailchimp email
}

// ErrUnknown is returned for a file that is not an export.
var ErrUnknown = errors.New("not an export of a newsletter service")

// headBytes is the number of bytes that Open reads from the beginning of a file to recognize it.
const headBytes = 64 << 10

// MayBe reports whether a file that starts with head can be an export.
func MayBe(head []byte) bool { return isArchive(head) || isGhost(head) }

// isArchive reports whether a file that starts with head is a zip archive.
func isArchive(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06"))
}

// isWorkbook reports whether an archive that starts with head is a spreadsheet.
func isWorkbook(head []byte) bool {
	return bytes.Contains(head, []byte("[Content_Types].xml")) ||
		bytes.Contains(head, []byte("opendocument.spreadsheet"))
}

// Open recognizes an export. If the file is something else, it returns ErrUnknown. If it is a damaged archive or
// exceeds a limit, it returns a core.Invalid error. The file must stay readable as long as the Export is used.
func Open(ctx context.Context, f io.ReaderAt, size int64) (*Export, error) {
	head := make([]byte, min(size, 4096))
	if _, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	if isGhost(head) {
		return &Export{Tool: "ghost", ghost: func() (io.ReadCloser, error) {
			return io.NopCloser(io.NewSectionReader(f, 0, size)), nil
		}}, nil
	}
	if !isArchive(head) || isWorkbook(head) {
		return nil, ErrUnknown
	}
	entries, err := openArchive(f, size)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(entries, func(e *zip.File) bool { return e.Name == "[Content_Types].xml" }) {
		return nil, ErrUnknown // a workbook is a zip archive too
	}
	e := &Export{pages: map[string]*zip.File{}, texts: map[string]*zip.File{}}
	for _, file := range entries {
		err := ctx.Err()
		if err == nil {
			err = e.note(file)
		}
		if err != nil {
			return nil, err
		}
	}
	e.sortPictures()
	switch {
	case len(e.tables) > 0:
		e.Tool = e.tables[0].tool
	case len(e.matters) > 0 && e.Tool == "":
		e.Tool = "buttondown"
	case e.mailchimp && e.Tool == "":
		e.Tool = "mailchimp"
	}
	if len(e.people) == 0 && !e.HasPosts() {
		return nil, ErrUnknown
	}
	return e, nil
}

// HasPeople reports whether the export has files with people.
func (e *Export) HasPeople() bool { return len(e.people) > 0 }

// note adds an entry to the export if the entry has people or posts.
func (e *Export) note(file *zip.File) error {
	if file.UncompressedSize64 == 0 || e.notePicture(file) {
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
	open := func() (io.ReadCloser, error) { return openEntry(file) }
	name := path.Base(strings.ReplaceAll(file.Name, `\`, "/"))
	base := strings.TrimSuffix(name, path.Ext(name))
	switch {
	case strings.EqualFold(path.Ext(name), ".md"):
		e.texts[base] = file
		if isMatter(string(head[:n])) {
			e.matters = append(e.matters, file)
		}
		return nil
	case isGhost(head[:n]):
		e.Tool, e.ghost = "ghost", open
		return nil
	case bytes.HasPrefix(bytes.TrimLeft(head[:n], "\xef\xbb\xbf \t\r\n"), []byte("<")):
		folder := path.Base(path.Dir(entryName(file)))
		if folder == "templates" {
			return nil // pages from Mailchimp that are not emails
		}
		e.pages[base] = file
		e.mailchimp = e.mailchimp || folder == mailchimpFolder || isMailchimp(head[:n])
		return nil
	}
	header, people := subscribercsv.HeaderOf(head[:n])
	header = folded(header)
	if t := tableOf(header, open); t != nil && !people {
		name = strings.ToLower(name)
		t.late = strings.Contains(name, "draft") || strings.Contains(name, "scheduled")
		e.tables = append(e.tables, t)
		return nil
	}
	if !people {
		return nil
	}
	status := statusOfName(file.Name)
	if isEvents(header) && (!leaves(status) || isEventName(name)) {
		return nil
	}
	part := subscribercsv.Part{Name: shownName(name), Open: open}
	tool := toolOf(header)
	if e.Tool == "" {
		e.Tool = tool.name
	}
	if !tool.spoken {
		part.Status = status
	}
	e.people = append(e.people, part)
	return nil
}

// CSV returns all people of the export as one CSV file. If several files contain people, or the name of the only one
// shows a status, the CSV file has a column with the status from each file's name. The export must have people. The
// caller must close the file.
func (e *Export) CSV(ctx context.Context) io.ReadCloser {
	r, w := io.Pipe()
	go func() { _ = w.CloseWithError(e.write(ctx, w)) }()
	return r
}

// Sources returns the files and lines that the lines of CSV come from, or nil if no files were merged. CSV must have
// been read to its end.
func (e *Export) Sources() []subscribercsv.Source { return e.sources }

// shownName returns the name of a file in a form for lists of errors: one line of at most 100 characters.
func shownName(name string) string {
	return oneLine(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, name), 100)
}

func (e *Export) write(ctx context.Context, w io.Writer) error {
	if len(e.people) > 1 || e.people[0].Status != "" {
		var err error
		e.sources, err = subscribercsv.Merge(ctx, w, e.people)
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
