package markup

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"newsletterd/core"
	"newsletterd/mail"
)

// samples returns the newsletters in testdata by file name.
func samples(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	out := map[string]string{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(f)] = string(b)
	}
	return out
}

func kindOf(name string) string {
	if strings.HasSuffix(name, ".json") {
		return KindBlocks
	}
	return KindMarkdown
}

// TestTheMailerReadsWhatComesOut checks that package mail compiles the output with the same placeholders, for all
// subscribers and for one.
func TestTheMailerReadsWhatComesOut(t *testing.T) {
	for name, source := range samples(t) {
		r, err := Compile(kindOf(name), source, Options{
			Language: "en", Title: "Title", Name: "Letter", Address: "Street 1\nTown",
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b, err := mail.CompileBulk(&mail.BulkSpec{
			From: mail.Address{Email: "letter@example.org"}, ListID: "l", JobID: "j", TenantID: "t",
			Subject: "Subject", HTML: r.HTML, Text: r.Text, Language: "en",
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if w := b.Warnings(); len(w) > 0 {
			t.Errorf("%s: %q", name, w)
		}
		_, text, html, err := b.Parts(&mail.Recipient{Email: "a@example.org"})
		if err != nil || strings.Contains(html+text, "{{") || strings.Count(text, "Unsubscribe") != 1 {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// TestPlaceholdersSurvive checks that placeholders stay unchanged, regardless of their position.
func TestPlaceholdersSurvive(t *testing.T) {
	pieces := []string{
		"a ", "*", "**", "_", "`", "[x](https://example.org/", ")", "[", "]", "(", "![", "\n", "\n\n", "# ", "> ", "- ",
		"1. ", "| a | b |\n|---|---|\n| ", " | ", "```\n", "    ", "<b>", "<!-- ", " -->", "~~", "::: note\n",
		"::: columns\n::: column\n", ":::\n", "\\", "&amp;", "{.button}", "{width=3}", "\"", "'",
		"https://example.org/", "<https://example.org/", ">", "\t", "=\n", "---\n",
	}
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		want := []string{"{{ unsubscribe_url }}", "{{list.name}}"} // of the footer
		for range rapid.IntRange(1, 12).Draw(t, "pieces") {
			b.WriteString(rapid.SampledFrom(pieces).Draw(t, "piece"))
			if rapid.Bool().Draw(t, "placeholder") {
				p := rapid.SampledFrom([]string{
					`{{ email }}`, `{{ preferences.name | default: "a | b > *c* }}" }}`, `{% if email %}`, `{{list.name}}`,
					`{{ preferences["a](b)"] }}`,
				}).Draw(t, "which")
				b.WriteString(p)
				want = append(want, p)
			}
		}
		r, err := Compile(KindMarkdown, b.String(), Options{AllowHTML: true})
		if err != nil {
			t.Fatal(err)
		}
		if out := r.HTML + r.Text; out != dropMarks(out) {
			t.Errorf("marks stand in what comes out of %q", b.String())
		}
		got, err := mail.Placeholders("html", r.HTML)
		if err != nil {
			t.Fatalf("%v: %q", err, b.String())
		}
		for _, p := range got {
			if !slices.Contains(want, p.Text) {
				t.Errorf("%q comes out of %q", p.Text, b.String())
			}
		}
	})
}

// TestPlaceholdersStandWhereTheyStood checks that a text with a placeholder in every possible position has all of them
// in both parts.
func TestPlaceholdersStandWhereTheyStood(t *testing.T) {
	source := "# {{ a1 }}\n\n*{{ a2 }}* **x{{ a3 }}** `{{ a4 }}` [{{ a5 }}]({{ a6 }}?x={{ a7 }} \"{{ t1 }}\")\n\n" +
		"![{{ a8 }}](https://example.org/{{ a9 | url_encode }}.png)\n\n- {{ b1 }}\n- x {{ b2 | default: \"| x |\" }}\n\n" +
		"| {{ b3 }} | b |\n|---|---|\n| {{ b4 | upcase }} | c |\n\n```\n{{ b5 }}\n```\n\n    {{ b6 }}\n\n> {{ b7 }}\n\n" +
		"[{{ b8 }}]({{ b9 }}){.button}\n\n::: tip\n{{ c1 }}\n:::\n\nhttps://example.org/{{ c2 }}\n\n" +
		"{% if x %}\n\n{{ c3 }}\n\n{% endif %}\n"
	all, err := mail.Placeholders("", source)
	if err != nil || len(all) != 24 {
		t.Fatal(len(all), err)
	}
	r, err := Compile(KindMarkdown, source, Options{})
	if err != nil || len(r.Warnings) > 0 {
		t.Fatal(err, r.Warnings)
	}
	for _, p := range all {
		if !strings.Contains(r.HTML, p.Text) {
			t.Errorf("the HTML lacks %s", p.Text)
		}
		if !strings.Contains(r.Text, p.Text) && !strings.Contains("{{ t1 }} {{ a9 | url_encode }}", p.Text) {
			t.Errorf("the text lacks %s", p.Text)
		}
	}
	if !strings.Contains(r.HTML, `href="{{ a6 }}?x={{ a7 }}" title="{{ t1 }}"`) {
		t.Error(r.HTML)
	}
	if strings.Contains(r.HTML, "<p style=\"margin:0\">{% if") {
		t.Error("a tag alone is a paragraph")
	}
}

// TestWorkIsBounded checks that a source is refused if parsing it would take too long. The parser's time grows
// quadratically with some characters.
func TestWorkIsBounded(t *testing.T) {
	for _, sign := range []string{"*a_", "*a~~_", "[a](", "[a](<", "[a]: b\n", "a@a.b ", "* _ "} {
		for _, text := range []string{strings.Repeat(sign, 5000), strings.Repeat(sign+"\n\n", 25_000)} {
			sources := map[string]string{KindMarkdown: text}
			b, err := json.Marshal(map[string]any{
				"version": 1, "blocks": []any{map[string]any{"type": "text", "text": text}},
			})
			if err != nil {
				t.Fatal(err)
			}
			sources[KindBlocks] = string(b)
			for kind, source := range sources {
				_, err := Compile(kind, source, Options{})
				if core.KindOf(err) != core.Invalid || !strings.Contains(err.Error(), "emphasis marks and links") {
					t.Errorf("%s of %q: %v", kind, sign, err)
				}
			}
		}
	}
	long := strings.Repeat("- **Boots** of [Acme](https://acme.example/a_b_c), *new*\n", 180)
	if _, err := Compile(KindMarkdown, long, Options{}); err != nil {
		t.Error(err)
	}
}

// TestErrorsSayWhere checks that errors name their position.
func TestErrorsSayWhere(t *testing.T) {
	for source, want := range map[string]string{
		"a\n\nb {{ x":                "line 3, column 3",
		strings.Repeat("> ", 200):    "levels of nesting",
		strings.Repeat("x", 1<<19+1): "must have at most 524288 bytes",
		"{% raw %} x":                "endraw",
		strings.Repeat("a\n\n", 1e4): "renders to more than",
	} {
		_, err := Compile(KindMarkdown, source, Options{})
		if core.KindOf(err) != core.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", source, err)
		}
	}
	for source, want := range map[string]string{
		`[]`: "content.source can't be a JSON array.", `"x"`: "content.source can't be a JSON string.",
		`{"version": 1, "blocks": {}}`: "blocks can't be a JSON object.",
	} {
		_, err := Compile(KindBlocks, source, Options{})
		if fault, ok := errors.AsType[*core.Error](err); !ok || fault.Message != want {
			t.Errorf("%s: %v", source, err)
		}
	}
	inColumns := func(block string) string {
		return `[{"type": "columns", "columns": [[{"type": "divider"}], [` + block + `]]}]`
	}
	for blocks, want := range map[string]string{
		`[{"type": "x"}]`:                   `blocks[0]: unknown block type "x".`,
		`[{"type": "text", "level": 1}]`:    "blocks[0]: blocks of type text have no key level. Remove it.",
		`[{"type": "text", "colour": 1}]`:   `Unknown key "colour"`,
		`[{"type": "text", "text": "{{"}]`:  "blocks[0]: line 1, column 1",
		`[{"type": "button", "text": "x"}]`: "blocks[0]: a button needs text and href.",
		inColumns(`{"type": "image"}`):      "blocks[0].columns[1][0]: src is missing.",
		inColumns(`{"type": "columns"}`):    "set two or three columns",
		`[]} {}`:                            "exactly one",
		`[], "version": 2`:                  "version must be 1",
		`[`:                                 "line 1: this is not valid JSON",
	} {
		source := `{"version": 1, "blocks": ` + blocks + `}`
		_, err := Compile(KindBlocks, source, Options{})
		if core.KindOf(err) != core.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", source, err)
		}
	}
}

// TestWarningsSayWhere checks that warnings about probable mistakes name their line.
func TestWarningsSayWhere(t *testing.T) {
	for source, want := range map[string]Warning{
		"a\n\n[x](javascript:alert(1))": {
			Line: 3, Code: badLink, Text: "Email programs don't open URLs that start with javascript:",
		},
		"a\n\n[x](/x)": {Line: 3, Code: badLink, Text: "A link needs a full URL, starting with https://."},
		"![](https://example.org/x.png)": {
			Line: 1, Code: withoutAlt, Text: "An image has no alt text. Add it: ![What it shows](…).",
		},
		"a\n\n::: wrong\nb\n:::": {
			Line: 3, Code: doubtful, Text: "::: wrong is unknown. Use note, tip, warning or columns.",
		},
		"x [b](https://example.org){.button}": {
			Line: 1, Code: doubtful, Text: "A button must be alone in its paragraph. This one becomes a link.",
		},
		"a\n\n<b>x</b>": {Line: 3, Code: htmlAsText, Text: "HTML is shown as text here."},
		"::: columns\n::: column\na\n:::\n:::": {
			Line: 1, Code: doubtful, Text: "Use two or three columns side by side. These are placed below each other.",
		},
	} {
		r, err := Compile(KindMarkdown, source, Options{})
		if err != nil || len(r.Warnings) != 1 || r.Warnings[0] != want {
			t.Errorf("%q: %v %+v", source, err, r)
		}
		if err == nil && (strings.Contains(r.HTML, "<b>") || strings.Contains(r.HTML, "javascript:")) {
			t.Error(r.HTML)
		}
	}
}

// TestTitlesKeepTheirPlaceholders checks that the document's title is the subject, with any quotes in its placeholders
// unchanged.
func TestTitlesKeepTheirPlaceholders(t *testing.T) {
	const title = `Boots & {{ a | default: "you" }} <{{ b | default: 'friend' }}>`
	r, err := Compile(KindMarkdown, "Hello", Options{Title: title})
	want := `<title>Boots &amp; {{ a | default: "you" }} &lt;{{ b | default: 'friend' }}&gt;</title>`
	if err != nil || !strings.Contains(r.HTML, want) {
		t.Errorf("%v %s", err, r.HTML[:400])
	}
}

// TestLocalPictures checks that local images are listed once each by their paths, and that PlacePictures replaces those
// paths by URLs.
func TestLocalPictures(t *testing.T) {
	const source = "# A\n\n![One](a.png) ![One again](a.png)\n\n![Far](https://acme.example/a.png) ![Root](/a.png)\n" +
		"![By name][two] ![Whose](pic-{{ email }}.png) `![code](c.png)`\n\n[two]: img/b%20c.jpg \"Title\"\n\n[a.png](a.png)\n"
	found, err := LocalPictures(source)
	want := []Picture{{"a.png", "One", 3}, {"img/b%20c.jpg", "By name", 5}}
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("%+v %v", found, err)
	}
	got := PlacePictures(source, map[string]string{"a.png": "https://x.example/m/$1/a.png", "img/b%20c.jpg": "https://x.example/b"})
	for _, part := range []string{
		"![One](https://x.example/m/$1/a.png) ![One again](https://x.example/m/$1/a.png)", "(https://acme.example/a.png)",
		"[two]: https://x.example/b \"Title\"", "`![code](c.png)`", "pic-{{ email }}.png",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing in %s", part, got)
		}
	}
}

// TestButtonsWithoutURLsLookLikeButtons compares the button of a draft that has no URL yet with one that has.
func TestButtonsWithoutURLsLookLikeButtons(t *testing.T) {
	with, err := Compile(KindMarkdown, "[Read on](https://a.example){.button}", Options{})
	if err != nil {
		t.Fatal(err)
	}
	without, err := Compile(KindMarkdown, "[Read on](){.button}", Options{})
	if err != nil {
		t.Fatal(err)
	}
	as := strings.NewReplacer(`<a class="b-acc c-on" href="https://a.example"`, `<span class="b-acc c-on"`,
		"Read on</a>", "Read on</span>")
	if want := as.Replace(with.HTML); without.HTML != want {
		t.Errorf("without a URL:\n%s\nwant\n%s", without.HTML, want)
	}
}
