package main

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/mail/markup"
)

// editorPage returns the page of the editor with a source in it.
func (p *consolePages) editorPage(t testing.TB, lang, source string) string {
	t.Helper()
	page, err := os.ReadFile("../../handlers/console/assets/testdata/editor.html")
	if err != nil {
		t.Fatal(err)
	}
	// A parser drops the first newline in a textarea, so the page has an extra one.
	text := strings.NewReplacer("LANG", lang, "SOURCE", html.EscapeString(source)).Replace(string(page))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.page = text
	return p.URL + "/editor"
}

// openEditor opens the editor with a source.
func (b *consoleBrowser) openEditor(source string) {
	b.Helper()
	b.Open(b.editorPage(b, "en", source), chromedp.WaitVisible(".editor-text"))
}

// source returns what the form would send.
func (b *consoleBrowser) source() string {
	b.Helper()
	return b.Eval(`new FormData(document.querySelector("form")).get("source").replaceAll("\r\n", "\n")`)
}

// TestEditorKeepsNewslettersInABrowser checks that opening a newsletter in the editor changes no byte of it, and that
// typing into a paragraph only changes that paragraph. What the editor would write for a block means the same to the
// renderer.
func TestEditorKeepsNewslettersInABrowser(t *testing.T) {
	files, err := filepath.Glob("../../testdata/newsletters/*.*")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	pages := newConsolePages(t)
	browser := browsertest.New(t)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b := &consoleBrowser{browser.In(t), pages}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source := string(text)
			b.openEditor(source)
			if got := b.source(); got != source {
				t.Errorf("what was opened is not what is sent:\n%s", differs(got, source))
			}
			if filepath.Ext(file) == ".md" { // the editor treats JSON as text
				sameMeaning(t, source, b.Eval(`document.querySelector("#source").editor.markdown(true)`))
			}
			tryParagraphs(t, b, source)
			b.clean()
		})
	}
}

// sameMeaning checks that two sources result in the same email.
func sameMeaning(t *testing.T, a, b string) {
	t.Helper()
	parts := func(source string) string {
		r, err := markup.Compile(markup.KindMarkdown, source, markup.Options{Name: "N", Language: "en"})
		if err != nil {
			t.Fatal(err)
		}
		return r.HTML + "\n" + r.Text
	}
	if want, got := parts(a), parts(b); got != want {
		t.Errorf("what is written anew becomes another mail:\n%s", differs(got, want))
	}
}

// differs returns the first lines that differ.
func differs(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d\n got %s\nwant %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, not %d", len(g), len(w))
}

// tryParagraphs types into paragraphs and checks that only they change, and that undoing restores them.
func tryParagraphs(t *testing.T, b *consoleBrowser, source string) {
	t.Helper()
	const paragraphs = `[...document.querySelectorAll(".editor-text > p:not([class]), .editor-column > div > p:not([class])")]`
	var n int
	if _, err := fmt.Sscan(b.Eval(paragraphs+".length"), &n); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, n / 3, n / 2, n - 1} {
		if i < 0 || i >= n {
			continue
		}
		b.Eval(fmt.Sprintf(`(() => {
			const p = %s[%d];
			document.querySelector(".editor-text").focus();
			getSelection().collapse(p, p.childNodes.length);
			document.dispatchEvent(new Event("selectionchange"));
		})()`, paragraphs, i))
		b.Do(insert("XQZ"))
		b.Wait(`document.querySelector(".editor-text").textContent.includes("XQZ")`)
		got := b.source()
		if fault := onlyOneBlock(source, got); fault != "" {
			t.Errorf("paragraph %d: %s", i, fault)
		}
		b.Do(key("z", chromedp.ModifierCtrl))
		b.Wait(`!document.querySelector(".editor-text").textContent.includes("XQZ")`)
		if got := b.source(); got != source {
			t.Errorf("paragraph %d, undone:\n%s", i, differs(got, source))
		}
	}
}

