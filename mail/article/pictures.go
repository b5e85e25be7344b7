package article

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Copy is a locally stored copy of an image in a post.
type Copy struct {
	URL  string // URL of the copy shown on the page
	Full string // URL of the full-size copy, for links
}

// PostPictures returns the URLs of the images in a post, without duplicates. page is clean HTML. If it is nested too
// deeply, PostPictures returns nil.
func PostPictures(page string) []string {
	body, err := parse(page)
	if err != nil {
		return nil
	}
	var all []string
	known := map[string]bool{}
	for n := range body.Descendants() {
		if n.DataAtom != atom.Img {
			continue
		}
		if address := attribute(n, "src"); address != "" && !known[address] {
			known[address] = true
			all = append(all, address)
		}
	}
	return all
}

// ShowCopies replaces the images in a post that have copies. copies maps their URLs to the copies. Links to such an
// image, and links around it to another size of it, then lead to the copy. page is clean HTML. ShowCopies returns an
// error if the page is nested too deeply.
func ShowCopies(page string, copies map[string]Copy) (string, error) {
	body, err := parse(page)
	if err != nil {
		return "", err
	}
	for n := range body.Descendants() {
		switch n.DataAtom {
		case atom.A:
			if c, ok := copies[attribute(n, "href")]; ok {
				set(n, "href", c.Full)
			}
		case atom.Img:
			c, ok := copies[attribute(n, "src")]
			if !ok {
				continue
			}
			set(n, "src", c.URL)
			if a := linkAround(n); a != nil && isPicture(attribute(a, "href")) {
				set(a, "href", c.Full)
			}
		}
	}
	return write(body)
}

// linkAround returns the link that contains a node, or nil.
func linkAround(n *html.Node) *html.Node {
	for a := range n.Ancestors() {
		if a.DataAtom == atom.A {
			return a
		}
	}
	return nil
}

// pictureEndings are the file name extensions of images.
var pictureEndings = []string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".heic", ".svg"}

// isPicture reports whether a URL ends in the file name of an image. URLs of image services end in the original URL.
func isPicture(address string) bool {
	u, err := url.Parse(address)
	return err == nil && slices.Contains(pictureEndings, strings.ToLower(path.Ext(u.Path)))
}
