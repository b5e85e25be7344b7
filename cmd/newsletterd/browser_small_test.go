package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/core"
)

// small are small windows for pages: 1280 pixels at 400%, and a phone with its keyboard up and down.
var small = []struct {
	name          string
	width, height int64
}{
	{"400 %", 320, 256},
	{"keyboard up", 390, 400},
	{"telephone", 390, 844},
}

// unreachable is a JavaScript expression. It describes why the focused element can't be seen, for example the element
// that covers it, or is empty if it can. It is "end" if no element has the focus, and "seen" if the element had the
// focus before.
const unreachable = `(() => {
	const e = document.activeElement;
	if (!e || e === document.body) return "end";
	if (window.reached?.has(e)) return "seen";
	(window.reached ??= new Set()).add(e);
	const name = e.localName + (e.id ? "#" + e.id : "") + " " + (e.ariaLabel ?? e.textContent).trim().slice(0, 40);
	if (e.localName === "iframe") return ""; // its page scrolls for itself
	const r = e.getClientRects()[0];
	if (!r) return name + " has no place";
	const left = Math.max(r.left, 0), right = Math.min(r.right, innerWidth);
	const top = Math.max(r.top, 0), bottom = Math.min(r.bottom, innerHeight);
	const most = e.closest(".tabs") ? 34 : innerWidth; // Chrome scrolls a row only if less of the element is visible
	if (right - left < Math.min(r.width, most) - 2) return name + " stands out sideways";
	if (bottom - top < Math.min(r.height, 100) - 2) return name + " stands out above or below";
	const over = [top + 3, (top + bottom) / 2, bottom - 3].map(
		y => document.elementFromPoint((left + right) / 2, y)).filter(
		hit => !e.contains(hit) && !e.labels?.[0]?.contains(hit));
	const covered = r.height > 100 ? 2 : 0; // what is tall may end below a bar
	if (over.length > covered && getComputedStyle(e).opacity !== "0")
		return name + " is covered by " + over[0]?.outerHTML.slice(0, 80);
	return "";
})()`

// reach moves through a page with the Tab key in a small window. It checks that nothing covers the focused element, and
// that no element traps the focus.
func (w *writer) reach(name string) {
	w.Helper()
	if over := w.Eval(`document.documentElement.scrollWidth - innerWidth`); over != "0" {
		w.Errorf("%s: it is %s pixels too wide", name, over)
	}
	w.Eval(`(window.reached = new Set(), document.activeElement.blur(), scrollTo(0, 0))`)
	for range 150 {
		w.Do(chromedp.KeyEvent(kb.Tab))
		switch fault := w.Eval(unreachable); fault {
		case "":
		case "end":
			return
		case "seen":
			if w.Eval(`/^(date|time)/.test(document.activeElement.type)`) == "true" {
				continue // parts of a date
			}
			// The text area handles Tab itself unless Escape comes first.
			w.Do(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent(kb.Tab))
			if again := w.Eval(unreachable); again == "seen" {
				w.Errorf("%s: the focus is kept by %s", name, w.Eval(`document.activeElement.outerHTML.slice(0, 120)`))
				return
			}
		default:
			w.Errorf("%s: %s", name, fault)
		}
	}
	w.Errorf("%s: the Tab key comes to no end", name)
}

// TestSmallWindowsInABrowser checks that at 400% and with a keyboard up, everything on the pages for writing, sending,
// importing and signing in can be reached and seen.
func TestSmallWindowsInABrowser(t *testing.T) {
	w := newWriter(t)
	c := w.edit("Hello\n")
	file := w.d.seed.NewImportJob(w.list.ID, "email,first_name,city\nada@reader.example,Ada,London\n")
	w.d.seed.NewList(func(in *core.ListInput) {
		in.Description = new(strings.Repeat("Concerts, rehearsals and news, about once a month. ", 20))
	})
	for _, s := range small {
		w.Do(chromedp.EmulateViewport(s.width, s.height))
		for _, page := range []string{
			"/campaigns/" + c.ID, "/campaigns/" + c.ID + "?source=1", "/campaigns/" + c.ID + "?tab=settings",
			"/campaigns/" + c.ID + "/send", "/campaigns/" + c.ID + "/send?when=later", "/new-import",
			"/imports/" + file.ID, "", "/campaigns", "/people", "/lists",
		} {
			w.Open(w.at(page), chromedp.WaitVisible("main"))
			w.reach(fmt.Sprintf("%s, %s", s.name, page))
		}
		// This menu holds the tabs that don't fit at the bottom.
		w.Click(".tabs-bar summary", chromedp.WaitVisible(".tabs-bar details[open] a"))
		w.Eval(`document.querySelector(".tabs-bar summary").focus()`)
		w.reach(s.name + ", the menu of tabs")
	}
	w.ForgetCookies()
	for _, s := range small {
		w.Do(chromedp.EmulateViewport(s.width, s.height))
		w.Open(w.d.cfg.Origin()+"/login", chromedp.WaitVisible("#email"))
		w.reach(s.name + ", /login")
	}
}

