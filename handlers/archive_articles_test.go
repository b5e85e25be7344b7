package handlers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

// The page of an issue shows an article, without a frame, a script, or parts that belong only in an email.
func TestIssuesAreArticles(t *testing.T) {
	e := archived(t)
	e.step(`sent-campaign may list=weekly subject="News of May" preheader="Longer days" ` +
		`source="<p>Hello {{ preferences.first_name | default: 'friend' }},</p>` +
		`<p>Plant <a href='https://shop.example/beans'>beans</a>.</p>` +
		`<img src='https://pictures.example/a.png' alt='A'><p onclick='x()'>Now.</p>` +
		`<p><a href='{{ unsubscribe_url }}'>Leave</a></p>"`)
	_, head, body := e.page("/a/weekly/news-of-may")
	for _, want := range []string{
		`<a href="https://shop.example/beans"`, "<p>Now.</p>", `<img src="https://pictures.example/a.png" alt="A"`,
		`<p class="dek">Longer days</p>`, `<time datetime="2026-05-04T12:00:00Z">4 May 2026</time>`,
		`name="source" value="archive"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
	for _, bad := range []string{"friend", "Leave", "<iframe", "onclick", "<script src", `style="`, "unsubscribe?"} {
		if strings.Contains(body, bad) {
			t.Errorf("%s in\n%s", bad, body)
		}
	}
	policy := head.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "script-src") ||
		strings.Contains(policy, "unsafe") ||
		!strings.Contains(policy, "img-src 'self' data: https://pictures.example;") {
		t.Errorf("policy: %s", policy)
	}
	e.step(`sent-campaign june list=weekly subject="A design" at=2026-06-01 ` +
		`source="<table><tr><td>x</td></tr></table>"`)
	if _, _, body := e.page("/a/weekly/a-design"); !strings.Contains(body, `src="/a/weekly/a-design/mail"`) {
		t.Errorf("a design has no frame:\n%s", body)
	}
	e.campaignText("weekly", 90, strings.Repeat("<div>", 600)+"x")
	if _, _, body := e.page("/a/weekly/day-90"); !strings.Contains(body, `src="/a/weekly/day-90/mail"`) {
		t.Errorf("deep HTML has no frame:\n%s", body)
	}
	if status, _, body := e.page("/a/weekly/feed.xml"); status != http.StatusOK || strings.Count(body, "<entry>") != 3 {
		t.Errorf("%d %s", status, body)
	}
}

// The author of an issue is the sender name of the campaign, or else of the tenant. A sender name that equals the brand
// is not a person.
func TestAuthorsOfIssues(t *testing.T) {
	e := archived(t)
	e.step(`sent-campaign may list=weekly subject="May" from="Ada L."`)
	e.step(`sent-campaign june list=weekly subject="June" at=2026-06-01`)
	e.step(`sent-campaign july list=weekly subject="July" at=2026-07-01 from="acme"`)
	author := func(issue string) string {
		_, _, body := e.page("/a/weekly/" + issue)
		by, _ := ld(t, body)["author"].(map[string]any)
		name := fmt.Sprint(by["@type"], " ", by["name"])
		if person := by["@type"] == "Person"; person != strings.Contains(body, fmt.Sprint(by["name"], "</span>")) {
			t.Errorf("%s: %s in\n%s", issue, name, body)
		}
		return name
	}
	if got := []string{author("may"), author("june"), author("july")}; got[0] != "Person Ada L." ||
		got[1] != "Organization acme" || got[2] != "Organization acme" {
		t.Errorf("%q", got)
	}
	_, err := e.store.UpdateTenant(t.Context(), e.names["acme"], "test", func(t *core.Tenant) error {
		t.MailFromName = "Bob"
		return nil
	})
	e.must(err)
	if got := []string{author("may"), author("june")}; got[0] != "Person Ada L." || got[1] != "Person Bob" {
		t.Errorf("%q", got)
	}
}

// Articles load their font first, and italics only if they contain some. Other pages load none.
func TestArchiveFont(t *testing.T) {
	e := archived(t)
	e.step(`sent-campaign may list=weekly subject="May" source="<p>Text with <em>stress</em></p>"`)
	e.step(`sent-campaign june list=weekly subject="June" at=2026-06-01`)
	preloads := regexp.MustCompile(`<link rel="preload" href="([^"]+)" as="font" type="font/woff2" crossorigin>`)
	for path, want := range map[string]int{
		"/a/weekly/": 0, "/a/weekly/?q=text": 0, "/a/weekly/may": 2, "/a/weekly/june": 1, "/login": 0,
	} {
		_, _, body := e.page(path)
		fonts := preloads.FindAllStringSubmatch(body, -1)
		if len(fonts) != want {
			t.Errorf("%s: %d fonts", path, len(fonts))
		}
		for _, font := range fonts {
			status, head, file := e.page(font[1])
			if status != http.StatusOK || head.Get("Content-Type") != "font/woff2" ||
				!strings.HasPrefix(file, "wOF2") ||
				!strings.Contains(head.Get("Cache-Control"), "immutable") {
				t.Errorf("%s: %d %v", font[1], status, head)
			}
		}
	}
}

