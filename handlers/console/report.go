package console

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// reportRoutes are the pages of a campaign that is being sent, or was.
func (o *Console) reportRoutes(t *web.Table) {
	const item = "/campaigns/:id"
	o.post(t, item+"/mailing", core.ActionCampaignSend, o.moveMailing, "The console: pause, resume, stop or retry a mailing")
	o.post(t, item+"/links", core.ActionCampaignSend, o.mendLink, "The console: let a link of a mailing lead elsewhere")
	o.post(t, item+"/again", core.ActionCampaignWrite, o.again, "The console: make a draft of a campaign")
	o.get(t, item+"/people", core.ActionPeopleRead, o.recipients, "The console: what became of each mail of a campaign")
	o.file(t, item+"/people-export", core.ActionPeopleExport, (*Page).exportRecipients,
		"The console: what became of each mail of a campaign, as CSV")
	o.get(t, item+"/correction", core.ActionCampaignSend, o.correction, "The console: correct what pages show")
	o.get(t, item+"/correction-preview", core.ActionCampaignSend, o.tryCorrection,
		"The console: what pages show, in a frame")
	o.post(t, item+"/correction-preview", core.ActionCampaignSend, o.tryCorrection,
		"The console: what pages would show, in a frame")
	o.post(t, item+"/correction", core.ActionCampaignSend, o.correct, "The console: correct what pages show")
}

// campaignAgain shows the page of a campaign after something that was refused.
func (p *Page) campaignAgain(fault string, status int) (web.HTML, error) {
	c, err := p.campaignOrJob()
	if err != nil {
		return web.HTML{}, err
	}
	if written(c.State) {
		return web.HTML{To: p.PublicURL() + p.Path("campaigns", c.ID)}, nil
	}
	return p.showReport(c, View{Fault: fault, Status: status})
}

// campaignOrJob reads the campaign of the path; who may not read it gets what its mailing says of it.
func (p *Page) campaignOrJob() (*campaignPage, error) {
	if p.May(core.ActionCampaignRead) {
		return p.campaign()
	}
	jobs, err := p.jobsOf(p.ID(), 1)
	if err != nil {
		return nil, err
	}
	if len(jobs) == 0 {
		return nil, core.ErrCampaignNotFound
	}
	j := jobs[0]
	c := &campaignPage{CampaignView: core.CampaignView{
		ID: j.CampaignID, TenantID: j.TenantID, Name: j.Name, Subject: j.Subject, JobID: j.ID, State: core.CampaignSent,
	}}
	switch j.Status {
	case core.JobPending:
		c.State = core.CampaignScheduled
	case core.JobRunning:
		c.State = core.CampaignSending
	}
	return c, nil
}

// jobsOf reads the mailings of a campaign, the newest first: the one that was asked for, and those that take its rest.
func (p *Page) jobsOf(id string, limit int) ([]jobRow, error) {
	rows, _, err := p.jobs(p.ofTenant("campaign_id", id, "limit", strconv.Itoa(limit)))
	return rows, err
}

// jobAPI returns the address of a send job in the API, or below it.
func jobAPI(id, part string) string { return "/api/send-jobs/" + url.PathEscape(id) + "/" + part }

// maxRetries is how many mailings of one campaign a report sums up.
const maxRetries = 20

// reportData is the Data of templates/report.html.
type reportData struct {
	Campaign *campaignPage
	Job      *jobRow // the last mailing; nil: there is none
	All      core.Stats
	Poll     int    // seconds after which the page asks again; 0: never
	Waits    string // why nothing goes out just now; empty: it does
	Ready    string // when it is through, about
	Harm     bool   // only an operator lets it go on
	Total    int64
	Stats    []reportStat
	Failures []failureRow
	Partial  bool
	Links    []core.Link
	Times    reportTimes
	Bounces  core.Bounces
	Sure     bool // asks whether the mailing is to be stopped
	Mend     int64
	Shown    shownTo
	Target   string // that was typed
}

// reportStat is a figure with a remark, whose tone is empty or bad.
type reportStat struct {
	Label, Figure, Note, Tone string

	Of string // the event of those whom it counts, where they are named; empty: they are not
}

// failureRow is a reason for which mails did not arrive, as a sentence.
type failureRow struct {
	core.Failure
	refusal
}

// NextTry is when it is tried again, in words.
func (p *Page) NextTry(at core.Instant) string {
	if at == 0 {
		return ""
	}
	return p.T("next try {{at}}", "at", p.When(at))
}

// Pending reports whether the mailing waits for its start.
func (d *reportData) Pending() bool { return d.Job != nil && d.Job.Status == core.JobPending }