// TestEditorOnATelephoneInABrowser checks that the buttons to save and send can be reached everywhere on the editor
// page of a phone. The toolbar is one row. Its menus and those above it are visible in full. Enter in a line only
// saves.
func TestEditorOnATelephoneInABrowser(t *testing.T) {
	w := newWriter(t)
	c := w.edit(strings.Repeat("A paragraph of a long mail.\n\n", 40))
	w.Do(chromedp.EmulateViewport(340, 844))
	w.expect(`document.querySelector(".tabs").clientHeight < 50`, "true") // one line
	for _, menu := range []string{".menu.test", ".acts > .menu:not(.test)"} {
		w.Do(chromedp.EmulateViewport(360, 740), chromedp.Click(menu+" > summary"))
		w.Wait(`(all => all.length > 1 && all.every(e => {
			const r = e.getBoundingClientRect();
			return r.left >= 0 && r.right <= innerWidth && r.bottom < innerHeight - 60;
		}))([...document.querySelectorAll("` + menu + `[open] > div :is(a, button, input)")])`)
		w.Click(menu + " > summary")
	}
	w.Do(chromedp.EmulateViewport(390, 844))
	const inReach = `[...document.querySelectorAll(".go .button")].map(b => {
		const r = b.getBoundingClientRect();
		return b.contains(document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2));
	}).join()`
	for _, y := range []string{"0", "700", "document.body.scrollHeight"} {
		w.Eval(`scrollTo(0, ` + y + `)`)
		w.expect(inReach, "true,true")
	}
	w.Eval(`scrollTo(0, 0)`)
	w.Click(".opens-tabs", chromedp.WaitVisible(".tabs-bar"))
	w.expect(inReach, "true,true")
	// The menu opens below its button.
	w.expect(`(bar => [bar.top, bar.bottom < 200])(document.querySelector(".tabs-bar").getBoundingClientRect())
		.concat(document.querySelector(".top").getBoundingClientRect().bottom).join()`, "59,true,59")
	w.Do(chromedp.Click(".tabs-bar summary"))
	w.Wait(`(e => { const r = e.getBoundingClientRect(); return r.top > 59 && r.bottom < innerHeight &&
		e.contains(document.elementFromPoint(r.left + 20, r.top + 10)); })(
			document.querySelector(".tabs-bar .menu a:last-child"))`)
	w.Eval(`history.back()`)
	w.Wait(`getComputedStyle(document.querySelector(".tabs-bar")).display === "none"`)
	w.expect(`[...document.querySelector(".editor-toolbar").querySelectorAll("select, button")].filter(e => {
		const r = e.getBoundingClientRect();
		return r.width > 0 && r.right <= innerWidth;
	}).map(e => e.dataset.action ?? e.localName).slice(0, 6).join()`, "bold,italic,link,picture,select,bullets")
	w.Eval(`scrollTo(0, 700)`)
	w.Wait(`document.querySelector(".editor-toolbar").getBoundingClientRect().top === 0`)
	w.expect(`document.querySelector(".editor-toolbar").clientHeight < 60`, "true")
	w.Eval(`document.querySelector("[data-action=blocks]").focus()`)
	for _, height := range []int64{844, 400} {
		w.Do(chromedp.EmulateViewport(390, height), chromedp.Click("[data-action=blocks]"))
		w.Wait(`[...document.querySelectorAll("[data-action^='callout.']:not([hidden])")].every(b => {
			b.scrollIntoView({block: "nearest"}); // the menu may scroll
			const r = b.getBoundingClientRect();
			return r.left >= 0 && r.right <= innerWidth && b === document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2);
		})`)
		w.Click("[data-action=blocks]")
	}
	w.Do(chromedp.EmulateViewport(390, 844))
	w.Submit(chromedp.Focus(".editor-line"), chromedp.KeyEvent("!\r"))
	w.leads("/campaigns/" + c.ID + "?done=saved")
	if got := w.kept(c.ID).Subject; !strings.Contains(got, "!") {
		t.Error(got)
	}
}

