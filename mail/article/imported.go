package article

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"newsletterd/core"
)

// Old describes where a post was published with another tool.
type Old struct {
	Site core.OldSite
	// Issues returns URLs of issues by the paths that they had on the site, in the form of core.OldPath. Without it,
	// links between posts lead to the site.
	Issues func(paths []string) (map[string]string, error)
	// Picture returns the size of an image as in Source.
	Picture func(address string) (width, height int)
}

// maxOldLinks is the maximum number of links of a post that can lead to other issues.
const maxOldLinks = 500

// Imported creates the article of a post that was published with another tool. page is clean HTML. Relative links and
// images get the address of the site. If the address is unknown, only the words of the links are left. Imported returns
// an error if the page is nested too deeply. It also returns the errors of old.Issues.
func Imported(title, page string, old *Old) (*Article, error) {
	body, err := parse(page)
	if err != nil {
		return nil, err
	}
	issues, err := old.issues(body)
	if err != nil {
		return nil, err
	}
	old.placeImages(body)
	a := &Article{}
	s := Source{Title: title, Picture: old.Picture, Link: func(address string) string {
		if to := issues[core.AsOldPath(old.Site.Path(address))]; to != "" {
			return to + fragmentOf(address)
		}
		return old.Site.At(address)
	}}
	s.headings(body)
	s.finish(body, a)
	a.Words = words(body)
	if a.HTML, err = write(body); a.HTML == "" {
		a.HTML = "<p></p>" // the title is all there is to show
	}
	return a, err
}

// fragmentOf returns the part of a link to another post that leads to a place in it, in the form of OldPost.
func fragmentOf(address string) string {
	_, id, ok := strings.Cut(address, "#")
	if !ok || id == "" {
		return ""
	}
	return "#" + anchorMark + id
}

// issues returns the URLs of the issues to which a post links, by their old paths.
func (old *Old) issues(body *html.Node) (map[string]string, error) {
	if old.Issues == nil {
		return nil, nil
	}
	known := map[string]bool{}
	var paths []string
	for n := range body.Descendants() {
		if n.DataAtom != atom.A || len(paths) == maxOldLinks {
			continue
		}
		path := core.AsOldPath(old.Site.Path(attribute(n, "href")))
		if path != "" && !known[path] {
			known[path], paths = true, append(paths, path)
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	return old.Issues(paths)
}

// placeImages makes the addresses of images absolute, and removes images for which that is impossible.
func (old *Old) placeImages(body *html.Node) {
	out := map[*html.Node]bool{}
	for n := range body.Descendants() {
		if n.DataAtom != atom.Img || !core.IsRelative(attribute(n, "src")) {
			continue
		}
		at := old.Site.At(attribute(n, "src"))
		set(n, "src", at)
		out[n] = at == ""
	}
	if len(out) > 0 {
		remove(body, out)
	}
}

// HasRelative reports whether a post has links or images that lack the address of the site. It leaves out images for
// which has returns true. page is clean HTML. If it is nested too deeply, HasRelative returns false.
func HasRelative(page string, has func(image string) bool) bool {
	body, err := parse(page)
	if err != nil {
		return false
	}
	for n := range body.Descendants() {
		src := attribute(n, "src")
		if core.IsRelative(attribute(n, "href")) || core.IsRelative(src) && !has(src) {
			return true
		}
	}
	return false
}

// ImportedText returns the words of an imported post and an excerpt of them. It returns an error if the page is nested
// too deeply.
func ImportedText(title, page string) (words, excerpt string, err error) {
	a, err := Imported(title, page, &Old{Picture: func(string) (width, height int) { return 0, 0 }})
	if err != nil {
		return "", "", err
	}
	return a.Words, Excerpt(a.Words, title), nil
}