// Running reports whether the mailing has begun, and not ended.
func (d *reportData) Running() bool { return d.Job != nil && d.Job.Status == core.JobRunning }

// Paused reports whether a person or a rule has paused it.
func (d *reportData) Paused() bool {
	return d.Job != nil && d.Job.PausedAt != 0 && !d.Job.Status.Final()
}

// Retriable reports whether some have not got it, of a mailing that has ended.
func (d *reportData) Retriable() bool {
	return d.Job != nil && d.Job.Status.Final() && d.Job.StartedAt != 0 &&
		(d.Job.Failed > 0 && !d.Lost() || d.Job.Status == core.JobCancelled)
}

// Lost reports whether all addresses that have not got it are taken out, so that sending it once more reaches no one.
func (d *reportData) Lost() bool {
	for i := range d.Failures {
		f := &d.Failures[i]
		if f.Status == core.RecipientStates[core.RecipientFailed] && f.Turn != turnTaken {
			return false
		}
	}
	return len(d.Failures) > 0 && !d.Partial
}

// Machines reports whether machines alone have followed links of the mails.
func (d *reportData) Machines() bool {
	return d.All.Clicks != nil && d.All.Clicks.Measured && *d.All.Clicks.Scanners > 0
}

// Sent reports whether mails have gone out.
func (d *reportData) Sent() bool { return d.All.Sent > 0 }

// Unmeasured reports whether the links of what was sent lead straight to where they lead, so that none can be mended.
func (d *reportData) Unmeasured() bool {
	return d.Sent() && len(d.Links) == 0 && (d.All.Clicks == nil || !d.All.Clicks.Measured)
}

// Names reports whether it is known who has opened the mails.
func (d *reportData) Names() bool {
	return d.Job != nil && d.Job.Stats.Opens != nil && d.Job.Stats.Opens.Measured && !d.Job.Stats.Opens.Totals
}

// report shows how the mailing of a campaign goes, or went.
func (o *Console) report(p *Page, c *campaignPage) (web.HTML, error) {
	return p.showReport(c, View{})
}

// reportOfViewer is the report for those who see figures alone.
func (o *Console) reportOfViewer(p *Page) (web.HTML, error) {
	c, err := p.campaignOrJob()
	if err != nil {
		return web.HTML{}, err
	}
	return p.showReport(c, View{})
}

func (p *Page) showReport(c *campaignPage, v View) (web.HTML, error) {
	d := &reportData{Campaign: c, Sure: p.Query("sure") == "stop"}
	d.Mend, _ = strconv.ParseInt(cmp.Or(p.Form["link"], p.Query("mend")), 10, 64)
	d.Target = p.Form["target"]
	if err := p.readReport(d); err != nil {
		return web.HTML{}, err
	}
	v.Title, v.Badge, v.Data = c.Title(p), p.CampaignBadge(c.State), d
	v.Within = []Link{{p.T("Campaigns"), p.Path("campaigns")}}
	v.State, v.Frames = p.reportState(d), len(d.Links) > 0
	if d.Job != nil && (d.Job.Status.Final() && d.Job.Status != core.JobCompleted || d.Paused()) {
		v.Badge = d.Job.Badge
	}
	if target, ok := p.Partial(); ok && target != "" && p.isGet() {
		return p.ShowPart("report", "live", v)
	}
	return p.Show("report", v)
}

// readReport reads what the page shows.
func (p *Page) readReport(d *reportData) error {
	jobs, err := p.jobsOf(d.Campaign.ID, maxRetries)
	if err != nil || len(jobs) == 0 {
		return err
	}
	d.Job = &jobs[0]
	d.All = sumJobs(jobs)
	d.Total = max(d.Job.Stats.Recipients, d.Job.Expected)
	d.Harm = (&core.SendJob{PausedAt: d.Job.PausedAt, PauseReason: d.Job.PauseReason}).PausedForHarm() && !p.IsOperator()
	switch {
	case d.Pending():
		d.Poll = 2
		if d.Job.StartsAt.Sub(p.Now) > 5*time.Minute {
			d.Poll = 30
		}
	case d.Running():
		d.Poll = 2
	}
	if d.Job.StartedAt == 0 {
		return nil
	}
	d.Waits = p.waitOf(&d.Job.JobView)
	d.Ready = p.readyAt(d)
	var usual usualFigures
	if !d.Running() {
		if usual, err = p.usual(d.Campaign.ID); err != nil {
			return err
		}
	}
	d.Stats = p.reportStats(&d.All, &usual)
	var found core.Failures
	if _, err := p.Get(jobAPI(d.Job.ID, "failures"), nil, &found); err != nil {
		return err
	}
	d.Partial = found.Partial
	for i := range found.Failures {
		d.Failures = append(d.Failures, failureRow{found.Failures[i], refusalOf(&found.Failures[i])})
	}
	if _, err = p.Get(campaignAPI(d.Campaign.ID, "links"), nil, &d.Links); err != nil {
		return err
	}
	if p.May(core.ActionCampaignRead) {
		if d.Shown, err = p.shownTo(d.Campaign); err != nil {
			return err
		}
	}
	if !d.Running() { // while it goes out, the failures say it
		if _, err := p.Get(campaignAPI(d.Campaign.ID, "bounces"), nil, &d.Bounces); err != nil {
			return err
		}
	}
	return p.readTimes(d)
}