// TestSelectedPeopleOnATelephoneInABrowser checks that the bar of selected people is one row on a narrow phone, in both
// languages, and that its menu is visible in full.
func TestSelectedPeopleOnATelephoneInABrowser(t *testing.T) {
	w := newWriter(t)
	w.d.Must(w.d.store.GrantRole(t.Context(), w.user.ID, core.Role{Role: core.RoleTenantAdmin, TenantID: w.tenant.ID},
		false, now()))
	for i := range 20 {
		w.d.seed.Active(w.list.ID, core.Email(fmt.Sprintf("reader%d@reader.example", i)))
	}
	const number = `Math.round(document.querySelector(".how-many").getBoundingClientRect().width)`
	for _, lang := range []string{"en", "de"} {
		w.Do(browsertest.Language(lang), chromedp.EmulateViewport(360, 740))
		w.Open(w.at("/people?select=page"), chromedp.WaitVisible(".bulk"))
		many := w.Eval(number)
		w.Open(w.at("/people"), chromedp.WaitVisible(".choose"))
		w.Do(chromedp.Click(".choose label"), chromedp.WaitVisible(".bulk"))
		w.expect(number+` > 0 && `+number+` < `+many, "true") // one digit, not two
		w.expect(`(all => all.length + " " + new Set(all.map(e => Math.round(e.getBoundingClientRect().top))).size + " " +
			all.every(e => { const r = e.getBoundingClientRect(); return r.left >= 0 && r.right <= innerWidth && r.height < 50; }))(
			[...document.querySelectorAll(".bulk > .button, .bulk summary")].filter(e => e.getClientRects().length))`,
			"3 1 true")
		w.Look("people-selected-" + lang)
		w.Do(chromedp.EmulateViewport(360, 740))
		w.Click(".bulk summary", chromedp.WaitVisible(".bulk .menu [value=erase]"))
		w.expect(`[...document.querySelectorAll(".bulk .menu button")].map(e => {
			const r = e.getBoundingClientRect();
			return r.left >= 0 && r.right <= innerWidth && e.contains(document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2));
		}).join()`, "true,true,true,true")
	}
	w.Submit(chromedp.Click(".bulk .menu [value=remove]"))
	w.expect(`document.querySelector(".chosen li").textContent.includes("@reader.example")`, "true")
}

// TestFixedPartsOnATelephoneInABrowser checks that tabs are one row on a phone, in which the current one is visible. A
// notice covers no part of the page but the bar with the name. The page ends above the primary button.
func TestFixedPartsOnATelephoneInABrowser(t *testing.T) {
	w := newAdmin(t)
	w.Do(chromedp.EmulateViewport(390, 844))
	w.Open(w.at("/settings/team"), chromedp.WaitVisible(".tabs"))
	w.expect(`document.querySelector(".tabs").clientHeight < 60`, "true")
	w.expect(`(r => r.left >= 0 && r.right <= innerWidth)(
		document.querySelector(".tabs [aria-current]").getBoundingClientRect())`, "true")
	w.Open(w.at("/settings/domains"), chromedp.WaitVisible("#f-domain"))
	w.Do(chromedp.SendKeys("#f-domain", "roses.invalid\r"), chromedp.WaitVisible("#done"))
	const bottom = `document.querySelector("%s").getBoundingClientRect().bottom`
	w.expect(fmt.Sprintf(bottom, "#done")+` <= `+fmt.Sprintf(bottom, ".top")+` + 8`, "true")
	w.expect(`getComputedStyle(document.querySelector(".within li:last-child"), "::before").content`, "none")
	w.Open(w.at("/lists"), chromedp.WaitVisible(".head .primary"))
	w.Eval(`scrollTo(0, document.documentElement.scrollHeight)`)
	w.expect(fmt.Sprintf(bottom, ".main > :last-child")+
		` < document.querySelector(".head .primary").getBoundingClientRect().top`, "true")
}
