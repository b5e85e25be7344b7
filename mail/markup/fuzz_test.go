package markup

import (
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/mail"
)

// FuzzCompile checks that any source results either in an Invalid error, or in HTML that follows the rules, is the same
// when compiled again, and compiles as an email.
func FuzzCompile(f *testing.F) {
	for name, source := range samples(f) {
		f.Add(source, kindOf(name) == KindBlocks, false)
	}
	for _, s := range []string{
		"[a](javascript:x) ![b](data:x) <c@d.e> <http://x>", "{% raw %}<script>{% endraw %}",
		"a\n: b\n\n[^1]\n\n[^1]: c",
		"::: columns\n::: column\na\n::: column\nb\n:::\n:::\n:::", "[a]: https://x.example/{{ email }}\n[a]{.button}",
		"| a |\n|-|\n| {{ b | default: \"|\" }} |", "\uFDE0\uFDE2\uFDE1", "&#xFDE0;&#xFDE1;",
		"<a href=\"{{ email }}\">", "1) a\n   2) b",
	} {
		f.Add(s, false, true)
	}
	f.Add("{\a{0", false, false) // the mailer removes the character between the braces
	f.Fuzz(func(t *testing.T, source string, blocks, allowHTML bool) {
		kind := KindMarkdown
		if blocks {
			kind = KindBlocks
		}
		r, err := Compile(kind, source, Options{AllowHTML: allowHTML, Title: "Title"})
		if err != nil {
			if core.KindOf(err) != core.Invalid {
				t.Fatal(err)
			}
			return
		}
		if r.HTML != dropMarks(r.HTML) || r.Text != dropMarks(r.Text) {
			t.Fatalf("marks are left of %q", source)
		}
		again, err := Compile(kind, source, Options{AllowHTML: allowHTML, Title: "Title"})
		if err != nil || again.HTML != r.HTML {
			t.Fatalf("%q becomes two things", source)
		}
		if allowHTML || strings.Contains(source, "{%") || strings.Contains(source, "{{") {
			return // the author's own HTML and tags are not tested here
		}
		for _, found := range faults(r.HTML) {
			if !strings.HasPrefix(found, "14:") {
				t.Fatalf("%q: rule %s", source, found)
			}
		}
		_, err = mail.CompileBulk(&mail.BulkSpec{
			From: mail.Address{Email: "letter@example.org"}, ListID: "l", JobID: "j", TenantID: "t", Subject: "Subject",
			HTML: r.HTML, Text: r.Text, Language: "en",
		})
		if err != nil {
			t.Fatalf("%q: %v", source, err)
		}
	})
}

// FuzzPage checks that Markdown of another tool results either in an Invalid error or in HTML without our marks.
func FuzzPage(f *testing.F) {
	for name, source := range samples(f) {
		if kindOf(name) == KindMarkdown {
			f.Add(source)
		}
	}
	for _, s := range []string{"<b>{\a{ x }}</b>", "{{ a", "{% if %}<p>", "\ue000\ue000", "<div>\n{\a{ email }}\n</div>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		page, err := Page(source)
		switch {
		case err != nil && core.KindOf(err) != core.Invalid:
			t.Fatal(err)
		case page != dropMarks(page) || strings.Contains(page, braces):
			t.Fatalf("marks are left of %q: %q", source, page)
		}
	})
}

// BenchmarkMarkdown compiles an issue of 10 KB.
func BenchmarkMarkdown(b *testing.B) {
	benchmark(b, KindMarkdown, repeated(samples(b)["garden.md"], 10<<10))
}

func BenchmarkBlocks(b *testing.B) {
	source := samples(b)["shop.json"]
	one := source[strings.Index(source, "[")+1 : strings.LastIndex(source, "]")]
	benchmark(b, KindBlocks, `{"version":1,"blocks":[`+strings.TrimSuffix(repeated(one+",", 10<<10), ",")+"]}")
}

func repeated(s string, octets int) string { return strings.Repeat(s, 1+octets/len(s)) }

func benchmark(b *testing.B, kind, source string) {
	b.SetBytes(int64(len(source)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(kind, source, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
