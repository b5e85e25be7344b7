package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
)

// clicks counts the clicks of a test. Choosing from a list counts as two clicks.
type clicks struct {
	*writer
	n int
}

func (c *clicks) click(selector string, steps ...browsertest.Step) {
	c.Helper()
	c.n++
	c.Click(selector, steps...)
}

// chooses opens a list and chooses a value.
func (c *clicks) chooses(selector, value string) {
	c.Helper()
	c.n += 2
	c.Do(chromedp.WaitVisible(selector))
	c.Eval(`(s => { s.value = ` + fmt.Sprintf("%q", value) + `; s.dispatchEvent(new Event("change", {bubbles: true})); })(
		document.querySelector("` + selector + `"))`)
}

// picture saves a screenshot of the page if SCREENSHOTS names a folder, and checks that the page is not too wide.
func (c *clicks) picture(name string, width, height int64) {
	c.Helper()
	if over := c.Overflow(width); over > 0 {
		c.Errorf("%s, %d pixels wide: too wide by %g", name, width, over)
	}
	c.Do(chromedp.EmulateViewport(width, height))
	if dir := os.Getenv("SCREENSHOTS"); dir != "" {
		file := filepath.Join(dir, fmt.Sprintf("%s-%d.png", name, width))
		c.d.Must(os.WriteFile(file, c.PNG(c.Window("light", width, height)), 0o600))
	}
	c.Do(chromedp.EmulateViewport(1280, 800))
}