// onlyOneBlock returns an error message if typing XQZ into a block of a source changed any line outside of that block.
func onlyOneBlock(before, after string) string {
	old, new := strings.Split(before, "\n"), strings.Split(after, "\n")
	at := 0
	for at < min(len(old), len(new)) && old[at] == new[at] {
		at++
	}
	end := 0
	for end < min(len(old), len(new))-at && old[len(old)-1-end] == new[len(new)-1-end] {
		end++
	}
	was, is := old[at:len(old)-end], new[at:len(new)-end]
	if strings.Count(strings.Join(is, "\n"), "XQZ") != 1 {
		return fmt.Sprintf("what was typed stands not in what has changed: %q", is)
	}
	for _, l := range was {
		if strings.TrimSpace(l) == "" {
			return fmt.Sprintf("more than one block has changed: %q became %q", was, is)
		}
	}
	return ""
}

// pick chooses an action of the toolbar, or of its menu if that is open.
func (b *consoleBrowser) pick(actions ...string) {
	b.Helper()
	for _, a := range actions {
		selector := `.editor-toolbar [data-action="` + a + `"]`
		if a == "picture" || a == "button" || a == "table" { // the menu has them, too
			selector += ":not([role])"
		}
		b.Click(selector)
	}
}

// answer fills in the open dialog of the editor, whose first field has the focus, and submits it.
func (b *consoleBrowser) answer(fields ...string) {
	b.Helper()
	b.Do(chromedp.WaitVisible(".editor-dialog"))
	for i, f := range fields {
		if i > 0 {
			b.Do(key(kb.Tab))
		}
		b.Do(key("a", chromedp.ModifierCtrl), chromedp.KeyEvent(f))
	}
	b.Do(key("\r"), chromedp.WaitNotPresent(".editor-dialog"))
}

// enter presses Enter without the character that normally follows. The editor would treat that character as another
// Enter, and a browser doesn't send it if a script has handled the key.
var enter = chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
	for _, kind := range []input.DispatchKeyEventType{"rawKeyDown", "keyUp"} {
		press := input.DispatchKeyEventParams{Type: kind, Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: 13}
		if _, err := cdp.Call(ctx, target, input.DispatchKeyEvent, press); err != nil {
			return err
		}
	}
	return nil
})

// insert types a text at once, as input methods do, so that one undo removes it. Editors keep keys apart that a slow
// computer presses late.
func insert(text string) browsertest.Step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, input.InsertText, input.InsertTextParams{Text: text})
		return err
	})
}

// settle waits until the editor has noticed a selection that the browser changed.
func (b *consoleBrowser) settle() {
	b.Helper()
	b.Eval(`new Promise(done => requestAnimationFrame(() => setTimeout(done, 20)))`)
}

// expectSource checks what the form would send.
func (b *consoleBrowser) expectSource(want string) {
	b.Helper()
	if got := b.source(); got != want {
		b.Errorf("the source is\n%s\nnot\n%s", got, want)
	}
}

// TestWritingInTheEditorInABrowser writes in the editor by keyboard and with its buttons, and checks that the result is
// Markdown that the renderer reads.
func TestWritingInTheEditorInABrowser(t *testing.T) {
	browser := browsertest.New(t)
	for name, try := range map[string]func(*consoleBrowser){
		"typing": tryTyping, "blocks": tryBlocks, "lists": tryLists, "fields": tryFields, "locked": tryLocked,
		"source": trySource, "toolbar": tryToolbar, "undo": tryUndo, "columns": tryColumns, "looks": tryLooks,
		"emoji": tryEmoji, "video": tryVideo, "table": tryTable, "signs": trySigns,
		"pictures": tryPictures, "large pictures": tryLargePictures, "paste": tryPastes, "RTF": tryRTF,
		"German": tryGerman, "buttons": tryButtons, "deleted columns": tryDeletedColumns,
	} {
		t.Run(name, func(t *testing.T) {
			b := &consoleBrowser{browser.In(t), newConsolePages(t)}
			try(b)
			b.clean()
		})
	}
}

