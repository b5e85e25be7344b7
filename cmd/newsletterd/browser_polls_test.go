package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/mail"
	"newsletterd/mail/mailtest"
	"newsletterd/store/people"
)

// pollster is a publisher who asks subscribers, and the mail server that gets the emails.
type pollster struct {
	*writer
	server   *mailtest.Server
	campaign string
	job      core.SendJob
}

const question = "Which roses do you like best?"

func newPollster(t *testing.T) *pollster {
	t.Helper()
	p := &pollster{}
	p.writer = newWriterOf(t, func(cfg *config.Config) { p.server = toServer(t, cfg) })
	for _, email := range []core.Email{"kim@reader.example", "lou@reader.example", "mia@reader.example"} {
		p.d.seed.Active(p.list.ID, email)
	}
	return p
}

// both looks at a page in English and in German, and checks that it fits.
func (p *pollster) both(name string) {
	p.Helper()
	bilingual(p.Browser, name)
}

func bilingual(b *browsertest.Browser, name string) {
	b.Helper()
	b.Look(name)
	b.Fits(name)
	b.Do(browsertest.Language("de"), chromedp.Reload(), chromedp.WaitVisible("main"))
	b.Look(name + "-de")
	b.Fits(name + "-de")
	b.Do(browsertest.Language("en"), chromedp.Reload(), chromedp.WaitVisible("main"))
}

// writes creates a campaign and its poll.
func (p *pollster) writes() {
	p.Helper()
	p.Open(p.at("/new-campaign"), chromedp.SendKeys("#f-subject", "Which roses?"))
	p.Click(".form-acts .primary", chromedp.WaitVisible(".editor-text"))
	_, p.campaign, _ = strings.Cut(p.Location(), "/campaigns/")
	p.campaign, _, _ = strings.Cut(p.campaign, "?")
	p.Click(`.tabs a[href$="/polls"]`, browsertest.Heading("Polls"))
	p.both("polls-new")
	p.Do(chromedp.SetValue(`[name="1.question"]`, question),
		chromedp.SetValue(`[name="1.options"]`, "Red\nYellow\nWhite"))
	p.Eval(`document.querySelector("[name='1.results']").checked = true`)
	p.Click("details.card .form-acts .primary", chromedp.WaitVisible("#poll-1"),
		chromedp.WaitVisible(`//*[@id="done"][contains(., "added to the end of the email")]`))
	p.both("polls-created")
	p.Click("#poll-1 summary", chromedp.WaitVisible(`[name="1.options"]`))
	p.expect(`document.querySelector("#poll-1 summary").innerText`, question+" Poll 1")
	p.Look("polls-open")
	if f := p.kept(p.campaign); !strings.Contains(f.Content.Source, "{{ poll.1 }}") || len(f.Polls) != 1 ||
		strings.Join(f.Polls[0].Options, ",") != "Red,Yellow,White" || !f.Polls[0].ShowResults {
		p.Fatalf("%+v", f)
	}
}

// inserts moves the poll with the editor's menu of fields, and sees it in the preview.
func (p *pollster) inserts() {
	p.Helper()
	p.Do(chromedp.EmulateViewport(1280, 800))
	p.Open(p.at("/campaigns/"+p.campaign), chromedp.WaitVisible(".editor-field"))
	p.Look("polls-editor")
	p.Click(".editor-field")
	p.settle()
	p.Do(key(kb.Backspace), chromedp.KeyEvent("Hello\r"))
	p.settle()
	p.pick("field")
	p.Do(chromedp.WaitVisible(".editor-dialog"))
	p.Eval(`(s => { s.value = "poll.1"; s.dispatchEvent(new Event("change", {bubbles: true})); })(
		document.querySelector(".editor-dialog select"))`)
	p.expect(`document.querySelector(".editor-dialog [name=fallback]").checkVisibility()`, "false")
	p.Look("polls-dialog")
	p.Do(chromedp.EmulateViewport(1280, 800))
	p.Click(".editor-dialog .primary", chromedp.WaitNotPresent(".editor-dialog"))
	p.Wait(`document.querySelector("iframe.whole").contentDocument?.body?.textContent.includes("Yellow")`)
	p.expect(`document.querySelector(".editor-field").textContent`, "Poll: "+question)
	p.both("polls-preview")
	if source := p.kept(p.campaign).Content.Source; strings.Count(source, "{{ poll.1 }}") != 1 {
		p.Errorf("the text is %q", source)
	}
	p.Open(p.at("/campaigns/"+p.campaign+"/send"), browsertest.Heading("Review and send"))
	p.expect(`document.querySelector("main").innerText.includes("poll")`, "false") // nothing to fix
}

