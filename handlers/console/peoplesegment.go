package console

import (
	"errors"
	"net/http"
	"net/url"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// readSegment reads the segments to choose from, and the chosen one. If the chosen one was deleted, the page says so.
func (d *peopleData) readSegment(p *Page) error {
	d.Segment = p.Query("segment")
	if !p.May(core.ActionSegmentRead) {
		return nil
	}
	all, err := p.allSegments()
	if err != nil || len(all) == 0 && d.Segment == "" {
		return err
	}
	d.Segments = segmentOptions(all, "", option{"", p.T("All segments")})
	if d.Segment != "" && !hasOption(d.Segments, d.Segment) {
		d.Segments = append(d.Segments, option{d.Segment, p.T("(deleted)")})
	}
	return nil
}

// readSegmented reads the people of the page who are in the chosen segment. If the segment can't be evaluated, the page
// shows the reason and no people.
func (d *peopleData) readSegmented(p *Page, size int) (next string, err error) {
	body := d.filter()
	body["tenant_id"] = p.Tenant.ID
	next, err = readAsked(p, web.Question{Method: http.MethodPost, Path: "/api/admin/subscribers/search", Body: body},
		url.Values{}, size, &d.People)
	if errors.Is(err, core.ErrSegmentNotFound) {
		d.Unknown = p.T("This segment was deleted. Choose another one.")
		return "", nil
	}
	if text, ok := p.countFault(err); ok {
		d.Unknown = text
		return "", nil
	}
	return next, err
}

// peopleFile returns the request for the file of a list's people, or of those in a segment.
func (p *Page) peopleFile() (web.Question, error) {
	if p.Query("segment") == "" {
		q := p.ofTenant("list_id", p.Query("list"), "status", p.Query("status"), "columns", "fields")
		return web.Question{Method: http.MethodGet, Path: "/api/admin/subscribers/export?" + q.Encode()}, nil
	}
	d := peopleData{
		List: p.Query("list"), Status: p.Query("status"), Text: p.Query("q"), Field: p.Query("field"),
		Value: p.Query("value"), Segment: p.Query("segment"),
	}
	body := d.filter()
	body["tenant_id"], body["columns"] = p.Tenant.ID, "fields"
	return web.Question{Method: http.MethodPost, Path: "/api/admin/subscribers/export", Body: body}, nil
}
