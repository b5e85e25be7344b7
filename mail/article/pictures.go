package article

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Copy is a picture of a post that is stored here.
type Copy struct {
	URL  string // for the page
	Full string // as large as it is stored; for links
}

// PostPictures returns the addresses of the pictures in a post, each once. page is clean HTML. If it is nested too
// deeply, there are none.
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

// ShowCopies returns a post that shows copies instead of the pictures at these addresses. Links to such a picture lead
// to its copy too, as do links around it to another size of it. page is clean HTML.
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

// pictureEndings are the ends of addresses of pictures.
var pictureEndings = []string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".heic", ".svg"}

// isPicture reports whether an address is that of a picture by its ending. Image services append the original address.
func isPicture(address string) bool {
	u, err := url.Parse(address)
	return err == nil && slices.Contains(pictureEndings, strings.ToLower(path.Ext(u.Path)))
}
