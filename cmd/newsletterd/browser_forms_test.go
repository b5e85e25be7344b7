package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"newsletterd/core"
)

// opensFiles checks that a click at the edge of an area opens the file dialog, and so does Return in its input.
func (b *consoleBrowser) opensFiles(area string) {
	b.Helper()
	at := strings.Fields(b.Eval(`(() => {
		const area = document.querySelector("` + area + `"), input = area.querySelector("[type=file]");
		window.asked = 0;
		input.addEventListener("click", (event) => { event.preventDefault(); window.asked++; });
		area.scrollIntoView({block: "center"});
		input.focus();
		const {right, bottom} = area.getBoundingClientRect();
		return (right - 12) + " " + (bottom - 8);
	})()`))
	x, err := strconv.ParseFloat(at[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	y, err := strconv.ParseFloat(at[1], 64)
	if err != nil {
		b.Fatal(err)
	}
	b.Do(chromedp.KeyEvent(kb.Enter))
	b.expect(`String(window.asked)`, "1")
	b.Do(chromedp.MouseClickXY(x, y))
	b.expect(`String(window.asked)`, "2")
}

// newAdmin is like newWriter, for an administrator.
func newAdmin(t *testing.T) *writer {
	t.Helper()
	w := newWriter(t)
	role := core.Role{Role: core.RoleTenantAdmin, TenantID: w.tenant.ID}
	w.d.Must(w.d.store.GrantRole(t.Context(), w.user.ID, role, false, now()))
	return w
}

// TestFilesAreChosenInABrowser checks that an area for files is also a button.
func TestFilesAreChosenInABrowser(t *testing.T) {
	w := newAdmin(t)
	for _, path := range []string{"/new-import", "/looks", "/settings/logo"} {
		w.Open(w.at(path), chromedp.WaitVisible("#f-file"))
		w.opensFiles(".field:has([type=file])")
	}
}

// TestFormsInABrowser checks that the link to the logo keeps what was typed, and that Return in a field doesn't follow
// it. An invalid field gets the focus, even if a script sends the form.
func TestFormsInABrowser(t *testing.T) {
	w := newAdmin(t)
	w.Open(w.at("/settings"), chromedp.WaitVisible("#f-brand_name"))
	w.Do(chromedp.SetValue("#f-brand_name", "Typed"), chromedp.SendKeys("#f-reply_to", "a@acme.example\r"))
	w.leads("/settings?done=saved")
	w.Do(chromedp.SetValue("#f-brand_name", "Typed again"), chromedp.Click(`[name="then"]`))
	w.leads("/settings/logo?done=saved")
	w.Do(chromedp.WaitVisible("#f-file"))
	w.Eval(`(() => {
		const data = new DataTransfer();
		data.items.add(new File(["%PDF-1.7"], "logo.pdf", {type: "application/pdf"}));
		document.querySelector("#f-file").files = data.files;
	})()`)
	w.Click(".drop .primary")
	w.Wait(`document.activeElement.id === "f-file" && document.activeElement.ariaInvalid === "true"`)
	w.expect(`document.querySelector("#f-file-wrong").textContent`,
		"The file is a document. Choose an image for the logo.")
	w.Open(w.at("/settings"), chromedp.WaitVisible("#f-brand_name"))
	w.expect(`document.querySelector("#f-brand_name").value`, "Typed again")
	w.Do(chromedp.SetValue("#f-brand_color", "red"), chromedp.Click(".form-acts .primary"),
		chromedp.WaitVisible("#fault"))
	w.expect(`document.activeElement.id`, "f-brand_color")
	w.Look("form-wrong")
}

// TestNoticesGoInABrowser checks that the notice of a form stays until the page updates itself, and doesn't return on a
// reload.
func TestNoticesGoInABrowser(t *testing.T) {
	w := newAdmin(t)
	w.Open(w.at("/settings/domains"), chromedp.WaitVisible("#f-domain"))
	w.Do(chromedp.SendKeys("#f-domain", "roses.invalid\r"), chromedp.WaitVisible("#done"), chromedp.WaitReady("#records-poll"))
	w.Eval(`document.querySelector("#records-poll").dispatchEvent(new CustomEvent("poll"))`)
	w.Wait(`!document.querySelector("#done")`)
	w.leads("?done=domain-added")
	w.Do(chromedp.Navigate(w.Eval("location.href")))
	w.expect(`String(document.querySelector("#done"))`, "null")
}
