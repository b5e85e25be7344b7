package main

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
)

// The report of a mailing that has ended gets new figures by itself, and leaves what a reader has opened and typed. The
// box for another address of a link shows it to its end, and takes it without its scheme.
func TestReportInABrowser(t *testing.T) {
	w := newWriter(t)
	long := "https://shop.example/" + strings.Repeat("a-long-way/", 25) + "?end=here"
	c := w.d.seed.NewCampaign(w.list, func(f *core.CampaignFields) {
		f.Tracking, f.Content.Source = core.TrackingPersons, "[Roses]("+long+")\n"
	})
	draft, _, err := (drafts.Drafts{
		Store: w.d.store, Sealer: w.d.keys.sealer, Origin: w.d.cfg.Origin(),
	}).Ready(t.Context(), &c, c.Version, now())
	w.d.Must(err)
	j := w.d.seed.SendDraft(&draft)
	daemontest.Await(w, "a mailing", func() bool {
		j = w.d.seed.Reload(j)
		return j.Status == core.JobCompleted
	})
	links, err := w.d.store.KeepLinks(t.Context(), j.No, []string{long})
	w.d.Must(err)
	clicked := func(seq int64) {
		t.Helper()
		later := now().Add(time.Hour) // who clicks at once may be a program
		_, err := w.d.store.AddEngagements(t.Context(), []core.Engagement{
			{JobNo: j.No, Seq: seq, LinkNo: links[0], At: later, Last: later, Times: 1},
		})
		w.d.Must(err)
	}
	const (
		poll     = `document.querySelector("#report").dispatchEvent(new CustomEvent("poll"))`
		followed = `document.querySelector("[id^=followed-] strong").textContent`
	)
	w.Open(w.at("/campaigns/"+c.ID), chromedp.WaitVisible("#links"))
	w.expect(`document.querySelector("#report").dataset.poll`, "30")
	w.Click("#links details summary", chromedp.WaitVisible("#links textarea"))
	for _, width := range []int64{390, 1280} {
		w.Do(chromedp.EmulateViewport(width, 900))
		w.expect(`(e => e.scrollHeight <= e.clientHeight + 1)(document.querySelector("#links textarea"))`, "true")
	}
	w.Eval(`document.querySelector("#links textarea").value = "shop.example/new"`)
	clicked(1)
	w.Eval(poll)
	w.Wait(`document.querySelector("#times")`)
	w.expect(followed, "1")
	w.expect(`document.querySelector("#links textarea").value`, "shop.example/new")
	w.Click("#times details summary", chromedp.WaitVisible("#times details table"))
	clicked(2)
	w.Eval(poll)
	w.Wait(followed + ` === "2"`)
	w.Wait(`document.querySelector("#report .figure").textContent.startsWith("100")`)
	w.expect(`String(document.querySelector("#times details").open)`, "true")
	w.Look("report")
	w.Click("#links form .button")
	w.leads("?done=mended")
	w.Wait(`document.querySelector("#links .link a")?.href.startsWith("https://shop.example/new")`)
}