// TestSegmentsInABrowser builds the segment "plan is yearly, joined over 30 days ago" with at most eight clicks, checks
// that the count changes, and sends a campaign to the segment, on a desktop and on a phone.
func TestSegmentsInABrowser(t *testing.T) {
	w := newWriter(t)
	c := &clicks{writer: w}
	shop := w.d.seed.NewList(func(in *core.ListInput) {
		in.TenantID, in.Name = new(w.tenant.ID), new("Customers")
		in.Fields = &[]core.Field{
			{Name: "plan", Label: "Plan", Type: core.FieldChoice, Options: core.Strings{"yearly", "monthly", "free"}},
			{Name: "city", Label: "City", Type: core.FieldText},
		}
	})
	for i, plan := range []string{"yearly", "yearly", "monthly", "free", "yearly"} {
		email := core.Email(fmt.Sprintf("reader%d@reader.example", i))
		w.d.seed.Active(shop.ID, email)
		_, err := w.d.store.SetPreferences(t.Context(), shop.ID, email, core.Preferences(`{"plan":"`+plan+`"}`), now())
		w.d.Must(err)
		daemontest.Await(t, "the send side", func() bool {
			s, err := w.d.store.Subscriber(t.Context(), shop.ID, email)
			return err == nil && strings.Contains(string(s.Preferences), plan)
		})
	}
	console := w.d.cfg.Origin() + "/console/" + w.tenant.ID
	w.Do(browsertest.OnEachPage(`window.faults = [];
		document.addEventListener("securitypolicyviolation", e => faults.push(e.effectiveDirective + " " +
			e.blockedURI));
		addEventListener("error", e => faults.push(e.message));`))
	w.Open(console+"/segments", browsertest.Heading("Segments"))
	c.picture("segments-empty", 1280, 800)
	c.click(".empty .primary", browsertest.Heading("New segment"))
	w.Do(chromedp.SendKeys("#f-name", "Yearly customers"))
	c.picture("segment-new", 1280, 800)
	c.chooses("#c1-of", "field.plan")
	c.click(".chip:first-child input")
	w.Wait(`document.querySelector("#count .figure")?.textContent === "3"`)
	c.click(".rule-acts .add", chromedp.WaitVisible("#c2-of"))
	w.expect(`document.activeElement.id`, "c2-of")
	c.chooses("#c2-of", "joined")
	w.Wait(`document.querySelector("#count .figure")?.textContent === "0"`) // they all joined today
	c.picture("segment-two", 1280, 800)
	c.picture("segment-two", 390, 800)
	c.click("button[form=segment].primary", browsertest.Heading("Yearly customers"))
	if c.n > 8 {
		t.Errorf("%d clicks", c.n)
	}
	t.Logf("%d clicks", c.n)
	found, err := w.d.store.Segments(t.Context(), w.tenant.ID, core.Page{Limit: 10})
	if err != nil || len(found) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	const want = `{"all":[{"field":"plan","is":["yearly"]},{"joined":{"before_days":30}}]}`
	if string(found[0].Rule) != want {
		t.Errorf("%s, not %s", found[0].Rule, want)
	}

	// The count updates when the value or the operator changes.
	w.Do(chromedp.SetValue("#c2 .days", ""), chromedp.SendKeys("#c2 .days", "0"))
	w.expect(`document.querySelector("#c2 .days").value`, "0")
	c.chooses("#c2 select[name='c2.op']", "within_days")
	w.Wait(`document.querySelector("#count .figure")?.textContent === "3"`)
	w.expect(`document.querySelector("#c2 .days").value`, "0")
	w.Do(chromedp.SetValue("#f-name", "New yearly customers"))
	w.Do(chromedp.EmulateViewport(390, 800))
	w.Click("button[form=segment].primary", browsertest.Heading("New yearly customers"))
	w.Do(chromedp.WaitVisible("#matches"))
	w.expect(`(([toast, save]) => toast.bottom <= save.top)([".toast", "button[form=segment]"].map(
		s => document.querySelector(s).getBoundingClientRect()))`, "true")
	c.picture("segment-saved", 1280, 800)
	c.picture("segment-saved", 390, 800)
	w.Look("segment")
	w.Fits("segment")
	w.Do(chromedp.EmulateViewport(1280, 800))
	w.Open(console+"/segments", browsertest.Heading("Segments"))
	c.picture("segments", 1280, 800)
	c.picture("segments", 390, 800)
	w.Look("segments")

	campaign := w.d.seed.NewCampaign(shop)
	w.Open(console + "/campaigns/" + campaign.ID + "?tab=settings")
	c.chooses("#f-segment", found[0].ID)
	w.Wait(`document.querySelector("#recipients").textContent.includes("3 recipients")`)
	c.picture("segment-campaign", 1280, 800)
	w.Click("button[name=then][value=send]", browsertest.Heading("Review and send"))
	text := w.Text(".facts")
	if !strings.Contains(text, "New yearly customers") || !strings.Contains(text, "2 not in the segment = 3") {
		t.Error(text)
	}
	c.picture("segment-send", 1280, 800)
	c.picture("segment-send", 390, 800)
	w.expect(`window.faults.join()`, "")
	w.Open(console+"/segments/"+found[0].ID, browsertest.Heading("New yearly customers"))
	c.click(".rule-acts .add", chromedp.WaitVisible("#c3-of"))
	c.chooses("#c3-of", "field.city")
	c.picture("segment-three", 1280, 800)
	w.Do(browsertest.Language("de"), chromedp.Reload(), chromedp.WaitVisible("#count"))
	c.picture("segment-de", 1280, 800)
	c.picture("segment-de", 390, 1000)
	w.expect(`window.faults.join()`, "")
}

