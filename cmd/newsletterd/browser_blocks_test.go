package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"newsletterd/core"
	"newsletterd/mail/markup"
)

// editBlocks opens the editor with a campaign that consists of JSON blocks.
func (w *writer) editBlocks(source string) core.Campaign {
	w.Helper()
	c := w.d.seed.NewCampaign(w.list, func(f *core.CampaignFields) {
		f.Content = core.CampaignContent{Kind: core.ContentBlocks, Source: source}
	})
	w.Open(w.at("/campaigns/"+c.ID), chromedp.WaitVisible(".editor-text"))
	return c
}

// put places the cursor at the end of the element that an expression returns.
func (w *writer) put(expression string) {
	w.Helper()
	w.Eval(`(() => {
		const e = ` + expression + `;
		document.querySelector(".editor-text").focus();
		getSelection().collapse(e, e.childNodes.length);
		document.dispatchEvent(new Event("selectionchange"));
	})()`)
	w.settle()
}

// TestBlocksInABrowser edits blocks that programs created, in their final look. The editor rewrites a changed block;
// all others, and unknown ones, stay the same byte for byte.
func TestBlocksInABrowser(t *testing.T) {
	w := newWriter(t)
	source := `{"version": 1,
 "blocks":[
	{"type":"heading","level":2,"text":"Red *roses*"},
	{ "text" : "Hello {{ email }}\n\n* one\n* two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nBye", "type" : "text" } ,
	{"type":"spacer","height":24},
	{"type":"image","src":"https://shop.example/x.png","alt":"","width":120},
	{"type":"callout","text":"Note *this*"},
	{"type":"columns","columns":[[{"type":"text","text":"left"},{"type":"social","links":[{"name":"A","url":"https://a.example"}]}],
		[{"type":"button","text":"Go","href":"https://b.example"}]]},
	{"type":"quote","blocks":[{"type":"text","text":"quoted"},{"type":"divider"}]},
	{"type":"html","html":"<b>x</b>"}
 ] }
`
	c := w.editBlocks(source)
	w.expect(`document.querySelector(".editor-toolbar [data-action=source]").textContent`, "JSON")
	w.expect(`[...document.querySelectorAll(".editor-locked .editor-kind")].map(e => e.textContent).join()`,
		"Table,Space,Social links,HTML")
	w.Look("campaign-blocks")
	change := func(at, old, new string) {
		t.Helper()
		w.put(at)
		w.Do(chromedp.KeyEvent("!"))
		want := strings.Replace(source, old, new, 1)
		if want == source {
			t.Fatalf("no %s", old)
		}
		w.becomes(c.ID, want)
		w.Do(key("z", chromedp.ModifierCtrl))
		w.becomes(c.ID, source)
	}
	change(`document.querySelector(".editor-text > h2")`, `{"type":"heading","level":2,"text":"Red *roses*"}`,
		`{"type": "heading", "level": 2, "text": "Red *roses!*"}`)
	change(`[...document.querySelectorAll(".editor-text > p")].find(e => e.textContent === "Bye")`,
		source[strings.Index(source, `{ "text"`):strings.Index(source, ` ,`)],
		`{"type": "text", "text": "Hello {{ email }}\n\n* one\n* two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nBye!"}`)
	change(`document.querySelector(".editor-callout p:not(.editor-kind)")`, `{"type":"callout","text":"Note *this*"}`,
		`{"type": "callout", "kind": "note", "text": "Note *this!*"}`)
	columns := source[strings.Index(source, `{"type":"columns"`) : strings.Index(source, `{"type":"quote"`)-3]
	change(`document.querySelector(".editor-column p")`, columns,
		`{"type": "columns", "columns": [[{"type": "text", "text": "left!"}, `+
			`{"type":"social","links":[{"name":"A","url":"https://a.example"}]}], `+
			`[{"type":"button","text":"Go","href":"https://b.example"}]]}`)
	change(`document.querySelector(".editor-text blockquote p")`,
		source[strings.Index(source, `{"type":"quote"`):strings.Index(source, ",\n\t{\"type\":\"html\"")],
		`{"type": "quote", "blocks": [{"type": "text", "text": "quoted!"}, {"type":"divider"}]}`)

	// The editor asks for a missing alt text as usual, and a new line of text is a new block.
	w.put(`document.querySelector(".editor-text > h2")`)
	w.Do(key(kb.End), enter)
	w.settle()
	w.Do(chromedp.KeyEvent("New"))
	w.becomes(c.ID, strings.Replace(source, "\n\t{ \"text\"",
		"\n\t{\"type\": \"text\", \"text\": \"New\"},\n\t{ \"text\"", 1))

	// A locked block is edited as JSON.
	w.Eval(`[...document.querySelectorAll(".editor-locked button")][1].click()`)
	w.Do(chromedp.SetValue(".editor-locked textarea", `{"type":"spacer"`))
	w.Click(".editor-locked .button.primary")
	w.Wait(`document.querySelector(".editor-locked .editor-fault").textContent.includes("valid JSON for blocks")`)
	w.Do(chromedp.SetValue(".editor-locked textarea", `{"type":"spacer","height":40}`))
	w.Click(".editor-locked .button.primary")
	w.Wait(`!document.querySelector(".editor-locked textarea")`)
	got := w.Eval(`document.querySelector("#f-source").editor.markdown()`)
	if !strings.Contains(got, "\n\t{\"type\":\"spacer\",\"height\":40},\n") {
		t.Error(got)
	}
	w.Do(chromedp.Reload(), chromedp.WaitVisible(".editor-text"))
	w.expect(`document.querySelector("#f-source").hidden`, "true")
}