// ld returns the JSON-LD of a page.
func ld(t *testing.T, body string) (thing map[string]any) {
	t.Helper()
	found := regexp.MustCompile(`(?s)<script type="application/ld\+json">(.*?)</script>`).FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("no JSON-LD in\n%s", body)
	}
	if err := json.Unmarshal([]byte(found[1]), &thing); err != nil {
		t.Fatalf("%v: %s", err, found[1])
	}
	return thing
}

// Pages contain structured data about their topic for search engines, whatever their texts contain.
func TestStructuredData(t *testing.T) {
	e := archived(t)
	e.step(`sent-campaign may list=weekly subject="</script><b> & 'May'" preheader="Longer & <warmer>"`)
	_, _, body := e.page("/a/weekly/script-b-may")
	thing := ld(t, body)
	for name, want := range map[string]any{
		"@context": "https://schema.org", "@type": "Article", "headline": "</script><b> & 'May'",
		"description": "Longer & <warmer>", "url": "http://news.test/a/weekly/script-b-may",
		"datePublished": "2026-05-04T12:00:00Z", "inLanguage": "en",
	} {
		if thing[name] != want {
			t.Errorf("%s is %v, not %v", name, thing[name], want)
		}
	}
	if by, _ := thing["author"].(map[string]any); by["name"] != "acme" || by["@type"] != "Organization" {
		t.Errorf("the author is %v", thing["author"])
	}
	_, _, body = e.page("/a/weekly/")
	thing = ld(t, body)
	posts, _ := thing["blogPost"].([]any)
	if thing["@type"] != "Blog" || len(posts) != 1 {
		t.Errorf("%v", thing)
	}
}

// A search finds the shown issues of its list by words in their titles and texts.
func TestArchiveSearch(t *testing.T) {
	e := archived(t)
	e.step("list daily tenant=acme")
	e.change("daily", core.ListInput{Archive: new(true), Slug: new("daily")})
	e.step(`sent-campaign may list=weekly subject="Apples & pears" ` +
		`source="<p>Keep them <b>cool</b>, in the Käller.</p>"`)
	e.step(`sent-campaign june list=weekly at=2026-06-01 subject="Pears alone" ` +
		`source="<p>Warm is no good, nor nice.</p><p>Hello {{ email }}</p>"`)
	e.step(`sent-campaign july list=weekly at=2026-07-01 subject="Hidden pears" archive=false`)
	e.step(`sent-campaign other list=daily subject="Pears elsewhere"`)
	title := regexp.MustCompile(`<h2><a href="/a/weekly/([^"]*)">`)
	find := func(q string) (found []string) {
		t.Helper()
		status, _, body := e.page("/a/weekly/?q=" + url.QueryEscape(q))
		if status != http.StatusOK || !strings.Contains(body, `<meta name="robots" content="noindex">`) {
			t.Fatalf("%q: %d\n%s", q, status, body)
		}
		for _, m := range title.FindAllStringSubmatch(body, -1) {
			found = append(found, m[1])
		}
		return found
	}
	for q, want := range map[string]string{
		"pears": "[pears-alone apples-pears]", "PEARS cool": "[apples-pears]", "kaller": "[apples-pears]",
		"goo": "[pears-alone]", "go": "[]",
		"pears a": "[]", "pears go\u0301\u0301": "[]",
		"ood": "[]", "elsewhere": "[]", "hidden": "[]", "friend": "[]", "ann": "[]",
		`"`: "[]", "OR": "[]", "NEAR(": "[]",
		"title:pears": "[]", "pears*": "[pears-alone apples-pears]", "-": "[]", "pears NOT": "[]", "\x00": "[]",
		"place": "[]",
		"l" + strings.ReplaceAll(e.value("weekly"), "-", ""): "[]",
	} {
		if got := fmt.Sprint(find(q)); got != want {
			t.Errorf("%q finds %s, not %s", q, got, want)
		}
	}
	_, _, body := e.page("/a/weekly/?q=kaller")
	if !strings.Contains(body, "in the <mark>Käller</mark>.") {
		t.Errorf("the word is not marked:\n%s", body)
	}
	if _, _, body = e.page("/a/weekly/?q=no"); !strings.Contains(body, "is <mark>no</mark> good, nor nice.") {
		t.Errorf("not only the word is marked:\n%s", body)
	}
	e.campaignText("daily", 90, "<p>"+strings.Repeat("x ", 25_000)+"Zebra</p>") // too far from the start to be shown
	if _, _, body = e.page("/a/daily/?q=zebra"); !strings.Contains(body, "/a/daily/day-90") ||
		strings.Contains(body, "Zebra") {
		t.Errorf("%s", body)
	}
	_, err := e.store.EditCampaign(t.Context(), campaigns.CampaignEdit{
		ID: e.value("may"), Actor: "test", Now: storetest.Seed(t, e.store).Time(), Archive: new(false),
	}, func(*core.CampaignFields) error { return nil })
	e.must(err)
	if got := find("cool"); len(got) > 0 {
		t.Errorf("it finds hidden %s", got)
	}
}

