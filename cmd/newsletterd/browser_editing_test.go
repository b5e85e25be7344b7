package main

import (
	"image"
	"image/png"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
)

// trySigns checks that Markdown signs around a word format it as they are typed, and that "/" opens the menu of blocks.
func trySigns(b *consoleBrowser) {
	b.openEditor("")
	b.Do(chromedp.Focus(".editor-text"), chromedp.KeyEvent("Boots are **very warm** and _dry_, 2*3*4 and a_b_c."))
	b.expectSource("Boots are **very warm** and *dry*, 2\\*3\\*4 and a_b_c.\n")
	b.Do(enter, chromedp.KeyEvent("/"))
	b.Wait(`document.activeElement.dataset.action === "picture"`)
	b.Do(key(kb.Escape))
	b.settle()
	b.expect(`document.querySelector(".editor-text").lastElementChild.textContent`, "/")
	b.Do(key(kb.Backspace), chromedp.KeyEvent("/"))
	b.Wait(`document.activeElement.dataset.action === "picture"`)
	b.Click("[role=menuitem][data-action=table]", chromedp.WaitVisible(".editor-grid"))
	b.Do(key(kb.Escape))
	b.Wait(`document.activeElement.matches(".editor-text")`)
	b.Do(chromedp.KeyEvent("/"))
	b.Wait(`document.activeElement.dataset.action === "picture"`)
	b.Click("[data-action='own.preferences_url']")
	b.settle()
	b.expectSource("Boots are **very warm** and *dry*, 2\\*3\\*4 and a_b_c.\n\n[Manage your preferences]({{ preferences_url }})\n")
}

// tryDeletedColumns deletes the columns of the design "Offer", and single columns, with the buttons, the menu and the
// keys.
func tryDeletedColumns(b *consoleBrowser) {
	text, err := os.ReadFile("../../handlers/console/designs/en/offer.md")
	if err != nil {
		b.Fatal(err)
	}
	source := string(text)
	from, to := strings.Index(source, "::: columns"), strings.LastIndex(source, ":::\n")+len(":::\n")
	without, one := source[:from]+source[to+1:], source[:from]+"## Second product\n\nOne line about it.\n"+source[to:]
	b.openEditor(source)
	b.expect(`[...document.querySelectorAll(".editor-text button")].map(e => e.getAttribute("aria-label") ?? e.textContent)`,
		"No link yet,Delete columns,Delete column,Delete column")
	b.Look("editor-columns")
	b.Click(".editor-about .button")
	b.expectSource(without)
	b.expect(`document.activeElement.className.includes("editor-text")`, "true")
	b.Do(key("z", chromedp.ModifierCtrl))
	b.expectSource(source)
	b.Click(".editor-drop")
	b.expectSource(one)
	b.Do(key("z", chromedp.ModifierCtrl))
	b.settle()
	b.pick("blocks")
	b.expect(`[...document.querySelectorAll("[data-action^=columns]:not([hidden])")].map(e => e.textContent)`,
		"Two columns,Three columns")
	b.Do(key(kb.Escape))
	b.Click(".editor-column p")
	b.settle()
	b.pick("blocks", "columns.delete")
	b.expectSource(without)

	// Backspace after columns selects them, and then deletes them.
	b.openEditor(source)
	press := func(keys ...string) {
		for _, k := range keys {
			b.Do(key(k))
			b.settle()
		}
	}
	b.Click(".editor-text > p:last-child")
	press(kb.Home, kb.Backspace)
	b.expect(`document.querySelector(".ProseMirror-selectednode .editor-columns") !== null`, "true")
	press(kb.Backspace)
	b.expectSource(without)

	// The same key deletes an empty column. The column that is left becomes text.
	b.openEditor("::: columns\n::: column\nA\n:::\n::: column\nB\n:::\n::: column\nC\n:::\n:::\n")
	for _, want := range []string{"::: columns\n::: column\nB\n:::\n::: column\nC\n:::\n:::\n", "C\n"} {
		b.Click(".editor-column p")
		press(kb.Home, kb.Backspace, kb.End, kb.Delete, kb.Backspace, kb.Backspace) // the first two stay in the column
		b.expectSource(want)
	}
	b.openEditor("::: columns\n::: column\nA\n:::\n::: column\nB\n:::\n:::\n")
	b.Click(".editor-about .button")
	b.Do(chromedp.KeyEvent("Text"))
	b.expectSource("Text\n")
}