func tryTyping(b *consoleBrowser) {
	b.openEditor("")
	b.Do(chromedp.Focus(".editor-text"), chromedp.KeyEvent("# "), chromedp.KeyEvent("News"), enter,
		chromedp.KeyEvent("Boots are "), key("b", chromedp.ModifierCtrl), chromedp.KeyEvent("warm"),
		key("b", chromedp.ModifierCtrl), chromedp.KeyEvent(" and "), key("i", chromedp.ModifierCtrl),
		chromedp.KeyEvent("dry"), key("i", chromedp.ModifierCtrl), chromedp.KeyEvent(", 2 * 3_4 [x] <b>. See "),
		key("k", chromedp.ModifierCtrl))
	b.answer("the shop", "acme.example/shop?a=1&b=2")
	b.Do(chromedp.KeyEvent("."))
	want := "# News\n\nBoots are **warm** and *dry*, 2 * 3_4 \\[x] \\<b>. See [the shop](https://acme.example/shop?a=1&b=2).\n"
	b.expectSource(want)
	b.Wait(`document.querySelector("#source").value === ` + fmt.Sprintf("%q", want))
	b.Do(key(kb.ArrowLeft), key(kb.ArrowLeft))
	b.settle()
	b.Do(key("k", chromedp.ModifierCtrl), chromedp.WaitVisible(".editor-dialog"))
	b.expect(`document.querySelector(".editor-dialog [name=href]").value`, "https://acme.example/shop?a=1&b=2")
	b.answer("ann@acme.example")
	b.expectSource(strings.Replace(want, "https://acme.example/shop?a=1&b=2", "mailto:ann@acme.example", 1))
	b.Look("editor-typing")
}

func tryBlocks(b *consoleBrowser) {
	b.openEditor("First.\n")
	b.Eval(`document.querySelector("#source").addEventListener("input", () => window.inputs = (window.inputs ?? 0) + 1)`)
	b.Click(".editor-text p")
	b.pick("button")
	b.answer("See all boots", "https://acme.example/shop")
	b.expectSource("First.\n\n[See all boots](https://acme.example/shop){.button}\n")
	b.Do(chromedp.KeyEvent("Between."))
	b.pick("blocks", "columns.2")
	b.Do(chromedp.KeyEvent("Left"))
	b.Eval(`(() => {
		getSelection().collapse(document.querySelector(".editor-column:last-child p"), 0);
		document.dispatchEvent(new Event("selectionchange"));
	})()`)
	b.Do(chromedp.KeyEvent("Right"))
	columns := "::: columns\n::: column\nLeft\n:::\n::: column\nRight\n:::\n:::\n"
	b.expectSource("First.\n\n[See all boots](https://acme.example/shop){.button}\n\nBetween.\n\n" + columns)
	b.pick("blocks", "callout.tip")
	b.Do(chromedp.KeyEvent("Warm."))
	b.pick("blocks", "callout.warning")
	columns = strings.Replace(columns, "Right\n", "Right\n\n::: warning\nWarm.\n:::\n", 1)
	b.expectSource("First.\n\n[See all boots](https://acme.example/shop){.button}\n\nBetween.\n\n" + columns)
	b.Wait("window.inputs >= 3")
	b.Look("editor-blocks")
	b.pick("blocks", "callout.none")
	b.pick("blocks", "columns.none")
	b.expectSource("First.\n\n[See all boots](https://acme.example/shop){.button}\n\nBetween.\n\nLeft\n\nRight\n\nWarm.\n")
	b.Eval(`document.querySelector("#save").click()`)
	b.Do(chromedp.WaitNotPresent("form"))
	if _, body := b.count("/saved"); !strings.Contains(body, "Between.") {
		b.Errorf("sent: %s", body)
	}
	b.Open(b.URL + "/testdata/console.html")
}

