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
	"newsletterd/handlers/drafts"
	"newsletterd/store/db"
)

// widths are those of a desk and a phone.
var widths = []int64{1280, 390}

// customers adds a list with n people with a yearly plan, who joined 40 days ago, and one with another plan.
func (w *writer) customers(n int) core.List {
	w.Helper()
	shop := w.d.seed.NewList(func(in *core.ListInput) {
		in.TenantID, in.Name = new(w.tenant.ID), new("Customers")
		in.Fields = &[]core.Field{
			{Name: "plan", Label: "Plan", Type: core.FieldChoice, Options: core.Strings{"yearly", "monthly"}},
		}
	})
	then := now().Add(-40 * 24 * time.Hour)
	address := func(k int) core.Email { return core.Email(fmt.Sprintf("reader%d@reader.example", k)) }
	for k := range n + 1 {
		plan := "yearly"
		if k == n {
			plan = "monthly"
		}
		w.d.seed.At(then).Active(shop.ID, address(k))
		fields := core.Preferences(`{"plan":"` + plan + `"}`)
		_, err := w.d.store.SetPreferences(w.Context(), shop.ID, address(k), fields, then+1)
		w.d.Must(err)
	}
	known := 0
	daemontest.Await(w, "the send side", func() bool {
		for ; known < n; known++ {
			s, err := w.d.store.Subscriber(w.Context(), shop.ID, address(known))
			if err != nil || !strings.Contains(string(s.Preferences), "yearly") {
				return false
			}
		}
		return true
	})
	w.d.Must(w.d.store.Update(w.Context(), func(tx *db.Tx) error { // which hears of them now
		_, err := tx.Exec("UPDATE subscriber SET created_at = ? WHERE list_id = ?", int64(then), shop.ID)
		return err
	}))
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
		c.click(`.table-tools a[href*="new-bulk"]`, browsertest.Heading("Edit all matching people"))
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

// sent sends three campaigns that track clicks of each person to a list.
func (w *writer) sent(l core.List) error {
	for range 3 {
		c := w.d.seed.NewCampaign(l, func(f *core.CampaignFields) { f.Tracking = core.TrackingPersons })
		draft, _, err := (drafts.Drafts{
			Store: w.d.store, Sealer: w.d.keys.Sealer, Origin: w.d.cfg.Origin(),
		}).Ready(w.Context(), &c, c.Version, now())
		if err != nil {
			return err
		}
		j := w.d.seed.SendDraft(&draft)
		daemontest.Await(w, "the campaign", func() bool { return w.d.seed.Reload(j).Status == core.JobCompleted })
	}
	return nil
}

// TestSegmentOfThreeConditionsInABrowser builds "plan is yearly, signed up over 30 days ago, not clicked in the last 3
// campaigns" with eight clicks and sends a campaign to it.
func TestSegmentOfThreeConditionsInABrowser(t *testing.T) {
	w := newWriter(t)
	shop := w.customers(3)
	w.d.Must(w.sent(shop))
	console := w.d.cfg.Origin() + "/console/" + w.tenant.ID
	begin := ".empty .primary"
	for _, width := range widths {
		name := fmt.Sprintf("Quiet customers %d", width)
		c := &clicks{writer: w}
		w.Do(chromedp.EmulateViewport(width, 844))
		w.Open(console+"/segments", browsertest.Heading("Segments"))
		c.click(begin, browsertest.Heading("New segment"))
		begin = ".head .primary"
		w.Do(chromedp.SendKeys("#f-name", name)) // has the focus
		c.click(`button[value="add.with.field.plan"]`, chromedp.WaitVisible("#c1 .chip"))
		c.click("#c1 .chip:first-child input")
		c.click(`button[value="add.with.consented"]`, chromedp.WaitVisible("#c2 .days"))
		w.Wait(`document.querySelector("#count .figure")?.textContent === "3"`)
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
		const want = `{"all":[{"field":"plan","is":["yearly"]},{"consented":{"before_days":30}},
			{"not":{"clicked":{"last":3}}}]}`
		var got, wanted any
		w.d.Must(json.Unmarshal([]byte(rule), &got))
		w.d.Must(json.Unmarshal([]byte(want), &wanted))
		if fmt.Sprint(got) != fmt.Sprint(wanted) {
			t.Errorf("%s, not %s", rule, want)
		}
	}
}
