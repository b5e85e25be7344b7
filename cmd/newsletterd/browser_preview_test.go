package main

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/core"
)

// TestPreviewInABrowser checks that the preview shows the whole email, even a long one, and follows the text. It shows
// the email for a subscriber found by address, with and without scripts.
func TestPreviewInABrowser(t *testing.T) {
	w := newWriter(t)
	w.d.Must(w.d.store.GrantRole(t.Context(), w.user.ID, core.Role{Role: core.RoleTenantAdmin, TenantID: w.tenant.ID},
		false, now()))
	_, err := w.d.store.SetPreferences(t.Context(), w.list.ID, "joan@reader.example",
		`{"first_name":"Joan","city":"Bonn"}`, now())
	w.d.Must(err)
	w.d.seed.Active(w.list.ID, "john@reader.example")
	w.Do(browsertest.OnEachPage(`window.faults = [];
		document.addEventListener("securitypolicyviolation", e => faults.push(e.effectiveDirective + " " + e.blockedURI));
		addEventListener("error", e => faults.push(e.message));`))
	source := "Hello {{ preferences.first_name | default: \"friend\" }}\n\n" +
		strings.Repeat("A paragraph of a long mail.\n\n", 80) + "The end.\n"
	c := w.edit(source)
	const frame = `document.querySelector("iframe.whole")`
	const whole = `(f => f.contentDocument?.body?.textContent.includes("The end.") && f.clientHeight > 2000 &&
		f.contentDocument.documentElement.scrollHeight <= f.clientHeight && f.contentDocument.documentElement.scrollWidth <= f.clientWidth)`
	w.Wait(whole + "(" + frame + ")")
	// The toolbar has at most two rows, even if the phone preview is next to the text.
	const toolbar = `document.querySelector(".editor-toolbar").clientHeight < 80`
	for _, width := range []int64{800, 1101, 1140, 1141, 1180, 1240} {
		w.Do(chromedp.EmulateViewport(width, 800))
		w.expect(toolbar, "true")
	}
	w.expect(`document.querySelector("iframe.whole").clientWidth >= 320`, "true")
	w.Click(`label:has(#view-text)`)
	w.Wait(`(f => f.contentDocument?.body?.textContent.includes("The end.") && f.contentDocument.documentElement.scrollHeight <= f.clientHeight)(document.querySelector("iframe.as-text"))`)
	// The desktop preview is scaled down if there is less space. The text keeps its size.
	for _, width := range []int64{1280, 1150, 390} {
		w.Do(chromedp.EmulateViewport(width, 800), chromedp.Click(`label:has(#view-desktop)`))
		w.Wait(whole + "(" + frame + ")")
		w.Wait(`(f => {
			const room = f.parentElement.getBoundingClientRect(), drawn = f.getBoundingClientRect();
			return f.contentWindow.innerWidth >= 600 && drawn.right <= room.right && drawn.width > room.width - 4 &&
				Math.abs(drawn.height - room.height) < 4 && getComputedStyle(f.parentElement).overflowX === "hidden";
		})(` + frame + `)`)
		w.expect(`document.querySelector("#edit").clientWidth >= Math.min(480, innerWidth - 32)`, "true")
		w.expect(toolbar, "true")
	}
	// A shorter text shrinks the frame.
	w.Eval(`(() => { const area = document.querySelector("#f-source"); area.value = "Short {{ preferences.first_name | default: \"friend\" }}\n";
		area.dispatchEvent(new Event("input", {bubbles: true})); })()`)
	w.becomes(c.ID, "Short {{ preferences.first_name | default: \"friend\" }}\n")
	w.Wait(`(f => f.contentDocument?.body?.textContent.includes("Short friend") && f.clientHeight < 600)(` +
		frame + `)`)

	w.Do(chromedp.SendKeys("#f-as", "jo"))
	w.Wait(`document.querySelector("#readers")?.textContent.includes("joan@reader.example")`)
	w.expect(`document.querySelectorAll("#readers a").length`, "2")
	w.Look("campaign-reader")
	w.Click("#readers a[href*=joan]")
	w.Wait(frame + `.contentDocument?.body?.textContent.includes("Short Joan")`)
	w.Wait(`(t => t.includes("Preview as joan@reader.example") && t.includes("Bonn"))(document.querySelector(".as-reader").textContent)`)
	w.expect(`document.querySelectorAll("#readers a").length + document.activeElement.textContent`,
		"0Subscriber with no details")
	w.Look("campaign-reader-chosen")
	w.Click(".as-reader a")
	w.Wait(frame + `.contentDocument?.body?.textContent.includes("Short friend") && !document.querySelector(".as-reader")`)
	// The preview switches to a subscriber once only one matches. Without a search it shows no subscriber's email.
	w.Do(chromedp.SendKeys("#f-as", "a"))
	w.Wait(frame + `.contentDocument?.body?.textContent.includes("Short Joan") && !document.querySelector("#readers a")`)
	w.expect(`document.activeElement.id + document.querySelectorAll(".as-form button").length`, "f-as0")
	w.Do(key("a", chromedp.ModifierCtrl), key(kb.Backspace))
	w.Wait(frame + `.contentDocument?.body?.textContent.includes("Short friend") && !document.querySelector(".as-reader")`)
	w.Wait(frame + `.clientHeight < 600`)
	w.clean()

	w.Do(browsertest.Scripts(false), chromedp.Reload())
	w.Submit(chromedp.SetValue("#f-as", "nobody@reader.example"), chromedp.Click(".as-form button"))
	if got := w.Text("#readers"); !strings.Contains(got, "No subscribers on these lists match your search") {
		t.Error(got)
	}
	w.Submit(chromedp.SetValue("#f-as", "JOAN@reader.example"), chromedp.Click(".as-form button"))
	if got := w.Text(".as-reader"); !strings.Contains(got, "Joan") {
		t.Error(got)
	}
}

