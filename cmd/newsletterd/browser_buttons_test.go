package main

import (
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// tryButtons checks that the URL next to a button exists only in the editor: it isn't saved or copied.
func tryButtons(b *consoleBrowser) {
	const (
		source = "[See all boots](https://acme.example/shop){.button}\n\n[Later](<>){.button}\n\nText\n"
		target = `(i => { const e = document.querySelectorAll(".editor-target")[i]; return e.textContent + ", " + e.title; })`
	)
	b.openEditor(source)
	b.expect(target+"(0)", "→ acme.example/shop, https://acme.example/shop")
	b.expect(target+"(1)", "No link yet, ")
	b.expect(`document.querySelector("#source").editor.markdown(true)`, source)
	b.Look("editor-buttons")

	// A click on the URL asks for a new one.
	b.Click(".editor-target.editor-missing", chromedp.WaitVisible(".editor-dialog"))
	b.answer("Later", "acme.example/later")
	b.expect(target+"(1)", "→ acme.example/later, https://acme.example/later")
	b.openEditor(source)
	b.Click(".editor-button + .editor-button > :first-child", chromedp.WaitVisible(".editor-dialog"))
	b.answer("Later", "acme.example/later")
	b.expect(target+"(1)", "→ acme.example/later, https://acme.example/later")
	b.openEditor(source)

	// The menu's links, which each subscriber has of their own, become the URL.
	b.Click(".editor-button > :first-child")
	b.settle()
	b.pick("blocks", "own.view_url")
	b.expect(target+"(0)", "→ View in browser link, ")
	b.expectSource(strings.Replace(source, "https://acme.example/shop", "{{ view_url }}", 1))
	b.openEditor(source)

	// Text typed at the end belongs to the button, and a changed URL is shown immediately.
	b.Click(".editor-button > :first-child")
	b.settle()
	b.Do(key(kb.End), chromedp.KeyEvent("!"))
	b.pick("button")
	b.answer("See all boots!", "https://acme.example/sale")
	b.expect(target+"(0)", "→ acme.example/sale, https://acme.example/sale")
	b.expectSource("[See all boots!](https://acme.example/sale){.button}\n\n[Later](<>){.button}\n\nText\n")

	b.Do(key("a", chromedp.ModifierCtrl))
	b.settle()
	b.expect(`(() => {
		const data = new DataTransfer();
		document.querySelector(".editor-text").dispatchEvent(new ClipboardEvent("copy", {bubbles: true, clipboardData: data}));
		const html = data.getData("text/html");
		return html.includes("boots") + ", " + /→|nowhere/.test(html + data.getData("text/plain"));
	})()`, "true, false")

	// A long URL stays on one line, within the text area.
	b.openEditor("[Go](https://acme.example/" + strings.Repeat("a-long-path/", 30) + "){.button}\n")
	b.expect(`(e => e.clientHeight < 30 && e.getBoundingClientRect().right <=
		e.closest(".editor-text").getBoundingClientRect().right)(document.querySelector(".editor-target"))`, "true")
}