func tryLists(b *consoleBrowser) {
	b.openEditor("")
	b.Do(chromedp.Focus(".editor-text"), chromedp.KeyEvent("- "), chromedp.KeyEvent("one"), enter,
		chromedp.KeyEvent("two"),
		key(kb.Tab), enter, chromedp.KeyEvent("three"), enter, enter, enter, chromedp.KeyEvent("1. "),
		chromedp.KeyEvent("a"), enter, chromedp.KeyEvent("b"))
	b.expectSource("- one\n  - two\n  - three\n\n1. a\n2. b\n")
	b.Do(key(kb.Escape), key(kb.Tab))
	b.expect(focused, "save")
}

func tryFields(b *consoleBrowser) {
	b.openEditor("# Hello\n")
	b.Click(".editor-text h1")
	b.Do(key(kb.End), chromedp.KeyEvent(" "))
	b.pick("field")
	b.Do(chromedp.WaitVisible(".editor-dialog"), key(kb.Tab), key("\r"), chromedp.WaitNotPresent(".editor-dialog"))
	b.expectSource("# Hello {{ preferences.first_name | default: \"friend\" }}\n")
	b.expect(`document.querySelector(".editor-field").textContent`, "First name · else “friend”")
	b.Do(chromedp.KeyEvent(" {{ email }}!"))
	b.expectSource("# Hello {{ preferences.first_name | default: \"friend\" }} {{ email }}!\n")
	b.expect(`document.querySelectorAll(".editor-field")[1].textContent`, "Address")
	b.Look("editor-fields")
	b.Do(chromedp.DoubleClick(".editor-field"), chromedp.WaitVisible(".editor-dialog"),
		chromedp.SetValue(".editor-dialog [name=fallback]", "you"))
	b.Click(".editor-dialog .primary", chromedp.WaitNotPresent(".editor-dialog"))
	b.expectSource("# Hello {{ preferences.first_name | default: \"you\" }} {{ email }}!\n")
	// Text typed while a field is selected goes after it, and End leaves it.
	b.Click(".editor-field")
	b.settle()
	b.Do(key("X"))
	b.expect(`document.querySelectorAll(".editor-field").length`, "2")
	b.Click(".editor-field")
	b.settle()
	b.Do(key(kb.End), key("Y"))
	b.settle()
	b.expect(`document.querySelectorAll(".editor-field").length + " " +
		/X.*Y/s.test(document.querySelector(".editor-surface").textContent)`, "2 true")
}

func tryLocked(b *consoleBrowser) {
	const table = "| A | B |\n|---|--:|\n| 1 | 2 |"
	b.openEditor("Before\n\n" + table + "\n\n<div>x</div>\n\n{% if email %}\n\nAfter [b][c].\n\n{% endif %}\n\n[c]: https://c.example\n")
	b.expect(`[...document.querySelectorAll(".editor-locked .editor-kind")].map(e => e.textContent)`,
		"Table,HTML,Condition,Condition,Link definitions")
	b.Look("editor-locked")
	b.Click(`//*[contains(@class, "editor-locked")][.//*[contains(@class, "editor-kind")][text()="HTML"]]//button`,
		chromedp.WaitVisible(".editor-locked textarea"))
	b.Do(key(kb.End, chromedp.ModifierCtrl), chromedp.KeyEvent("\n<div>y</div>"), key("\r", chromedp.ModifierCtrl),
		chromedp.WaitNotPresent(".editor-locked textarea"))
	b.expectSource("Before\n\n" + table + "\n\n<div>x</div>\n<div>y</div>\n\n{% if email %}\n\nAfter [b][c].\n\n{% endif %}\n\n[c]: https://c.example\n")
}

