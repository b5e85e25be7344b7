package markup

import (
	"encoding/json"
	"strings"
	"testing"
)

// compiled compiles a source that must cause no warnings.
func compiled(t *testing.T, kind, source string) *Result {
	t.Helper()
	r, err := Compile(kind, source, Options{})
	if err != nil || len(r.Warnings) > 0 {
		t.Fatalf("%q: %v %+v", source, err, r)
	}
	return r
}

// blockSource returns a source of one block.
func blockSource(t *testing.T, block map[string]any) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"version": 1, "blocks": []any{block}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestWhatIsWrittenComesOut checks that each source results in HTML and text that contain the given pieces, but not the
// excluded one.
func TestWhatIsWrittenComesOut(t *testing.T) {
	button := blockSource(t, map[string]any{
		"type": "button", "text": "**Buy** `x` https://shop.example/", "href": "https://shop.example/buy",
	})
	nbsp := blockSource(t, map[string]any{"type": "heading", "text": "  Sale:\n 20\u00a0%  off"})
	for _, c := range []struct{ name, kind, source, html, text, not string }{
		{
			"blanks within a placeholder of code", KindMarkdown,
			"```\na  {{ x | default: \"b  c\" }}  d\n\te{% raw %}  {{\n f{% endraw %}\n```\n",
			`a &nbsp;{{ x | default: "b  c" }} &nbsp;d<br>&nbsp;&nbsp; &nbsp;e{% raw %} &nbsp;{{<br>&nbsp;f{% endraw %}`,
			`a  {{ x | default: "b  c" }}  d`, `"b &nbsp;c"`,
		},
		{
			"a bare address with placeholders", KindMarkdown,
			"See https://x.example/{{ a }}/b?c={{ email }}&d=1#{{ e }}.",
			`<a class="c-link" href="https://x.example/{{ a }}/b?c={{ email }}&amp;d=1#{{ e }}"`,
			"See https://x.example/{{ a }}/b?c={{ email }}&d=1#{{ e }}.", `</a>{{`,
		},
		{
			"a bare address that begins with www", KindMarkdown, "www.x.example/?a={{ email }}&b=1",
			`href="http://www.x.example/?a={{ email }}&amp;b=1"`, "www.x.example/?a={{ email }}&b=1", `</a>{{`,
		},
		{
			"a bare address before a tag", KindMarkdown, "https://x.example/a{% if b %} c{% endif %}",
			`>https://x.example/a</a>{% if b %} c{% endif %}`,
			"https://x.example/a{% if b %} c{% endif %}", `a{% if b %}"`,
		},
		{
			"a bare address with letters that are not ASCII", KindMarkdown,
			"Unter »(https://de.x.example/Käse_(Höhle))« steht",
			`href="https://de.x.example/K%C3%A4se_(H%C3%B6hle)"`,
			"Unter »(https://de.x.example/K%C3%A4se_(H%C3%B6hle))« steht",
			"%C2%AB",
		},
		{
			"code in a button", KindMarkdown, "[Run `make` now](https://x.example){.button}",
			`Run <code style="font-family:`, "Run make now (https://x.example)", `class="b-tint"`,
		},
		{
			"a button's label is Markdown", KindBlocks, button,
			"<strong>Buy</strong> <code style=",
			"*Buy* x https://shop.example/ (https://shop.example/buy)", "<a class=\"c-link\"",
		},
		{"blanks that hold", KindBlocks, nbsp, "Sale: 20\u00a0% off</h1>", "Sale: 20\u00a0% off\n=====", ""},
		{
			"empty lines of code in a tight list", KindMarkdown,
			"- a\n  ```\n  b\n\n\n  c\n  ```\n- d\n", "b<br><br><br>c",
			"- a\n      b\n\n\n      c\n- d\n", "",
		},
		{
			"the width behind a picture's link", KindMarkdown,
			"[![a](https://x.example/a.png)](https://x.example/){width=123}",
			` width="123"`, "[a]\nhttps://x.example/", "{width",
		},
		{
			"the width behind a picture's link in a line", KindMarkdown,
			"x [![a](https://x.example/a.png)](https://x.example/){width=123}", ` width="123"`, "[a]", "{width",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compiled(t, c.kind, c.source)
			body := r.HTML[strings.Index(r.HTML, "<body"):]
			if !strings.Contains(body, c.html) {
				t.Errorf("the HTML lacks %q:\n%s", c.html, body)
			}
			if !strings.Contains(r.Text, c.text) {
				t.Errorf("the text lacks %q:\n%s", c.text, r.Text)
			}
			if c.not != "" && strings.Contains(body, c.not) {
				t.Errorf("the HTML has %q:\n%s", c.not, body)
			}
		})
	}
}

// TestTablesFitTelephones checks that a table that is too wide for a phone breaks its long words. Each cell then names
// its column, for screens that show each row as a paragraph. Numbers are never broken, and a table that fits stays
// unchanged.
func TestTablesFitTelephones(t *testing.T) {
	const (
		small = "| A | B |\n|---|--:|\n| Boots | 12.50 |\n"
		long  = "| Goods | Price |\n|---|--:|\n| Speditionskaufmannsgehilfinnenlehrgang | 12.50 |\n"
		data  = "| Goods | Price |\n|---|--:|\n| Boots | {{ preferences.price }} |\n"
	)
	many := "| Goods |" + strings.Repeat(" Price |", 6) + "\n|---|" + strings.Repeat("--:|", 6) + "\n| Boots |" +
		strings.Repeat(" 112.50 |", 6) + "\n"
	for _, c := range []struct {
		source string
		label  bool
		kept   int // number of cells without broken words
	}{{small, false, 4}, {long, true, 3}, {data, true, 3}, {many, true, 0}} {
		r := compiled(t, KindMarkdown, c.source)
		_, body, _ := strings.Cut(r.HTML, "<body")
		if got := strings.Contains(body, ` data-label="Price">`); got != c.label {
			t.Errorf("%s: cells say their columns: %v", c.source, got)
		}
		if kept := strings.Count(body, keepWords); kept != c.kept {
			t.Errorf("%s: %d cells keep their words, want %d", c.source, kept, c.kept)
		}
		if strings.Count(r.Text, "Price") > 6 {
			t.Error(r.Text)
		}
	}
}