// TestPastedPictureInABrowser checks that an image pasted with a width keeps it, and is aligned left as in the email.
func TestPastedPictureInABrowser(t *testing.T) {
	w := newWriter(t)
	c := w.edit("Text\n")
	for _, width := range []string{
		`width="100"`, `style="width:75pt;height:20px"`, `style="width: 100px" width="300"`,
	} {
		w.Eval(`(() => {
			const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
			const data = new DataTransfer();
			data.setData("text/html", '<p>Logo</p><p><img ` + strings.ReplaceAll(width, `'`, ``) + ` alt="A logo" src="data:image/png;base64,' + png + '"></p>');
			const area = document.querySelector("#f-source");
			area.value = "Text\n";
			area.dispatchEvent(new Event("input", {bubbles: true}));
			document.querySelector(".editor-text").dispatchEvent(new ClipboardEvent("paste", {
				bubbles: true, cancelable: true, clipboardData: data}));
		})()`)
		w.Wait(`document.querySelector(".editor-figure img") && !document.querySelector(".editor-figure[data-pending=send]")`)
		w.Wait(`/!\[A logo\]\(http[^)]*\)\{width=100\}/.test(document.querySelector("#f-source").editor.markdown())`)
		w.expect(`document.querySelector(".editor-figure img").width`, "100")
	}
	w.expect(`(() => {
		const figure = document.querySelector(".editor-figure"), img = figure.querySelector("img");
		return img.getBoundingClientRect().left - figure.getBoundingClientRect().left < 20;
	})()`, "true")
	w.Wait(`(f => { const img = f.contentDocument?.querySelector("img[alt='A logo']");
		return img && img.width === 100 && img.getBoundingClientRect().left < 60; })(document.querySelector("iframe.whole"))`)
	if got := w.kept(c.ID).Content.Source; !strings.Contains(got, "{width=100}") {
		t.Error(got)
	}
}