func trySource(b *consoleBrowser) {
	b.openEditor("One\n\n* two\n")
	b.pick("source")
	b.Do(chromedp.WaitVisible("#source"), chromedp.WaitNotVisible(".editor-text"))
	b.expect(focused, "source")
	b.Look("editor-source")
	b.Do(key(kb.End, chromedp.ModifierCtrl), chromedp.KeyEvent("\nThree {{ email\n"))
	b.pick("source")
	b.Wait(`/placeholder .* braces/.test(document.querySelector(".editor-status").textContent)`)
	b.expect(`document.querySelector("#source").hidden`, "false")
	b.Do(chromedp.Focus("#source"), key(kb.End, chromedp.ModifierCtrl), key(kb.Backspace), chromedp.KeyEvent(" }}"))
	b.pick("source")
	b.Do(chromedp.WaitVisible(".editor-text"))
	b.expectSource("One\n\n* two\n\nThree {{ email }}")
	// The editor shows text that a script puts into the textarea.
	b.Eval(`(() => {
		const e = document.querySelector("#source");
		e.value = "Other";
		e.dispatchEvent(new Event("input", {bubbles: true}));
	})()`)
	b.expect(`document.querySelector(".editor-text").textContent`, "Other")
}

func tryToolbar(b *consoleBrowser) {
	b.openEditor("Text\n")
	b.Do(chromedp.Focus(".editor-text"), key(kb.F10, chromedp.ModifierAlt))
	b.expect(`document.activeElement.dataset.action`, "bold")
	b.Do(key(kb.ArrowRight))
	b.expect(`document.activeElement.dataset.action`, "italic")
	b.Do(key(kb.End))
	b.expect(`document.activeElement.dataset.action`, "source")
	b.Eval(`document.querySelector("[data-action=blocks]").focus()`)
	b.Do(key("\r"))
	b.expect(`document.activeElement.dataset.action`, "picture")
	b.Look("editor-menu")
	b.Do(key(kb.Escape))
	b.expect(`document.activeElement.dataset.action`, "blocks")
	b.Do(key(kb.Escape))
	b.expect(`document.activeElement.className.includes("editor-text")`, "true")
	b.expect(`document.querySelectorAll(".editor-toolbar [tabindex='0']").length`, "1")
	b.Eval(`document.querySelector("label").click()`)
	b.expect(`document.activeElement.className.includes("editor-text")`, "true")
	b.Fits("editor")
}

// tryUndo checks that an insertion from the toolbar, and the text typed after it, are undone separately.
func tryUndo(b *consoleBrowser) {
	b.openEditor("")
	b.Do(chromedp.Focus(".editor-text"), insert("Hello "))
	b.pick("field")
	b.Do(chromedp.WaitVisible(".editor-dialog"), key(kb.Tab), key("\r"), chromedp.WaitNotPresent(".editor-dialog"))
	b.Do(chromedp.KeyEvent("!"))
	for _, want := range []string{`Hello {{ preferences.first_name | default: "friend" }}`, "Hello", ""} {
		b.Do(key("z", chromedp.ModifierCtrl))
		b.settle()
		b.expect(`new FormData(document.querySelector("form")).get("source").trim()`, want)
	}
}

// tryColumns checks that Tab moves through the columns, and then to the block after them.
func tryColumns(b *consoleBrowser) {
	b.openEditor("Before\n\n::: columns\n::: column\nLeft\n:::\n::: column\n![A boot](/pictures/1.png)\n\nRight\n:::\n:::\n\nAfter\n")
	b.Click(".editor-column p")
	b.settle()
	b.Do(key(kb.Tab))
	b.settle()
	b.Do(key("R"), key(kb.Tab))
	b.settle()
	b.Do(key("A"), key(kb.Tab, chromedp.ModifierShift))
	b.settle()
	b.expectSource("Before\n\n::: columns\n::: column\nLeft\n:::\n::: column\n![A boot](/pictures/1.png)\n\nRRight\n:::\n:::\n\nAAfter\n")
	b.Click(".editor-column p")
	b.settle()
	b.Do(key(kb.Tab, chromedp.ModifierShift))
	b.settle()
	b.Do(key("B"))
	b.settle()
	b.expect(`document.querySelector(".editor-text > p").textContent.includes("B")`, "true")
	b.expect(`document.querySelector(".editor-dialog") === null`, "true")
}

