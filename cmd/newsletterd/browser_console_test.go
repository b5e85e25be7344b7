package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/handlers/console/assets"
)

// consolePolicy is the strictest policy for a page with its own scripts, styles and images.
const consolePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// consolePages serves pages that test the console's scripts, and counts the requests of these scripts.
type consolePages struct {
	*httptest.Server
	mu      sync.Mutex
	counts  map[string]int
	bodies  map[string]string // of the last request
	page    string            // of the editor
	broken  map[string]bool   // paths whose requests are not answered
	refused map[string]string // reasons with which requests fail, by path
}

// unpacked returns the files of a folder, with gzip-compressed ones decompressed.
func unpacked(t *testing.T, files fs.FS) fs.FS {
	t.Helper()
	names, err := fs.Glob(files, "*.gz")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	all := fstest.MapFS{}
	for _, name := range names {
		f, err := files.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(name, ".gz")] = &fstest.MapFile{Data: text}
	}
	return all
}

func newConsolePages(t *testing.T) *consolePages {
	p := &consolePages{
		counts: map[string]int{}, bodies: map[string]string{}, broken: map[string]bool{},
		refused: map[string]string{},
	}
	mux := http.NewServeMux()
	folder := func(name string, files http.FileSystem) {
		serve := http.StripPrefix("/"+name+"/", http.FileServer(files))
		mux.HandleFunc("GET /"+name+"/", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Security-Policy", consolePolicy)
			serve.ServeHTTP(w, r)
		})
	}
	folder("dist", http.FS(unpacked(t, assets.Files)))
	folder("testdata", http.Dir("../../handlers/console/assets/testdata"))
	mux.HandleFunc("GET /editor", func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", consolePolicy)
		_, _ = io.WriteString(w, p.page)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.counts[r.URL.Path]++
		p.bodies[r.URL.Path] = string(body)
		if p.broken[r.URL.Path] {
			panic(http.ErrAbortHandler)
		}
		if r.URL.Path == "/diary" {
			fmt.Fprintf(w, `<span id="saved" data-revision="%d">Saved</span>`, p.counts[r.URL.Path])
			return
		}
		if reason := p.refused[r.URL.Path]; reason != "" {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, reason)
			return
		}
		if r.URL.Path == "/pictures" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"url": "/pictures/%d.png"}`, p.counts[r.URL.Path])
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", consolePolicy)
		fmt.Fprintf(w, "<p>%d</p>", p.counts[r.URL.Path])
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// count returns the number of requests for a path, and the body of the last one.
func (p *consolePages) count(path string) (n int, body string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[path], p.bodies[path]
}

// breaks sets whether connections that request a path break.
func (p *consolePages) breaks(path string, breaks bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken[path] = breaks
}

// refuses makes requests for a path fail with a reason. An empty reason lets them succeed.
func (p *consolePages) refuses(path, reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused[path] = reason
}

// consoleBrowser is a browser on a page that tests a script.
type consoleBrowser struct {
	*browsertest.Browser
	*consolePages
}

// expect checks the value of an expression.
func (b *consoleBrowser) expect(expression, want string) {
	b.Helper()
	if got := b.Eval(expression); got != want {
		b.Errorf("%s is %q, not %q", expression, got, want)
	}
}

// clean checks that the policy blocked nothing and that no script failed.
func (b *consoleBrowser) clean() {
	b.Helper()
	b.expect(`window.faults.join("\n")`, "")
}

// key presses a key with modifiers in the focused element.
func key(keys string, modifiers ...chromedp.Modifier) browsertest.Step {
	return chromedp.KeyEvent(keys, chromedp.KeyModifiers(modifiers...))
}

// TestConsoleScriptInABrowser checks that the script of all pages does what its attributes say, by keyboard and mouse,
// under the strictest policy.
func TestConsoleScriptInABrowser(t *testing.T) {
	pages := newConsolePages(t)
	b := &consoleBrowser{browsertest.New(t), pages}
	b.Open(b.URL+"/testdata/console.html", chromedp.WaitVisible("#script"))
	for name, try := range map[string]func(*testing.T, *consoleBrowser){
		"palette": tryPalette, "menu": tryMenu, "questions": tryQuestions, "copy": tryCopy, "poll": tryPolls,
		"upload": tryUpload, "keep": tryKeep, "autosave": tryAutosave, "colour": tryColour, "chosen": tryChosen,
		"asks": tryAsks, "choices by keys": tryChoicesByKeys,
		"no text is run": tryTextsThatRun,
	} {
		t.Run(name, func(t *testing.T) {
			b := &consoleBrowser{b.In(t), pages}
			b.Eval("localStorage.clear()") // the previous part may have left the page while typing
			b.Open(b.URL+"/testdata/console.html", chromedp.WaitVisible("#script"))
			try(t, b)
		})
	}
	b.Open(b.URL+"/testdata/console.html", chromedp.WaitVisible("#script"))
	b.Look("console-scripts")
	b.clean()
}

const focused = `document.activeElement.id || document.activeElement.localName`

func tryPalette(t *testing.T, b *consoleBrowser) {
	b.Do(chromedp.Focus("#search"), key("k", chromedp.ModifierCtrl))
	b.expect(`document.querySelector("#palette").open`, "true")
	b.expect(focused, "input")
	b.Do(key(kb.ArrowDown), key(kb.ArrowDown))
	b.expect(focused, "second")
	b.Do(key(kb.ArrowDown))
	b.expect(focused, "input")
	b.Do(key(kb.Escape))
	b.expect(`document.querySelector("#palette").open`, "false")
	b.expect(focused, "search")
	b.Click("#search")
	b.expect(`document.querySelector("#palette").open`, "true")
	b.Do(key("\r"))
	b.expect("location.hash", "#first")
	b.Click("[data-closes]")
	b.expect(`document.querySelector("#palette").open`, "false")
	b.clean()
}

func tryMenu(t *testing.T, b *consoleBrowser) {
	b.Do(chromedp.Focus("#menu summary"), key(kb.ArrowDown))
	b.expect(focused, "one")
	b.Do(key(kb.ArrowUp))
	b.expect(focused, "two")
	b.Do(key(kb.Home))
	b.expect(focused, "one")
	b.Do(key(kb.Escape))
	b.expect(`document.querySelector("#menu").open`, "false")
	b.expect(focused, "summary")
	b.Click("#menu summary")
	b.expect(`document.querySelector("#menu").open`, "true")
	b.Click("h1")
	b.expect(`document.querySelector("#menu").open`, "false")
	b.clean()
}

func tryQuestions(t *testing.T, b *consoleBrowser) {
	b.Click("#delete button", chromedp.WaitVisible("dialog.question[open]"))
	b.expect(`document.querySelector("dialog.question").textContent`, "Delete “News of May”?Keep itDelete")
	b.expect(`document.activeElement.textContent`, "Keep it")
	b.Do(key("\r"))
	b.Wait(`!document.querySelector("dialog.question")`)
	b.expect(`document.activeElement.textContent`, "Delete…")
	if n, _ := b.count("/count/deleted"); n != 0 {
		t.Error("it was sent without a yes")
	}
	b.Click("#delete button", chromedp.WaitVisible("dialog.question[open]"), key(kb.Tab), key("\r"))
	b.Wait(`!document.querySelector("dialog.question") && !document.querySelector(".htmx-request")`)
	if n, _ := b.count("/count/deleted"); n != 1 {
		t.Errorf("sent %d times", n)
	}
	b.clean()
	b.Click("#ask", chromedp.WaitVisible("dialog.question[open]"), chromedp.Click("dialog.question .primary"),
		chromedp.WaitNotPresent("main"))
	if n, body := b.count("/count/plain"); n != 1 || body != "b=ask" {
		t.Errorf("sent %d times, with %q", n, body)
	}
}

func tryCopy(t *testing.T, b *consoleBrowser) {
	b.Eval(`navigator.clipboard.writeText = async text => { window.copied = text }`)
	b.Click("#copy")
	b.Wait(`window.copied && document.querySelector("[data-live]").textContent`)
	b.expect("window.copied", "v=DKIM1; k=rsa")
	b.expect(`document.querySelector("#copy").textContent`, "Copied")
	b.Eval(`navigator.clipboard.writeText = async () => { throw new Error("not allowed") }`)
	b.Click("#copy")
	b.Wait(`String(getSelection()) === "v=DKIM1; k=rsa"`)
	b.clean()
}

func tryPolls(t *testing.T, b *consoleBrowser) {
	b.Wait(`document.querySelector("#poll p")`)
	b.Eval(`Object.defineProperty(document, "hidden", {configurable: true, get: () => true})`)
	b.Wait(`!document.querySelector("#poll.htmx-request")`)
	before, _ := b.count("/poll")
	b.Eval(`new Promise(done => setTimeout(done, 1500))`)
	if after, _ := b.count("/poll"); after != before {
		t.Errorf("a tab that nobody sees has asked %d times", after-before)
	}
	b.Eval(`delete document.hidden, document.dispatchEvent(new Event("visibilitychange"))`)
	b.Wait(fmt.Sprintf(`Number(document.querySelector("#poll p").textContent) > %d`, before))
	b.Eval(`document.querySelector("#poll").removeAttribute("data-poll")`)
	b.clean()
}

// tryColour checks that the color picker fills in the text field. Only the text is sent, and it can stay empty.
func tryColour(_ *testing.T, b *consoleBrowser) {
	b.expect(`document.querySelector("#picker").hidden + " " + new URLSearchParams(new FormData(document.querySelector("#looks")))`,
		"false colour=")
	b.Eval(`document.querySelector("#picker").value = "#aa3344",
		document.querySelector("#picker").dispatchEvent(new Event("input", {bubbles: true}))`)
	b.expect(`document.querySelector("#colour").value`, "#aa3344")
	b.Eval(`document.querySelector("#colour").value = ""`)
	b.Do(chromedp.SendKeys("#colour", "#00ff7F"))
	b.expect(`document.querySelector("#picker").value`, "#00ff7f")
	b.clean()
}

// tryChosen checks that a chosen image is shown, and that a file of another type isn't.
func tryChosen(_ *testing.T, b *consoleBrowser) {
	const choose = `((name, type, text) => {
		const data = new DataTransfer(), input = document.querySelector("#upload input");
		data.items.add(new File([Uint8Array.from(atob(text), c => c.charCodeAt(0))], name, {type}));
		input.files = data.files;
		input.dispatchEvent(new Event("change", {bubbles: true}));
	})`
	const gif = "R0lGODlhAgABAIAAAAAAAP///yH5BAEAAAAALAAAAAACAAEAAAICBAoAOw=="
	b.Eval(choose + `("a.gif", "image/gif", "` + gif + `")`)
	b.Wait(`!document.querySelector("#chosen").hidden && document.querySelector("#chosen").naturalWidth === 2`)
	b.Eval(choose + `("b.gif", "image/gif", "YWJj")`)
	b.Wait(`document.querySelector("#chosen").src.endsWith("YWJj") && document.querySelector("#chosen").complete`)
	b.expect(`document.querySelector("#chosen").hidden`, "true")
	b.Eval(choose + `("c.txt", "text/plain", "YWJj")`)
	b.expect(`document.querySelector("#chosen").hidden + " " + document.querySelector("#chosen").hasAttribute("src")`,
		"true false")
	b.clean()
}

// tryAsks checks that a question about a proposed choice is hidden while another one is made.
func tryAsks(_ *testing.T, b *consoleBrowser) {
	const choose = `((at) => {
		const column = document.querySelector("#column");
		column.selectedIndex = at;
		column.dispatchEvent(new Event("change", {bubbles: true}));
	})`
	b.expect(`document.querySelector("#asks").hidden`, "false")
	b.Eval(choose + `(0)`)
	b.expect(`document.querySelector("#asks").hidden`, "true")
	b.Eval(choose + `(1)`)
	b.expect(`document.querySelector("#asks").hidden`, "false")
	b.clean()
}

func tryUpload(t *testing.T, b *consoleBrowser) {
	b.breaks("/upload", true)
	b.Eval(`(() => {
		const data = new DataTransfer();
		data.items.add(new File(["a picture"], "boot.png", {type: "image/png"}));
		for (const type of ["dragover", "drop"]) document.querySelector("#upload input").dispatchEvent(
			new DragEvent(type, {bubbles: true, cancelable: true, dataTransfer: data}));
	})()`)
	b.Wait(`/offline/.test(document.querySelector("[data-fault]").textContent)`)
	b.breaks("/upload", false)
	b.Wait(`document.querySelector("#pictures p")`)
	b.expect(`document.querySelector("[data-fault]").textContent`, "")
	if n, body := b.count("/upload"); n < 2 || !strings.Contains(body, "a picture") ||
		!strings.Contains(body, "boot.png") {
		t.Errorf("sent %d times: %s", n, body)
	}
	b.Wait(`document.querySelector("[data-live]").textContent === "Uploaded"`)
	b.clean()
}

func tryKeep(t *testing.T, b *consoleBrowser) {
	const kept = `Object.entries(localStorage).map(e => e.join("=")).join()`
	b.Do(chromedp.SendKeys("#text", " and more"), chromedp.SendKeys("[name=secret]", "hunter2"))
	b.Wait(`/^Not saved since .+ · kept on this device$/.test(document.querySelector("[data-keep-state]").textContent)`)
	b.Wait(`/and more/.test(` + kept + `) && !/hunter2/.test(` + kept + `)`)
	b.Do(chromedp.Reload(), chromedp.WaitVisible("[data-keep-found]"))
	b.expect(`document.querySelector("#text").value`, "As sent")
	b.Do(chromedp.SendKeys("#text", "!"))
	b.Wait(`/!/.test(` + kept + `)`)
	b.Do(chromedp.Reload(), chromedp.WaitVisible("[data-keep-found]"))
	// Text that was typed since then isn't replaced without a question, and either answer keeps it.
	b.Do(chromedp.SendKeys("#text", "?"))
	b.Click("#restore", chromedp.WaitVisible("dialog.question"))
	b.Click("dialog.question .button:not(.primary)", chromedp.WaitNotPresent("dialog.question"))
	b.expect(`document.querySelector("#text").value`, "?As sent")
	b.Click("#restore", chromedp.WaitVisible("dialog.question"))
	b.Click("dialog.question .primary", chromedp.WaitNotPresent("dialog.question"))
	b.expect(`document.querySelector("#text").value`, " and moreAs sent")
	b.Wait(`/\?As sent/.test(` + kept + `)`)
	b.Click("[data-keep-drop]", chromedp.WaitNotVisible("[data-keep-found]"))
	b.Wait(`!/\?As sent/.test(` + kept + `)`)
	b.expect(`document.querySelector("#text").value`, " and moreAs sent")
	b.breaks("/save", true)
	b.Eval(`document.addEventListener("htmx:finally:request", () => window.answered = true, {once: true}), true`)
	b.Click("#letter > button")
	b.Wait(`window.answered && !document.querySelector(".htmx-request, #letter > button:disabled")`)
	b.expect(`/and more/.test(`+kept+`)`, "true")
	b.breaks("/save", false)
	b.Click("#letter > button")
	b.Wait(kept + ` === ""`)
	b.expect(`document.querySelector("[data-keep-state]").textContent`, "")
	if _, body := b.count("/save"); !strings.Contains(body, "+and+moreAs+sent") {
		t.Error(body)
	}
	b.clean()
}

// tryAutosave checks that a form that saves itself shows nothing while a person types. It reports a failed save until
// the next one succeeds.
func tryAutosave(t *testing.T, b *consoleBrowser) {
	const unsaved = `document.querySelector("#diary [data-keep-state]").textContent`
	b.Eval(`window.said = [], new MutationObserver(() => said.push(` + unsaved + `)).observe(
		document.querySelector("#diary [data-keep-state]"), {childList: true, subtree: true, characterData: true})`)
	before, _ := b.count("/diary")
	b.Do(chromedp.Focus("#day"))
	for range 14 { // about seven seconds without a pause
		b.Do(chromedp.KeyEvent("word "))
		b.Eval(`new Promise(done => setTimeout(done, 500))`)
	}
	if n, _ := b.count("/diary"); n == before {
		t.Error("nothing was saved while one wrote without a pause")
	}
	b.Wait(`document.querySelector("#saved").textContent === "Saved"`)
	b.expect("said.join()", "")
	b.breaks("/diary", true)
	b.Do(chromedp.KeyEvent("more"))
	b.Wait(`/^You're offline\. .* Not saved since \d\d:\d\d\.$/.test(` + unsaved + `)`)
	b.expect(`document.querySelector("#saved").textContent`, "Not saved")
	b.breaks("/diary", false)
	b.Wait(unsaved + ` === "" && document.querySelector("#saved").textContent === "Saved"`)
	if _, body := b.count("/diary"); !strings.HasSuffix(body, "more") {
		t.Error(body)
	}
	// Text from the last moment is saved when the page is left.
	b.Do(chromedp.KeyEvent("gone"), chromedp.Reload())
	if _, body := b.count("/diary"); !strings.Contains(body, "moregone") {
		t.Errorf("left, and not saved: %s", body)
	}
	b.clean()
}

