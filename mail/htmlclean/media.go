package htmlclean

import (
	"net/url"
	"path"
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

func isPlayer(p *piece) bool {
	return p.starts() && (p.DataAtom == atom.Iframe || p.DataAtom == atom.Video || p.DataAtom == atom.Audio)
}

// playerAt returns the link for the player that starts at all[i], and the index of the player's last piece. Without an
// end tag, the player ends after its sources.
func playerAt(all []piece, i int) (link string, last int) {
	p := playerOf(&all[i].Token)
	last = max(i, all[i].last)
	if all[i].last == 0 && p.kind != atom.Iframe {
		for last+1 < len(all) && all[last+1].isSource() {
			last++
		}
	}
	for k := range all[i+1 : last+1] {
		if in := &all[i+1+k]; in.starts() && in.DataAtom == atom.Source && p.address == "" {
			p.address = playerOf(&in.Token).address
		}
	}
	return p.link(), last
}

// player is an element that plays a video or recording, or shows another page.
type player struct {
	kind                    atom.Atom
	address, title, picture string
	unseen                  bool
}

func playerOf(t *html.Token) *player {
	p := &player{kind: t.DataAtom}
	for _, a := range t.Attr {
		switch a.Key {
		case "src":
			p.address = strings.TrimSpace(a.Val)
		case "title", "aria-label":
			p.title = strings.Join(strings.Fields(a.Val), " ")
		case "poster":
			p.picture = strings.TrimSpace(a.Val)
		case "width", "height":
			p.unseen = p.unseen || a.Val == "0" || a.Val == "1"
		case "hidden":
			p.unseen = true
		}
	}
	return p
}

var youTubeID = regexp.MustCompile(`^[\w-]{11}$`)

// isYouTube reports whether the path of a YouTube frame is that of a single video, not of a playlist or live stream,
// whose paths look alike.
func isYouTube(folder, id string) bool {
	return folder == "/embed/" && youTubeID.MatchString(id) && id != "videoseries" && id != "live_stream"
}

// leads reports whether a link can lead to u. A relative URL is valid for a file on the post's own site.
func (p *player) leads(u *url.URL) bool {
	if u.Host == "" {
		return u.Scheme == "" && u.Path != "" && p.kind != atom.Iframe
	}
	return u.Scheme == "" || u.Scheme == "https" || u.Scheme == "http"
}

// link returns a paragraph with a link to the content of the player. If a preview image is known, the link contains it.
func (p *player) link() string {
	u, err := url.Parse(p.address)
	if err != nil || p.unseen || !p.leads(u) {
		return ""
	}
	host := strings.TrimPrefix(u.Hostname(), "www.")
	switch {
	case host == "":
		host = path.Base(u.Path) // file name
	case u.Scheme == "":
		u.Scheme = "https"
	}
	folder, id := path.Split(u.Path)
	switch {
	case (host == "youtube.com" || host == "youtube-nocookie.com") && isYouTube(folder, id):
		host = "youtube.com"
		u = &url.URL{Scheme: "https", Host: "www.youtube.com", Path: "/watch", RawQuery: "v=" + id}
		p.picture = "https://i.ytimg.com/vi/" + id + "/hqdefault.jpg"
	case host == "player.vimeo.com" && folder == "/video/":
		host = "vimeo.com"
		u = &url.URL{Scheme: "https", Host: host, Path: "/" + id}
	}
	text := "▶ " + host
	if p.title != "" {
		text = "▶ " + p.title + " (" + host + ")"
	}
	if p.picture != "" {
		text = `<img src="` + html.EscapeString(p.picture) + `" alt=""><br>` + html.EscapeString(text)
	} else {
		text = html.EscapeString(text)
	}
	return `<p><a href="` + html.EscapeString(u.String()) + `">` + text + `</a></p>`
}