// tryLooks checks that buttons and boxes have the colors and positions of the email, light and dark.
func tryLooks(b *consoleBrowser) {
	b.openEditor("[Go](https://acme.example){.button}\n\n::: tip\nWarm.\n:::\n")
	const colours = `[getComputedStyle(document.querySelector(".editor-button > span")).backgroundColor,
		getComputedStyle(document.querySelector(".editor-callout")).backgroundColor,
		getComputedStyle(document.querySelector(".editor-button")).textAlign].join()`
	want := "rgb(36, 87, 214),rgb(238, 240, 250),start"
	if b.Eval(`matchMedia("(prefers-color-scheme: dark)").matches`) == "true" { // from the previous part
		want = "rgb(147, 180, 255),rgb(34, 36, 42),start"
	}
	b.expect(colours, want)
	b.expect(`document.querySelector("#hint").hidden`, "true")
	b.pick("source")
	b.expect(`document.querySelector("#hint").hidden`, "false")
}

func tryGerman(b *consoleBrowser) {
	b.Open(b.editorPage(b, "de", "Hallo\n"), chromedp.WaitVisible(".editor-text"))
	b.expect(`document.querySelector("[data-action=blocks]").title`, "Weitere Blöcke")
}

// onePixel is an image of one pixel, and file is a JavaScript expression for its file.
const (
	onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	file     = `new File([Uint8Array.from(atob("` + onePixel + `"), c => c.charCodeAt(0))], "boot.png", {type: "image/png"})`
)

func tryPictures(b *consoleBrowser) {
	b.openEditor("Text\n")
	b.Eval(`(() => {
		const data = new DataTransfer();
		data.items.add(` + file + `);
		const p = document.querySelector(".editor-text p").getBoundingClientRect();
		document.querySelector(".editor-text p").dispatchEvent(new DragEvent("drop", {
			bubbles: true, cancelable: true, dataTransfer: data, clientX: p.left + 5, clientY: p.top + 5}));
	})()`)
	b.Wait(`document.querySelector(".editor-figure img") && !document.querySelector(".editor-figure[data-pending=send]")`)
	b.expectSource("Text\n\n![](/pictures/1.png)\n")
	b.Click(".editor-figure .button", chromedp.WaitVisible(".editor-dialog"))
	b.expect(`document.querySelector(".editor-dialog [name=src]").value`, "/pictures/1.png")
	b.Do(chromedp.SetValue(".editor-dialog [name=alt]", "A boot"),
		chromedp.SetValue(".editor-dialog [name=title]", "Caption"),
		chromedp.SetValue(".editor-dialog [name=width]", "300"),
		chromedp.SetValue(".editor-dialog [name=href]", "acme.example"))
	b.Look("editor-picture")
	b.Click(".editor-dialog .primary", chromedp.WaitNotPresent(".editor-dialog"))
	b.expectSource("Text\n\n[![A boot](/pictures/1.png \"Caption\"){width=300}](https://acme.example)\n")
	paste := `(() => {
		const data = new DataTransfer();
		data.items.add(` + file + `);
		document.querySelector(".editor-text").dispatchEvent(new ClipboardEvent("paste", {
			bubbles: true, cancelable: true, clipboardData: data}));
	})()`
	// A refused image shows the reason, is sent once, and keeps its place, where the checks find it.
	const reason = "The JPEG has more than 100 scans."
	sent, _ := b.count("/pictures")
	b.refuses("/pictures", reason)
	b.Eval(paste)
	b.Wait(`document.querySelector(".editor-figure[data-pending=failed]")`)
	b.expect(`document.querySelector(".editor-status").textContent`, reason)
	b.expect(`document.querySelector(".editor-figure[data-pending=failed] .editor-elsewhere").textContent`, reason)
	if n, _ := b.count("/pictures"); n != sent+1 || !strings.Contains(b.source(), "![](file:)") {
		b.Errorf("sent %d times: %s", n-sent, b.source())
	}
	b.refuses("/pictures", "")
	b.Click(".editor-figure[data-pending=failed] .button")
	b.Wait(`document.querySelectorAll(".editor-figure[data-pending='']").length === 2`)
	// An image that can't be sent also stays.
	b.breaks("/pictures", true)
	b.Eval(paste)
	b.Wait(`document.querySelector(".editor-figure[data-pending=failed]")`)
	b.expect(`document.querySelector(".editor-status").textContent`, "Couldn't upload the image.")
	b.breaks("/pictures", false)
	b.Click(".editor-figure[data-pending=failed] .button")
	b.Wait(`document.querySelectorAll(".editor-figure[data-pending='']").length === 3`)
	if got := b.source(); strings.Count(got, "/pictures/") != 3 || strings.Contains(got, "file:") {
		b.Error(got)
	}
}

