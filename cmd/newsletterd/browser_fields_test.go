package main

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
)

// TestFieldsOfReadersInABrowser checks that the dialog of fields offers the subscribers' fields, including imported
// columns. When another field is chosen, the dialog suggests the fallback that the email already has for it, unless one
// was typed.
func TestFieldsOfReadersInABrowser(t *testing.T) {
	w := newWriter(t)
	_, err := w.d.store.SetPreferences(t.Context(), w.list.ID, "joan@reader.example",
		`{"Vorname":"Joan","Ort":"Bonn"}`, now())
	w.d.Must(err)
	daemontest.Await(t, "the send side", func() bool { // the check asks the send side
		s, err := w.d.store.Subscriber(t.Context(), w.list.ID, "joan@reader.example")
		return err == nil && strings.Contains(string(s.Preferences), "Bonn")
	})
	c := w.edit("Dear {{ preferences.Vorname | default: \"reader\" }}\n\nText\n")
	w.expect(`document.querySelector(".editor-field").textContent`, "Vorname · else “reader”")
	w.put(`[...document.querySelectorAll(".editor-text > p")].at(-1)`)
	w.pick("field")
	w.Do(chromedp.WaitVisible(".editor-dialog"))
	w.expect(`[...document.querySelectorAll(".editor-dialog option")].map(o => o.value).join()`,
		"preferences.Vorname,preferences.first_name,preferences.Ort,email")
	const choose = `((value) => { const s = document.querySelector(".editor-dialog select"); s.value = value;
		s.dispatchEvent(new Event("change")); return document.querySelector(".editor-dialog [name=fallback]").value; })`
	w.expect(choose+`("preferences.Vorname")`, "reader")
	w.expect(choose+`("preferences.Ort")`, "")
	w.Do(chromedp.SetValue(".editor-dialog [name=fallback]", "here"))
	w.expect(choose+`("preferences.first_name")`, "here")
	w.expect(choose+`("preferences.Ort")`, "here")
	w.Click(".editor-dialog .primary", chromedp.WaitNotPresent(".editor-dialog"))
	w.becomes(c.ID, "Dear {{ preferences.Vorname | default: \"reader\" }}\n\n"+
		"Text {{ preferences.Ort | default: \"here\" }}\n")
	w.Wait(`document.querySelector("#checks").textContent.includes(
		"“Ort” is blank for 1 of 2 recipients. They see “here” instead (fallback).")`)
	w.Click("#checks > summary", chromedp.WaitVisible("#checks > .rows"))
	// The subject shows fields like the text. The menu below it inserts one at the cursor; a click changes one.
	w.Eval(`(s => { s.value = ""; s.dispatchEvent(new Event("input", {bubbles: true})); })(document.querySelector("#f-subject"))`)
	w.Do(chromedp.Focus(".editor-line"), chromedp.KeyEvent("Dear "))
	w.Click(".form > .menu > summary", chromedp.WaitVisible(".form > .menu button"))
	w.Look("editor-subject-field")
	w.Click(`[data-insert^="{{ preferences.first_name"]`)
	w.Wait(`!document.querySelector(".form > .menu").open`)
	w.Do(chromedp.KeyEvent(", hello"))
	w.expect(`document.querySelector("#f-subject").value`, `Dear {{ preferences.first_name | default: "friend" }}, hello`)
	w.expect(`document.querySelector(".editor-line").textContent`, "Dear First name · else “friend”, hello")
	const emoji = `[data-emoji] [data-insert="🎉"]`
	w.Click(".form > .menu > summary", chromedp.WaitVisible(emoji))
	w.Click(emoji)
	w.expect(`document.querySelector(".editor-line").textContent`, "Dear First name · else “friend”, hello🎉")
	w.Click(".editor-line .editor-field", chromedp.WaitVisible(".editor-dialog"))
	w.Do(chromedp.SetValue(".editor-dialog [name=fallback]", "gardener"))
	w.Click(".editor-dialog .primary", chromedp.WaitNotPresent(".editor-dialog"))
	w.expect(`document.querySelector("#f-subject").value`,
		`Dear {{ preferences.first_name | default: "gardener" }}, hello🎉`)
	daemontest.Await(t, "the subject is saved", func() bool {
		return strings.Contains(w.kept(c.ID).Subject, "gardener")
	})
	w.Wait(`document.querySelector("#inbox").textContent.includes("hello🎉")`)
	w.expect(`document.querySelector("#checks").open`, "true") // as it was before the save
}

