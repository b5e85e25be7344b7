package handlers

import "newsletterd/handlers/web"

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxRanges is the number of ranges that one request may ask for; more are answered with the whole file (RFC 9110
// section 14.2 lets a server ignore them), since each may cost a read of 1 MiB.
const maxRanges = 8

// download answers the file of a model: whole, in ranges or not at all where the caller has it (RFC 9110 sections 13
// and 14). It is never shown in the origin of the API: it is saved, or opened without rights.
func (a models) download(c *web.Call) error {
	m, err := a.store.Model(c, c.Caller, c.ID())
	if err != nil {
		return err
	}
	h := c.Header()
	h.Set("Content-Type", m.ContentType)
	h.Set("Content-Disposition", attachment(m.Name))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Etag", `"`+m.SHA256+`"`)
	onlyByteRanges(c.Request.Header)
	_ = c.Control().SetReadDeadline(time.Time{})
	f := a.store.OpenFile(c, &m.Model)
	http.ServeContent(rangeWriter{c.Stream()}, c.Request, "", m.CreatedAt.Time(), f)
	if err := f.Err(); err != nil {
		c.Cut(fmt.Errorf("download: %w", err)) // the head is out: only a cut connection shows it
	}
	return nil
}

// onlyByteRanges takes out a Range header that http.ServeContent is not to see: in a unit that is not understood (RFC
// 9110 section 14.2: it must be ignored), more than one, or with too many ranges. The unit's case doesn't count
// (section 14.1).
func onlyByteRanges(h http.Header) {
	unit, ranges, found := strings.Cut(h.Get("Range"), "=")
	if !found || !strings.EqualFold(unit, "bytes") || len(h.Values("Range")) > 1 ||
		strings.Count(ranges, ",") >= maxRanges {
		h.Del("Range")
		return
	}
	h.Set("Range", "bytes="+ranges)
}

// rangeWriter is the http.ResponseWriter of a file.
type rangeWriter struct{ http.ResponseWriter }

// WriteHeader sets the headers of an error, which http.ServeContent takes out or leaves as those of the file.
func (w rangeWriter) WriteHeader(status int) {
	if status == http.StatusRequestedRangeNotSatisfiable || status == http.StatusPreconditionFailed {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Del("Content-Disposition")
	}
	w.ResponseWriter.WriteHeader(status)
}

// attachment is a Content-Disposition (RFC 6266) with the name of a model: in ASCII for old receivers, whole for
// others.
func attachment(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' {
			return '_'
		}
		return r
	}, name)
	ascii := strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e || r == '"' || r == '%' {
			return '_'
		}
		return r
	}, name)
	v := `attachment; filename="` + ascii + `"`
	if ascii != name {
		v += "; filename*=UTF-8''" + strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
	}
	return v
}