// tryEmoji inserts two emoji, the second with the keys. The toolbar is one row in a window of 1280 pixels.
func tryEmoji(b *consoleBrowser) {
	b.openEditor("Tulips\n")
	b.expect(`new Set([...document.querySelectorAll(".editor-toolbar > button, .editor-menu > button")]
		.map(e => Math.round(e.getBoundingClientRect().top))).size`, "1")
	b.Click(".editor-text p")
	b.Do(key(kb.End))
	b.settle()
	b.pick("emoji")
	b.Click(".editor-emoji [data-action='🌷']")
	b.settle()
	b.pick("emoji")
	b.Do(key(kb.ArrowDown), key(kb.ArrowRight), key("\r"))
	b.settle()
	b.expectSource("Tulips🌷👍\n")
	b.expect(`document.activeElement.className.includes("editor-text")`, "true")
}

// tryVideo pastes the address of a video, which becomes an image that leads to it: first with the thumbnail that the
// server fetched, then with a file.
func tryVideo(b *consoleBrowser) {
	const film = "https://youtu.be/dQw4w9WgXcQ"
	b.openEditor("")
	b.Do(chromedp.Focus(".editor-text"))
	b.Eval(`(() => {
		const data = new DataTransfer();
		data.setData("text/plain", "` + film + `");
		document.querySelector(".editor-text").dispatchEvent(new ClipboardEvent("paste", {
			bubbles: true, cancelable: true, clipboardData: data}));
	})()`)
	b.Click(".editor-status .button", chromedp.WaitVisible(".editor-dialog"))
	b.expect(`document.querySelector(".editor-dialog [name=href]").value`, film)
	b.Click(".editor-dialog .primary")
	b.Wait(`document.querySelector(".editor-dialog .editor-fault").textContent`)
	b.Look("editor-video")
	b.refuses("/pictures", "This video is private.")
	b.Click(".editor-dialog div .button")
	b.Wait(`document.querySelector(".editor-dialog [role=status]").textContent === "This video is private."`)
	b.refuses("/pictures", "")
	b.Click(".editor-dialog div .button")
	b.Wait(`document.querySelector(".editor-dialog [name=src]").value`)
	b.Do(chromedp.SetValue(".editor-dialog [name=alt]", "A film"))
	b.Click(".editor-dialog .primary", chromedp.WaitNotPresent(".editor-dialog"))
	b.settle()
	b.expectSource("[![A film](/pictures/2.png)](" + film + ")\n")
	b.Do(chromedp.Focus(".editor-text"), key(kb.End, chromedp.ModifierCtrl))
	b.pick("blocks")
	b.Click("[role=menu] [data-action=video]", chromedp.WaitVisible(".editor-dialog"))
	b.Eval(`(() => {
		const { href, file } = document.querySelector(".editor-dialog form").elements;
		const data = new DataTransfer();
		data.items.add(` + file + `);
		file.files = data.files;
		href.value = "vimeo.com/76979871";
	})()`)
	b.Click(".editor-dialog .primary", chromedp.WaitNotPresent(".editor-dialog"))
	b.Wait(`document.querySelectorAll(".editor-figure[data-pending='']").length === 2`)
	b.settle()
	b.expectSource("[![A film](/pictures/2.png)](" + film + ")\n\n[![](/pictures/3.png)](https://vimeo.com/76979871)\n")
	if _, body := b.count("/pictures"); !strings.Contains(body, "https://vimeo.com/76979871") {
		b.Errorf("the upload doesn't name the video: %q", body)
	}
}

