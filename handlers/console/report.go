package console

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// reportRoutes adds the routes for a campaign that is being sent or was sent.
func (o *Console) reportRoutes(t *web.Table) {
	const item = "/campaigns/:id"
	o.post(t, item+"/mailing", core.ActionCampaignSend, o.moveMailing,
		"The console: pause, resume, cancel or retry a send")
	o.post(t, item+"/links", core.ActionCampaignSend, o.mendLink, "The console: fix a link of a campaign")
	o.post(t, item+"/links-ask", core.ActionCampaignWrite, o.proposeLink,
		"The console: suggest a fix for a link of a campaign")
	o.post(t, item+"/in-archive", core.ActionCampaignWrite, o.showInArchive,
		"The console: hide a campaign from the public archive, or show it there")
	o.post(t, item+"/again", core.ActionCampaignWrite, o.again, "The console: change a campaign back to a draft")
	o.get(t, item+"/people", core.ActionPeopleRead, o.recipients, "The console: the recipients of a campaign")
	o.export(t, item+"/people-export", (*Page).recipientsFile,
		"The console: the recipients of a campaign, as CSV")
	o.get(t, item+"/correction", core.ActionCampaignSend, o.correction, "The console: edit a web version")
	o.get(t, item+"/correction-preview", core.ActionCampaignSend, o.tryCorrection,
		"The console: a web version, in a frame")
	o.post(t, item+"/correction-preview", core.ActionCampaignSend, o.tryCorrection,
		"The console: preview a web version, in a frame")
	o.post(t, item+"/correction", core.ActionCampaignSend, o.correct, "The console: edit a web version")
}

// campaignAgain shows a campaign's page after an action was rejected.
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

// campaignOrJob reads the campaign in the path. If the visitor may not read it, it returns only the data in the send
// job.
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

// jobsOf reads a campaign's send jobs, newest first: the original job and its retries.
func (p *Page) jobsOf(id string, limit int) ([]jobRow, error) {
	rows, _, err := p.jobs(p.ofTenant("campaign_id", id, "limit", strconv.Itoa(limit)))
	return rows, err
}

// jobAPI returns the API path of a send job, or of one of its parts.
func jobAPI(id, part string) string {
	return strings.TrimSuffix("/api/send-jobs/"+url.PathEscape(id)+"/"+part, "/")
}

// InputTime formats an instant for a datetime-local input in the page's time zone.
func (p *Page) InputTime(at core.Instant) string {
	return at.Time().In(p.Zone).Format("2006-01-02T15:04")
}

// watchedAfter is how long an open report keeps refreshing after its job ended.
const watchedAfter = time.Hour

// maxRetries is the maximum number of a campaign's send jobs that a report includes.
const maxRetries = 20

// reportData holds the data for templates/report.html.
type reportData struct {
	Campaign *campaignPage
	Job      *jobRow // the last send job; nil: none
	All      core.Stats
	To       []sendFact // lists and segments to which it is sent, and exclusions
	Poll     int        // seconds between refreshes; 0: never
	Waits    string     // why sending is waiting; empty: it isn't
	Ready    string     // estimated end of sending
	Early    bool       // whether it is scheduled for later and can be sent now instead
	Harm     bool       // whether only a server administrator can resume it
	Total    int64
	Tiles    []reportTile
	Polls    []core.PollResult
	Failures []failureRow
	Partial  bool
	Links    []core.Link
	Times    reportTimes
	Bounces  core.Bounces
	Sure     bool // whether the page asks for confirmation before canceling
	Mend     int64
	Shown    shownTo
	Target   string // entered target
	Nobody   string // why no other person can fix a link; empty: someone can
}

// failureRow is a reason why emails weren't delivered, with its explanation.
type failureRow struct {
	core.Failure
	refusal
}

// NextTry describes the time of the next retry.
func (p *Page) NextTry(at core.Instant) string {
	if at == 0 {
		return ""
	}
	return p.T("next attempt {{at}}", "at", p.When(at))
}

// Pending reports whether the job has not started yet.
func (d *reportData) Pending() bool { return d.Job != nil && d.Job.Status == core.JobPending }

// Running reports whether the job has started and not ended.
func (d *reportData) Running() bool { return d.Job != nil && d.Job.Status == core.JobRunning }

// Paused reports whether the job was paused by a person or a rule.
func (d *reportData) Paused() bool {
	return d.Job != nil && d.Job.PausedAt != 0 && !d.Job.Status.Final()
}

