package article

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// ownLink and ownWord are placeholders for links that belong to one recipient. Elements that contain one are removed.
const (
	ownWord = "own-link.invalid"
	ownLink = "https://" + ownWord + "/"
)

// Subscriber values are rendered between these two marks, which are removed later.
const markOpen, markClose = "\uE000", "\uE001"

var unmark = strings.NewReplacer(markOpen, "", markClose, "")

const ofPerson = `(?:email\b|subscriber\.|preferences\b)`

var (
	personal  = regexp.MustCompile(`\{\{-?\s*` + ofPerson + `[^{}]*\}\}`)
	condition = regexp.MustCompile(`\{%-?\s*(?:if|unless)\s[^{}]*\b` + ofPerson + `[^{}]*%\}`)
)

// marked puts marks around the subscriber values in a template, and around conditions on them.
func marked(template string) string {
	template = personal.ReplaceAllString(template, markOpen+"$0"+markClose)
	return condition.ReplaceAllString(template, markOpen+markClose+"$0")
}

// markTexts is like marked for an HTML template. It changes only text, not tags.
func markTexts(template string) string {
	template = unmark.Replace(template)
	if !personal.MatchString(template) && !condition.MatchString(template) {
		return template
	}
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(template))
	for {
		kind := z.Next()
		raw := string(z.Raw())
		if kind == html.TextToken {
			raw = marked(raw)
		}
		b.WriteString(raw)
		if kind == html.ErrorToken {
			return b.String()
		}
	}
}

// greetingWords is the maximum number of words next to the subscriber's value in a greeting line, such as "Good morning
// {{preferences.first_name}},".
const greetingWords = 3

// blocks are the elements that strip removes as a whole.
var blocks = map[atom.Atom]bool{
	atom.P: true, atom.Li: true, atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.H5: true,
	atom.H6: true, atom.Blockquote: true, atom.Div: true, atom.Figure: true, atom.Td: true, atom.Th: true,
	atom.Pre: true, atom.Ul: true, atom.Ol: true,
}

// strip removes the innermost blocks that contain only a greeting or contain a recipient's link. It also removes the
// blocks that this leaves empty.
func strip(body *html.Node) {
	out := map[*html.Node]bool{}
	for n := range body.Descendants() {
		switch {
		case n.Type == html.CommentNode:
			out[n] = true
		case n.Type == html.ElementNode && blocks[n.DataAtom] && !holdsBlock(n) && (owns(n) || greets(n)):
			out[n] = true
		case n.DataAtom == atom.A && strings.Contains(attribute(n, "href"), ownWord),
			n.DataAtom == atom.Img && strings.Contains(attribute(n, "src"), ownWord),
			n.Type == html.TextNode && strings.Contains(n.Data, ownWord):
			out[n] = true
		}
	}
	remove(body, out)
	for n := range body.Descendants() {
		if n.Type == html.TextNode {
			n.Data = unmark.Replace(n.Data)
		}
	}
}

// remove removes the nodes in out from n. It also removes elements that lose a child and have no word or image left.
// removed reports whether n lost a child, and full whether n still has a word or an image.
func remove(n *html.Node, out map[*html.Node]bool) (removed, full bool) {
	full = isWord(n) || n.DataAtom == atom.Img
	var next *html.Node
	for k := n.FirstChild; k != nil; k = next {
		next = k.NextSibling
		gone := out[k]
		if !gone {
			less, left := remove(k, out)
			gone, full = less && !left, full || left
		}
		if gone {
			n.RemoveChild(k)
			removed = true
		}
	}
	return removed, full
}

func holdsBlock(n *html.Node) bool {
	for d := range n.Descendants() {
		if blocks[d.DataAtom] {
			return true
		}
	}
	return false
}

func holds(n *html.Node, element atom.Atom) bool {
	for d := range n.Descendants() {
		if d.DataAtom == element {
			return true
		}
	}
	return false
}

// owns reports whether a block contains a link that belongs to one recipient.
func owns(n *html.Node) bool {
	for d := range n.Descendants() {
		if d.Type == html.TextNode && strings.Contains(d.Data, ownWord) ||
			strings.Contains(attribute(d, "href"), ownWord) {
			return true
		}
	}
	return false
}

// greets reports whether a block is a greeting: a subscriber value with at most greetingWords other words.
func greets(n *html.Node) bool {
	text := textOf(n)
	if !strings.Contains(text, markOpen) || holds(n, atom.Img) || holds(n, atom.A) {
		return false
	}
	var others strings.Builder
	for text != "" {
		plain, rest, _ := strings.Cut(text, markOpen)
		others.WriteString(plain)
		_, text, _ = strings.Cut(rest, markClose)
	}
	return len(strings.Fields(others.String())) <= greetingWords
}
