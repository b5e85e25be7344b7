package mail

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// maxBeginning is how many characters an inbox shows of a mail, at most.
const maxBeginning = 160

// Beginning returns what an inbox shows of a mail next to its subject: the first texts in its HTML, whatever they are,
// in one line. page is empty for a mail of text alone.
func Beginning(page, text string) string {
	if page == "" {
		return firstOf(text)
	}
	var out strings.Builder
	z := html.NewTokenizer(strings.NewReader(page))
	hidden := ""
	for out.Len() < 8*maxBeginning {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		switch token := z.Token(); {
		case hidden != "":
			if kind == html.EndTagToken && token.Data == hidden {
				hidden = ""
			}
		case kind == html.StartTagToken && slices.Contains([]string{"head", "style", "script"}, token.Data):
			hidden = token.Data
		case kind == html.TextToken:
			out.WriteString(token.Data + " ")
		}
	}
	// A preview text is followed by signs without width, which keep what comes after it out of the list.
	before, _, _ := strings.Cut(out.String(), "\u200c")
	return firstOf(before)
}

// firstOf returns the first characters of a text, in one line.
func firstOf(text string) string {
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) <= maxBeginning {
		return string(line)
	}
	return strings.TrimSpace(string(line[:maxBeginning])) + "…"
}
