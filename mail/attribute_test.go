package mail

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// hrefs lists URLs as authors write them in an attribute, with the URL that a browser opens (empty: the same).
var hrefs = []struct{ written, meant string }{
	{"https://shop.example/?id=1&region=eu&currency=EUR", ""},
	{"https://shop.example/?a=1&section=2&timestamp=3&notify=1", ""},
	{"https://shop.example/?a=1&para=2&order=3&sect=4&times=5", ""},
	{"https://shop.example/?a=1&lang=de&gtm_id=5&ltv=9", ""},
	{"https://shop.example/?a=1&copy=1&micro=2&deg=3&lt=4&gt=5&amp=6&quot=7", ""},
	{"https://shop.example/?a=1&copyright&degree1&notanumber;&parameter", ""},
	{"https://shop.example/?a=1&amp;copy=1&amp;region=eu", "https://shop.example/?a=1&copy=1&region=eu"},
	{"https://shop.example/?a=1&copy;=1&reg;ion=eu", "https://shop.example/?a=1©=1®ion=eu"},
	{"https://shop.example/?a=1&copy", "https://shop.example/?a=1©"},
	{"https://shop.example/?a=1&copy&b=2", "https://shop.example/?a=1©&b=2"},
	{"https://shop.example/?a=1&para-x&sect/y", "https://shop.example/?a=1¶-x§/y"},
	{"https://shop.example/?a=1&#38;b=2&#x26;c=3", "https://shop.example/?a=1&b=2&c=3"},
	{"https://shop.example/?a=1&#38b=2&#x26;#", "https://shop.example/?a=1&b=2&#"},
	{"https://shop.example/?a=&notit;&notin;", "https://shop.example/?a=&notit;∉"},
	{"https://shop.example/?a=&#150;&#4294967361;", "https://shop.example/?a=\u2013\ufffd"},
	{"https://shop.example/?a=1&&b=2&", ""},
}

// TestHrefsKeepTheirMeaning checks that tracking, the checks and the text part keep the URL that a browser would open.
func TestHrefsKeepTheirMeaning(t *testing.T) {
	for _, h := range hrefs {
		want := h.meant
		if want == "" {
			want = h.written
		}
		if got := AttributeText(h.written); got != want {
			t.Errorf("%s means %s, want %s", h.written, got, want)
		}
		for _, page := range []string{`<a href="@">x</a>`, `<a href='@'>x</a>`, `<a href=@ >x</a>`} {
			page = strings.Replace(page, "@", h.written, 1)
			tokens := []token{{kind: tokenText, body: page, src: &source{"body_html", page}}}
			if _, links := trackLinks(tokens, "https://news.test"); !slices.Equal(links, []string{want}) {
				t.Errorf("%s: followed to %q, want %s", page, links, want)
			}
			if mended := mendLinks(tokens, map[string]string{want: "https://b.example/?c=1&copy=2"}); len(mended) != 2 ||
				!strings.Contains(mended[0].body, "https://b.example/?c=1&amp;copy=2") {
				t.Errorf("%s: mended to %+v", page, mended)
			}
			i := &inspector{in: &Inspection{}, seen: map[string]bool{}}
			if i.links(tokens); !slices.Equal(i.addresses, []string{want}) {
				t.Errorf("%s: the checks see %q, want %s", page, i.addresses, want)
			}
			if text := HTMLToText(page); text != "x ("+want+")\n" {
				t.Errorf("%s: text %q", page, text)
			}
		}
	}
}

// FuzzAttributeText compares AttributeText with an HTML tokenizer, and the links with those that the tokenizer finds in
// the whole page.
func FuzzAttributeText(f *testing.F) {
	for _, h := range hrefs {
		f.Add(h.written)
	}
	f.Add(`"&quot&quot;"='&#39`)
	f.Fuzz(func(t *testing.T, value string) {
		got := AttributeText(value)
		if !strings.Contains(value, "&") && got != value {
			t.Errorf("%q means %q", value, got)
		}
		value = strings.NewReplacer("\r", "", "\x00", "").Replace(value)
		got = AttributeText(value)
		for _, quote := range []string{`"`, `'`} {
			if strings.Contains(value, quote) {
				continue
			}
			z := html.NewTokenizer(strings.NewReader("<a href=" + quote + value + quote + ">"))
			z.Next()
			if want := attributeOf(z.Token(), "href"); got != want {
				t.Errorf("%q means %q, want %q", value, got, want)
			}
		}
		if again := AttributeText(html.EscapeString(got)); again != got {
			t.Errorf("%q, escaped and read again: %q", got, again)
		}
	})
}

func attributeOf(t html.Token, name string) string { return attribute(&t, name) }
