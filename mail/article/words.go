package article

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// textOf returns the text in a node.
func textOf(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// isWord reports whether a node is a text with a word.
func isWord(n *html.Node) bool { return n.Type == html.TextNode && strings.TrimSpace(n.Data) != "" }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// words returns the text in a node, with a line for each block.
func words(body *html.Node) string {
	var b strings.Builder
	var write func(n *html.Node)
	write = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(strings.ReplaceAll(n.Data, "\n", " "))
		}
		for k := n.FirstChild; k != nil; k = k.NextSibling {
			write(k)
		}
		if blocks[n.DataAtom] || n.DataAtom == atom.Br || n.DataAtom == atom.Tr || n.DataAtom == atom.Figcaption {
			b.WriteByte('\n')
		}
	}
	write(body)
	var lines []string
	for line := range strings.Lines(b.String()) {
		if line = oneLine(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// An excerpt has at most excerptLength characters. It ends with a block if it has enoughExcerpt by then.
const (
	excerptLength = 200
	enoughExcerpt = 80
)

// Excerpt returns the first words of an article. It ends at the end of a block or a word.
func Excerpt(words string) string {
	short := ""
	for line := range strings.Lines(words) {
		if short += line; utf8.RuneCountInString(short) >= enoughExcerpt {
			break
		}
	}
	words = oneLine(short)
	if utf8.RuneCountInString(words) <= excerptLength {
		return words
	}
	short = string([]rune(words)[:excerptLength])
	if at := strings.LastIndexByte(short, ' '); at > 0 {
		short = short[:at]
	}
	return strings.TrimRight(short, " ,;:–-") + "…"
}
