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

// TestReportInABrowser checks that the report of a finished campaign updates its figures automatically, without closing
// anything that the user opened, or clearing anything that the user typed. The field for the new URL of a link shows it
// in full, and accepts one without a scheme.
func TestReportInABrowser(t *testing.T) {
	w := newWriter(t)
	long := "https://shop.example/" + strings.Repeat("a-long-way/", 25) + "?end=here"
	c := w.d.seed.NewCampaign(w.list, func(f *core.CampaignFields) {
		f.Tracking, f.Content.Source = core.TrackingPersons, "[Roses]("+long+")\n"
	})
	draft, _, err := (drafts.Drafts{
		Store: w.d.store, Sealer: w.d.keys.Sealer, Origin: w.d.cfg.Origin(),
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
		later := now().Add(time.Hour) // an immediate click may be automated
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
	w.Wait(`document.querySelectorAll("#figures .figure")[2].textContent.startsWith("100")`)
	w.expect(`String(document.querySelector("#times details").open)`, "true")
	w.Look("report")
	w.Click("#links form .button")
	w.leads("?done=mended")
	w.Wait(`document.querySelector("#links .link a")?.href.startsWith("https://shop.example/new")`)
}

// TestChoosingATimeInABrowser checks that the button on the last page describes the chosen time, and that the email is
// shown for a phone or a desktop meanwhile.
func TestChoosingATimeInABrowser(t *testing.T) {
	w := newWriter(t)
	c := w.d.seed.NewCampaign(w.list)
	w.Open(w.at("/campaigns/"+c.ID+"/send"), chromedp.WaitVisible(".when"))
	const button, other = `document.querySelector(".when .big").innerText.trim()`,
		`document.querySelector("#other-time").offsetHeight > 0`
	choose := func(id string) { w.Eval(`document.querySelector("#` + id + `").click()`) }
	w.expect(button, "Send now to 2 recipients")
	w.expect(other, "false")
	for id, want := range map[string]string{"when-1": "08:00", "when-2": "10:00"} {
		choose(id)
		w.expect(`/^Schedule for \w{3} \d+ \w{3}, `+want+`$/.test(`+button+`)`, "true")
	}
	choose("when-other")
	w.expect(other, "true")
	write := func(date, clock string) {
		w.Eval(`(() => { for (const [id, value] of [["f-date", "` + date + `"], ["f-time", "` + clock + `"]]) {
			const input = document.getElementById(id);
			input.value = value;
			input.dispatchEvent(new Event("input", { bubbles: true }));
		} })()`)
	}
	write("2090-01-03", "09:30")
	w.expect(button, "Schedule for Tue 3 Jan, 09:30")
	write("", "09:30")
	w.expect(button, "Schedule")
	write("2090-01-03", "09:30")
	w.Look("send-times")
	const frame = `document.querySelector(".mail-panel .whole")`
	w.Wait(frame + `.contentDocument?.body?.textContent.includes("Hello")`)
	w.expect(frame+`.offsetWidth < 500`, "true")
	choose("view-desktop")
	w.expect(frame+`.offsetWidth >= 660`, "true")
	w.Fits("send-times-desktop")
	w.Eval(`document.querySelectorAll("input[name=sure]").forEach(e => e.checked = true)`)
	w.Click(".when .big", chromedp.WaitVisible("#now"))
	if jobs := w.jobs(); len(jobs) != 1 || jobs[0].ScheduledAt.Time().UTC().Format("2006-01-02T15:04") != "2090-01-03T09:30" {
		t.Errorf("%+v", jobs)
	}
	w.Wait(frame + `.contentDocument?.body?.textContent.includes("Hello")`)
	w.Look("scheduled")
	w.Fits("scheduled")
	// A phone shows the email in full.
	w.Do(chromedp.EmulateViewport(390, 300))
	w.Wait(frame + `.offsetWidth < 390`)
	w.Wait(`(f => f.clientHeight > 200 && f.scrollHeight <= f.clientHeight)(document.querySelector(".mail-panel .frames"))`)
}