// TestEditorComparesBlocksInABrowser opens blocks that no one would write by hand. The editor shows them in their final
// look if its output results in the same email, and opening them changes no byte. It shows all long newsletters of
// blocks.
func TestEditorComparesBlocksInABrowser(t *testing.T) {
	w := newWriter(t)
	w.editBlocks(`{"version":1,"blocks":[]}`)
	files, err := filepath.Glob("../../testdata/newsletters/*.json")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	var sources []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, string(text))
	}
	r := rand.New(rand.NewPCG(17, 30))
	for range 400 {
		sources = append(sources, oddBlocks(r))
	}
	refused := 0
	for i, f := range w.opened(sources) {
		if f.Value != sources[i] {
			t.Errorf("%q was opened, and is %q", sources[i], f.Value)
		}
		same := sameBlocks(sources[i], f.Again)
		if f.Visual != same && f.Again != sources[i] {
			t.Errorf("%s is shown: %t (%s), and would be written as %s", sources[i], f.Visual, f.Said, f.Again)
		}
		if !f.Visual {
			refused++
		}
		if i < len(files) && !f.Visual {
			t.Errorf("%s: %s", files[i], f.Said)
		}
	}
	t.Logf("%d of %d are edited as source", refused, len(sources))
	if refused > len(sources)/2 {
		t.Errorf("%d of %d are refused", refused, len(sources))
	}
}

// oddBlocks returns JSON of blocks with texts that parsers interpret in different ways.
func oddBlocks(r *rand.Rand) string {
	text := func() string {
		b, _ := json.Marshal(oddSource(r)) // of a text
		return string(b)
	}
	line := func() string {
		b, _ := json.Marshal(oddLines[r.IntN(len(oddLines))]) // of a text
		return string(b)
	}
	var block func(depth int) string
	list := func(depth int) string {
		var all []string
		for range r.IntN(4) {
			all = append(all, block(depth))
		}
		return "[" + strings.Join(all, []string{",", ", ", ",\n"}[r.IntN(3)]) + "]"
	}
	block = func(depth int) string {
		kinds := []func() string{
			func() string { return `{"type":"text","text":` + text() + `}` },
			func() string { return `{"text":` + text() + `, "type":"text"}` },
			func() string { return fmt.Sprintf(`{"type":"heading","level":%d,"text":%s}`, 1+r.IntN(3), line()) },
			func() string { return `{"type":"heading","text":` + text() + `}` },
			func() string { return `{"type":"button","href":"https://a.example/{{ email }}","text":` + line() + `}` },
			func() string { return `{"type":"image","src":"https://a.example/x.png","caption":` + line() + `}` },
			func() string {
				return `{"type":"image","src":"https://a.example/x.png","alt":` + line() + `,"width":90}`
			},
			func() string { return `{"type":"divider"}` },
			func() string { return `{"type":"spacer","height":20}` },
			func() string { return `{"type":"html","html":` + line() + `}` },
			func() string { return `{"type":"social","links":[{"name":"A","url":"https://a.example"}]}` },
			func() string { return `{"type":"quote","text":` + text() + `}` },
			func() string { return `{"type":"callout","kind":"tip","text":` + text() + `}` },
			func() string { return `{"type":"callout","blocks":` + list(depth+1) + `}` },
			func() string { return `{"type":"quote","blocks":` + list(depth+1) + `}` },
			func() string { return `{"type":"columns","columns":[` + list(depth+1) + `,` + list(depth+1) + `]}` },
		}
		if depth > 0 {
			kinds = kinds[:13]
		}
		return kinds[r.IntN(len(kinds))]()
	}
	return `{"version": 1, "blocks": ` + list(0) + `}`
}

func sameBlocks(a, b string) bool {
	x, err := markup.Compile(markup.KindBlocks, a, markup.Options{})
	y, fault := markup.Compile(markup.KindBlocks, b, markup.Options{})
	return err == nil && fault == nil && x.HTML == y.HTML && x.Text == y.Text
}
