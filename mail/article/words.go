package article

import (
	"regexp"
	"strings"
	"unicode"
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

// isWord reports whether n is a text node that isn't blank.
func isWord(n *html.Node) bool { return n.Type == html.TextNode && strings.TrimSpace(n.Data) != "" }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// words returns the text in a node, with each block on its own line.
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

// The maximum length of an excerpt in characters, and the length from which it may end with a block.
const (
	excerptLength = 200
	enoughExcerpt = 80
)

// greeting matches the salutation of a letter: "Dear Ann,".
var greeting = regexp.MustCompile(`^(?i:dear|hi|hello|hey|liebe[rs]?|hallo|guten (?:tag|morgen|abend)|moin|servus|` +
	`bonjour|ch[eè]re?s?|hola|querid[oa]s?|estimad[oa]s?)\b[^,!.:]{0,40}[,!]\s*`)

// maxGreeting is the maximum number of words of a greeting that a sentence follows in the same line.
const maxGreeting = 4

// further matches a line with only a link to the rest of a post.
var further = regexp.MustCompile(`^(?i:read (?:more|on)|continue reading|learn more|weiterlesen|mehr (?:lesen|erfahren)|` +
	`lire la suite|en savoir plus|leer más|seguir leyendo)[\s.…!:→»›>]*$`)

// repeats reports whether a line of text only repeats the start of the title.
func repeats(line, title string) bool {
	return len(line) <= len(title) && strings.EqualFold(line, title[:len(line)])
}

func withoutGreeting(line string) string {
	start := greeting.FindString(line)
	rest := line[len(start):]
	switch {
	case rest == line || rest == "":
		return rest
	case len(strings.Fields(start)) > maxGreeting: // a sentence: "Dear life goes on like this, …"
		return line
	}
	first, size := utf8.DecodeRuneInString(rest)
	return string(unicode.ToUpper(first)) + rest[size:]
}

// Excerpt returns the start of an article's text. It skips greetings, links to the rest of a post, and a heading that
// repeats the start of the title. It ends after a block or a whole word.
func Excerpt(words, title string) string {
	var short strings.Builder
	for line := range strings.Lines(words) {
		line = strings.TrimSpace(line)
		if short.Len() == 0 {
			line = withoutGreeting(line)
		}
		if line == "" || further.MatchString(line) || short.Len() == 0 && repeats(line, title) {
			continue
		}
		if short.Len() > 0 {
			if last, _ := utf8.DecodeLastRuneInString(short.String()); !strings.ContainsRune(".!?…:;,", last) {
				short.WriteByte('.')
			}
			short.WriteByte(' ')
		}
		short.WriteString(line)
		if utf8.RuneCountInString(short.String()) >= enoughExcerpt {
			break
		}
	}
	words = oneLine(short.String())
	if utf8.RuneCountInString(words) <= excerptLength {
		return words
	}
	cut := string([]rune(words)[:excerptLength])
	if at := strings.LastIndexByte(cut, ' '); at > 0 {
		cut = cut[:at]
	}
	return strings.TrimRight(cut, " ,;:–-") + "…"
}
