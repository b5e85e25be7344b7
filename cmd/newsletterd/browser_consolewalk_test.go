package main

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/handlers/accesstest"
)

// ids matches IDs of records in URLs, so that the test checks only one page of each kind.
var ids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

// files matches URLs of files that a browser saves instead of showing.
var files = regexp.MustCompile(`(\.csv|export|/faults)$`)

// watchPolicy records what a page's policy blocks, from the start.
const watchPolicy = `window.refused = []; addEventListener("securitypolicyviolation",
	e => refused.push(e.violatedDirective + " " + e.blockedURI + " " + e.sourceFile + ":" + e.lineNumber))`

// TestConsoleWalkInABrowser checks that each kind of console page fits a phone and a desktop, has no accessibility
// violations in light and dark colors, and requests nothing that its policy blocks.
func TestConsoleWalkInABrowser(t *testing.T) {
	b := browsertest.New(t)
	d := start(t, nil)
	world := accesstest.NewWorld(d.seed, "")
	done := d.seed.NewImportJob(world.Tenants[0].List, "email\nbrought@reader.example\n")
	d.seed.Must(d.store.RunImport(t.Context(), done.ID, core.ImportInput{SubscriberStatus: core.SubscriptionPending},
		"test",
		now()))
	ann := d.addUser("ann@example.org")
	d.Must(d.store.GrantRole(t.Context(), ann.ID, core.Role{Role: core.RoleOperator}, false, now()))
	accesstest.Own(d.seed, &ann)
	b.Do(browsertest.OnEachPage(watchPolicy))
	b.Open(d.cfg.Origin()+"/login", chromedp.SendKeys("#email", "ann@example.org"),
		chromedp.SendKeys("#password", daemontest.Password+"\r"), chromedp.WaitVisible(".shell"))
	first := "/console/" + world.Tenants[0].ID
	records := d.keys.Sealer.SealRecords(auth.RecordsToken{
		DomainID: world.Tenants[0].Records["/api/admin/sender-domains"].ID, IssuedAt: now(),
	})
	examples := map[string]string{} // URLs of pages with placeholders, by their kind
	queue := []string{first, first + "/settings/logo", "/console/new-tenant", "/operator", "/own/models", "/records?token=" + records}
	seen := map[string]bool{}
	pages := 0
	for ; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if kind := kindOf(at); seen[kind] {
			continue
		} else {
			seen[kind] = true
		}
		b.Open(d.cfg.Origin()+at, chromedp.WaitReady("body"))
		if b.Eval(`document.querySelector("#main") ? "" : document.title`) != "" {
			continue // an email in a frame, or a file
		}
		pages++
		name := strings.Trim(ids.ReplaceAllString(strings.NewReplacer("/", "-", "?", "-", "=", "-", "&", "-").Replace(at), "x"), "-")
		b.Fits(name)
		if hasExamples(t, b, at) {
			examples[kindOf(at)] = at
		}
		b.Look(name)
		isLight(t, b, kindOf(at))
		if refused := b.Eval(`refused.join("\n")`); refused != "" {
			t.Errorf("%s: the policy refused %s", at, refused)
		}
		var links []string
		d.Must(json.Unmarshal([]byte(b.Eval(`JSON.stringify([...document.querySelectorAll("main a[href], nav a[href]")].map(
			a => a.getAttribute("href")))`)), &links))
		for _, to := range links {
			if u, err := url.Parse(to); err == nil && u.Host == "" && (strings.HasPrefix(u.Path, "/console") ||
				strings.HasPrefix(u.Path, "/operator") || strings.HasPrefix(u.Path, "/own")) &&
				!strings.HasSuffix(u.Path, "/download") && !files.MatchString(u.Path) {
				queue = append(queue, u.RequestURI())
			}
		}
	}
	list, err := d.store.List(t.Context(), world.Tenants[0].List)
	d.Must(err)
	for _, kind := range []string{core.ContentMarkdown, core.ContentHTML} {
		c := d.seed.NewCampaign(list, func(f *core.CampaignFields) {
			f.Content = core.CampaignContent{Kind: kind, Source: "<p>Hello</p>"}
		})
		b.Open(d.cfg.Origin()+first+"/campaigns/"+c.ID, chromedp.WaitReady("body"))
		isLight(t, b, "an editor of "+kind)
		for _, at := range []string{"/campaigns/" + c.ID, "/campaigns/" + c.ID + "?tab=settings", "/people?list=" + list.ID} {
			examples[at] = first + at
			b.Open(d.cfg.Origin()+first+at, chromedp.WaitReady("body"))
			hasExamples(t, b, at)
		}
	}
	if pages < 40 {
		t.Errorf("%d pages", pages)
	}
	t.Logf("%d pages", pages)
	b.Do(browsertest.Language("de"))
	for _, at := range examples {
		b.Open(d.cfg.Origin()+at, chromedp.WaitReady("body"))
		if !hasExamples(t, b, at+" in German") || b.Eval("document.documentElement.lang") != "de" {
			t.Errorf("%s is not shown in German", at)
		}
	}
}

