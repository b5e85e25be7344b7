package console

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// newImport shows the form for uploading a file. It requires a fresh sign-in before the upload starts.
func (o *Console) newImport(p *Page) (web.HTML, error) {
	if err := p.fresh(); err != nil {
		return web.HTML{}, err
	}
	return p.uploadForm(uploadTo{List: p.Query("list")}, nil)
}

// uploadTo is the list to which an upload adds people.
type uploadTo struct {
	List string // id
	Name string // name of the tenant's first list, which the upload creates
	New  bool   // whether the form has a name for a new list
	Made bool   // whether this list was created even though the upload was rejected

	People string // people who were entered as text
}

// uploadForm shows the form for uploading a file. fault is the error of the previous upload, or nil.
func (p *Page) uploadForm(to uploadTo, fault error) (web.HTML, error) {
	v := View{
		Title: p.T("Import people"), Within: p.withinImports(),
		State: p.T("Nothing is imported until you start the import"),
	}
	if fault != nil {
		text, status, ok := p.FaultOf(fault)
		if !ok {
			return web.HTML{}, fault
		}
		v.Fault, v.Status = text, status
	}
	lists, err := p.peopleLists()
	if err != nil {
		return web.HTML{}, err
	}
	v.Data = struct {
		Lists []option
		uploadTo
	}{listOptions(lists), to}
	return p.Show("new-import", v)
}

// Limits for a form with a file.
const (
	maxUploadParts = 10
	maxUploadField = 4 << 10                // maximum size of a field in bytes
	maxUploadText  = 256 << 10              // maximum size in bytes of people who are entered as text
	maxUploadHead  = maxUploadText + 64<<10 // maximum number of bytes before the file
	uploadStep     = 64 << 10               // number of bytes after which the deadline is extended
	maxFileName    = 200
)

// takeImport sends the people entered as text to the API, or streams the uploaded file. In the form, the list and the
// text come before the file.
func (o *Console) takeImport(p *Page) (web.HTML, error) {
	media, params, _ := mime.ParseMediaType(p.Request.Header.Get("Content-Type"))
	if media != "multipart/form-data" || params["boundary"] == "" {
		return p.uploadForm(uploadTo{}, core.Invalidf("file", "Choose a file."))
	}
	body := &arriving{p: p, r: p.Request.Body, head: maxUploadHead}
	parts := multipart.NewReader(body, params["boundary"])
	var to uploadTo
	for range maxUploadParts {
		part, err := parts.NextRawPart()
		if err != nil {
			break // the form has no file
		}
		switch name := part.FormName(); name {
		case "list", "name":
			b, err := io.ReadAll(io.LimitReader(part, maxUploadField))
			switch {
			case err != nil:
				return p.uploadForm(to, core.Invalidf("file", "Choose a file."))
			case name == "list":
				to.List = string(b)
			default:
				to.Name, to.New = string(b), true
			}
		case "people":
			b, err := io.ReadAll(io.LimitReader(part, maxUploadText+1))
			if to.People = strings.TrimSpace(string(b)); err != nil || len(b) > maxUploadText {
				to.People = ""
				return p.uploadForm(to, core.Invalidf("people", "The text is too long. Save it as a text file and "+
					"choose the file."))
			}
		case "file":
			if err := p.checkUpload(&to, part.FileName()); err != nil {
				return p.uploadForm(to, err)
			}
			if to.People != "" {
				return p.sendImport(to, p.T("Pasted addresses"), strings.NewReader(to.People))
			}
			body.head = noLimit
			return p.sendImport(to, part.FileName(), part)
		}
	}
	return p.uploadForm(to, core.Invalidf("file", "Choose a file."))
}

// checkUpload returns an error if the form has neither text nor a file, or both. If the form has a name for the
// tenant's first list, it creates the list.
func (p *Page) checkUpload(to *uploadTo, name string) error {
	switch {
	case to.People == "" && name == "":
		return core.Invalidf("file", "Paste email addresses or choose a file.")
	case to.People != "" && name != "":
		return core.Invalidf("people", "Use either pasted addresses or a file, not both.")
	case to.New && to.List == "":
		return p.firstList(to)
	}
	return nil
}

// sendImport uploads a file to the API.
func (p *Page) sendImport(to uploadTo, name string, file io.Reader) (web.HTML, error) {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, name)
	if len(name) > maxFileName {
		name = strings.ToValidUTF8(name[:maxFileName], "")
	}
	var j core.ImportJob
	q := url.Values{"list_id": {to.List}, "name": {name}}
	if err := p.Upload(http.MethodPost, "/api/admin/imports?"+q.Encode(), "text/csv", file, &j); err != nil {
		to.Made = to.New
		return p.uploadForm(to, err)
	}
	return p.Redirect(p.Path("imports", j.ID), "")
}

// noLimit disables the limit arriving.head. The file has its own limit.
const noLimit = -1

// arriving reads a form with a file as it arrives. Reading fails if too little data arrives for too long.
type arriving struct {
	p    *Page
	r    io.Reader
	left int // number of bytes until the deadline is extended
	head int // number of bytes still allowed before the file
}

var errLongHead = errors.New("too much data before the file")

func (a *arriving) Read(b []byte) (int, error) {
	if a.head == 0 {
		return 0, errLongHead
	}
	if a.head > 0 {
		b = b[:min(len(b), a.head)]
	}
	if a.left <= 0 {
		_ = a.p.Control().SetReadDeadline(time.Now().Add(web.ProgressTimeout))
		a.left = uploadStep
	}
	n, err := a.r.Read(b)
	a.left -= n
	if a.head > 0 {
		a.head -= n
	}
	return n, err
}
