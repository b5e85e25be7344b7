package main

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/core"
)

// TestHTMLOfACampaignInABrowser writes HTML in an editor with colored tags, under the page's policy and with autosave.
// The page that switches a campaign to HTML asks for confirmation. Without scripts it is a textarea.
func TestHTMLOfACampaignInABrowser(t *testing.T) {
	w := newWriter(t)
	w.Do(browsertest.OnEachPage(`window.faults = [];
		document.addEventListener("securitypolicyviolation", e => faults.push(e.effectiveDirective + " " + e.blockedURI));
		addEventListener("error", e => faults.push(e.message));`))
	c := w.edit("Hello {{ preferences.first_name | default: \"friend\" }}\n")
	w.Click(".acts details[data-menu] > summary")
	w.Click(`a[href$="kind?to=html"]`, browsertest.Heading("Switch to custom HTML?"))
	w.Look("campaign-kind")
	w.Submit(chromedp.Click(`.card form button`))
	w.Wait(`document.querySelector(".cm-content span[class]") !== null`)
	w.expect(`getComputedStyle(document.querySelector(".cm-gutters")).display`, "flex")
	w.expect(`document.querySelector("#f-source").hidden`, "true")
	w.Look("campaign-html")
	w.clean()

	// Steps that wait for an element to stop moving would wait forever while long lines are measured again.
	const focus = `document.querySelector("#f-source").editor.focus()`
	source := func() string { return w.kept(c.ID).Content.Source }
	if !strings.HasPrefix(source(), "<!DOCTYPE html>") {
		t.Fatal(source())
	}
	w.Eval(focus)
	w.Do(key(kb.Home, chromedp.ModifierCtrl), insert("<!-- é 漢 -->"))
	want := "<!-- é 漢 -->" + source()
	w.becomes(c.ID, want)
	w.Do(key("z", chromedp.ModifierCtrl))
	w.becomes(c.ID, strings.TrimPrefix(want, "<!-- é 漢 -->"))

	// Tab leaves the text, and the editor shows text that a script puts into the textarea.
	w.Eval(focus)
	w.Do(key(kb.Tab))
	w.expect(`document.activeElement.closest(".cm-editor")`, "null")
	w.Eval(`(() => {
		const area = document.querySelector("#f-source");
		area.value = "<p class=\"a\">\n<style>p { color: red }</style>\n";
		area.dispatchEvent(new Event("input", {bubbles: true}));
	})()`)
	w.expect(`document.querySelector("#f-source").editor.view.state.doc.toString()`,
		"<p class=\"a\">\n<style>p { color: red }</style>\n")
	w.becomes(c.ID, "<p class=\"a\">\n<style>p { color: red }</style>\n")
	w.clean()
	w.Do(chromedp.Reload())
	w.Wait(`document.querySelector(".cm-content") !== null`)
	if got := source(); got != "<p class=\"a\">\n<style>p { color: red }</style>\n" {
		t.Errorf("opening has made %q of it", got)
	}
	if got := w.kept(c.ID); got.Content.Kind != core.ContentHTML {
		t.Error(got.Content.Kind)
	}

	w.Do(browsertest.Scripts(false), chromedp.Reload(), chromedp.WaitVisible("#f-source"))
	w.Submit(chromedp.SetValue("#f-source", "<p>plain</p>"), chromedp.Click(".composer .form-acts > .save"))
	if got := source(); got != "<p>plain</p>" {
		t.Errorf("without a script: %q", got)
	}
}
