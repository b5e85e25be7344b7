package web

import (
	"net/http"
	"net/url"
	"strings"
)

// maxRanges is the number of ranges that one request may ask for; more are answered with the whole file (RFC 9110
// section 14.2 lets a server ignore them), since each may cost a read of 1 MiB.
const maxRanges = 8

// OnlyByteRanges takes out a Range header that http.ServeContent is not to see: in a unit that is not understood (RFC
// 9110 section 14.2: it must be ignored), more than one, or with too many ranges. The unit's case doesn't count
// (section 14.1).
func OnlyByteRanges(h http.Header) {
	unit, ranges, found := strings.Cut(h.Get("Range"), "=")
	if !found || !strings.EqualFold(unit, "bytes") || len(h.Values("Range")) > 1 ||
		strings.Count(ranges, ",") >= maxRanges {
		h.Del("Range")
		return
	}
	h.Set("Range", "bytes="+ranges)
}

// RangeWriter is the http.ResponseWriter of a file.
type RangeWriter struct{ http.ResponseWriter }

// WriteHeader sets the headers of an error, which http.ServeContent takes out or leaves as those of the file.
func (w RangeWriter) WriteHeader(status int) {
	if status == http.StatusRequestedRangeNotSatisfiable || status == http.StatusPreconditionFailed {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Del("Content-Disposition")
	}
	w.ResponseWriter.WriteHeader(status)
}

// Attachment is a Content-Disposition (RFC 6266) with the name of a file: in ASCII for old receivers, whole for
// others.
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