// tryTable edits a table in a grid and checks that it stays the same Markdown.
func tryTable(b *consoleBrowser) {
	b.openEditor("Text\n")
	b.Click(".editor-text p")
	b.pick("table")
	b.answer("Boot", "Price", "Red | green", "20")
	want := "Text\n\n| Boot | Price |\n| --- | --- |\n| Red \\| green | 20 |\n"
	b.expectSource(want)
	b.Click(".editor-locked .button", chromedp.WaitVisible(".editor-grid"))
	b.expect(`[...document.querySelectorAll(".editor-grid input")].map(i => i.value).join("; ")`,
		`Boot; Price; Red \| green; 20`)
	b.Click(".editor-grid .button:last-child")
	b.Do(chromedp.KeyEvent("In stock\r"), chromedp.WaitNotPresent(".editor-dialog"))
	b.expectSource("Text\n\n| Boot | Price | In stock |\n| --- | --- | --- |\n| Red \\| green | 20 |  |\n")
	b.Look("editor-table")
}

// tryLargePictures checks that an image wider than an email needs is scaled down before the upload and stays
// transparent. An image that is still too large, or that email programs don't show, gets an error. The form waits for
// uploads.
func tryLargePictures(b *consoleBrowser) {
	b.openEditor("Text\n")
	b.Eval(`(() => { window.paste = (...files) => {
		const data = new DataTransfer();
		for (const f of files) data.items.add(f);
		document.querySelector(".editor-text").dispatchEvent(new ClipboardEvent("paste", {
			bubbles: true, cancelable: true, clipboardData: data}));
	};
	window.painted = (width, height, type) => new Promise((done) => {
		const c = Object.assign(document.createElement("canvas"), {width, height}), pen = c.getContext("2d");
		for (let x = 0; x < width; x += 40) {
			pen.fillStyle = "hsl(" + x + " 80% 50%)";
			pen.fillRect(x, 0, 20, height / 2);
		}
		c.toBlob((blob) => done(new File([blob], "wide.png", {type})), type);
	}); })()`)
	b.Eval(`(painted(3000, 1000, "image/png").then((f) => paste(f)), 0)`)
	b.Wait(`document.querySelector(".editor-figure[data-pending=''] img")`)
	b.Wait(`/^Image scaled from \d+ kB to \d+ kB\.$/.test(document.querySelector(".editor-status").textContent)`)
	_, body := b.count("/pictures")
	at := strings.Index(body, "\x89PNG")
	m, err := png.Decode(strings.NewReader(body[max(0, at):]))
	if err != nil {
		b.Fatal(err)
	}
	if size := m.Bounds().Size(); size != image.Pt(2400, 800) {
		b.Errorf("uploaded as %v", size)
	}
	if _, _, _, alpha := m.At(8, 780).RGBA(); alpha != 0 {
		b.Error("it is no longer transparent")
	}
	// The server isn't asked about an image that it would not read in full.
	sent, _ := b.count("/pictures")
	b.Eval(`paste(new File([new Uint8Array(1000001)], "film.gif", {type: "image/gif"}))`)
	b.Wait(`document.querySelector(".editor-figure[data-pending=failed]")`)
	b.expect(`document.querySelector(".editor-figure[data-pending=failed] .editor-elsewhere").textContent`,
		"Too large.")
	b.refuses("/pictures", "HEIC is not supported.")
	b.Eval(`paste(new File([new Uint8Array(20)], "IMG_1.HEIC"))`)
	b.Wait(`document.querySelectorAll(".editor-figure[data-pending=failed]").length === 2`)
	b.expect(`document.querySelector(".editor-status").textContent`, "HEIC is not supported.")
	if n, _ := b.count("/pictures"); n != sent+1 || strings.Count(b.source(), "![](file:)") != 2 {
		b.Errorf("sent %d times: %s", n-sent, b.source())
	}
	// Saving waits for an upload. Until then the text only has a placeholder for the image.
	b.openEditor("Text\n")
	b.refuses("/pictures", "")
	b.Eval(`(() => {
		const data = new DataTransfer();
		data.items.add(` + file + `);
		document.querySelector(".editor-text").dispatchEvent(new ClipboardEvent("paste", {
			bubbles: true, cancelable: true, clipboardData: data}));
		document.querySelector("#save").click();
	})()`)
	b.Do(chromedp.WaitNotPresent("main"))
	if _, saved := b.count("/saved"); !strings.Contains(saved, "%2Fpictures%2F") &&
		!strings.Contains(saved, "/pictures/") {
		b.Error(saved)
	}
	b.openEditor("Text\n")
}

