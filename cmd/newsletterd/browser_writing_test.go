package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/mail/mailtest"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// writer is a publisher in a browser, in the console of a daemon.
type writer struct {
	*consoleBrowser
	d      *running
	tenant core.Tenant
	list   core.List
	user   core.User
}

// newWriter starts a daemon with a list of two subscribers, and signs in a publisher.
func newWriter(t *testing.T) *writer {
	t.Helper()
	return newWriterOf(t, nil)
}

// newWriterOf is like newWriter, with another configuration.
func newWriterOf(t *testing.T, change func(*config.Config)) *writer {
	t.Helper()
	w := &writer{consoleBrowser: &consoleBrowser{Browser: browsertest.New(t)}, d: start(t, func(cfg *config.Config) {
		toServer(t, cfg)
		if change != nil {
			change(cfg)
		}
	})}
	w.tenant, w.list = w.d.seed.NewTenant(), w.d.seed.NewList()
	w.d.seed.Active(w.list.ID, "joan@reader.example")
	w.d.seed.Active(w.list.ID, "ben@reader.example")
	w.user = w.person("ann@example.org")
	w.signIn("ann@example.org")
	return w
}

// toServer configures a mail server that accepts all emails, and returns it. Without one, pages show a warning and no
// campaign is sent.
func toServer(t *testing.T, cfg *config.Config) *mailtest.Server {
	t.Helper()
	server, err := mailtest.NewServer(mailtest.Script{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	host, port, _ := strings.Cut(server.Addr(), ":")
	cfg.Mail.Transport, cfg.Mail.SMTP.Host, cfg.Mail.SMTP.TLS = "smtp", host, "none"
	if cfg.Mail.SMTP.Port, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	return server
}

// person adds a publisher.
func (w *writer) person(email core.Email) core.User {
	w.Helper()
	u := w.d.addUser(email)
	w.d.Must(w.d.store.GrantRole(w.Context(), u.ID, core.Role{Role: core.RolePublisher, TenantID: w.tenant.ID}, false,
		now()))
	return u
}

func (w *writer) signIn(email string) {
	w.Helper()
	w.Open(w.d.cfg.Origin()+"/login", chromedp.SendKeys("#email", email),
		chromedp.SendKeys("#password", daemontest.Password+"\r"),
		chromedp.WaitVisible(`//h1[not(contains(., "Sign in"))]`))
}

// edit opens the editor of a new campaign with a text.
func (w *writer) edit(source string) core.Campaign {
	w.Helper()
	c := w.d.seed.NewCampaign(w.list, func(f *core.CampaignFields) { f.Content.Source = source })
	w.Open(w.at("/campaigns/"+c.ID), chromedp.WaitVisible(".editor-text"))
	return c
}

// at returns the URL of a console page.
func (w *writer) at(path string) string {
	return w.d.cfg.Origin() + "/console/" + w.tenant.ID + path
}

// kept returns a campaign as the server has it.
func (w *writer) kept(id string) core.CampaignFields {
	w.Helper()
	c, err := w.d.store.Campaign(w.Context(), id)
	w.d.Must(err)
	_, fields, err := w.d.store.CampaignVersion(w.Context(), &c, 0)
	w.d.Must(err)
	return fields
}

// becomes waits until the server has a text for a campaign.
func (w *writer) becomes(id, want string) {
	w.Helper()
	for range 200 {
		if w.kept(id).Content.Source == want {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	w.Fatalf("the server has\n%q, not\n%q", w.kept(id).Content.Source, want)
}

// leads waits until the URL of the page ends with end.
func (w *writer) leads(end string) {
	w.Helper()
	for range 200 {
		if strings.HasSuffix(w.Location(), end) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	w.Fatalf("the page is %s", w.Location())
}

func (w *writer) jobs() []core.JobView {
	w.Helper()
	jobs, err := w.d.store.JobViews(w.Context(), campaigns.JobFilter{All: true}, core.Page{Limit: 10})
	w.d.Must(err)
	return jobs
}

// older makes all sign-ins a day older.
func (w *writer) older() {
	w.Helper()
	storetest.Foreign(w, w.d.cfg.Database.Path, `UPDATE browser SET auth_at = auth_at - 86400000`)()
}

const unsavedText = `document.querySelector("#unsaved").textContent`

// toEnd puts the cursor at the end of the first paragraph of the text.
func (w *writer) toEnd() {
	w.Helper()
	w.Eval(`(() => {
		const p = document.querySelector(".editor-text > p");
		document.querySelector(".editor-text").focus();
		getSelection().collapse(p, p.childNodes.length);
		document.dispatchEvent(new Event("selectionchange"));
	})()`)
	w.settle()
}

// TestALineThatDropsInABrowser writes on a phone whose connection drops while a text is saved and an image is uploaded.
// In the end, the server must have the typed text, byte for byte, and nothing twice.
func TestALineThatDropsInABrowser(t *testing.T) {
	w := newWriter(t)
	w.Do(chromedp.EmulateViewport(390, 844))
	c := w.edit("Hello\n")
	w.toEnd()
	w.Do(chromedp.KeyEvent(", dear"))
	w.becomes(c.ID, "Hello, dear\n")
	w.SetLine(browsertest.Offline)
	w.Do(chromedp.KeyEvent(" readers of Übersee"))
	w.Wait(`/offline/.test(` + unsavedText + `)`)
	w.Do(chromedp.KeyEvent(" & more"))
	w.SetLine(browsertest.Online)
	w.becomes(c.ID, "Hello, dear readers of Übersee & more\n")
	w.Wait(unsavedText + ` === ""`)
	// The response to a save is lost: the server has the text, but the page doesn't know that.
	w.Eval(`(() => {
		const real = window.fetch;
		window.fetch = async (...all) => {
			await real(...all);
			window.fetch = real;
			throw new TypeError("Failed to fetch");
		};
	})()`)
	w.Do(chromedp.KeyEvent(", lost"))
	w.becomes(c.ID, "Hello, dear readers of Übersee & more, lost\n")
	w.Do(chromedp.KeyEvent(", and found"))
	const all = "Hello, dear readers of Übersee & more, lost, and found"
	w.becomes(c.ID, all+"\n")
	w.Wait(unsavedText + ` === ""`)
	w.Eval(`(async () => {
		const noise = document.createElement("canvas");
		noise.width = noise.height = 400;
		const g = noise.getContext("2d"), d = g.createImageData(400, 400);
		for (let i = 0, x = 1; i < d.data.length; i++) d.data[i] = x = (x * 1103515245 + 12345) & 255;
		for (let i = 0; i < d.data.length; i += 4096) crypto.getRandomValues(d.data.subarray(i, i + 4096));
		g.putImageData(d, 0, 0);
		window.picture = new File([await new Promise(done => noise.toBlob(done))], "noise.png", {type: "image/png"});
	})()`)
	// The connection is so slow that it breaks during the upload. Then the browser is offline.
	w.SetLine(browsertest.Slow)
	w.Eval(`(() => {
		const real = window.fetch;
		window.fetch = (to, how) => real(to, {...how, signal: AbortSignal.timeout(700)}).finally(() => {
			window.broken = (window.broken ?? 0) + 1;
			window.fetch = real;
		});
		const data = new DataTransfer();
		data.items.add(picture);
		document.querySelector(".editor-text").dispatchEvent(new ClipboardEvent("paste", {
			bubbles: true, cancelable: true, clipboardData: data}));
	})()`)
	w.Wait(`window.broken`)
	w.SetLine(browsertest.Offline)
	w.Wait(`document.querySelector(".editor-figure[data-pending=failed]")`)
	w.SetLine(browsertest.Online)
	w.Wait(`document.querySelector(".editor-figure[data-pending=''] img")`)
	w.Wait(unsavedText + ` === ""`)
	source := w.kept(c.ID).Content.Source
	for range 200 {
		if source = w.kept(c.ID).Content.Source; strings.Contains(source, "![](http") {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !regexp.MustCompile(`^` + regexp.QuoteMeta(all) + `\n\n!\[\]\(http[^)]*\)\n$`).MatchString(source) {
		t.Errorf("the server has %q", source)
	}
	media, err := w.d.store.MediaOf(t.Context(), w.tenant.ID, "", core.Page{Limit: 10})
	w.d.Must(err)
	if len(media) != 1 {
		t.Errorf("%d pictures", len(media))
	}
}

// TestLeavingATabInABrowser clicks another tab of a campaign right after the last key. The page that opens has what was
// typed, and saves without a conflict.
func TestLeavingATabInABrowser(t *testing.T) {
	w := newWriter(t)
	w.Do(chromedp.EmulateViewport(1280, 800))
	c := w.edit("Hello\n")
	source := func(want string) {
		t.Helper()
		if got := w.kept(c.ID).Content.Source; got != want {
			t.Errorf("the page opened with %q, not %q", got, want)
		}
	}
	w.toEnd()
	const tabs = `Math.round(document.querySelector(".tabs").getBoundingClientRect().top + scrollY)`
	top := w.Eval(tabs)
	w.Do(chromedp.KeyEvent(", Ann"))
	w.Click(`.tabs a[href$="/polls"]`, browsertest.Heading("Polls"))
	w.expect(tabs, top) // the row of tabs doesn't jump
	source("Hello, Ann\n")
	w.Do(chromedp.SetValue(`[name="1.question"]`, "Tea?"), chromedp.SetValue(`[name="1.options"]`, "Yes\nNo"))
	w.Click("details.card .form-acts .primary", chromedp.WaitVisible("#poll-1"))
	w.Click(`.tabs li:first-child a`, chromedp.WaitVisible(".editor-text"))
	w.toEnd()
	w.Do(chromedp.KeyEvent(" and Bob"))
	w.Click(`.tabs a[href$="settings"]`, chromedp.WaitVisible("#f-name"))
	const text = "Hello, Ann and Bob\n\n{{ poll.1 }}\n"
	source(text)
	w.Do(chromedp.SendKeys("#f-name", "January"))
	w.Click(`.tabs li:first-child a`, chromedp.WaitVisible(".editor-text"))
	if f := w.kept(c.ID); !strings.Contains(f.Name, "January") || f.Content.Source != text {
		t.Errorf("saved %q, %q", f.Name, f.Content.Source)
	}
}

// TestTwoPeopleOnACampaignInABrowser lets two people edit a campaign. The second one sees both texts, and neither is
// lost.
func TestTwoPeopleOnACampaignInABrowser(t *testing.T) {
	w := newWriter(t)
	c := w.edit("Hello\n")
	w.person("bob@example.org")
	other := *w
	other.consoleBrowser = &consoleBrowser{Browser: browsertest.Another(t)}
	other.signIn("bob@example.org")
	other.Open(w.at("/campaigns/"+c.ID), chromedp.WaitVisible(".editor-text"))
	w.toEnd()
	w.Do(chromedp.KeyEvent(" from Ann"))
	w.becomes(c.ID, "Hello from Ann\n")
	other.toEnd()
	other.Do(chromedp.KeyEvent(" from Bob"))
	other.Wait(`/someone else edited/.test(` + unsavedText + `)`)
	other.Do(chromedp.KeyEvent(", later"))
	if got := w.kept(c.ID).Content.Source; got != "Hello from Ann\n" {
		t.Errorf("written over: %q", got)
	}
	other.Click("#unsaved button", chromedp.WaitVisible("#both"))
	other.expect(`[...document.querySelectorAll(".diff del, .diff ins")].map(e => e.textContent).join("|")`,
		"Hello from Ann|Hello from Bob, later")
	other.expect(`document.querySelector(".editor-text > p").textContent`, "Hello from Bob, later")
	other.Look("campaign-conflict")
	other.Click(`button[name="over"]`, chromedp.WaitNotPresent("#both"))
	w.becomes(c.ID, "Hello from Bob, later\n")
	found, err := w.d.store.Campaign(t.Context(), c.ID)
	w.d.Must(err)
	versions, err := w.d.store.CampaignVersions(t.Context(), &found, core.Page{Limit: 10})
	w.d.Must(err)
	texts := ""
	for _, v := range versions {
		_, f, err := w.d.store.CampaignVersion(t.Context(), &found, v.Version)
		w.d.Must(err)
		texts += f.Content.Source
	}
	if !strings.Contains(texts, "from Ann") {
		t.Errorf("Ann's text is not among the versions: %q", texts)
	}
}

// TestSendingTwiceInABrowser clicks twice, goes back and clicks again. The campaign is sent once as long as one of
// three guards works. store.TestGuardsOfSending tests them one by one.
func TestSendingTwiceInABrowser(t *testing.T) {
	w := newWriter(t)
	c := w.edit("Hello\n")
	w.Click(`button[value="send"]`, browsertest.Heading("Review and send"))
	w.Eval(`document.querySelectorAll("input[name=sure]").forEach(e => e.checked = true)`)
	w.Eval(`(() => {
		const button = document.querySelector("form[method=post] .button.primary.big");
		sessionStorage.form = JSON.stringify([...new FormData(button.form)]);
		button.click();
		button.click();
	})()`)
	w.Do(browsertest.Heading("May"), chromedp.WaitVisible("#now"))
	// After going back, the browser shows the old page with its button.
	w.Eval(`setTimeout(() => history.back(), 0)`)
	w.leads("/send")
	w.Eval(`setTimeout(() => document.querySelector("form[method=post] .button.primary.big").click(), 0)`)
	w.leads("/campaigns/" + c.ID)
	w.Eval(`Promise.all([1, 2].map(() => fetch(location.pathname + "/send", {
		method: "POST", body: new URLSearchParams(JSON.parse(sessionStorage.form))})))`)
	if jobs := w.jobs(); len(jobs) != 1 || jobs[0].CampaignID != c.ID {
		t.Errorf("%d mailings", len(jobs))
	}
}

// TestSignInsThatEndWhileOneWritesInABrowser checks that no text is lost if a session ends while a person writes, or if
// sending requires a new sign-in.
func TestSignInsThatEndWhileOneWritesInABrowser(t *testing.T) {
	w := newWriter(t)
	c := w.edit("Hello\n")
	w.toEnd()
	w.Do(chromedp.KeyEvent(", before"))
	w.becomes(c.ID, "Hello, before\n")
	w.ForgetCookies()
	w.Do(chromedp.KeyEvent(" and after"))
	w.Wait(`/Sign in again/.test(` + unsavedText + `)`)
	// In this tab, Save leads to the sign-in page and back.
	w.Click(`#edit .form-acts > button:not([name])`, chromedp.WaitVisible("#email"))
	w.Do(chromedp.SendKeys("#email", "ann@example.org"), chromedp.SendKeys("#password", daemontest.Password+"\r"),
		chromedp.WaitVisible(".editor-text"))
	w.Click("[data-keep-restore]")
	w.becomes(c.ID, "Hello, before and after\n")
	// The sign-in is too old for sending: the page asks for a new one and continues.
	w.older()
	w.toEnd()
	w.Do(chromedp.KeyEvent("!"))
	w.Click(`button[value="send"]`, browsertest.Heading("Review and send"))
	w.Eval(`document.querySelectorAll("input[name=sure]").forEach(e => e.checked = true)`)
	w.Click(".button.primary.big", chromedp.WaitVisible("#password"))
	w.Do(chromedp.SendKeys("#password", daemontest.Password+"\r"), chromedp.WaitVisible("#now"))
	if got := w.kept(c.ID).Content.Source; got != "Hello, before and after!\n" {
		t.Errorf("the text is %q", got)
	}
	if jobs := w.jobs(); len(jobs) != 1 {
		t.Errorf("%d mailings", len(jobs))
	}
}

// transcript records the output of a screen reader: the elements by role and name in their order, the stops of the Tab
// key, and announcements.
type transcript struct {
	*writer
	strings.Builder
}

// announced records the announcements of live regions, across pages.
const announced = `addEventListener("DOMContentLoaded", () => {
	const known = new Map();
	const look = () => {
		for (const e of document.querySelectorAll("[role=status], [role=alert], [aria-live]")) {
			const text = e.textContent.trim().replace(/\s+/g, " ");
			if (known.get(e) === text) continue;
			known.set(e, text);
			if (text) sessionStorage.said = (sessionStorage.said ?? "") + (e.getAttribute("role") ?? "live") + ": " + text + "\n";
		}
	};
	look();
	new MutationObserver(look).observe(document.body, {subtree: true, childList: true, characterData: true});
})`

// stop returns the focused element by role and name.
const stop = `(() => {
	const e = document.activeElement;
	const name = e.getAttribute("aria-label") ?? (e.labels?.length ? e.labels[0].textContent : "") ?? "";
	const role = e.getAttribute("role") ?? ({A: "link", BUTTON: "button", SELECT: "choice", TEXTAREA: "text", INPUT: e.type,
		SUMMARY: "menu", IFRAME: "frame"})[e.tagName] ?? e.tagName.toLowerCase();
	return role + " " + (name || e.title && !e.textContent && e.title || (e.innerText ?? e.textContent)).trim().replace(/\s+/g, " ").slice(0, 60);
})()`

// tab presses Tab until it reaches an element, and records the stops.
func (r *transcript) tab(want string) {
	r.Helper()
	r.stops("Tab", key(kb.Tab), want)
}

// back presses Shift+Tab until it reaches an element.
func (r *transcript) back(want string) {
	r.Helper()
	r.stops("Shift+Tab", key(kb.Tab, chromedp.ModifierShift), want)
}

func (r *transcript) stops(name string, press browsertest.Step, want string) {
	r.Helper()
	for range 80 {
		r.Do(press)
		at := r.Eval(stop)
		fmt.Fprintf(r, "%s: %s\n", name, at)
		if at == want {
			return
		}
	}
	r.Fatalf("%s never stops at %s:\n%s", name, want, r.String())
}

// types records and types a text.
func (r *transcript) types(text string) {
	r.Helper()
	fmt.Fprintf(r, "types: %s\n", text)
	r.Do(chromedp.KeyEvent(text))
}

// press records and presses a key.
func (r *transcript) press(name, keys string) {
	r.Helper()
	fmt.Fprintf(r, "presses: %s\n", name)
	r.Do(key(keys))
}

// page records the elements of the page.
func (r *transcript) page(title string) {
	r.Helper()
	fmt.Fprintf(r, "\n== %s\n", title)
	for _, line := range r.Outline() {
		fmt.Fprintln(r, line)
	}
	r.heard()
}

// heard records the announcements since the last call.
func (r *transcript) heard() {
	r.Helper()
	for line := range strings.Lines(r.Eval(`sessionStorage.said ?? ""`)) {
		fmt.Fprint(r, "announces ", line)
	}
	r.Eval(`delete sessionStorage.said`)
}

// TestSendingByKeyboardInABrowser writes, checks and sends a campaign by keyboard only. It compares the announcements
// of a screen reader with a file.
func TestSendingByKeyboardInABrowser(t *testing.T) {
	r := &transcript{writer: newWriter(t)}
	r.Do(browsertest.OnEachPage(announced))
	r.Open(r.at("/campaigns"), browsertest.Heading("Campaigns"))
	r.page("campaigns")
	r.tab("link New campaign")
	r.press("Enter", "\r")
	r.Do(browsertest.Heading("New campaign"))
	r.page("a new campaign")
	r.tab("text Internal name")
	r.types("Roses")
	r.tab("text Subject")
	r.types("Red roses")
	r.tab("button Create campaign")
	r.press("Enter", "\r")
	r.Do(chromedp.WaitVisible(".editor-text"))
	r.page("the editor")
	r.tab("textbox Preview text")
	r.types("They are red")
	r.tab("textbox Text")
	r.types("Hello, roses")
	r.Wait(`/They are red/.test(document.querySelector("#inbox").textContent) && ` + unsavedText + ` === ""`)
	r.heard()
	r.SetLine(browsertest.Offline)
	r.types("!")
	r.Wait(unsavedText + ` !== ""`)
	r.heard()
	r.SetLine(browsertest.Online)
	r.Wait(unsavedText + ` === ""`)
	r.press("Escape", kb.Escape)
	r.tab("button Save")
	r.back("button Review and send")
	r.press("Enter", "\r")
	r.Do(browsertest.Heading("Review and send"))
	r.page("the last page")
	if r.Eval(`document.querySelector("input[name=sure]") !== null`) == "true" {
		r.tab("checkbox " + r.Eval(`document.querySelector("label:has(input[name=sure])").textContent.trim()`))
		r.press("Space", " ")
	}
	r.tab("button Send now to 2 recipients")
	r.press("Enter", "\r")
	r.Do(chromedp.WaitVisible("#now"))
	r.page("what was sent")
	r.tab("button Undo send")
	if jobs := r.jobs(); len(jobs) != 1 || jobs[0].Subject != "Red roses" {
		t.Fatalf("%+v", jobs)
	}
	if got := r.kept(r.jobs()[0].CampaignID); got.Content.Source != "Hello, roses!\n" ||
		got.Preheader != "They are red" {
		t.Errorf("%+v", got)
	}
	text := regexp.MustCompile(`\d\d:\d\d`).ReplaceAllString(r.String(), "HH:MM")
	text = regexp.MustCompile(`in \d+ seconds\b`).ReplaceAllString(text, "in N seconds")
	text = regexp.MustCompile(`\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d+ \w+ \d{4}`).ReplaceAllString(text, "DATE")
	text = regexp.MustCompile(`\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d+ [A-Z][a-z]{2}\b|\bTomorrow\b|\bin \d+ (days|hours)\b`).
		ReplaceAllString(text, "DAY")
	file := filepath.Join("..", "..", "testdata", "transcripts", "send.txt")
	if *update {
		r.d.Must(os.WriteFile(file, []byte(strings.TrimLeft(text, "\n")), 0o600))
	}
	want, err := os.ReadFile(file)
	r.d.Must(err)
	if got := strings.TrimLeft(text, "\n"); got != string(want) {
		t.Errorf("%s has changed (-update writes it anew):\n%s", file, differs(got, string(want)))
	}
}