// Keys go through the segments and tags. Only the last choice is saved, once the focus leaves the list. In other lists,
// each choice is saved while the focus stays.
func tryChoicesByKeys(t *testing.T, b *consoleBrowser) {
	const pass = `waiting.splice(0).forEach(f => f())` // all time that the script waits for
	b.Eval(`window.waiting = [], window.later = setTimeout, window.setTimeout = f => waiting.push(f)`)
	before, _ := b.count("/diary")
	b.Do(chromedp.Focus("#to"))
	for range 2 {
		b.Do(key(kb.ArrowDown))
		b.Eval(pass)
	}
	b.expect(`document.querySelector("#to").value`, "VIP")
	b.Do(key(kb.Tab))
	b.Eval(pass)
	b.Eval(`window.setTimeout = later`)
	b.Wait(`document.querySelector("#saved").textContent === "Saved"`)
	if n, body := b.count("/diary"); n != before+1 || !strings.Contains(body, "segment=VIP") {
		t.Errorf("%d saves, the last one %s", n-before, body)
	}
	b.Do(chromedp.Focus("#font"), key(kb.ArrowDown))
	b.Wait(fmt.Sprintf(`document.querySelector("#diary").elements.revision.value === "%d"`, before+2))
	b.expect(focused, "font")
	if _, body := b.count("/diary"); !strings.Contains(body, "font=Georgia") {
		t.Error(body)
	}
	b.clean()
}

func tryTextsThatRun(t *testing.T, b *consoleBrowser) {
	b.Eval(`document.addEventListener("htmx:error", e => (window.refused ??= []).push(e.detail.error.message))`)
	b.Click("#inline")
	b.Click("#computed")
	b.Wait("window.refused?.length === 2")
	b.expect("window.evil", "undefined")
	if n, _ := b.count("/count/values"); n != 0 {
		t.Error("a value of JavaScript was sent")
	}
	b.expect(`/^(a page of the console runs no text as a script,?){2}$/.test(window.refused)`, "true")
	b.expect(`document.adoptedStyleSheets.length + document.querySelectorAll("style").length`, "0")
	b.clean()
}
