package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"newsletterd/core"
)

// opensFiles holds that a click at the edge of an area opens the dialog for files, and so does Return on its input.
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

// An area for files is a button, too.
func TestFilesAreChosenInABrowser(t *testing.T) {
	w := newWriter(t)
	w.d.Must(w.d.store.GrantRole(t.Context(), w.user.ID, core.Role{Role: core.RoleTenantAdmin, TenantID: w.tenant.ID},
		false, now()))
	for _, path := range []string{"/new-import", "/looks", "/settings/logo"} {
		w.Open(w.at(path), chromedp.WaitVisible("#f-file"))
		w.opensFiles(".field:has([type=file])")
	}
}