// TestFieldsOfMailTextsInABrowser checks that the texts of automatic emails show fields by their labels, and that the
// menus below them insert one at the cursor, also between lines.
func TestFieldsOfMailTextsInABrowser(t *testing.T) {
	w := newWriter(t)
	w.d.Must(w.d.store.GrantRole(t.Context(), w.user.ID,
		core.Role{Role: core.RoleTenantAdmin, TenantID: w.tenant.ID}, false, now()))
	w.Open(w.at("/settings/mails"), chromedp.WaitVisible(".editor-line"))
	const all = `[...document.querySelectorAll(".editor-line")].slice(0, 2)`
	w.expect(all+`.map(e => e.innerText.trim()).join("|")`, "Confirm your subscription to List name|Hello,\n\n"+
		"Please confirm that you want to get List name at Email address.")
	w.expect(`document.body.innerText.includes("{{")`, "false")
	w.Look("mail-texts")
	w.Eval(`(e => {
		e.focus();
		getSelection().selectAllChildren(e);
		getSelection().collapseToEnd();
		document.dispatchEvent(new Event("selectionchange"));
	})(document.querySelector(".textarea.editor-line"))`)
	w.settle()
	w.Do(enter, chromedp.KeyEvent("Yours, "))
	const menu = `[data-into="f-mail_texts-confirm-text"][data-insert="{{tenant.name}}"]`
	w.Click(".menu:has("+menu+") > summary", chromedp.WaitVisible(menu))
	w.Click(menu)
	w.Do(chromedp.KeyEvent("!"))
	const want = "Hello,\n\nPlease confirm that you want to get {{list.name}} at {{email}}.\nYours, {{tenant.name}}!"
	w.expect(`document.querySelector("#f-mail_texts-confirm-text").value`, want)
	w.Eval(`document.querySelector(".mail-text .button.primary").click()`)
	daemontest.Await(t, "the text is saved", func() bool {
		tenant, err := w.d.store.Tenant(t.Context(), w.tenant.ID)
		w.d.Must(err)
		return tenant.MailTexts.Confirm != nil && *tenant.MailTexts.Confirm == (core.MailText{Text: want})
	})
}

// redDot is an image of 5 by 5 pixels.
const redDot = "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg=="

// TestOwnPicturesInABrowser checks that the dialog of images offers the tenant's images with their alt texts, and shows
// the one that is chosen there or from the computer.
func TestOwnPicturesInABrowser(t *testing.T) {
	w := newWriter(t)
	w.d.seed.TenantID = w.tenant.ID
	w.d.seed.NewMedia("boot.png", []string{"1234"})
	w.Do(browsertest.OnEachPage(`window.faults = [];
		document.addEventListener("securitypolicyviolation", e => faults.push(e.effectiveDirective + " " + e.blockedURI));
		addEventListener("error", e => faults.push(e.message));`))
	c := w.edit("Text\n")
	w.Do(chromedp.EmulateViewport(1280, 800), chromedp.Click("[data-action=blocks]"))
	w.expect(`(e => e.scrollHeight === e.clientHeight)(document.querySelector(".editor-menu > div:not([hidden])"))`,
		"true")
	w.Do(chromedp.Click("[data-action=blocks]"))
	w.Eval(`(ask => window.fetch = async (to, how) => {
		if (/upload-picture/.test(to)) await new Promise(done => (window.release = done));
		return ask(to, how);
	})(window.fetch)`)
	const shown = `(e => e && !e.hidden && e.firstChild.naturalWidth === 5)(document.querySelector(".editor-chosen"))`
	ask := func() {
		w.put(`document.querySelector(".editor-text > p")`)
		w.pick("picture")
		w.Do(chromedp.WaitVisible(".editor-library button"))
	}
	ask()
	w.expect(shown, "false")
	w.Eval(`(() => {
		const input = document.querySelector(".editor-dialog [type=file]"), data = new DataTransfer();
		data.items.add(new File([Uint8Array.from(atob("` + redDot + `"), c => c.charCodeAt(0))], "rose.png", {type: "image/png"}));
		input.files = data.files;
		input.dispatchEvent(new Event("change", {bubbles: true}));
	})()`)
	w.Wait(shown)
	w.Click(".editor-dialog .primary", chromedp.WaitNotPresent(".editor-dialog"))
	daemontest.Await(t, "the text is saved without the image", func() bool {
		return strings.Contains(w.kept(c.ID).Content.Source, "(file:)")
	})
	w.Wait(`document.querySelector("[name=revision]").value !== "1"`)
	w.expect(`/uploaded/.test(document.querySelector("#checks").textContent)`, "false") // it is on its way
	w.Eval(`window.release()`)
	w.Wait(`/^Text\n\n!\[.*\]\(http.*rose.png\)\n$/.test(document.querySelector("#f-source").editor.markdown())`)
	// The script knows what was just uploaded; later the image comes from the tenant's media.
	daemontest.Await(t, "the text is saved", func() bool {
		return strings.Contains(w.kept(c.ID).Content.Source, "rose.png")
	})
	w.Do(chromedp.Reload(), chromedp.WaitVisible(".editor-text"))
	ask()
	w.expect(`[...document.querySelectorAll(".editor-library button")].map(b => b.title).join()`, "rose.png,boot.png")
	w.Eval(`document.querySelector(".editor-library button").click()`)
	w.expect(`document.querySelector(".editor-library button").getAttribute("aria-pressed")`, "true")
	w.Wait(shown)
	w.expect(`document.querySelector(".editor-chosen img").src === document.querySelector(".editor-dialog [name=src]").value`, "true")
	// An image is not shown if it doesn't exist or the page's policy blocks it.
	w.Eval(`document.querySelectorAll(".editor-library button")[1].click()`)
	w.Wait(`document.querySelector(".editor-chosen").hidden`)
	w.Eval(`document.querySelector(".editor-library button").click()`)
	w.Wait(shown)
	w.Look("editor-pictures")
	w.Click(".editor-dialog .primary", chromedp.WaitNotPresent(".editor-dialog"))
	w.Wait(`(text => text.split("rose.png").length === 3)(document.querySelector("#f-source").editor.markdown())`)
	w.Wait(`document.querySelectorAll(".editor-figure img").length === 2`)
	w.Wait(`/saved/i.test(document.querySelector("#saved").textContent)`)
	w.clean()
}
