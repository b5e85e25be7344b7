package web

import (
	"net/http"
	"net/url"
	"strings"
)

// maxRanges is the maximum number of ranges in a request, since each range may cost a read of 1 MiB. A request with
// more gets the whole file (RFC 9110 section 14.2 lets a server ignore them).
const maxRanges = 8

// OnlyByteRanges removes the Range header if it has an unknown unit, appears more than once, or lists too many ranges.
// RFC 9110 section 14.2 requires ignoring unknown units. The unit is case-insensitive (section 14.1).
func OnlyByteRanges(h http.Header) {
	unit, ranges, found := strings.Cut(h.Get("Range"), "=")
	if !found || !strings.EqualFold(unit, "bytes") || len(h.Values("Range")) > 1 ||
		strings.Count(ranges, ",") >= maxRanges {
		h.Del("Range")
		return
	}
	h.Set("Range", "bytes="+ranges)
}

// RangeWriter is an http.ResponseWriter that corrects the headers that http.ServeContent sets on errors.
type RangeWriter struct{ http.ResponseWriter }

// WriteHeader sets the headers of an error response, because http.ServeContent removes them or leaves the file's
// headers.
func (w RangeWriter) WriteHeader(status int) {
	if status == http.StatusRequestedRangeNotSatisfiable || status == http.StatusPreconditionFailed {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Del("Content-Disposition")
	}
	w.ResponseWriter.WriteHeader(status)
}

// Attachment returns a Content-Disposition (RFC 6266) with a file name: an ASCII version for old clients, and the full
// name for all others.
func Attachment(name string) string {
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
