package drafts

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"newsletterd/core"
)

// Videos fetches the thumbnails of videos from their providers (https://oembed.com).
type Videos struct {
	Client *http.Client // must refuse nonpublic addresses; nil: nothing is fetched

	// OEmbed maps providers to their oEmbed URLs; nil: the public ones.
	OEmbed map[core.VideoHost]string
}

var oEmbed = map[core.VideoHost]string{
	core.YouTube: "https://www.youtube.com/oembed",
	core.Vimeo:   "https://vimeo.com/api/oembed.json",
}

// maxOEmbed is the maximum size of a video's description in bytes.
const maxOEmbed = 64 << 10

// YouTube's default thumbnail has black bars above and below the video. The other two have none, but only newer videos
// have the large one.
const (
	barred    = "/hqdefault.jpg"
	unbarred  = "/maxresdefault.jpg"
	unbarred2 = "/mqdefault.jpg"
)

var errThumbnail = errors.New("the response has no thumbnail")

// Thumbnail opens the thumbnail of a video and also returns the video's title. The caller must close it. If there is no
// thumbnail, Thumbnail returns an Invalid error for the field video. If the provider stops responding, reading returns
// such an error, too.
func (v *Videos) Thumbnail(ctx context.Context, address string) (thumbnail io.ReadCloser, title string, err error) {
	host, page, ok := core.VideoOf(address)
	if !ok {
		return nil, "", core.Invalidf("video",
			"Thumbnails can only be fetched from YouTube and Vimeo. Upload an image instead.")
	}
	fail := func(err error) (io.ReadCloser, string, error) {
		if _, unreachable := errors.AsType[*url.Error](err); unreachable {
			return nil, "", unreachableHost(host, err)
		}
		e := core.Invalidf("video", "%s has no thumbnail of this video. It may be private or deleted. Check the "+
			"video link, or upload an image.", host)
		e.Code = videoUnavailable
		return nil, "", e.With(err)
	}
	if v == nil || v.Client == nil {
		return fail(nil)
	}
	all := v.OEmbed
	if all == nil {
		all = oEmbed
	}
	var about struct {
		Title     string `json:"title"`
		Thumbnail string `json:"thumbnail_url"`
	}
	body, err := v.open(ctx, all[host]+"?format=json&url="+url.QueryEscape(page))
	if err != nil {
		return fail(err)
	}
	err = json.NewDecoder(io.LimitReader(body, maxOEmbed)).Decode(&about)
	if closed := body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fail(err)
	}
	if plain, found := strings.CutSuffix(about.Thumbnail, barred); found {
		for _, name := range []string{unbarred, unbarred2} {
			if body, err = v.open(ctx, plain+name); err == nil {
				return arriving{body, host}, lineOf(about.Title), nil
			}
		}
	}
	if body, err = v.open(ctx, about.Thumbnail); err != nil {
		return fail(err)
	}
	return arriving{body, host}, lineOf(about.Title), nil
}

const videoUnavailable = "video_unavailable"

func unreachableHost(host core.VideoHost, err error) error {
	e := core.Invalidf("video", "The server can't reach %s now. Try again later, or upload an image.", host)
	e.Code = videoUnavailable
	return e.With(err)
}

// arriving reads a thumbnail as it arrives from a provider.
type arriving struct {
	io.ReadCloser
	host core.VideoHost
}

func (a arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = unreachableHost(a.host, err)
	}
	return n, err
}

func (v *Videos) open(ctx context.Context, address string) (io.ReadCloser, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return nil, errThumbnail
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "newsletterd")
	res, err := v.Client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		return nil, errThumbnail
	}
	return res.Body, nil
}

// maxTitle is the maximum length of a title in characters, the same as for an image's name.
const maxTitle = 200

// lineOf converts a title to a single line without control characters.
func lineOf(title string) string {
	isBreak := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	line := []rune(strings.Join(strings.FieldsFunc(strings.ToValidUTF8(title, ""), isBreak), " "))
	return string(line[:min(len(line), maxTitle)])
}