// Rest reports whether only a few retries remain.
func (d *reportData) Rest() bool { return d.Job != nil && d.Job.Rest() }

// Done reports whether the job has ended.
func (d *reportData) Done() bool { return d.Job != nil && d.Job.Status.Final() }

// Retriable reports whether the job has ended without reaching all recipients.
func (d *reportData) Retriable() bool {
	return d.Job != nil && d.Job.Status.Final() && d.Job.StartedAt != 0 &&
		(d.Job.Failed > 0 && !d.Lost() || d.Job.Status == core.JobCancelled)
}

// Lost reports whether all unreached addresses are blocked, so that a retry would reach no one.
func (d *reportData) Lost() bool {
	for i := range d.Failures {
		f := &d.Failures[i]
		if f.Status == core.RecipientStates[core.RecipientFailed] && f.Turn != turnTaken && f.Turn != turnAllTaken {
			return false
		}
	}
	return len(d.Failures) > 0 && !d.Partial
}

// Machines reports whether there are recipients with only automated clicks.
func (d *reportData) Machines() bool {
	return d.All.Clicks != nil && d.All.Clicks.Measured && *d.All.Clicks.Scanners > 0
}

// MachineWords explains the privacy proxies and link scanners that the report mentions.
func (p *Page) MachineWords(d *reportData) (said []string) {
	proxies, scanners := false, d.Machines()
	if o := d.All.Opens; o != nil && o.Measured {
		proxies, scanners = *o.CantTell > 0, scanners || *o.Scanners > 0
	}
	if proxies {
		said = append(said, p.T("Privacy proxies are programs that load images automatically, so it's unknown whether "+
			"anyone read the email."))
	}
	if scanners {
		said = append(said, p.ScannerWords())
	}
	return said
}

// ScannerWords explains link scanners.
func (p *Page) ScannerWords() string {
	return p.T("Link scanners are security programs that open links to check them, often within minutes. Their " +
		"opens and clicks are counted separately.")
}

// Sent reports whether any emails were sent.
func (d *reportData) Sent() bool { return d.All.Sent > 0 }

// Untracked reports whether opens and clicks are not tracked.
func (d *reportData) Untracked() bool {
	return d.Sent() && (d.All.Opens == nil || !d.All.Opens.Measured) && (d.All.Clicks == nil || !d.All.Clicks.Measured)
}

// Unmeasured reports whether links in the sent emails lead directly to their targets and thus can't be fixed.
func (d *reportData) Unmeasured() bool {
	return d.Sent() && len(d.Links) == 0 && (d.All.Clicks == nil || !d.All.Clicks.Measured)
}

// Names reports whether the report can show who opened the emails.
func (d *reportData) Names() bool {
	return d.Job != nil && d.Job.Stats.Opens != nil && d.Job.Stats.Opens.Measured && !d.Job.Stats.Opens.Totals
}

// report shows the progress or the results of sending a campaign.
func (o *Console) report(p *Page, c *campaignPage) (web.HTML, error) {
	return p.showReport(c, View{})
}

// reportOfViewer shows the report to visitors who may see only statistics.
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
	v.State, v.Frames = p.reportState(d), len(d.Links) > 0 || d.Pending()
	if j := d.Job; j != nil && (d.Paused() || !d.Pending() &&
		(c.State != core.CampaignArchived || j.Status != core.JobCompleted || j.Transport != "")) {
		v.Badge = j.Badge
	}
	if target, ok := p.Partial(); ok && target != "" && p.isGet() {
		if was := p.Query("was"); was != "" && d.Job != nil && was != string(d.Job.Status) {
			p.Header().Set("Hx-Refresh", "true") // links and bounces are outside this part
		}
		return p.ShowPart("report", "live", v)
	}
	return p.Show("report", v)
}

