package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
)

// widths are those of a desk and a phone.
var widths = []int64{1280, 390}

// customers adds a list of people with a yearly plan, who joined 40 days ago.
func (w *writer) customers(n int) core.List {
	w.Helper()
	shop := w.d.seed.NewList(func(in *core.ListInput) {
		in.TenantID, in.Name = new(w.tenant.ID), new("Customers")
		in.Fields = &[]core.Field{
			{Name: "plan", Label: "Plan", Type: core.FieldChoice, Options: core.Strings{"yearly", "monthly"}},
		}
	})
	file := strings.Builder{}
	file.WriteString("email,plan\nmonthly@reader.example,monthly\n")
	for i := range n {
		fmt.Fprintf(&file, "reader%d@reader.example,yearly\n", i)
	}
	job := w.d.seed.NewImportJob(shop.ID, file.String())
	w.d.seed.Must(w.d.store.RunImport(w.Context(), job.ID, core.ImportInput{SubscriberStatus: core.SubscriptionActive}, "test",
		now().Add(-40*24*time.Hour)))
	daemontest.Await(w, "the import", func() bool {
		l, err := w.d.store.CountedList(w.Context(), shop.ID)
		return err == nil && l.Counts.Readers() == int64(n+1)
	})
	return shop
}

// TestTaggingManyInABrowser tags 500 people found by a filter of the People page with four clicks.
func TestTaggingManyInABrowser(t *testing.T) {
	w := newWriter(t)
	shop := w.customers(500)
	console := w.d.cfg.Origin() + "/console/" + w.tenant.ID
	for _, width := range widths {
		tag := fmt.Sprintf("Tag %d", width)
		made, err := core.NewTag(w.tenant.ID, tag, now())
		w.d.Must(err)
		w.d.Must(w.d.store.AddTag(w.Context(), made, "test"))
		c := &clicks{writer: w}
		w.Do(chromedp.EmulateViewport(width, 844))
		w.Open(console+"/people?list="+shop.ID+"&status=active&field=plan&value=yearly", browsertest.Heading("People"))
		if first := w.Eval(`document.querySelector("tbody a.row").getBoundingClientRect().top`); width == 390 {
			t.Logf("the first person on a phone is at %s px", first)
		}
		c.click(`.table-tools a[href*="new-bulk"]`, browsertest.Heading("Change everyone who matches"))
		w.Look("bulk-action")
		w.Fits("bulk-action")
		w.Do(chromedp.EmulateViewport(width, 844))
		c.click("button[value=tag]", browsertest.Heading("Add a tag to 500 people?"))
		w.Look("bulk-tag")
		w.Fits("bulk-tag")
		w.Do(chromedp.EmulateViewport(width, 844))
		c.click(`//label[contains(., "` + tag + `")]`)
		c.click("form .primary", browsertest.Heading(tag))
		w.Wait(`document.querySelector("main").textContent.includes("500")`)
		t.Logf("%d clicks at %d px", c.n, width)
		if c.n > 4 {
			t.Errorf("%d clicks", c.n)
		}
	}
}

// TestSegmentOfThreeConditionsInABrowser builds "plan is yearly, joined over 30 days ago, not clicked in the last 3
// campaigns" with eight clicks and sends a campaign to it.
func TestSegmentOfThreeConditionsInABrowser(t *testing.T) {
	w := newWriter(t)
	shop := w.customers(3)
	console := w.d.cfg.Origin() + "/console/" + w.tenant.ID
	for _, width := range widths {
		name := fmt.Sprintf("Quiet customers %d", width)
		c := &clicks{writer: w}
		w.Do(chromedp.EmulateViewport(width, 844))
		w.Open(console+"/segments", browsertest.Heading("Segments"))
		c.click(`a[href$="/new-segment"]`, browsertest.Heading("New segment"))
		w.Do(chromedp.SendKeys("#f-name", name)) // has the focus
		c.click(`button[value="add.with.field.plan"]`, chromedp.WaitVisible("#c1 .chip"))
		c.click("#c1 .chip:first-child input")
		c.click(`button[value="add.with.joined"]`, chromedp.WaitVisible("#c2 .days"))
		c.click(`button[value="add.with.clicked:none_of_last"]`, chromedp.WaitVisible("#c3 .days"))
		c.click("#c3 .days", chromedp.SetValue("#c3 .days", ""), chromedp.SendKeys("#c3 .days", "3"))
		w.Wait(`document.querySelector("#count .figure")?.textContent === "3"`)
		w.Look("segment-quick")
		w.Fits("segment-quick")
		w.Do(chromedp.EmulateViewport(width, 844))
		c.click("button[form=segment].primary", browsertest.Heading(name))
		t.Logf("%d clicks at %d px", c.n, width)
		if c.n > 8 {
			t.Errorf("%d clicks", c.n)
		}
		found, err := w.d.store.Segments(t.Context(), w.tenant.ID, core.Page{Limit: 10})
		w.d.Must(err)
		var rule string
		for _, s := range found {
			if s.Name == name {
				rule = string(s.Rule)
				campaign := w.d.seed.NewCampaign(shop)
				w.Open(console + "/campaigns/" + campaign.ID + "?tab=settings")
				c.chooses("#f-segment", s.ID)
				w.Wait(`document.querySelector("#recipients").textContent.includes("3 recipients")`)
				c.click("button[name=then][value=send]", browsertest.Heading("Review and send"))
				if !strings.Contains(w.Text(".facts"), name) {
					t.Error(w.Text(".facts"))
				}
			}
		}
		const want = `{"all":[{"field":"plan","is":["yearly"]},{"joined":{"before_days":30}},{"not":{"clicked":{"last":3}}}]}`
		var got, wanted any
		w.d.Must(json.Unmarshal([]byte(rule), &got))
		w.d.Must(json.Unmarshal([]byte(want), &wanted))
		if fmt.Sprint(got) != fmt.Sprint(wanted) {
			t.Errorf("%s, not %s", rule, want)
		}
	}
}