// sumJobs adds up what the mailings of one campaign have done. Whom the last one has not reached is what is left.
func sumJobs(jobs []jobRow) core.Stats {
	// One that was taken back before its first mail has no figures, and measures nothing.
	sent := slices.DeleteFunc(slices.Clone(jobs), func(j jobRow) bool {
		return j.Status == core.JobCancelled && j.Stats.Recipients == 0
	})
	if len(sent) > 0 {
		jobs = sent
	}
	sum := jobs[len(jobs)-1].Stats // of the first
	last := &jobs[0].Stats
	sum.Failed, sum.Skipped, sum.Deferred = last.Failed, last.Skipped, last.Deferred
	for i := range len(jobs) - 1 {
		s := &jobs[i].Stats
		sum.Sent += s.Sent
		sum.Delivered += s.Delivered
		sum.Bounced += s.Bounced
		sum.Complained += s.Complained
		sum.Unsubscribed += s.Unsubscribed
		if s.Opens != nil && s.Opens.Measured && sum.Opens != nil && sum.Opens.Measured {
			*sum.Opens.People += *s.Opens.People
			*sum.Opens.CantTell += *s.Opens.CantTell
			*sum.Opens.Scanners += *s.Opens.Scanners
			sum.Opens.Rate = nil
		}
		if s.Clicks != nil && s.Clicks.Measured && sum.Clicks != nil && sum.Clicks.Measured {
			*sum.Clicks.People += *s.Clicks.People
			*sum.Clicks.Scanners += *s.Clicks.Scanners
			sum.Clicks.Rate = nil
		}
	}
	if o := sum.Opens; o != nil && o.Measured && !o.Totals && o.Rate == nil {
		o.Rate = partOf(*o.People, got(&sum)-*o.CantTell)
	}
	if c := sum.Clicks; c != nil && c.Measured && !c.Totals && c.Rate == nil {
		c.Rate = partOf(*c.People, got(&sum))
	}
	return sum
}

func partOf(part, whole int64) *float64 {
	if whole = max(whole, part); whole == 0 {
		return nil
	}
	return new(float64(part) / float64(whole))
}

// got is how many have got the mail: those reported where a provider reports them, else all that were sent and did not
// come back.
func got(s *core.Stats) int64 {
	if s.Delivered > 0 {
		return s.Delivered
	}
	return max(0, s.Sent-cameBack(s))
}

// cameBack is how many mails have come back after they were taken. Bounces are also those that were refused at once,
// which are among the failed, so it is that many at least.
func cameBack(s *core.Stats) int64 { return max(0, s.Bounced-s.Failed) }

// usualFigures are what is in the middle of the last mailings; nil: there were too few.
type usualFigures struct{ clicked, opened, left *float64 }

// The mailings that one is compared with, and without how many there is nothing usual.
const (
	comparedWith = 10
	usualFrom    = 3
)

// usual reads the figures of the last mailings of the tenant but those of one campaign.
func (p *Page) usual(but string) (u usualFigures, err error) {
	rows, _, err := p.jobs(p.ofTenant("status", string(core.JobCompleted), "limit", strconv.Itoa(comparedWith+1)))
	var clicked, opened, left []float64
	for i := range rows {
		s := &rows[i].Stats
		if rows[i].CampaignID == but || s.Sent == 0 {
			continue
		}
		if s.Clicks != nil && s.Clicks.Rate != nil {
			clicked = append(clicked, *s.Clicks.Rate)
		}
		if s.Opens != nil && s.Opens.Rate != nil {
			opened = append(opened, *s.Opens.Rate)
		}
		left = append(left, float64(s.Unsubscribed)/float64(s.Sent))
	}
	return usualFigures{middle(clicked), middle(opened), middle(left)}, err
}

