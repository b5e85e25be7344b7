package handlers

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/mail/htmlclean"
	"newsletterd/store/storetest"
)

// otherParsers reads {name: text} and prints the faults that html5lib, in strict mode, finds in pages, and feedparser
// in feeds. Each page must have a title and each feed entries, so that neither parser accepts an empty text.
const otherParsers = `
import sys, json, html5lib, feedparser
for name, text in sorted(json.load(sys.stdin).items()):
    if name.endswith(".xml"):
        feed = feedparser.parse(text.encode())
        if feed.bozo: print(name, feed.bozo_exception)
        if feed.version != "atom10" or not feed.feed.title: print(name, feed.version or "no feed")
        for e in feed.entries:
            if not (e.title and e.id and e.link and e.updated_parsed): print(name, "an entry lacks something", e)
            text = "<!doctype html><title>x</title>" + e.content[0].value if "content" in e else ""
            try: text and html5lib.HTMLParser(strict=True).parse(text)
            except html5lib.html5parser.ParseError as fault: print(name, e.title, fault)
        if len(feed.entries) < 2: print(name, len(feed.entries), "entries")
        continue
    page = html5lib.HTMLParser(namespaceHTMLElements=False)
    tree = page.parse(text)
    for (line, column), kind, data in page.errors:
        print(name, line, column, kind, data, text.splitlines()[line - 1][:200])
    if len(tree.findall(".//title")) != 1: print(name, "title")
    ids = [e.get("id") for e in tree.iter() if e.get("id")]
    if len(ids) != len(set(ids)): print(name, "an id twice in", ids)
    for e in tree.iter("label"):
        if e.get("for") and e.get("for") not in ids: print(name, "a label of no field", e.get("for"))
`

// TestOtherParsersReadThePages checks that html5lib and feedparser, which .ci/run installs, find no faults in the pages
// and the feed of an archive, and in the pages for subscribers.
func TestOtherParsersReadThePages(t *testing.T) {
	python := ""
	for _, p := range []string{"python3", "/usr/bin/python3"} { // another Python may precede Debian's in PATH
		if exec.Command(p, "-c", "import html5lib, feedparser").Run() == nil {
			python = p
		}
	}
	if python == "" {
		t.Skip("SKIPPED: no other parser here: python3-html5lib and python3-feedparser are not installed")
	}
	e := archived(t)
	e.change("weekly", core.ListInput{Name: new("News & <more>"), Description: new("One \"line\" & <b>.\n\nAnother.")})
	e.step("look of=weekly fields={} consent_text=Yes,&so.")
	storetest.Seed(t, e.store).ChangeTenant(e.names["acme"], core.TenantInput{
		BrandLogoURL: new("https://a.example/a.png?a&b"), BrandDarkLogoURL: new("https://a.example/b.png?a&b"),
	})
	e.step("list empty tenant=acme")
	e.change("empty", core.ListInput{Archive: new(true), Slug: new("empty")})
	texts := map[string]string{}
	read := func(names ...string) {
		for i := 0; i < len(names); i += 2 {
			status, _, body := e.page(e.expand(names[i+1]))
			if texts[names[i]] = body; status/100 != 2 {
				t.Errorf("%s: %d", names[i], status)
			}
		}
	}
	for n, source := range []string{
		"<p>Text & <b>bold<p>more</b> <div><li>item</div></table>&nbsp " +
			"<a href='https://shop.example/?a=1&copy=2'>x</a>",
		"<ul><p>a<li>b</ul><dl><dd>c</dl><h2>D</h2><p><ul><li>e</ul></p><img src=https://p.example/a.png>",
		"<p>f<p>g<table><p>h<tr><td>i</table>", "<a href='#x'>j<a href='#y'>k</a><p>l</p></a></p></div>",
	} {
		e.step(fmt.Sprintf(`sent-campaign c%d list=weekly at=2026-05-%02d subject="Words & <%d> 'x'" source="%s"`,
			n, n+1, n, source))
	}
	storetest.Seed(t, e.store).NewImportedIssue(e.value("weekly"), "old",
		htmlclean.Body("<p>m<div>n<p>o</p><table><p>q"))
	e.step("subscription ann list=weekly email=ann@b.example status=pending")
	e.step("confirm-mail token email=ann@b.example")
	e.step("unsubscribe-link manage list=weekly email=ann@example.org kind=manage")
	e.step("unsubscribe-link mailed list=weekly email=ann@example.org")
	read("list", "/a/weekly/", "older", "/a/weekly/?before=words-1-x", "search", "/a/weekly/?q=words+%3C",
		"nothing", "/a/weekly/?q=zebra", "empty", "/a/empty/", "feed.xml", "/a/weekly/feed.xml",
		"issue 0", "/a/weekly/words-0-x", "issue 1", "/a/weekly/words-1-x", "issue 2", "/a/weekly/words-2-x",
		"issue 3", "/a/weekly/words-3-x", "imported", "/a/weekly/old",
		"sign-up", "/l/{weekly}", "confirm", "/confirm?token={token}",
		"preferences", "/preferences?token={manage}", "ask for a link", "/preferences?list={weekly}",
		"unsubscribe", "/unsubscribe?token={mailed}")
	all, err := json.Marshal(texts)
	e.must(err)
	cmd := exec.Command(python, "-c", otherParsers)
	cmd.Stdin = strings.NewReader(string(all))
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
