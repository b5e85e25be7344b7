package core

import "testing"

func TestOldSites(t *testing.T) {
	for in, want := range map[string]OldSite{
		"": "", " blog.example.org/ ": "https://blog.example.org",
		"http://example.org/blog//": "http://example.org/blog",
		"https://localhost:2368":    "https://localhost:2368", "https://example.org/?a": "-",
		"https://example.org/#a": "-",
		"ftp://example.org":      "-", "https://user@example.org": "-", "blog": "-", "a b.example": "-",
		"https://":                "-",
		"https://example.org/%zz": "-",
	} {
		got, err := ParseOldSite(in)
		if err != nil && got == "" {
			got = "-"
		}
		if got != want {
			t.Errorf("%q is %q, not %q: %v", in, got, want, err)
		}
	}
}

func TestAddressesOfOldSites(t *testing.T) {
	const site = OldSite("https://example.org/blog")
	for address, want := range map[string]struct{ at, path string }{
		"/may/?ref=x#y":                      {"https://example.org/blog/may/?ref=x#y", "/may/"},
		"/content/a%20b.png":                 {"https://example.org/blog/content/a%20b.png", "/content/a b.png"},
		"images/../a.png":                    {"https://example.org/blog/a.png", "/images/../a.png"},
		"/50%25.png?a=%25":                   {"https://example.org/blog/50%25.png?a=%25", "/50%.png"},
		"#note":                              {"#note", ""},
		"":                                   {"", ""},
		"https://www.Example.org/blog/may":   {"https://www.Example.org/blog/may", "/may"},
		"http://example.org/blog/p/a?b":      {"http://example.org/blog/p/a?b", "/p/a"},
		"https://example.org/blogs/may":      {"https://example.org/blogs/may", ""},
		"https://other.example/blog/may":     {"https://other.example/blog/may", ""},
		"mailto:a@example.org":               {"mailto:a@example.org", ""},
		"//example.org/blog/may":             {"//example.org/blog/may", ""},
		"ftp://example.org/blog/may":         {"ftp://example.org/blog/may", ""},
		"data:image/png;base64,AAAA":         {"data:image/png;base64,AAAA", ""},
		"https://example.org/blog/%zz/a.png": {"https://example.org/blog/%zz/a.png", ""},
	} {
		if got := site.At(address); got != want.at {
			t.Errorf("%q is at %q, not %q", address, got, want.at)
		}
		if got := site.Path(address); got != want.path {
			t.Errorf("%q has the path %q, not %q", address, got, want.path)
		}
	}
	none := OldSite("")
	if none.At("/may") != "" || none.At("https://a.example/") == "" || none.Path("/may") != "/may" ||
		none.Path("https://a.example/may") != "" {
		t.Error("an unknown site")
	}
}
