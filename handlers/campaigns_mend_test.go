package handlers

import (
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// A fixed link leads to the new target in sent emails, in the browser view, in the archive, and in the emails of a
// retry.
func TestMendedLinks(t *testing.T) {
	e := archived(t)
	e.step(`sent-issue issue list=weekly email=ann@example.org html="<a href='https://shop.example/?a=1&amp;b=2'>a</a><a ` +
		`data-no-track href='https://shop.example/?a=1&amp;b=2'>b</a><a href='https://shop.example/'>c</a>"`)
	_, err := e.store.EditCampaign(t.Context(), campaigns.CampaignEdit{
		ID: e.value("issue.campaign"), Actor: "test", Now: core.At(time.Now()), Archive: new(true),
		Head: campaigns.IssueHead{Title: "News"}, Sends: true,
	}, func(*core.CampaignFields) error { return nil })
	e.must(err)
	const was, is = "href='https://shop.example/?a=1&amp;b=2'", "href='https://shop.example/?c=3&amp;d=4'"
	pages := map[string]string{"the view": "/v/" + e.value("issue.view"), "the archive": "/a/weekly/news/mail"}
	for name, path := range pages {
		if status, _, body := e.page(path); status != 200 || strings.Count(body, was) != 2 {
			t.Errorf("%s: %d\n%s", name, status, body)
		}
	}
	_, _, before := e.page("/a/weekly/feed.xml")
	mend := campaigns.CampaignEdit{ID: e.value("issue.campaign"), Actor: "test", Now: core.At(time.Now())}
	_, err = e.store.MendLink(t.Context(), mend, 1, "https://shop.example/?c=3&d=4", false)
	e.must(err)
	for name, path := range pages {
		if _, _, body := e.page(path); strings.Contains(body, was) || strings.Count(body, is) != 2 ||
			!strings.Contains(body, "href='https://shop.example/'") {
			t.Errorf("%s of the mended link:\n%s", name, body)
		}
	}
	if _, _, feed := e.page("/a/weekly/feed.xml"); feed == before || !strings.Contains(feed, "?c=3&amp;amp;d=4") {
		t.Errorf("the feed of the mended link:\n%s", feed)
	}
}

// The browser view, the archive and its feed show a correction with its date. The sent content is kept and shown in
// previews.
func TestCorrections(t *testing.T) {
	e := archived(t)
	e.step("user ann tenant_admin=acme")
	e.step(`sent-issue issue list=weekly email=ann@example.org html="<p>Bulbs at 5 euros, {{ preferences.first_name }}</p>"`)
	id := e.value("issue.campaign")
	_, err := e.store.EditCampaign(t.Context(), campaigns.CampaignEdit{
		ID: id, Actor: "test", Now: core.At(time.Now()), Archive: new(true), Sends: true,
		Head: campaigns.IssueHead{Title: "News"},
	}, func(*core.CampaignFields) error { return nil })
	e.must(err)
	pages := []string{"/v/" + e.value("issue.view"), "/a/weekly/news/mail", "/a/weekly/feed.xml"}
	shown := func(price string, corrected bool) {
		t.Helper()
		for _, path := range append(pages, "/a/weekly/news") {
			status, _, body := e.page(path)
			if status != 200 || !strings.Contains(body, "Bulbs at "+price+" euros") ||
				strings.Contains(body, "Corrected on") != corrected {
				t.Errorf("%s: %d, want %s, corrected %v\n%s", path, status, price, corrected, body)
			}
		}
		reply, _ := e.play(exchange{request: "POST /api/send-jobs/" + e.value("issue") + "/preview as ann\n\n{}"})
		if !strings.Contains(reply, "Bulbs at 5 euros") {
			t.Errorf("what was sent:\n%s", reply)
		}
	}
	shown("5", false)
	e.play(exchange{request: "PUT /api/campaigns/" + id + "/correction as ann\n\n" +
		`{"source": "<p>Bulbs at 6 euros, {{ preferences.first_name }}</p>"}`})
	shown("6", true)
	if _, _, body := e.page(pages[0]); !strings.Contains(body, "euros, Ann") {
		t.Errorf("not for the reader:\n%s", body)
	}
	e.play(exchange{request: "PUT /api/campaigns/" + id + "/correction as ann\n\n" + `{"source": "<p>Bulbs at 7 euros</p>"}`})
	shown("7", true)
	e.play(exchange{request: "DELETE /api/campaigns/" + id + "/correction as ann"})
	shown("5", false)
}

// A fixed link gets the utm parameters of its campaign's links, unless the new URL has its own.
func TestMendedLinksGetTheParametersOfTheirCampaign(t *testing.T) {
	e := archived(t)
	s := storetest.Seeder{TB: t, Store: e.store}
	l, err := e.store.List(t.Context(), e.value("weekly"))
	e.must(err)
	for utm, want := range map[core.UTM]string{
		{}:                                  "https://shop.example/?a=1#top",
		{Source: "news", Campaign: "a & b"}: "https://shop.example/?a=1&utm_source=news&utm_campaign=a+%26+b#top",
	} {
		of := s.NewCampaign(l, func(f *core.CampaignFields) { f.UTM = utm })
		for target, want := range map[string]string{
			"https://shop.example/?a=1#top": want, "": "",
			"https://shop.example/?utm_source=x": "https://shop.example/?utm_source=x",
		} {
			if got, err := drafts.MendedTarget(t.Context(), e.store, &of, target); err != nil || got != want {
				t.Errorf("%q with %v: %q, %v", target, utm, got, err)
			}
		}
		long := "https://shop.example/" + strings.Repeat("x", core.MaxTarget-25)
		if got, err := drafts.MendedTarget(t.Context(), e.store, &of, long); (err == nil) != (got == long) {
			t.Errorf("a long one with %v: %v", utm, err)
		}
	}
}
