package mail

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// maxBeginning is the maximum number of characters of an email's text that an inbox shows.
const maxBeginning = 160

// Beginning returns the text that an inbox shows next to the subject: the first text in the HTML, on one line. For a
// text-only email, page is empty.
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
	// Invisible characters follow the preview text, so that the inbox shows none of the text after it.
	before, _, _ := strings.Cut(out.String(), "\u200c")
	return firstOf(before)
}

// firstOf returns the first characters of text, on one line.
func firstOf(text string) string {
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) <= maxBeginning {
		return string(line)
	}
	return strings.TrimSpace(string(line[:maxBeginning])) + "…"
}
