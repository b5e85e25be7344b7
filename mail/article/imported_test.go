package article

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
)

// Links between posts lead to the issues that were imported, and to the old site otherwise. Images get the address of
// the site. If it is unknown, the words of links are left.
func TestPostsOfOldSites(t *testing.T) {
	const page = `<p><a href="/may/">May</a> <a href="https://www.blog.example/p/June?x#y">June</a> ` +
		`<a href="https://blog.example/p/gone">Gone</a> <a href="https://other.example/p/june">Other</a>` +
		`<a href="/tag/a/">Tag</a><a href="/may">Again</a></p><figure><img src="/a.png"></figure>` +
		`<img src="https://blog.example/b.png">`
	var asked []string
	issues := func(paths []string) (map[string]string, error) {
		asked = paths
		return map[string]string{"/may": "https://here.example/a/may", "/p/june": "https://here.example/a/june"}, nil
	}
	for site, want := range map[string]string{
		"https://blog.example": `<p><a href="https://here.example/a/may">May</a> ` +
			`<a href="https://here.example/a/june#text-y">June</a> <a href="https://blog.example/p/gone">Gone</a> ` +
			`<a href="https://other.example/p/june">Other</a><a href="https://blog.example/tag/a/">Tag</a>` +
			`<a href="https://here.example/a/may">Again</a></p>` +
			`<figure><img src="https://blog.example/a.png"/></figure>` +
			`<img src="https://blog.example/b.png" loading="lazy"/>`,
		"": `<p><a href="https://here.example/a/may">May</a> <a href="https://www.blog.example/p/June?x#y">June</a> ` +
			`<a href="https://blog.example/p/gone">Gone</a> <a href="https://other.example/p/june">Other</a>` +
			`<a>Tag</a><a href="https://here.example/a/may">Again</a></p><img src="https://blog.example/b.png"/>`,
	} {
		a, err := Imported("T", page, &Old{Site: core.OldSite(site), Issues: issues, Picture: unsized})
		if err != nil || a.HTML != want {
			t.Errorf("%q: %v\n%s\n%s", site, err, a.HTML, want)
		}
		if site != "" && !slices.Equal(asked, []string{"/may", "/p/june", "/p/gone"}) {
			t.Error(asked)
		}
	}
	fault := errors.New("storage")
	_, err := Imported("T", page, &Old{Issues: func([]string) (map[string]string, error) { return nil, fault }})
	if !errors.Is(err, fault) {
		t.Error(err)
	}
	for body, want := range map[string]bool{
		`<a href="/x">X</a>`: true, `<img src="x.png">`: true, `<img src="packed.png">`: false,
		`<a href="#x">X</a>`: false, `<a href="https://a.example">X</a>`: false,
		strings.Repeat("<div>", 600) + `<a href="/x">X</a>`: false,
	} {
		if got := HasRelative(body, func(image string) bool { return image == "packed.png" }); got != want {
			t.Errorf("%.50s: %t", body, got)
		}
	}
}

// The headings of a post start below the title and skip no level.
func TestHeadingsOfPosts(t *testing.T) {
	for levels, want := range map[string]string{
		"111": "222", "135": "234", "13": "23", "314": "223", "1356261": "2345342", "123456": "234566", "4": "2",
		"2431": "2332", "": "",
	} {
		page := ""
		for _, l := range levels {
			page += "<h" + string(l) + ">A</h" + string(l) + ">"
		}
		a, err := Imported("T", page+"<p>B</p>", &Old{Picture: unsized})
		got := ""
		for _, part := range strings.Split(a.HTML, "<h")[1:] {
			got += part[:1]
		}
		if err != nil || got != want {
			t.Errorf("%s becomes %s, not %s, %v", levels, got, want, err)
		}
	}
}
