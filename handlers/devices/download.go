package devices

import (
	"fmt"
	"net/http"
	"time"

	"newsletterd/handlers/web"
)

// download responds with a model's file: the whole file, ranges of it, or no body if the caller already has it (RFC
// 9110 sections 13 and 14). Browsers never show the file in the API's origin: they save it or open it in a sandbox.
func (a models) download(c *web.Call) error {
	m, err := a.store.Model(c, c.Caller, c.ID())
	if err != nil {
		return err
	}
	h := c.Header()
	h.Set("Content-Type", m.ContentType)
	h.Set("Content-Disposition", web.Attachment(m.Name))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Etag", `"`+m.SHA256+`"`)
	web.OnlyByteRanges(c.Request.Header)
	_ = c.Control().SetReadDeadline(time.Time{})
	f := a.store.OpenFile(c, &m.Model)
	http.ServeContent(web.RangeWriter{ResponseWriter: c.Stream()}, c.Request, "", m.CreatedAt.Time(), f)
	if err := f.Err(); err != nil {
		c.Cut(fmt.Errorf("download: %w", err)) // the header is sent: only cutting the connection signals the error
	}
	return nil
}
