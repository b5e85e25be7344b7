package article

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"newsletterd/core"
)

// Old describes the site on which another tool published a post.
type Old struct {
	Site core.OldSite
	// Issues maps old paths on the site, in the form of core.OldPath, to URLs of issues. Without it, links between
	// posts lead to the site.
	Issues func(paths []string) (map[string]string, error)
	// Picture returns the size of an image as in Source.
	Picture func(address string) (width, height int)
}

// maxOldLinks is the maximum number of links in a post that can lead to other issues.
const maxOldLinks = 500

// Imported creates an article from a post that another tool published. page is clean HTML. Relative URLs become
// absolute. If the site is unknown, only the text of relative links remains. Imported returns an error if the page is
// nested too deeply. It also returns the errors of old.Issues.
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

// fragmentOf returns the fragment in a link to another post. It adds the prefix that ids in old posts have.
func fragmentOf(address string) string {
	_, id, ok := strings.Cut(address, "#")
	if !ok || id == "" {
		return ""
	}
	return "#" + anchorMark + id
}

// issues returns the URLs of the issues that a post links to, by their old paths.
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

// placeImages makes image URLs absolute, and removes images for which that is impossible.
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

// HasRelative reports whether a post contains relative links or images, except images for which has returns true. page
// is clean HTML. If it is nested too deeply, HasRelative returns false.
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

// ImportedText returns the text of an imported post and its excerpt. It returns an error if the page is nested too
// deeply.
func ImportedText(title, page string) (words, excerpt string, err error) {
	a, err := Imported(title, page, &Old{Picture: func(string) (width, height int) { return 0, 0 }})
	if err != nil {
		return "", "", err
	}
	return a.Words, Excerpt(a.Words, title), nil
}