func middle(all []float64) *float64 {
	if len(all) < usualFrom {
		return nil
	}
	slices.Sort(all)
	return &all[len(all)/2]
}

// complaintLimit is the share of complaints from which on mailbox providers refuse a sender's mail.
const complaintLimit = 0.003

// reportStats are the figures of a mailing, the most telling first.
func (p *Page) reportStats(s *core.Stats, u *usualFigures) []reportStat {
	usual := func(rate *float64) string {
		if rate == nil {
			return ""
		}
		return p.T("usually {{rate}}", "rate", p.rate(*rate))
	}
	clicked := reportStat{Label: p.T("Clicked"), Figure: "–", Note: p.T("not measured")}
	if s.Clicks != nil && s.Clicks.Measured {
		clicked.Figure, clicked.Note = p.Clicked(s), ""
	}
	if c := s.Clicks; c != nil && c.Measured && !c.Totals {
		clicked.Of = "clicked"
		clicked.Note = p.joined(p.N("one person|{{n}} people", *c.People), p.byMachines(c), usual(u.clicked))
	}
	opened := reportStat{Label: p.T("Opened, at least"), Figure: "–", Note: p.T("not measured")}
	if o := s.Opens; o != nil && o.Measured {
		opened.Figure = p.Opened(s)
		people := ""
		if !o.Totals {
			people, opened.Of = p.N("one person|{{n}} people", *o.People), "opened"
		}
		opened.Note = p.joined(people,
			some(*o.CantTell, p.N("of one it can't be told|of {{n}} it can't be told", *o.CantTell)),
			some(*o.Scanners, p.N("one scanner|{{n}} scanners", *o.Scanners)), usual(u.opened))
	}
	left := reportStat{
		Label: p.T("Left"), Figure: p.Number(s.Unsubscribed),
		Note: p.joined(p.Percent(s.Unsubscribed, s.Sent), usual(u.left)),
	}
	if u.left != nil && s.Sent > 0 && s.Unsubscribed > 1 && float64(s.Unsubscribed) > 2**u.left*float64(s.Sent) {
		left.Tone = "bad"
	}
	complained := reportStat{
		Label: p.T("Complaints"), Figure: p.Number(s.Complained),
		Note: p.T("{{rate}}; the limit is 0.3 %", "rate", p.Percent(s.Complained, s.Sent)),
	}
	if s.Complained > 0 {
		complained.Of = "complained"
	}
	if s.Sent > 0 && float64(s.Complained) >= complaintLimit*float64(s.Sent) && s.Complained > 0 {
		complained.Tone = "bad"
	}
	back := p.N("one came back later|{{n}} came back later", cameBack(s))
	delivered := reportStat{
		Label: p.T("Taken by their servers"), Figure: p.Number(got(s)),
		Note: p.joined(p.T("{{part}} of {{all}}", "part", p.Percent(got(s), s.Recipients), "all", p.Number(s.Recipients)), back),
	}
	if s.Delivered > 0 {
		delivered.Label = p.T("Delivered")
	}
	if s.Bounced == 0 {
		delivered.Note = p.T("{{part}} of {{all}}", "part", p.Percent(got(s), s.Recipients), "all", p.Number(s.Recipients))
	}
	return []reportStat{clicked, opened, left, complained, delivered}
}

// byMachines says of how many the links were followed by machines alone.
func (p *Page) byMachines(c *core.ClickFigures) string {
	if *c.Scanners == 0 {
		return ""
	}
	return p.N("of one only a machine|of {{n}} only machines", *c.Scanners)
}

// joined joins the parts that there are.
func (p *Page) joined(parts ...string) (out string) {
	for _, part := range parts {
		if part != "" && out != "" {
			out += " · "
		}
		out += part
	}
	return out
}

// some returns a text about n, unless there are none.
func some(n int64, text string) string {
	if n == 0 {
		return ""
	}
	return text
}

// reportState is the sentence below the title.
func (p *Page) reportState(d *reportData) string {
	switch j := d.Job; {
	case j == nil:
		return p.T("Nothing of it was sent.")
	case j.Status == core.JobPending:
		return p.T("Goes out {{at}}.", "at", p.Moment(j.StartsAt))
	case j.Status == core.JobRunning:
		return p.T("Began {{at}}.", "at", p.When(j.StartedAt))
	case j.StartedAt == 0:
		return p.T("It was stopped before it began: no one has got it.")
	case j.Status == core.JobCancelled:
		return p.T("Stopped {{at}}: {{n}} people have got it.", "at", p.When(j.FinishedAt), "n", p.Number(d.All.Sent))
	case j.Status == core.JobFailed:
		r := refusalOf(&core.Failure{Reason: j.FailureReason})
		return p.T("It ended early, {{at}}.", "at", p.When(j.FinishedAt)) + " " + p.T(r.What) + " " + p.T(r.Turn)
	}
	return p.N("Sent to one person, {{at}}.|Sent to {{n}} people, {{at}}.", d.All.Sent, "at", p.When(d.Job.StartedAt))
}

