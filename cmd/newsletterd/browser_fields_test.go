package main

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// The dialog of fields offers those that readers have, imported columns too; another one comes with the word that the mail
// has for those who lack it, unless one was typed.
func TestFieldsOfReadersInABrowser(t *testing.T) {
	w := newWriter(t)
	_, err := w.d.store.SetPreferences(t.Context(), w.list.ID, "joan@reader.example", `{"Vorname":"Joan","Ort":"Bonn"}`, now())
	w.d.Must(err)
	c := w.edit("Dear {{ preferences.Vorname | default: \"reader\" }}\n\nText\n")
	w.expect(`document.querySelector(".editor-field").textContent`, "Vorname · else “reader”")
	w.put(`[...document.querySelectorAll(".editor-text > p")].at(-1)`)
	w.pick("field")
	w.Do(chromedp.WaitVisible(".editor-dialog"))
	w.expect(`[...document.querySelectorAll(".editor-dialog option")].map(o => o.value).join()`,
		"preferences.Ort,preferences.Vorname,preferences.first_name,email")
	const choose = `((value) => { const s = document.querySelector(".editor-dialog select"); s.value = value;
		s.dispatchEvent(new Event("change")); return document.querySelector(".editor-dialog [name=fallback]").value; })`
	w.expect(choose+`("preferences.Vorname")`, "reader")
	w.expect(choose+`("preferences.Ort")`, "")
	w.Do(chromedp.SetValue(".editor-dialog [name=fallback]", "here"))
	w.expect(choose+`("preferences.first_name")`, "here")
	w.expect(choose+`("preferences.Ort")`, "here")
	w.Click(".editor-dialog .primary", chromedp.WaitNotPresent(".editor-dialog"))
	w.becomes(c.ID, "Dear {{ preferences.Vorname | default: \"reader\" }}\n\nText{{ preferences.Ort | default: \"here\" }}\n")
	w.Wait(`document.querySelector("#checks").textContent.includes("1 of 2 readers: nothing is known for “Ort”, they read “here”.")`)
}
