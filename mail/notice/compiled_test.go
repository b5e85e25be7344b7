package notice

import (
	"fmt"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/mail/internal/words"
)

// TestCompiledEqualsTemplates checks that a compiled notice has the same bytes as the output of the templates, for any
// address and wording.
func TestCompiledEqualsTemplates(t *testing.T) {
	own := []core.MailText{
		{},
		{Subject: "{{email}}: {{list.name}}", Text: "To {{email}}\n\n{{email}} <b>&\n{{valid}}"},
		{Subject: "Größe " + standInTo[:10], Text: standInURL[:20] + " {{email}}\n\n " + "\n\n{{email}}"},
	}
	brands := []Brand{{}, {
		Name: `A <b> & "c" 'd' + {{email}}`, Color: "#abc", LogoURL: "https://x.example/a b?c=d&e='f'",
		PostalAddress: "1 <Lane>\nTown",
	}}
	tos := []string{
		"anna@reader.example", "a+b@c.example", "o'neill@reader.example", "a&b@c.example", "x=y@c.example", "A`b@c.example",
		"{{email}}@c.example", "%41@c.example", "!#$*^|~a@c.example",
	}
	urls := []string{
		"https://news.example/confirm?token=abc-_123", "http://127.0.0.1:8080/verify?email=a%40b.example&token=x",
		"https://news.example/undo?token=a+b&c=~d",
		"", "javascript:alert(1)", "https://news.example/a b\"<c>'", "//x.example/", "HTTPS://x.example/y",
	}
	compiled := 0
	for n := range words.Of("en").Notices {
		for _, lang := range []string{"", "en", "de"} {
			for i, o := range own {
				for _, b := range brands {
					for _, to := range tos {
						for _, url := range urls {
							d := Data{
								To: to, List: "L & <i> {{email}}", URL: url, Valid: time.Hour,
								Brand: b, Language: lang, Own: o,
							}
							if d.fills() {
								compiled++
							}
							subject, text, html, err := Kind(n).Render(d)
							if err != nil {
								t.Fatal(err)
							}
							subject2, text2, html2, err := Kind(n).execute(d)
							if err != nil || subject != subject2 || text != text2 || html != html2 {
								t.Fatalf("%s %s own %d to %s, link %s: %v\n%s\n%s\n%s\nwant\n%s\n%s\n%s",
									n, lang, i, to, url, err, subject, text, html, subject2, text2, html2)
							}
						}
					}
				}
			}
		}
	}
	if compiled == 0 {
		t.Error("none was compiled")
	}
}

func TestCacheIsBounded(t *testing.T) {
	for i := range 2*maxCompiled + 1 {
		if _, _, _, err := Confirm.Render(Data{
			To: "a@b.example", List: fmt.Sprint(i),
			URL: "https://x.example/y",
		}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(*cache.Load()); n > maxCompiled {
		t.Errorf("%d are held", n)
	}
}

func BenchmarkRender(b *testing.B) {
	d := Data{
		To: "anna@reader.example", List: "Garden", URL: "https://news.example/confirm?token=abcdefghijklmnopqrstuvwxyz",
		Valid: time.Hour, Brand: Brand{Name: "Garden"},
	}
	b.Run("filled", func(b *testing.B) {
		for b.Loop() {
			_, _, _, _ = Confirm.Render(d)
		}
	})
	b.Run("executed", func(b *testing.B) {
		for b.Loop() {
			_, _, _, _ = Confirm.execute(d)
		}
	})
}