// TestEditorOfACampaignInABrowser checks the editor on the page of a campaign: text with an image is saved
// automatically and appears in the preview. The page's policy blocks nothing.
func TestEditorOfACampaignInABrowser(t *testing.T) {
	browser := browsertest.New(t)
	d := start(t, nil)
	tenant := d.seed.NewTenant()
	c := d.seed.NewCampaign(d.seed.NewList(), func(f *core.CampaignFields) {
		f.Content.Source = "# Hello\n\n* one\n* two\n\nGoodbye\n"
	})
	ann := d.addUser("ann@example.org")
	d.Must(d.store.GrantRole(t.Context(), ann.ID, core.Role{Role: core.RolePublisher, TenantID: tenant.ID}, false,
		now()))
	b := &consoleBrowser{Browser: browser}
	b.Open(d.cfg.Origin()+"/login", chromedp.SendKeys("#email", "ann@example.org"),
		chromedp.SendKeys("#password", daemontest.Password+"\r"),
		chromedp.WaitVisible(`//h1[not(contains(., "Sign in"))]`))
	b.Open(d.cfg.Origin()+"/console/"+tenant.ID+"/campaigns/"+c.ID, chromedp.WaitVisible(".editor-text"))
	b.Eval(`(() => {
		window.faults = [];
		document.addEventListener("securitypolicyviolation", e => faults.push(e.effectiveDirective + " " +
			e.blockedURI));
	})()`)
	b.Look("campaign-editor")
	b.Click(".editor-text > p")
	b.Do(key(kb.End), chromedp.KeyEvent(", Ann"))
	content := func() string {
		found, err := d.store.Campaign(t.Context(), c.ID)
		d.Must(err)
		_, fields, err := d.store.CampaignVersion(t.Context(), &found, 0)
		d.Must(err)
		return fields.Content.Source
	}
	saved := func(want string) {
		t.Helper()
		b.Wait(`/saved/i.test(document.querySelector("#saved").textContent)`)
		daemontest.Await(d, "a saved campaign", func() bool { return content() == want })
	}
	saved("# Hello\n\n* one\n* two\n\nGoodbye, Ann\n")
	b.Eval(`(() => {
		const data = new DataTransfer();
		data.items.add(` + file + `);
		document.querySelector(".editor-text").dispatchEvent(new ClipboardEvent("paste", {
			bubbles: true, cancelable: true, clipboardData: data}));
	})()`)
	b.Wait(`document.querySelector(".editor-figure img") && !document.querySelector(".editor-figure[data-pending=send]")`)
	daemontest.Await(d, "a saved picture", func() bool { return strings.Contains(content(), "![](http") })
	b.clean()
	b.Do(chromedp.Reload(), chromedp.WaitVisible(".editor-figure img"))
	b.Wait(`document.querySelector(".editor-figure img").naturalWidth > 0`)
	b.expect(`document.querySelector("iframe[data-preview]") !== null`, "true")
}
