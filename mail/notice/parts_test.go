package notice

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/internal/words"
)

// Both parts of every notice say the same: at least 85 % of the words of each are in the other.
func TestNoticePartsSayTheSame(t *testing.T) {
	t.Parallel()
	for _, lang := range core.Languages {
		for n := range words.Of(lang).Notices {
			_, text, page, err := Kind(n).Render(noticeWithLogo(lang))
			if err != nil {
				t.Fatal(err)
			}
			plain := wordsIn(text)
			shown := wordsIn(mail.HTMLToText(page))
			if a, b := likeness(plain, shown), likeness(shown, plain); a < 0.85 || b < 0.85 {
				t.Errorf("%s %s: %.2f of the text is in the HTML, %.2f of the HTML in the text\n%s\n%s",
					lang, n, a, b, text, mail.HTMLToText(page))
			}
			for _, want := range []string{"reader@example.net", "Street 1", "Town", "Demo"} {
				if !slices.Contains(plain, strings.ToLower(want)) && !strings.Contains(text, want) {
					t.Errorf("%s %s: the text part lacks %q", lang, n, want)
				}
			}
		}
	}
}

func noticeWithLogo(lang string) Data {
	return Data{
		To: "reader@example.net", List: "Demo Weekly", URL: "https://news.example.org/confirm?token=abc",
		Valid: 48 * time.Hour, Language: lang,
		Brand: Brand{
			Name: "Demo", Color: "#a74", LogoURL: "https://news.example.org/logo.png",
			PostalAddress: "Demo\r\nStreet 1\nTown",
		},
	}
}

var wordOf = regexp.MustCompile(`[\p{L}\p{N}@./:?=_-]*[\p{L}\p{N}]`)

func wordsIn(s string) []string { return wordOf.FindAllString(strings.ToLower(s), -1) }

// likeness returns the share of the words of a that b has too, each as often.
func likeness(a, b []string) float64 {
	left := map[string]int{}
	for _, w := range b {
		left[w]++
	}
	n := 0
	for _, w := range a {
		if left[w]--; left[w] >= 0 {
			n++
		}
	}
	return float64(n) / float64(len(a))
}

// The HTML of the notices keeps to what every mail program shows.
func TestNoticeHTMLOfEveryMailProgram(t *testing.T) {
	t.Parallel()
	color := regexp.MustCompile(`#[0-9a-fA-F]+\b`)
	for _, lang := range core.Languages {
		for n := range words.Of(lang).Notices {
			subject, _, page, err := Kind(n).Render(noticeWithLogo(lang))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{
				`<html lang="` + lang + `" dir="ltr"`, `<div lang="` + lang + `" dir="ltr">`,
				"<title>" + html.EscapeString(subject) + "</title>",
				`background="https://news.example.org/logo.png"`, "Street 1<br>Town",
			} {
				if !strings.Contains(page, want) {
					t.Errorf("%s %s: no %s", lang, n, want)
				}
			}
			for _, bad := range []string{"white-space", "rgb(", "rgba", "var(", "rem;", "url(", "display:flex", "float:"} {
				if strings.Contains(page, bad) {
					t.Errorf("%s %s has %s", lang, n, bad)
				}
			}
			lintMail(t, lang+" "+n, page)
			for _, c := range color.FindAllString(regexp.MustCompile(`&#[0-9]+;`).ReplaceAllString(page, ""), -1) {
				if len(c) != 7 || c == "#ffffff" || c == "#000000" {
					t.Errorf("%s %s has the color %s", lang, n, c)
				}
			}
		}
	}
}

// lintMail looks at the elements: only cells have padding, and every layout table is none to a screen reader.
func lintMail(t *testing.T, name, page string) {
	t.Helper()
	z := html.NewTokenizer(strings.NewReader(page))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		if kind != html.StartTagToken {
			continue
		}
		e := z.Token()
		style := strings.ReplaceAll(attribute(&e, "style"), "mso-padding-alt", "")
		switch {
		case e.DataAtom != atom.Td && strings.Contains(style, "padding"):
			t.Errorf("%s: padding on %s", name, e.Data)
		case e.DataAtom == atom.Table && attribute(&e, "role") != "presentation":
			t.Errorf("%s: a table without role", name)
		case e.DataAtom == atom.Img:
			t.Errorf("%s: an image that SpamAssassin counts", name)
		}
	}
}

// attribute returns the value of an attribute, empty if there is none.
func attribute(e *html.Token, name string) string {
	for _, a := range e.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