// sends sends the campaign, and returns the links for the options in an email.
func (p *pollster) sends(to string) (links []string) {
	p.Helper()
	c, err := p.d.store.Campaign(p.Context(), p.campaign)
	p.d.Must(err)
	draft, _, err := (drafts.Drafts{
		Store: p.d.store, Sealer: p.d.keys.Sealer, Origin: p.d.cfg.Origin(),
	}).Ready(p.Context(), &c, c.Version, now())
	p.d.Must(err)
	p.job = p.d.seed.SendDraft(&draft)
	daemontest.Await(p, "the emails", func() bool {
		p.job = p.d.seed.Reload(p.job)
		return p.job.Status == core.JobCompleted
	})
	for _, m := range p.server.Messages() {
		if m.To != to {
			continue
		}
		text := strings.NewReplacer("=\r\n", "", "=3D", "=").Replace(string(m.Data))
		found := regexp.MustCompile(p.d.cfg.Origin() + mail.PollPath + "[0-9A-Za-z_-]+")
		links = append(links, found.FindAllString(text, 3)...)
	}
	if len(links) != 3 {
		p.Fatalf("%s got %q", to, links)
	}
	return links
}

// others lets everyone but one answer, half of them with the first option, half with the second, in the order of their
// random ids.
func (p *pollster) others(but core.Email) {
	p.Helper()
	answers := 0
	for seq := range int64(5) {
		v, err := p.d.store.Voting(p.Context(), people.Ballot{JobNo: p.job.No, Seq: seq + 1, Poll: 1}, now())
		p.d.Must(err)
		if v.Email != but {
			p.d.Must(p.d.store.Vote(p.Context(), &v, 1+answers%2, now()))
			answers++
		}
	}
}

// TestPollsInABrowser creates a poll, inserts it in the text, sends it, and answers it from the email in a browser
// without scripts. The report shows the answers. A closed poll takes none.
func TestPollsInABrowser(t *testing.T) {
	p := newPollster(t)
	p.writes()
	p.inserts()
	links := p.sends("joan@reader.example")
	report := p.at("/campaigns/" + p.campaign)
	p.Open(report, chromedp.WaitVisible("#polls"))
	p.Look("polls-report-few")

	r := browsertest.Another(t)
	page := func(name, button string) {
		t.Helper()
		bilingual(r, name)
		r.Do(browsertest.Scripts(false), chromedp.Reload(), chromedp.WaitVisible(button))
	}
	r.Open(links[1], browsertest.Heading(question))
	page("poll-asked", "main button")
	if text := r.Text("main"); !strings.Contains(text, "Answering as j…@reader.example") {
		t.Error(text)
	}
	r.Do(chromedp.WaitReady(`input[value="2"][checked]`))
	r.Click("main button", browsertest.Notice("Your answer was saved."))
	if text := r.Text("main"); !strings.Contains(text, "Your answer: Yellow") || strings.Contains(text, "%") {
		t.Error(text)
	}
	bilingual(r, "poll-done-few")
	p.others("joan@reader.example")
	r.Do(browsertest.Scripts(false))
	r.Click(".after a", chromedp.WaitVisible("main button"))
	r.Click(`input[value="3"]`)
	r.Click("main button", browsertest.Notice("Your answer was saved."))
	if text := r.Text("main"); !strings.Contains(text, "Your answer: White") || !strings.Contains(text, "1 of 5") {
		t.Error(text)
	}
	bilingual(r, "poll-done")

	p.Open(report, chromedp.WaitVisible("#polls"))
	p.expect(`[...document.querySelectorAll("#polls tbody tr")].map(
		r => [...r.cells].map(c => c.innerText.trim())).join("; ")`,
		"Red,40.0%,2; Yellow,40.0%,2; White,20.0%,1")
	p.both("polls-report")
	p.Click("#polls form .button", chromedp.WaitVisible("dialog[open]"))
	p.Look("polls-close")
	p.Click("dialog.question .primary")
	p.leads("?done=saved")
	p.Do(chromedp.WaitNotPresent("#polls form"))
	p.both("polls-closed")
	r.Open(links[0], browsertest.Notice("This poll is closed."))
	bilingual(r, "poll-closed")
	r.Do(chromedp.WaitNotPresent("main form"))
	r.Open(p.d.cfg.Origin()+mail.PollPath+mail.PollPreview, browsertest.Heading("This is a preview"))
	bilingual(r, "poll-of-a-preview")
}