// Every query gets a valid response.
func TestAnyArchiveSearch(t *testing.T) {
	e := archived(t)
	e.step(`sent-campaign may list=weekly subject="Apples & pears" source="<p>Keep them cool.</p>"`)
	rapid.Check(t, func(rt *rapid.T) {
		q := rapid.OneOf(
			rapid.String(),
			rapid.StringMatching(`["'*():^{}+ -]*(apples|AND|NOT|NEAR|title)?["'*():^{}+ -]*`),
		).Draw(rt, "q")
		status, _, body := e.page("/a/weekly/?q=" + url.QueryEscape(q))
		if status != http.StatusOK {
			rt.Fatalf("%q: %d %s", q, status, body)
		}
	})
}

// An IP address can search 60 times a minute. Other pages are not limited.
func TestArchiveSearchLimit(t *testing.T) {
	e := archived(t)
	e.step(`sent-campaign may list=weekly subject="Apples"`)
	from := []string{"X-Forwarded-For", "203.0.113.7"}
	for n := range 61 {
		status, _, _ := e.page("/a/weekly/?q=apples", from...)
		if limited := status == http.StatusTooManyRequests; limited != (n == 60) {
			t.Fatalf("search %d: %d", n+1, status)
		}
	}
	if status, _, _ := e.page("/a/weekly/", from...); status != http.StatusOK {
		t.Errorf("the list: %d", status)
	}
	if status, _, _ := e.page("/a/weekly/?q=apples", "X-Forwarded-For", "203.0.113.8"); status != http.StatusOK {
		t.Errorf("another address: %d", status)
	}
}

// A feed has the full text of issues, up to 1 MiB. Further issues have only their summaries.
func TestFeedsAreBounded(t *testing.T) {
	e := archived(t)
	for n := range 5 {
		e.campaignText("weekly", n, strings.Repeat("<p>a & b <i>c</i> 'd'</p>", 10_000))
	}
	e.step(`sent-campaign june list=weekly at=2026-06-01 subject="June" ` +
		`source="<p>Hello {{ email }},</p><p><a href='{{ unsubscribe_url }}'>Leave</a></p>` +
		`<p><a href='https://shop.example/'>Shop</a></p>"`)
	status, _, body := e.page("/a/weekly/feed.xml")
	if status != http.StatusOK || len(body) > 1<<20 || strings.Count(body, "<entry>") != 6 {
		t.Fatalf("%d, %d bytes, %d entries", status, len(body), strings.Count(body, "<entry>"))
	}
	if full := strings.Count(body, "<content"); full < 2 || full == 6 {
		t.Errorf("%d entries have their text", full)
	}
	if !strings.Contains(body, "https://shop.example/") || strings.Contains(body, "Leave") ||
		strings.Contains(body, "Hello") {
		t.Errorf("%s", body[:2000])
	}
}

// campaignText sends an issue with HTML to a list.
func (e *env) campaignText(list string, day int, source string) {
	at := time.Date(2026, 5, 1+day, 12, 0, 0, 0, time.UTC)
	j := e.campaign(e.value(list), at, func(f *core.CampaignFields) {
		f.Subject, f.Content.Kind, f.Content.Source = fmt.Sprintf("Day %d", day), core.ContentHTML, source
	})
	storetest.Seed(e.t, e.store).At(core.At(at)).Finish(j)
}

// An issue that was sent before texts were stored gets its text later. The search doesn't find a deleted issue.
func TestTextsOfOldIssues(t *testing.T) {
	e := archived(t)
	e.step(`sent-campaign may list=weekly subject="May" source="<p>Apples</p>"`)
	exec := func(query string) {
		e.must(e.store.Update(t.Context(), func(tx *db.Tx) error { _, err := tx.Exec(query); return err }))
	}
	finds := func() bool {
		_, _, body := e.page("/a/weekly/?q=apples")
		return strings.Contains(body, "/a/weekly/may")
	}
	exec("DELETE FROM issue_text")
	exec("DELETE FROM issue_search")
	if finds() {
		t.Error("it finds an issue without a text")
	}
	more, err := e.store.FillIssues(t.Context(), 10, func(i *core.Issue) (campaigns.IssueText, error) {
		return drafts.IssueText(t.Context(), e.store, i)
	})
	if e.must(err); more || !finds() {
		t.Errorf("it doesn't find the issue afterwards; more: %v", more)
	}
	exec("DELETE FROM issue")
	var left []int64
	e.must(e.store.All(t.Context(), &left, "SELECT rowid FROM issue_search UNION SELECT issue_no FROM issue_text"))
	if len(left) > 0 {
		t.Errorf("rows of a deleted issue: %v", left)
	}
}