// moveMailing pauses the mailing of a campaign, lets it go on, stops it or sends it to those who have not got it.
func (o *Console) moveMailing(p *Page) (web.HTML, error) {
	id := p.ID()
	jobs, err := p.jobsOf(id, 1)
	if err != nil {
		return web.HTML{}, err
	}
	if len(jobs) == 0 {
		return web.HTML{}, core.ErrCampaignNotFound
	}
	move, known := map[string]struct{ part, notice string }{
		"pause": {"pause", "paused"}, "resume": {"resume", "resumed"}, "stop": {"cancel", "stopped"},
		"retry": {"retry-failed", "retried"},
	}[p.Form["do"]]
	if !known {
		return web.HTML{}, core.Invalidf("do", "There is no such button.")
	}
	err = p.Do(http.MethodPost, jobAPI(jobs[0].ID, move.part), nil, nil)
	if fault, status, ok := p.FaultOf(err); ok {
		return p.campaignAgain(fault, status)
	}
	if err != nil {
		return web.HTML{}, err
	}
	return p.Redirect(p.Path("campaigns", id), move.notice)
}

// mendLink lets a link lead elsewhere.
func (o *Console) mendLink(p *Page) (web.HTML, error) {
	id := p.ID()
	body := map[string]string{"target": p.Form["target"]}
	err := p.Do(http.MethodPatch, campaignAPI(id, "links", p.Form["link"]), body, nil)
	if errors.Is(err, core.ErrApprovalRequired) {
		return p.campaignAgain(p.T("Another person has to do that: one who may send, and has not written on what was sent."),
			http.StatusForbidden)
	}
	if fault, status, ok := p.FaultOf(err); ok {
		return p.campaignAgain(fault, status)
	}
	if err != nil {
		return web.HTML{}, err
	}
	return p.Redirect(p.Path("campaigns", id), "mended")
}

// again makes a draft of the campaign, perhaps one that goes to a part of its readers alone.
func (o *Console) again(p *Page) (web.HTML, error) {
	who := p.Form["who"]
	name, known := map[string]string{"": p.T("copy"), "joined": p.T("joined since"), "unopened": p.T("not opened")}[who]
	if !known {
		return web.HTML{}, core.Invalidf("who", "There is no such button.")
	}
	made, err := p.duplicate(p.ID(), who, name)
	if fault, status, ok := p.FaultOf(err); ok {
		return p.campaignAgain(fault, status)
	}
	if err != nil {
		return web.HTML{}, err
	}
	return p.Redirect(p.Path("campaigns", made.ID), "created")
}

// maxCampaignName is how many characters the forms let the name of a campaign have.
const maxCampaignName = 200

// duplicate makes a draft of a campaign, whose name says what it is: "Roses (copy)". who names the part of the readers
// of the other one that it goes to, if not to all. Where that is refused there is no draft.
func (p *Page) duplicate(id, who, what string) (*campaignPage, error) {
	a, err := p.Ask(web.Question{Method: http.MethodPost, Path: campaignAPI(id, "duplicate")})
	if err != nil {
		return nil, err
	}
	made := new(campaignPage)
	if err := a.Decode(made); err != nil {
		return nil, err
	}
	end := " (" + what + ")"
	change := map[string]any{"name": cut(made.Title(p), maxCampaignName-len([]rune(end))-1) + end}
	if who != "" {
		change["audience"] = core.FollowUp{Of: id, Who: who}
	}
	_, err = p.Ask(web.Question{
		Method: http.MethodPatch, Path: campaignAPI(made.ID), Body: change,
		Header: map[string]string{"If-Match": a.Header.Get("ETag")},
	})
	if _, _, ok := p.FaultOf(err); ok {
		if err := p.Do(http.MethodDelete, campaignAPI(made.ID), nil, nil); err != nil {
			return nil, err
		}
	}
	return made, err
}

// PeopleOf returns how many people have followed a link.
func (p *Page) PeopleOf(l core.Link) int64 { return l.Clicked - l.MachineClicked }
