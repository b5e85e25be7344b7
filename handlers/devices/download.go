package devices

import (
	"fmt"
	"net/http"
	"time"

	"newsletterd/handlers/web"
)

// download answers the file of a model: whole, in ranges or not at all where the caller has it (RFC 9110 sections 13
// and 14). It is never shown in the origin of the API: it is saved, or opened without rights.
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
		c.Cut(fmt.Errorf("download: %w", err)) // the head is out: only a cut connection shows it
	}
	return nil
}
