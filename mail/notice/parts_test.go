package notice

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/internal/words"
	"newsletterd/mail/mailtest"
)

// TestNoticePartsSayTheSame checks that at least 85% of the words in each part of a notice are also in the other part.
func TestNoticePartsSayTheSame(t *testing.T) {
	t.Parallel()
	for _, lang := range core.Languages {
		for n := range words.Of(lang).Notices {
			_, text, page, err := Kind(n).Render(noticeWithLogo(lang))
			if err != nil {
				t.Fatal(err)
			}
			plain := wordOf.FindAllString(strings.ToLower(text), -1)
			shown := wordOf.FindAllString(strings.ToLower(mail.HTMLToText(page)), -1)
			if a, b := mailtest.Likeness(plain, shown), mailtest.Likeness(shown, plain); a < 0.85 || b < 0.85 {
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

// TestDefaultWordingIsTheBuiltInOne checks that the default wording offered to a tenant is the same as the built-in
// one.
func TestDefaultWordingIsTheBuiltInOne(t *testing.T) {
	t.Parallel()
	for _, lang := range core.Languages {
		for _, k := range []Kind{Confirm, Subscribed, Unsubscribed, Preferences} {
			d := noticeWithLogo(lang)
			subject, text, page, err := k.Render(d)
			if err != nil {
				t.Fatal(err)
			}
			d.Own = k.Default(lang)
			s, x, p, err := k.Render(d)
			if err != nil || s != subject || x != text || mail.HTMLToText(p) != mail.HTMLToText(page) {
				t.Errorf("%s %s: %v\n%s\n%s", lang, k, err, x, text)
			}
		}
	}
	if d := Kind("none").Default("en"); d != (core.MailText{}) {
		t.Error(d)
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

// TestURLBelowButton checks that the URL below a button isn't introduced as the first way to act, and that the text
// part without a button keeps its introduction.
func TestURLBelowButton(t *testing.T) {
	t.Parallel()
	for _, lang := range core.Languages {
		w := words.Of(lang)
		for n, l := range w.Notices {
			_, text, page, err := Kind(n).Render(noticeWithLogo(lang))
			want := w.OrOpen
			if l.OpenSaysMore {
				want = l.Open
			}
			if err != nil || !strings.Contains(text, l.Open) || !strings.Contains(page, want+"<br>") {
				t.Errorf("%s %s: %s\n%s, %v", lang, n, text, page, err)
			}
		}
	}
}

// TestFixedPartsInGerman checks that in German the parts of emails to subscribers that a tenant can't change don't
// address the reader. They fit any wording, formal or not.
func TestFixedPartsInGerman(t *testing.T) {
	t.Parallel()
	w := words.Of("de")
	formal := regexp.MustCompile(`\b(Sie|Ihnen|Ihre?[mnrs]?)\b`)
	for _, k := range []Kind{Confirm, AskAgain, Subscribed, Unsubscribed, Preferences} {
		l := w.Notices[string(k)]
		if fixed := l.Open + l.Button + l.After + w.OrOpen + w.Footer; formal.MatchString(fixed) {
			t.Errorf("%s: %s", k, fixed)
		}
	}
}