// tryPastes pastes each sample of testdata/paste. A sample has the clipboard of a program and the expected Markdown.
func tryPastes(b *consoleBrowser) {
	samples, err := filepath.Glob("../../handlers/console/assets/testdata/paste/*.html")
	if err != nil || len(samples) < 6 {
		b.Fatal(samples, err)
	}
	for _, sample := range samples {
		page, err := os.ReadFile(sample)
		if err != nil {
			b.Fatal(err)
		}
		want, err := os.ReadFile(strings.TrimSuffix(sample, ".html") + ".md")
		if err != nil {
			b.Fatal(err)
		}
		text, err := json.Marshal(string(page))
		if err != nil {
			b.Fatal(err)
		}
		b.openEditor("")
		b.Eval(`(() => {
			const data = new DataTransfer();
			data.setData("text/html", ` + string(text) + `);
			data.setData("text/plain", "plain text");
			document.querySelector(".editor-text").focus();
			document.querySelector(".editor-text").dispatchEvent(new ClipboardEvent("paste", {
				bubbles: true, cancelable: true, clipboardData: data}));
		})()`)
		b.Wait(`document.querySelector(".editor-status button") && !document.querySelector(".editor-figure[data-pending=send]")`)
		if got := b.source(); got != string(want) {
			b.Errorf("%s becomes\n%s\nnot\n%s", filepath.Base(sample), got, want)
		}
		b.clean()
		b.Look("editor-paste-" + filepath.Base(sample))
		if strings.Contains(string(page), "file:///") {
			tryLeftPicture(b, string(want))
			continue
		}
		b.Click(".editor-status button")
		b.expectSource("plain text\n")
	}
}

// tryLeftPicture drops an image in the place of a pasted one whose file remained on the author's computer.
func tryLeftPicture(b *consoleBrowser, want string) {
	b.Helper()
	b.expect(`document.querySelector(".editor-elsewhere").textContent`,
		"This image is still on your computer. Drop it here, or choose the file.")
	b.opensFiles(".editor-elsewhere")
	b.Eval(`(() => {
		const data = new DataTransfer();
		data.items.add(` + file + `);
		const box = document.querySelector(".editor-elsewhere");
		box.scrollIntoView();
		const {left, top} = box.getBoundingClientRect();
		box.dispatchEvent(new DragEvent("drop", {
			bubbles: true, cancelable: true, dataTransfer: data, clientX: left + 9, clientY: top + 9}));
	})()`)
	b.Wait(`document.querySelector(".editor-figure[data-pending=''] img")`)
	n, _ := b.count("/pictures")
	b.expectSource(strings.Replace(want, "(file:)", fmt.Sprintf("(/pictures/%d.png)", n), 1))
}
