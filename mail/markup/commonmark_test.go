package markup

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"

	"newsletterd/mail"
)

// TestCommonMarkExamples checks that each example of CommonMark 0.31 results in the words and elements of the
// specification. Links that no email program follows, such as relative ones, are left out on both sides.
func TestCommonMarkExamples(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yuin/goldmark").Output()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "_test", "spec.json"))
	if err != nil {
		t.Fatal(err)
	}
	var examples []struct {
		Markdown, HTML, Section string
		Example                 int
	}
	if err := json.Unmarshal(file, &examples); err != nil || len(examples) != 652 {
		t.Fatalf("%d examples, %v", len(examples), err)
	}
	for _, e := range examples {
		if ours[e.Example] != "" {
			continue
		}
		d := &document{options: &Options{Theme: &themes[0], AllowHTML: true}}
		if err := d.readMarkdown(e.Markdown); err != nil {
			t.Errorf("example %d: %v", e.Example, err)
			continue
		}
		w := &htmlWriter{d: d, t: &themes[0], c: &themes[0].Light, width: 500}
		w.stack(d.body)
		got, want := outline(w.String()), outline(dropComments(e.HTML))
		if got != want {
			t.Errorf("example %d (%s): %q\n got %s\nwant %s", e.Example, e.Section, e.Markdown, got, want)
		}
		if text, words := letters(writeText(d)), letters(mail.HTMLToText(noLinks.Replace(e.HTML))); !holds(text, words) {
			t.Errorf("example %d (%s): the text part lacks %q: %q", e.Example, e.Section, words, text)
		}
	}
}

// ours maps the examples with a different result here to the reason.
var ours = map[int]string{
	608: "a bare address is a link",
	611: "a bare address is a link",
	612: "a bare address is a link",
	626: "a comment ends at -->, as older browsers have it",
}

// noLinks removes the URLs of links and images, and the numbers of lists, from HTML.
var noLinks = strings.NewReplacer("<a href=", "<a x=", "<ol", "<ul")

// holds reports whether text contains the letters of words in order. URLs of links may be between them.
func holds(text, words string) bool {
	rest := []rune(words)
	for _, r := range text {
		if len(rest) > 0 && r == rest[0] {
			rest = rest[1:]
		}
	}
	return len(rest) == 0
}

// letters returns only the letters of a text, because the characters around them depend on the format.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, s)
}

// outline returns the words of HTML without white space, inside the elements that carry meaning.
func outline(source string) string {
	var b strings.Builder
	var followed []bool // for each open link
	z := html.NewTokenizer(strings.NewReader(source))
	for {
		kind := z.Next()
		t := z.Token()
		switch {
		case kind == html.ErrorToken:
			return b.String()
		case kind == html.TextToken:
			b.WriteString(strings.Join(strings.Fields(t.Data), ""))
		case t.Data == "a" && kind == html.EndTagToken:
			if n := len(followed); n > 0 {
				if followed[n-1] {
					b.WriteString("</a>")
				}
				followed = followed[:n-1]
			}
		case t.Data == "a":
			href := attribute(&t, "href")
			clean, _ := new(document).cleanURL(href, true)
			if followed = append(followed, clean != ""); clean != "" {
				fmt.Fprintf(&b, "<a %s %s>", href, attribute(&t, "title"))
			}
		case t.Data == "img":
			title := strings.Join(strings.Fields(attribute(&t, "title")), "")
			fmt.Fprintf(&b, "<img %s %s>%s", attribute(&t, "src"), attribute(&t, "alt"), title)
		case slices.Contains(meant, t.Data) && kind == html.EndTagToken:
			b.WriteString("</" + t.Data + ">")
		case slices.Contains(meant, t.Data):
			fmt.Fprintf(&b, "<%s%s>", t.Data, attribute(&t, "start"))
		}
	}
}

// meant lists the elements that outline writes, in addition to links and images.
var meant = []string{"em", "strong", "code", "h1", "h2", "h3", "h4", "h5", "h6", "li", "ul", "ol", "blockquote", "del"}

func attribute(t *html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