// readReport reads the data for the report.
func (p *Page) readReport(d *reportData) error {
	jobs, err := p.jobsOf(d.Campaign.ID, maxRetries)
	if err != nil || len(jobs) == 0 {
		return err
	}
	d.Job = &jobs[0]
	d.All = sumJobs(jobs)
	if d.To, err = p.sentTo(d.Campaign, d.Job.ListIDs); err != nil {
		return err
	}
	d.Total = d.Job.Total()
	d.Harm = (&core.SendJob{PausedAt: d.Job.PausedAt, PauseReason: d.Job.PauseReason}).PausedForHarm() && !p.IsOperator()
	switch {
	case d.Pending():
		d.Poll = 2
		d.Early = p.early(d.Job)
		if d.Job.StartsAt.Sub(p.Now) > 5*time.Minute {
			d.Poll = 30
		}
	case d.Job.Rest():
		d.Poll = 30
	case d.Running():
		d.Poll = 2
	case d.Job.StartedAt != 0 && p.Now.Sub(d.Job.FinishedAt) < watchedAfter:
		d.Poll = 30
	}
	if d.Job.StartedAt == 0 {
		return nil
	}
	d.Waits = p.waitOf(&d.Job.JobView)
	d.Ready = p.readyAt(d)
	var usual usualFigures
	if !d.Running() { // while emails are sent, the failures include bounces
		if usual, err = p.usual(d.Campaign.ID); err != nil {
			return err
		}
		if _, err := p.Get(campaignAPI(d.Campaign.ID, "bounces"), nil, &d.Bounces); err != nil {
			return err
		}
	}
	if d.Job.Transport == "" { // otherwise, it didn't reach all recipients
		if d.Running() {
			d.All.Recipients = max(d.All.Recipients, d.Total) // the same number as in the progress
		}
		d.Tiles = p.reportTiles(d.Campaign.ID, &d.All, max(cameBack(&d.All), d.Bounces.CameBack), &usual)
		if d.All.Unsubscribed > 0 && p.May(core.ActionPeopleRead) {
			d.Tiles[len(d.Tiles)-1].note(p.T("Recent unsubscribes"), p.recentlyLeft(d.Job.ListIDs), "")
		}
	}
	var found core.Failures
	if _, err := p.Get(jobAPI(d.Job.ID, "failures"), nil, &found); err != nil {
		return err
	}
	d.Partial = found.Partial
	for i := range found.Failures {
		row := failureRow{found.Failures[i], refusalOf(&found.Failures[i])}
		if row.Turn == turnTaken && row.Recipients > 1 {
			row.Turn = turnAllTaken
		}
		d.Failures = append(d.Failures, row)
	}
	if _, err = p.Get(campaignAPI(d.Campaign.ID, "links"), nil, &d.Links); err != nil {
		return err
	}
	if d.Polls, err = p.pollResults(d.Campaign.ID); err != nil {
		return err
	}
	if p.May(core.ActionCampaignWrite) && !d.Campaign.Permissions.Mend && len(d.Links) > 0 {
		if d.Nobody, err = p.nobodyApproves(d.Campaign.ID); err != nil {
			return err
		}
	}
	if p.May(core.ActionCampaignRead) {
		if d.Shown, err = p.shownTo(d.Campaign); err != nil {
			return err
		}
	}
	return p.readTimes(d)
}

// SecondPerson reports whether someone other than its authors must approve a campaign.
func (p *Page) SecondPerson() bool { return p.Tenant.Approval == core.ApprovalSecondPerson }

// early reports whether a pending job starts later than one that is sent immediately.
func (p *Page) early(j *jobRow) bool { return j.StartsAt.Sub(p.Now) > undoSeconds*time.Second }

// planned reports whether a pending job is scheduled for later.
func (p *Page) planned(j *jobRow) bool { return j.ScheduledAt != 0 && p.early(j) }

// MoveHelp returns the help text for the new start time.
func (p *Page) MoveHelp() string {
	if p.SecondPerson() {
		return p.T("Time zone: {{zone}}. You don't need a new approval.", "zone", p.ZoneName())
	}
	return p.T("Time zone: {{zone}}", "zone", p.ZoneName())
}

