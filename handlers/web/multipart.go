package web

import (
	"errors"
	"io"
	"mime/multipart"
	"strings"
	"time"

	"newsletterd/core"
)

const (
	progressStep   = 64 * KiB  // must arrive within ProgressTimeout
	maxPartText    = 16 * KiB  // maximum size of a field in a multipart body
	maxPartHead    = 64 * KiB  // maximum size of the data between the contents of two parts
	maxParts       = 20        // per multipart body
	MultipartSlack = 256 * KiB // maximum size in bytes of a multipart body beyond its file
)

// arriving reads a request body as it arrives. Reading fails if too little data arrives for too long.
type arriving struct {
	c    *Call
	r    io.Reader
	left int   // bytes until the deadline is extended
	err  error // connection error
}

// NewArriving returns a reader for the request's body.
func NewArriving(c *Call) *arriving { return &arriving{c: c, r: c.Request.Body} }

// Broke reports whether reading failed because of the connection.
func (a *arriving) Broke() bool { return a.err != nil }

// Read implements io.Reader.
func (a *arriving) Read(p []byte) (int, error) {
	if a.left <= 0 {
		_ = a.c.Control().SetReadDeadline(time.Now().Add(ProgressTimeout))
		a.left = progressStep
	}
	n, err := a.r.Read(p)
	a.left -= n
	if err != nil && err != io.EOF {
		a.err = err
	}
	return n, err
}

// Explain converts an error that occurred while processing the body. If the connection failed, it returns BodyError of
// that failure. A *core.Error is returned unchanged.
func (a *arriving) Explain(err error) error {
	if _, ours := errors.AsType[*core.Error](err); ours {
		return err
	}
	if a.err != nil {
		return BodyError(a.err)
	}
	return err
}

// ReadParts reads a multipart body (RFC 7578). It calls file for the part named "file", and field for every other part,
// a text field.
func ReadParts(body io.Reader, boundary string, file func(*multipart.Part) error, field func(name, text string) error) error {
	bad := func(err error) error {
		return core.Invalidf("", "The body is not valid multipart/form-data. Check the boundary in "+
			"Content-Type.").With(err)
	}
	if boundary == "" {
		return bad(nil)
	}
	head := &headLimit{r: body, left: maxPartHead}
	parts := multipart.NewReader(head, boundary)
	files := 0
	for range maxParts {
		head.left = maxPartHead
		part, err := parts.NextRawPart()
		if err == io.EOF && files == 1 {
			return nil
		}
		if err == io.EOF {
			return core.Invalidf("file", "file is missing.")
		}
		if err != nil {
			return bad(err)
		}
		if part.FormName() != "file" {
			err = textPart(part, field)
		} else if files++; files > 1 {
			return core.Invalidf("file", "file appears more than once. Send only one file.")
		} else {
			head.left = -1
			err = file(part)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) { // the body ends within the part
			return bad(err)
		}
		if err != nil {
			return err
		}
	}
	return bad(errors.New("too many parts"))
}

func textPart(part *multipart.Part, field func(name, text string) error) error {
	name := part.FormName()
	b, err := io.ReadAll(io.LimitReader(part, maxPartText+1))
	if err != nil {
		return err
	}
	if len(b) > maxPartText || !core.CleanText(string(b)) {
		return core.Invalidf(name, "%s must be UTF-8 text of at most %d bytes.", name, maxPartText)
	}
	return field(name, strings.TrimSpace(string(b)))
}

// headLimit limits the size of a part's header. Without it, mime/multipart would keep up to 10 MiB of a header in
// memory.
type headLimit struct {
	r    io.Reader
	left int // negative: inside the file, which has its own limit
}

func (h *headLimit) Read(p []byte) (int, error) {
	if h.left < 0 {
		return h.r.Read(p)
	}
	if h.left == 0 {
		return 0, errors.New("a part's header is too long")
	}
	n, err := h.r.Read(p[:min(len(p), h.left)])
	h.left -= n
	return n, err
}
