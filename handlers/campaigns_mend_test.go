package handlers

import (
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store"
)

// A mended link leads elsewhere in the mails that are out, in the mail in a browser, in the archive, and in the mails of
// a retry.
func TestMendedLinks(t *testing.T) {
	e := archived(t)
	e.step(`sent-issue issue list=weekly email=ann@example.org html="<a href='https://shop.example/?a=1&amp;b=2'>a</a><a ` +
		`data-no-track href='https://shop.example/?a=1&amp;b=2'>b</a><a href='https://shop.example/'>c</a>"`)
	_, err := e.store.EditCampaign(t.Context(), store.CampaignEdit{
		ID: e.value("issue.campaign"), Actor: "test", Now: core.At(time.Now()), Archive: new(true),
		Head: store.IssueHead{Title: "News"},
	}, func(*core.CampaignFields) error { return nil })
	e.must(err)
	const was, is = "href='https://shop.example/?a=1&amp;b=2'", "href='https://shop.example/?c=3&amp;d=4'"
	pages := map[string]string{"the view": "/v/" + e.value("issue.view"), "the archive": "/a/weekly/news/mail"}
	for name, path := range pages {
		if status, _, body := e.page(path); status != 200 || strings.Count(body, was) != 2 {
			t.Errorf("%s: %d\n%s", name, status, body)
		}
	}
	mend := store.CampaignEdit{ID: e.value("issue.campaign"), Actor: "test", Now: core.At(time.Now())}
	_, err = e.store.MendLink(t.Context(), mend, 1, "https://shop.example/?c=3&d=4", false)
	e.must(err)
	for name, path := range pages {
		if _, _, body := e.page(path); strings.Contains(body, was) || strings.Count(body, is) != 2 ||
			!strings.Contains(body, "href='https://shop.example/'") {
			t.Errorf("%s of the mended link:\n%s", name, body)
		}
	}
}
