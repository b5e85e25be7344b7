package main

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"newsletterd/mail/markup"
)

// oddLines are lines of Markdown that parsers interpret in different ways, next to and inside each other.
var oddLines = []string{
	"", "", "", "plain text", "# Heading", "Heading\n---", "### {{ name | default: \"a | b\" }} ###", "* one", "- two",
	"  - three", "    - four", "1. first", "   2) second", "+ [ ] task", "> quote", ">> deeper", "> - in a quote",
	"| a | b |", "|:--|--:|",
	"| {{ x | default: \"|\" }} | ~~c~~ |", "~~struck~~ and ~one~", "~~a~b~~", "**bold*and*more**", "_a_b_ __c__",
	"***x** y*", "`code` ``a`b``", "    indented", "```", "~~~ go", "<b>html</b>", "<div>", "</div>", "<!-- gone -->",
	"<br>", "&amp; &nbsp; &#35;",
	"::: note", "::: columns", "::: column", ":::", "::: none", "{% if name %}", "{% endif %}", "{{ email }}",
	"[a](https://a.example \"t\")", "[a][b]", "[b]: https://b.example", "[Go](https://a.example){.button}",
	"text [Go](https://a.example){.button}",
	"![x](https://a.example/x.png){width=100}", "[![x](https://a.example/x.png)](https://b.example)",
	"https://c.example/_x_", "www.d.example",
	"<e@example.org>", "a  \nb", "a\\\nb", "***", "- - -", "\\* no list", "1986\\. A year", "\u00a0blank",
	"Ünï 漢字**強**調", "a\tb", "[^1]", "\\", "{", "}",
	"$x$", "[javascript](javascript:alert(1))", "![](data:image/png;base64,AA==)", "| no table |", "#no heading",
	"-no list",
	"=====",
}

// oddSource returns Markdown that no one would write by hand.
func oddSource(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(7) {
		line := oddLines[r.IntN(len(oddLines))]
		if r.IntN(5) == 0 {
			line += " " + oddLines[r.IntN(len(oddLines))]
		}
		b.WriteString(strings.Repeat(" ", []int{0, 0, 0, 0, 2, 4}[r.IntN(6)]) + line + "\n")
	}
	return b.String()
}

// opened is the state of the editor after it opens a source: the value of its field, whether it shows the final look
// (or the reason why not), and what it would write.
type opened struct {
	Value, Said, Again string
	Visual             bool
}

// opened opens each source in the page's editor.
func (w *writer) opened(sources []string) (found []opened) {
	w.Helper()
	in, err := json.Marshal(sources)
	w.d.Must(err)
	out := w.Eval(`(async sources => {
		const area = document.querySelector("#f-source"), editor = area.editor, out = [];
		for (const source of sources) {
			area.value = source;
			editor.written = null;
			editor.show("visual", false);
			await editor.settled;
			let again = "";
			if (!editor.said.textContent.includes("braces")) again = editor.source.write(editor.source.doc, true);
			out.push({value: area.value, visual: area.hidden, said: editor.said.textContent, again});
		}
		return JSON.stringify(out);
	})(` + string(in) + `)`)
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		w.Fatal(err, out)
	}
	return found
}

// TestEditorComparesMailsInABrowser checks that the editor only shows a text in its final look if the editor's output
// results in the same email according to the server. Otherwise it shows the source and the reason. Opening changes no
// byte.
func TestEditorComparesMailsInABrowser(t *testing.T) {
	w := newWriter(t)
	w.edit("Hello\n")
	r, refused := rand.New(rand.NewPCG(17, 29)), 0
	sources := []string{"a ~~b~~ c\n", "* a\n* b\n", "| a |\n|---|\n| {{ b }} |\n", "::: note\na\n:::\n"}
	for range 600 {
		sources = append(sources, oddSource(r))
	}
	for i, f := range w.opened(sources) {
		if f.Value != sources[i] {
			t.Errorf("%q was opened, and is %q", sources[i], f.Value)
		}
		if f.Visual != (f.Said == "") {
			t.Errorf("%q: as it will look: %t; %q is said", sources[i], f.Visual, f.Said)
		}
		if f.Visual {
			if !sameMails(sources[i], f.Again) && f.Again != sources[i] {
				t.Errorf("%q is shown, and would be written as %q, which is another mail", sources[i], f.Again)
			}
		} else if refused++; strings.Contains(f.Said, "visual editor") && sameMails(sources[i], f.Again) {
			t.Errorf("%q is refused, and would be written as %q, which is the same mail", sources[i], f.Again)
		}
		if i < 4 && !f.Visual {
			t.Errorf("%q is refused: %s", sources[i], f.Said)
		}
	}
	t.Logf("%d of %d are edited as source", refused, len(sources))
	if refused == 0 || refused > len(sources)/2 {
		t.Errorf("%d of %d are refused", refused, len(sources))
	}
}

func sameMails(a, b string) bool {
	x, err := markup.Compile(markup.KindMarkdown, a, markup.Options{})
	y, fault := markup.Compile(markup.KindMarkdown, b, markup.Options{})
	return err == nil && fault == nil && x.HTML == y.HTML && x.Text == y.Text
}
