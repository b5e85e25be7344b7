package pictures

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/netguard"
	"newsletterd/store/imports"
)

const (
	fetchTimeout = 30 * time.Second
	maxRedirects = 5
)

var (
	errRedirects = errors.New("too many redirects")
	errAddress   = errors.New("not an image URL")
)

// following returns a copy of client that follows redirects. It sends neither cookies nor a referrer.
func following(client *http.Client) *http.Client {
	c := *client
	c.Timeout = fetchTimeout
	c.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return errRedirects
		}
		r.Header.Del("Referer")
		_, err := webAddress(r.URL)
		return err
	}
	return &c
}

// webAddress checks that u is a web address, and adds the scheme if it is missing.
func webAddress(u *url.URL) (*url.URL, error) {
	if u.Scheme == "" && u.Host != "" { // like the page
		u.Scheme = "https"
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return nil, errAddress
	}
	return u, nil
}

// bytesOf returns the data of an image, or the reason why it isn't available. err is only set for disk errors.
func (c *copier) bytesOf(ctx context.Context, t *imports.PictureTurn, j job, m *memory) (data []byte, reason string,
	err error,
) {
	if strings.HasPrefix(j.address, "data:") {
		data, reason = inlined(j.address)
		return data, reason, nil
	}
	address := j.address
	if core.IsRelative(address) {
		if data, err = c.packed(ctx, t, j, m); err != nil || len(data) > 0 {
			return data, "", err
		}
		if address = t.Site.At(address); address == "" {
			return nil, core.PictureNoSite, nil
		}
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, core.PictureBadAddress, nil
	}
	if u, err = webAddress(u); err != nil {
		return nil, core.PictureBadAddress, nil
	}
	if m.of.down(u.Host) {
		return nil, core.PictureUnreachable, nil
	}
	data, reason = c.fetch(ctx, u, m)
	m.of.note(u.Host, reason)
	return data, reason, nil
}

// packed returns the data of an image from the uploaded archive, or nil if it isn't there. It takes the memory for the
// data first.
func (c *copier) packed(ctx context.Context, t *imports.PictureTurn, j job, m *memory) (data []byte, err error) {
	if _, err = m.take(ctx, -1); err == nil {
		data, err = c.Store.PackedPicture(ctx, t.ImportID, j.no)
	}
	if len(data) == 0 {
		m.release()
	}
	return data, err
}

// inlined returns the data of an image that is embedded in its URL, or the reason why that failed.
func inlined(address string) (data []byte, reason string) {
	_, text, ok := strings.Cut(address, ";base64,")
	if !ok {
		return nil, core.PictureBadAddress
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		data, err = base64.RawStdEncoding.DecodeString(text)
	}
	if err != nil {
		return nil, core.PictureDamaged
	}
	return data, ""
}

// pictureTypes lists the media types of responses that are read. Whether an image is stored depends on its data.
const pictureTypes = " image/png image/x-png image/apng image/jpeg image/jpg image/pjpeg image/gif image/webp "

// fetch fetches an image from the web. It takes memory before it reads the data.
func (c *copier) fetch(ctx context.Context, u *url.URL, m *memory) (data []byte, reason string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, core.PictureBadAddress
	}
	req.Header.Set("User-Agent", "newsletterd")
	req.Header.Set("Accept", "image/webp, image/png, image/jpeg, image/gif")
	req.Header.Set("Accept-Encoding", "identity") // so that a small body can't become a large one
	res, err := c.client.Do(req)
	if err != nil {
		return nil, unfetched(err)
	}
	defer res.Body.Close()
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusGone:
		return nil, core.PictureNotFound
	case res.StatusCode != http.StatusOK:
		return nil, core.PictureBadStatus
	case res.Header.Get("Content-Encoding") != "" && res.Header.Get("Content-Encoding") != "identity":
		return nil, core.PictureNotImage
	case kind == "" || !strings.HasPrefix(kind, "image/"):
		return nil, core.PictureNotImage
	case !strings.Contains(pictureTypes, " "+kind+" "):
		return nil, core.PictureUnsupported
	case res.ContentLength > c.Limits.Bytes:
		return nil, core.PictureTooLarge
	}
	room, err := m.take(res.Request.Context(), res.ContentLength)
	if err != nil {
		return nil, core.PictureUnreachable
	}
	var b bytes.Buffer
	b.Grow(int(room) + 1 + bytes.MinRead) // so that reading needs no more
	_, err = b.ReadFrom(io.LimitReader(res.Body, room+1))
	switch {
	case err != nil:
		return nil, core.PictureUnreachable
	case int64(b.Len()) > room:
		return nil, core.PictureTooLarge
	}
	return b.Bytes(), ""
}

// unfetched returns the reason to record for a failed request.
func unfetched(err error) string {
	switch {
	case errors.Is(err, errRedirects):
		return core.PictureRedirects
	case errors.Is(err, errAddress):
		return core.PictureBadAddress
	case errors.Is(err, netguard.ErrNotPublic):
		return core.PictureNotPublic
	}
	return core.PictureUnreachable
}
