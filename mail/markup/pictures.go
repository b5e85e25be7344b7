package markup

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// Picture is an image in Markdown whose URL is a file path.
type Picture struct {
	Path string // path in the source
	Alt  string
	Line int // starting at 1; 0: unknown
}

// LocalPictures returns the images in Markdown whose URLs are file paths, each once. If the source can't be parsed, the
// error is of kind Invalid.
func LocalPictures(source string) (all []Picture, err error) {
	d := &document{options: &Options{}}
	hidden, err := d.marks.hide(strings.ToValidUTF8(source, "\uFFFD"))
	if err != nil {
		return nil, err
	}
	src := []byte(hidden)
	r := &markdownReader{d: d, src: src}
	seen := map[string]bool{}
	err = ast.Walk(markdown.Parse(text.NewReader(src)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		image, ok := n.(*ast.Image)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		path := string(image.Destination)
		if !isPath(path) || seen[path] || d.marks.bare(path) != path {
			return ast.WalkContinue, nil
		}
		seen[path] = true
		all = append(all, Picture{Path: path, Alt: d.marks.bare(plain(r.spans(image))), Line: r.lineOf(image)})
		return ast.WalkContinue, nil
	})
	return all, err
}

// isPath reports whether a URL is the path of a file in the source's folder or a subfolder.
func isPath(address string) bool {
	u, err := url.Parse(address)
	return err == nil && address != "" && u.Scheme == "" && u.Host == "" && !strings.HasPrefix(address, "/") &&
		!strings.HasPrefix(address, "#") && !strings.HasPrefix(address, "?")
}

// PlacePictures replaces file paths of images in Markdown with URLs. addresses maps the paths to the URLs.
func PlacePictures(source string, addresses map[string]string) string {
	for path, address := range addresses {
		inline := regexp.MustCompile(`(\]\(\s*<?)` + regexp.QuoteMeta(path) + `([>\s)])`)
		source = inline.ReplaceAllString(source, "${1}"+strings.ReplaceAll(address, "$", "$$")+"${2}")
		defined := regexp.MustCompile(`(?m)^( {0,3}\[[^\]\n]+\]:[ \t]*<?)` + regexp.QuoteMeta(path) +
			`(>?[ \t\r]*$|>?[ \t]+["'(])`)
		source = defined.ReplaceAllString(source, "${1}"+strings.ReplaceAll(address, "$", "$$")+"${2}")
	}
	return source
}
