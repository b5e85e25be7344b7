package core

import (
	"net/url"
	"regexp"
	"strings"
)

// VideoHost is a video provider whose thumbnails can be fetched.
type VideoHost string

// The supported video providers.
const (
	YouTube VideoHost = "YouTube"
	Vimeo   VideoHost = "Vimeo"
)

var (
	youTubeID = regexp.MustCompile(`^[\w-]{6,20}$`)
	vimeoID   = regexp.MustCompile(`^\d{1,15}$`)
)

// VideoOf returns a video's provider and the URL of its page, reduced to the necessary parts. If address is not that of
// a video, ok is false.
func VideoOf(address string) (host VideoHost, page string, ok bool) {
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", "", false
	}
	name := strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(u.Host), "www."), "m.")
	first, rest, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	var id string
	switch name {
	case "youtube.com", "youtube-nocookie.com", "music.youtube.com":
		host = YouTube
		switch first {
		case "watch":
			id = u.Query().Get("v")
		case "shorts", "live", "embed":
			id = rest
		}
	case "youtu.be":
		host, id = YouTube, first
	case "player.vimeo.com":
		host, id = Vimeo, strings.TrimPrefix(strings.Trim(u.Path, "/"), "video/")
	case "vimeo.com":
		host, id = Vimeo, first
	}
	switch {
	case host == YouTube && youTubeID.MatchString(id):
		return host, "https://www.youtube.com/watch?v=" + id, true
	case host == Vimeo && vimeoID.MatchString(id):
		page = "https://vimeo.com/" + id
		if name == "vimeo.com" && rest != "" && youTubeID.MatchString(rest) { // an unlisted video
			page += "/" + rest
		}
		return host, page, true
	}
	return "", "", false
}
