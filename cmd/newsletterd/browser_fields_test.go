package main

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"newsletterd/cmd/newsletterd/daemontest"
)

// The dialog of fields offers those that readers have, imported columns too; another one comes with the word that the
// mail has for those who lack it, unless one was typed.
func TestFieldsOfReadersInABrowser(t *testing.T) {
	w := newWriter(t)
	_, err := w.d.store.SetPreferences(t.Context(), w.list.ID, "joan@reader.example",
		`{"Vorname":"Joan","Ort":"Bonn"}`, now())
	w.d.Must(err)
	daemontest.Await(t, "the send side", func() bool { // which the check asks
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
		"Text{{ preferences.Ort | default: \"here\" }}\n")
	w.Wait(`document.querySelector("#checks").textContent.includes(
		"1 of 2 readers: nothing is known for “Ort”, they read “here”.")`)
}

// The dialog of pictures offers those that the tenant has, with their words.
func TestOwnPicturesInABrowser(t *testing.T) {
	w := newWriter(t)
	w.d.seed.TenantID = w.tenant.ID
	w.d.seed.NewMedia("boot.png", []string{"1234"})
	rose := w.d.seed.NewMedia("rose.png", []string{"12345"})
	w.edit("Text\n")
	w.put(`document.querySelector(".editor-text > p")`)
	w.pick("picture")
	w.Do(chromedp.WaitVisible(".editor-library button"))
	w.expect(`[...document.querySelectorAll(".editor-library button")].map(b => b.title).join()`, "rose.png,boot.png")
	w.Eval(`document.querySelector(".editor-library button").click()`)
	w.expect(`document.querySelector(".editor-library button").getAttribute("aria-pressed")`, "true")
	w.Click(".editor-dialog .primary", chromedp.WaitNotPresent(".editor-dialog"))
	w.Wait(`/^Text\n\n!\[.*\]\(http.*\)\n$/.test(document.querySelector("#f-source").editor.markdown())`)
	w.Wait(`/saved/i.test(document.querySelector("#saved").textContent)`)
	if got := w.Eval(`document.querySelector("#f-source").editor.markdown()`); !strings.Contains(got, "rose.png") ||
		rose.ID == "" {
		t.Error(got)
	}
}
