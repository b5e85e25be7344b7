package article

import (
	"slices"
	"strings"
	"testing"

	"newsletterd/mail/htmlclean"
)

// Copies take the place of pictures, and of links to them.
func TestCopies(t *testing.T) {
	const at = "https://a.example/"
	copies := map[string]Copy{at + "1.png": {"/m/1.png", "/m/1-full.png"}}
	for page, want := range map[string]string{
		`<img src="` + at + `1.png" alt="A">`:                                `<img src="/m/1.png" alt="A"/>`,
		`<img src="` + at + `2.png">`:                                        `<img src="` + at + `2.png"/>`,
		`<a href="` + at + `1.png">A</a>`:                                    `<a href="/m/1-full.png">A</a>`,
		`<a href="` + at + `2.png"><img src="` + at + `1.png"></a>`:          `<a href="/m/1-full.png"><img src="/m/1.png"/></a>`,
		`<a href="` + at + `page"><img src="` + at + `1.png"></a>`:           `<a href="` + at + `page"><img src="/m/1.png"/></a>`,
		`<a href="` + at + `2.png"><img src="` + at + `3.png"></a>`:          `<a href="` + at + `2.png"><img src="` + at + `3.png"/></a>`,
		`<a href="` + at + `x/1%2FB.JPEG?a"><img src="` + at + `1.png"></a>`: `<a href="/m/1-full.png"><img src="/m/1.png"/></a>`,
	} {
		if got, err := ShowCopies(page, copies); err != nil || got != want {
			t.Errorf("%s becomes %s, %v", page, got, err)
		}
	}
	if got := PostPictures(`<p><img src="a"><img src=""><img><b><img src="b"><img src="a"></b>`); !slices.Equal(got,
		[]string{"a", "b"}) {
		t.Error(got)
	}
	if deep := PostPictures(strings.Repeat("<div>", 600) + `<img src="a">`); deep != nil {
		t.Error(deep)
	}
}

// Showing copies keeps a post clean, and shows each picture from its copy.
func FuzzShowCopies(f *testing.F) {
	f.Add(`<p>A<img src="https://a.example/1.png"><a href="b.png"><img src="b.png"></a>`)
	f.Add(`<table><a href=x.png><td><img src=data:image/png;base64,AAAA>`)
	f.Add(`<p><a href="1.png"><p><a href="2.png"><img src="2.png">`)
	f.Fuzz(func(t *testing.T, text string) {
		page := htmlclean.Body(text)
		all := PostPictures(page)
		copies := map[string]Copy{}
		for _, a := range all {
			copies[a] = Copy{"https://here.example/m/1.png", "https://here.example/m/2.png"}
		}
		got, err := ShowCopies(page, copies)
		if err != nil {
			return
		}
		left := PostPictures(got)
		if len(all) > 0 && (len(left) != 1 || left[0] != "https://here.example/m/1.png") {
			t.Errorf("%q shows %q", page, left)
		}
		if again := htmlclean.Body(got); again != htmlclean.Body(again) || len(PostPictures(again)) != len(left) {
			t.Errorf("%q is cleaned to %q", got, again)
		}
	})
}