// reportState describes the state of the send, for the line below the title.
func (p *Page) reportState(d *reportData) string {
	switch j := d.Job; {
	case j == nil:
		return p.T("Never sent")
	case j.Status == core.JobPending:
		return p.T("Scheduled for {{at}}.", "at", p.Date(j.StartsAt)+", "+p.ClockIn(j.StartsAt))
	case j.Transport == core.TransportFolder && (j.Status == core.JobRunning || j.Status == core.JobCompleted):
		return p.T("Saved to a folder on the server {{at}}. No one received it.", "at", p.When(j.StartedAt))
	case j.Transport == core.TransportPartly && (j.Status == core.JobRunning || j.Status == core.JobCompleted):
		return p.T("Some emails were saved to a folder on the server {{at}}. Those people didn't receive them.",
			"at", p.When(j.StartedAt))
	case j.Status == core.JobRunning && !j.Rest():
		return p.T("Sending started {{at}}.", "at", p.When(j.StartedAt))
	case j.StartedAt == 0:
		return p.T("Canceled before sending started. No one received it.")
	case j.Status == core.JobCancelled:
		if j.Transport == core.TransportFolder {
			return p.T("Canceled {{at}}. No one received it.", "at", p.When(j.FinishedAt))
		}
		return p.T("Canceled {{at}}. Already sent to: {{n}}.", "at", p.When(j.FinishedAt), "n", p.Number(d.All.Sent))
	case j.Status == core.JobFailed:
		r := refusalOf(&core.Failure{Reason: j.FailureReason})
		return p.T("Sending failed {{at}}.", "at", p.When(j.FinishedAt)) + " " + p.T(r.What) + " " + p.T(r.Turn)
	}
	if all := d.Total; all > d.All.Sent && (d.Job.Status == core.JobCompleted || d.Job.Rest()) {
		return p.T("Sent to {{n}} of {{all}} recipients, {{at}}", "n", p.Number(d.All.Sent), "all", p.Number(all),
			"at", p.When(d.Job.StartedAt))
	}
	return p.N("Sent to 1 recipient, {{at}}|Sent to {{n}} recipients, {{at}}", d.All.Sent, "at", p.When(d.Job.StartedAt))
}

// mendLink changes a link's target.
func (o *Console) mendLink(p *Page) (web.HTML, error) {
	id := p.ID()
	body := map[string]string{"target": webAddress(p.Form["target"])}
	err := p.Do(http.MethodPatch, campaignAPI(id, "links", p.Form["link"]), body, nil)
	if errors.Is(err, core.ErrApprovalRequired) {
		return p.campaignAgain(p.T("You edited this campaign, so another team member has to fix the link."),
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

// proposeLink asks the people who may fix a link to change its target, or withdraws the request.
func (o *Console) proposeLink(p *Page) (web.HTML, error) {
	id := p.ID()
	if p.Form["do"] == "drop" {
		return p.dropProposal(id)
	}
	var asked struct{ Asked int }
	err := p.Do(http.MethodPut, campaignAPI(id, "links", p.Form["link"], "proposal"),
		map[string]string{"target": webAddress(p.Form["target"])}, &asked)
	if fault, status, ok := p.FaultOf(err); ok {
		return p.campaignAgain(fault, status)
	}
	if err != nil {
		return web.HTML{}, err
	}
	notice := "link-asked"
	if asked.Asked == 0 {
		notice = "link-noted"
	}
	return p.Redirect(p.Path("campaigns", id), notice)
}

func (p *Page) dropProposal(id string) (web.HTML, error) {
	err := p.Do(http.MethodDelete, campaignAPI(id, "links", p.Form["link"], "proposal"), nil, nil)
	if err != nil && !errors.Is(err, core.ErrProposalNotFound) {
		return web.HTML{}, err
	}
	return p.Redirect(p.Path("campaigns", id), "link-let-be")
}

// again creates a draft from the campaign, optionally for only some of its recipients.
func (o *Console) again(p *Page) (web.HTML, error) {
	who := p.Form["who"]
	name, known := map[string]string{
		"": p.T("copy"), "joined": p.T("new subscribers"), "unopened": p.T("didn't open"),
	}[who]
	if !known {
		return web.HTML{}, core.Invalidf("who", "Unknown action. Reload the page and try again.")
	}
	made, err := p.duplicate(p.ID(), who, name)
	if fault, status, ok := p.FaultOf(err); ok {
		return p.campaignAgain(fault, status)
	}
	if err != nil {
		return web.HTML{}, err
	}
	return p.Redirect(p.Path("campaigns", made.ID), "campaign-created")
}

// maxCampaignName is the maximum length of a campaign's name in forms, in characters.
const maxCampaignName = 200

// duplicate creates a draft from a campaign and adds what to its name: "Roses (copy)". who selects some of the
// original's recipients for the draft; empty means the original's audience. If the API rejects who, no draft is
// created.
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

// Mine reports whether an actor in the audit log is the visitor.
func (p *Page) Mine(by string) bool { return core.ActorUser(by) == p.Who.User.ID }

// followedLink is a link and its clicks on a page.
type followedLink struct {
	Link core.Link
	Page shown
}

// Followed returns the data for the template that shows a link with its clicks.
func (s shown) Followed(l core.Link) followedLink { return followedLink{l, s} }

// PeopleOf returns the number of people who clicked a link, not counting automated clicks.
func (p *Page) PeopleOf(l core.Link) int64 { return l.Clicked - l.MachineClicked }