// cutOff lists placeholders and choices that are wider than their inputs; null: the page has none.
const cutOff = `(() => {
	document.querySelector("dialog.palette")?.showModal();
	const pen = document.createElement("canvas").getContext("2d");
	const chosen = [...document.querySelectorAll("select")].filter(e => e.clientWidth && e.selectedOptions.length).map(e => {
		const is = getComputedStyle(e), text = e.selectedOptions[0].text;
		pen.font = [is.fontWeight, is.fontSize, is.fontFamily].join(" ");
		const room = e.clientWidth - parseFloat(is.paddingLeft) - parseFloat(is.paddingRight) - 20; // its arrow
		return pen.measureText(text).width > room ? text + " has " + Math.floor(room) + " px" : "";
	});
	const all = [...document.querySelectorAll("input[placeholder]")].filter(e => e.clientWidth && e.placeholder);
	const cut = all.map(e => {
		const is = getComputedStyle(e);
		pen.font = [is.fontWeight, is.fontSize, is.fontFamily].join(" ");
		const room = e.clientWidth - parseFloat(is.paddingLeft) - parseFloat(is.paddingRight);
		return pen.measureText(e.placeholder).width > room ? e.placeholder + " has " + Math.floor(room) + " px" : "";
	}).filter(Boolean);
	document.querySelector("dialog.palette")?.close();
	cut.push(...chosen.filter(Boolean));
	return all.length + chosen.length ? cut.join("; ") : null;
})()`

// hasExamples reports whether a page has inputs with placeholders or choices, which must be readable in full.
func hasExamples(t *testing.T, b *browsertest.Browser, at string) bool {
	t.Helper()
	found := false
	for _, width := range []int64{390, 1280} {
		b.Do(chromedp.EmulateViewport(width, 800))
		cut := b.Eval(cutOff)
		if found = cut != "null"; found && cut != "" {
			t.Errorf("%s, %d pixels wide: cut off: %s", at, width, cut)
		}
	}
	return found
}

// isLight checks the size of the files that a page loads into an empty cache: at most 40 kB of compressed scripts and
// styles, and 200 kB with an editor.
func isLight(t *testing.T, b *browsertest.Browser, kind string) {
	t.Helper()
	var l struct{ Requests, Scripts, Styles, Page, Limit int }
	if err := json.Unmarshal([]byte(b.Eval(`JSON.stringify((() => {
		const files = performance.getEntriesByType("resource")
		const sum = what => files.filter(f => what.test(new URL(f.name).pathname)).reduce((n, f) => n + f.encodedBodySize, 0)
		return {
			requests: files.length + 1, scripts: sum(/\.js$/), styles: sum(/\.css$/),
			page: performance.getEntriesByType("navigation")[0].encodedBodySize,
			limit: files.some(f => /\/(editor|code)\.js$/.test(new URL(f.name).pathname)) ? 200_000 : 40_000,
		}
	})())`)), &l); err != nil {
		t.Fatal(err)
	}
	t.Logf("%-60s %3d requests, %6d of scripts, %5d of styles, %6d of HTML", kind, l.Requests, l.Scripts, l.Styles, l.Page)
	if l.Scripts == 0 || l.Scripts+l.Styles > l.Limit {
		t.Errorf("%s loads %d octets of scripts and %d of styles, more than %d, or none", kind, l.Scripts, l.Styles, l.Limit)
	}
}

// kindOf returns a URL without IDs, and without query values except tabs.
func kindOf(at string) string {
	path, query, _ := strings.Cut(at, "?")
	kind := ids.ReplaceAllString(path, "x")
	if strings.HasPrefix(query, "tab=") {
		kind += "?" + query
	}
	return kind
}