// TestSegmentGroupsInABrowser adds and fills in a group by keyboard. It fits a phone and links to the segment's people.
func TestSegmentGroupsInABrowser(t *testing.T) {
	w := newWriter(t)
	c := &clicks{writer: w}
	shop := w.d.seed.NewList(func(in *core.ListInput) {
		in.TenantID, in.Name, in.Language = new(w.tenant.ID), new("Customers"), new("de")
		in.Fields = &[]core.Field{{Name: "city", Label: "City", Type: core.FieldText}}
	})
	for i, city := range []string{"Bonn", "Rome", "Oslo"} {
		email := core.Email(fmt.Sprintf("reader%d@reader.example", i))
		w.d.seed.Active(shop.ID, email)
		_, err := w.d.store.SetPreferences(t.Context(), shop.ID, email, core.Preferences(`{"city":"`+city+`"}`), now())
		w.d.Must(err)
		daemontest.Await(t, "the send side", func() bool {
			s, err := w.d.store.Subscriber(t.Context(), shop.ID, email)
			return err == nil && strings.Contains(string(s.Preferences), city)
		})
	}
	console := w.d.cfg.Origin() + "/console/" + w.tenant.ID
	press := func(selector string) { w.Do(chromedp.Focus(selector), chromedp.KeyEvent("\r")) }
	w.Open(console+"/new-segment", browsertest.Heading("New segment"))
	w.Do(chromedp.SendKeys("#f-name", "Some cities"))
	c.chooses("#c1-of", "language")
	c.chooses("#c1 .value select", "de")
	w.Eval(`document.querySelector("#c1 .value select").dispatchEvent(new Event("input", {bubbles: true}))`)
	w.Wait(`document.querySelector("#count .figure")?.textContent === "3"`)
	press(".rule-acts .add[value='add.group']")
	w.Do(chromedp.WaitVisible("#g2 #c3-of"))
	w.expect(`document.activeElement.id`, "c3-of")
	for _, no := range []string{"3", "4"} {
		if no == "4" {
			press(".group-acts .add")
			w.Do(chromedp.WaitVisible("#g2 #c4-of"))
			w.expect(`document.activeElement.id`, "c4-of")
		}
		c.chooses("#c"+no+"-of", "field.city")
		w.Do(chromedp.SendKeys("#c"+no+" .value input", map[string]string{"3": "Bonn", "4": "Oslo"}[no]))
	}
	w.Wait(`document.querySelector("#count .figure")?.textContent === "2"`)
	c.picture("segment-group", 1280, 800)
	c.picture("segment-group", 390, 900)
	w.Look("segment-group")
	w.Fits("segment-group")
	w.Do(chromedp.EmulateViewport(1280, 800))
	w.Click("button[form=segment].primary", browsertest.Heading("Some cities"))
	w.Click("#matches + span a", browsertest.Heading("People"))
	w.expect(`[...document.querySelectorAll(".people tbody .row")].map(a => a.textContent).sort().join()`,
		"reader0@reader.example,reader2@reader.example")
	c.picture("people-segment", 1280, 800)
	c.picture("people-segment", 390, 900)
	w.Look("people-segment")
}

// TestSendingWhileTheTagIsSavedInABrowser chooses a tag as recipients. While the response of the automatic save is on
// its way, it changes the name and clicks "Review and send".
func TestSendingWhileTheTagIsSavedInABrowser(t *testing.T) {
	w := newWriter(t)
	c := &clicks{writer: w}
	tag, err := core.NewTag(w.tenant.ID, "VIP", now())
	w.d.Must(err)
	w.d.Must(w.d.store.AddTag(t.Context(), tag, "test"))
	campaign := w.d.seed.NewCampaign(w.list)
	w.Open(w.at("/campaigns/" + campaign.ID + "?tab=settings"))
	// The response arrives after the form was submitted.
	w.Eval(`(() => {
		const real = window.fetch, submitted = new Promise(done => addEventListener("submit", done));
		window.fetch = async (...all) => {
			const response = await real(...all);
			window.waits = true;
			await submitted;
			return response;
		};
	})()`)
	c.chooses("#f-segment", "tag:"+tag.ID)
	w.Wait(`window.waits`)
	w.Do(chromedp.SendKeys("#f-name", "March"))
	w.Click("button[name=then][value=send]", browsertest.Heading("Review and send"))
	if text := w.Text(".facts"); !strings.Contains(text, "VIP") {
		t.Error(text)
	}
	if name := w.kept(campaign.ID).Name; !strings.Contains(name, "March") {
		t.Errorf("saved %q", name)
	}
}
