package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// begin redirects a visitor to the tenant in which they have a role. If there are several, it lists them. If there are
// none, it explains what to do next.
func (o *Console) begin(p *Page) (web.HTML, error) {
	if !p.caller.MaySomewhere(core.ActionTenantRead) {
		return o.welcome(p)
	}
	var tenants []core.Tenant
	q := url.Values{"limit": {"50"}}
	if cursor := p.Query("cursor"); cursor != "" {
		q.Set("cursor", cursor)
	}
	next, err := p.Get("/api/admin/tenants", q, &tenants)
	if err != nil {
		return web.HTML{}, err
	}
	makes := p.caller.May(core.ActionTenantManage, core.TenantNone)
	if len(tenants) == 0 && makes {
		return web.HTML{To: p.PublicURL() + Path + "/new-tenant"}, nil
	}
	if len(tenants) == 1 && next == "" && p.Query("cursor") == "" {
		return web.HTML{To: p.PublicURL() + Path + "/" + tenants[0].ID}, nil
	}
	return p.Show("begin", View{Title: p.T("Your newsletters"), Data: struct {
		Tenants []core.Tenant
		Pager   pager
		Makes   bool
	}{tenants, p.Pager(next), makes}})
}

// design shows the design system's components, for tests.
func (o *Console) design(p *Page) (web.HTML, error) {
	return p.Show("design", View{
		Title: "Components", State: "Each of them once.", Badge: Badge{"draft", ""}, Done: "Changes saved",
		Fault: "The subject is missing.", Data: struct {
			Options []option
			Chart   chart
			Bars    chart
		}{
			[]option{{"a", "One"}, {"b", "Other"}},
			p.lineChart("Readers", sampleDays(), sampleValues()),
			p.barsOf("Subscriber growth", sampleDays(), sampleDays(), series{"joined", sampleValues()},
				series{"left", sampleValues()}),
		},
	})
}

func sampleDays() (out []string) {
	for i := range 12 {
		out = append(out, strconv.Itoa(i+1))
	}
	return out
}

func sampleValues() (out []int64) {
	for i := range int64(12) {
		out = append(out, 900+i*i*7)
	}
	return out
}

// maxOverviewLists is the maximum number of lists that the overview counts.
const maxOverviewLists = 200

// overviewData holds the data for templates/overview.html.
type overviewData struct {
	Counts  core.ListCounts
	Lists   int
	Running []jobRow
	Next    []core.CampaignView
	Review  string   // URL for approving the first of Next; empty: the visitor may not approve it
	Soon    *jobRow  // next scheduled send
	Last    []jobRow // latest job of each campaign, with the results of all the campaign's sends
	Result  *lastResult
	Planned []jobRow // scheduled sends
	Through []rateRow
	Empty   bool // whether nothing was ever written and there are no subscribers
	Steps   []step
	Rest    bool   // whether a newsletter was delivered, so that Steps holds only the remaining steps
	StepIDs string // IDs of the remaining steps
	Growth  growth
}

// jobRow is a send job with its results.
type jobRow struct {
	core.JobView
	Progress int64 // progress in percent
	Badge    Badge
}

// Title returns the job's display name: its campaign's name or, without one, the subject.
func (j *jobRow) Title() string {
	if j.Name != "" {
		return j.Name
	}
	return core.ListedText(j.Subject, nil)
}

// Done returns the number of recipients with a final outcome.
func (j *jobRow) Done() int64 { return j.Sent + j.Failed + j.Skipped }

// Total returns the number of recipients. Until all are known, it is at least the number that was counted before
// sending.
func (j *jobRow) Total() int64 {
	if j.Expanded {
		return j.Stats.Recipients
	}
	return max(j.Stats.Recipients, j.Expected)
}

// restOf limits the remaining recipients in Rest to 1/restOf of all recipients.
const restOf = 20

// Rest reports whether a running job is only waiting to retry a few recipients, for example because of a full mailbox.
// Retries may take two days, during which the campaign counts as sent.
func (j *jobRow) Rest() bool {
	s := &j.Stats
	return j.Status == core.JobRunning && j.PauseReason == "" && s.Sent > 0 && s.Deferred > 0 &&
		j.Done()+s.Deferred >= s.Recipients && s.Deferred <= max(1, s.Recipients/restOf) &&
		j.Expanded // and not only the first recipients
}

// decodedJob is a send job as returned by the API.
type decodedJob struct {
	core.JobView
	Stats core.Stats `json:"stats"`
}

func (p *Page) jobs(q url.Values) (rows []jobRow, next string, err error) {
	var found []decodedJob
	next, err = p.Get("/api/send-jobs", q, &found)
	for _, j := range found {
		j.JobView.Stats = j.Stats
		r := jobRow{JobView: j.JobView}
		r.Badge = p.jobBadge(&r)
		if total := r.Total(); total > 0 {
			r.Progress = 100 * r.Done() / total
		}
		rows = append(rows, r)
	}
	return rows, next, err
}

// jobBadge returns the badge for the state of a job.
func (p *Page) jobBadge(j *jobRow) Badge {
	switch {
	case j.PausedAt != 0 && (j.Status == core.JobRunning || j.Status == core.JobPending):
		return Badge{p.T("Paused"), "warn"}
	case j.Rest() && j.Transport == "":
		return p.retryingBadge(j.Stats.Deferred)
	case j.Status == core.JobRunning && !j.Rest():
		return Badge{p.T("Sending"), "live"}
	case j.Status == core.JobPending:
		return Badge{p.T("Scheduled"), ""}
	case j.Status == core.JobFailed:
		return Badge{p.T("Failed"), "bad"}
	case j.Status == core.JobCancelled:
		return Badge{p.T("Canceled"), ""}
	}
	return p.sentBadge(j.Transport)
}

// retryingBadge returns the badge of a send in which only n recipients are still being retried.
func (p *Page) retryingBadge(n int64) Badge {
	return Badge{p.N("Sent, 1 retrying|Sent, {{n}} retrying", n), "good"}
}

// sentBadge returns the badge of a completed send. It depends on where the emails went.
func (p *Page) sentBadge(transport string) Badge {
	switch transport {
	case core.TransportFolder:
		return Badge{p.T("Saved to folder"), "warn"}
	case core.TransportPartly:
		return Badge{p.T("Partly saved to folder"), "warn"}
	}
	return Badge{p.T("Sent"), "good"}
}

// overview shows a tenant's start page: pending tasks, results and upcoming sends.
func (o *Console) overview(p *Page) (web.HTML, error) {
	var d overviewData
	var lists []core.CountedList
	q := p.ofTenant("limit", strconv.Itoa(maxOverviewLists))
	if _, err := p.Get("/api/admin/newsletter-lists", q, &lists); err != nil {
		return web.HTML{}, err
	}
	d.Lists = len(lists)
	for i := range lists {
		d.Counts.Active += lists[i].Counts.Active
		d.Counts.Pending += lists[i].Counts.Pending
		d.Counts.Mailable += lists[i].Counts.Mailable
		d.Counts.Bounced += lists[i].Counts.Bounced
		d.Counts.Complaint += lists[i].Counts.Complaint
		d.Counts.Unsubscribed += lists[i].Counts.Unsubscribed
	}
	if err := p.overviewJobs(&d); err != nil {
		return web.HTML{}, err
	}
	if err := p.overviewGrowth(&d, lists); err != nil {
		return web.HTML{}, err
	}
	d.Empty = d.Lists == 0 && len(d.Last) == 0 && len(d.Next) == 0 && len(d.Planned) == 0
	var err error
	if d.Steps, err = p.steps(&d); err != nil {
		return web.HTML{}, err
	}
	v := View{Title: p.Tenant.Name, State: p.overviewState(&d), Data: &d}
	return p.Show("overview", v)
}

// maxOverviewGrowth is the maximum number of lists whose growth is added up.
const maxOverviewGrowth = 20

func (p *Page) overviewGrowth(d *overviewData, lists []core.CountedList) (err error) {
	if len(lists) > maxOverviewGrowth {
		return nil
	}
	ids := make([]string, len(lists))
	for i := range lists {
		ids[i] = lists[i].ID
	}
	d.Growth, err = p.growthOf(ids...)
	return err
}

func (p *Page) overviewJobs(d *overviewData) (err error) {
	if d.Running, _, err = p.jobs(p.ofTenant("status", "running", "limit", "30")); err != nil {
		return err
	}
	waiting, _, err := p.jobs(p.ofTenant("status", "pending", "limit", "50"))
	if err != nil {
		return err
	}
	slices.SortStableFunc(waiting, func(a, b jobRow) int { return cmp.Compare(a.StartsAt, b.StartsAt) })
	if len(waiting) > 0 {
		d.Soon, d.Planned = &waiting[0], waiting[1:min(10, len(waiting))]
	}
	completed, _, err := p.jobs(p.ofTenant("status", "completed", "limit", strconv.Itoa(2*comparedWith)))
	if err != nil {
		return err
	}
	d.Last = slices.Clone(completed)
	var going []jobRow
	for i := range d.Running {
		if j := &d.Running[i]; j.Rest() {
			d.Last = append(d.Last, *j)
		} else {
			going = append(going, *j)
		}
	}
	d.Running = going[:min(len(going), 3)]
	slices.SortStableFunc(d.Last, func(a, b jobRow) int { return cmp.Compare(b.StartedAt, a.StartedAt) })
	d.Last = eachOnce(d.Last, maxLast)
	if err = p.sumUp(d.Last); err != nil {
		return err
	}
	d.Through, d.Result = p.through(d), p.lastResult(d.Last, completed)
	if !p.May(core.ActionCampaignRead) {
		return nil
	}
	for _, state := range []string{"in_review", "approved", "draft"} {
		var some []core.CampaignView
		if _, err = p.Get("/api/campaigns", p.ofTenant("state", state, "limit", "3"), &some); err != nil {
			return err
		}
		d.Next = append(d.Next, some...)
	}
	if len(d.Next) > 0 && d.Next[0].State == core.CampaignInReview {
		c, err := p.campaignOf(d.Next[0].ID)
		if err != nil {
			return err
		}
		d.Review = p.reviewOf(c)
	}
	return nil
}

// maxLast is the number of campaigns whose results the overview shows.
const maxLast = 6

// eachOnce returns the first job of each campaign, but at most most jobs.
func eachOnce(jobs []jobRow, most int) (out []jobRow) {
	for i := range jobs {
		id := jobs[i].CampaignID
		if len(out) < most && !slices.ContainsFunc(out, func(j jobRow) bool { return j.CampaignID == id }) {
			out = append(out, jobs[i])
		}
	}
	return out
}

// sumUp replaces the results of retried jobs with their campaigns' totals.
func (p *Page) sumUp(jobs []jobRow) error {
	var again []string
	for i := range jobs {
		if jobs[i].RetryOf != "" {
			again = append(again, jobs[i].CampaignID)
		}
	}
	all, err := p.jobsByCampaign(again)
	for i := range jobs {
		if of := all[jobs[i].CampaignID]; len(of) > 0 {
			jobs[i].Stats = sumJobs(of)
		}
	}
	return err
}

// lastResult holds the results of the last sent campaign.
type lastResult struct {
	Job   jobRow
	Tiles []reportTile // delivered, opens, clicks
	More  []tileNote
}

// lastResult returns the results of the last sent campaign, or nil if nothing was sent. others are the jobs for
// comparison.
func (p *Page) lastResult(last, others []jobRow) *lastResult {
	if len(last) == 0 {
		return nil
	}
	r := &lastResult{Job: last[0]}
	if r.Job.Transport != "" {
		return r
	}
	s, u := &r.Job.Stats, usualOf(others, r.Job.CampaignID)
	tiles := p.reportTiles(r.Job.CampaignID, s, cameBack(s), &u)
	r.More = append(r.More, tiles[0].Notes[1:]...)
	n := len(tiles) - 1
	if s.Unsubscribed > 0 {
		r.More = append(r.More, tileNote{Text: p.N("1 unsubscribed|{{n}} unsubscribed", s.Unsubscribed)})
	}
	r.More = append(r.More, tiles[n].Notes[min(1, len(tiles[n].Notes)):]...)
	r.Tiles = tiles[:n]
	r.Tiles[0].Notes = r.Tiles[0].Notes[:1]
	return r
}

// rateRow is a rate that mailbox providers watch, calculated from recent campaigns.
type rateRow struct {
	Label, Rate string
	Of          string // numbers from which it is calculated
	To          string // page with the people; empty: none
	Limit       string // what the rate should be; empty: there are too few emails to judge
	Over        bool   // whether the rate is above the limit
}

// nextStep is the visitor's most urgent task: a campaign and the page for continuing with it.
type nextStep struct {
	Title, Text, To, Button string
	Badge                   Badge
	Review                  string // path of the page for sending it; empty: To
}

// NextStep returns the visitor's most urgent task, or nil if there is none.
func (p *Page) NextStep(d *overviewData) *nextStep {
	if len(d.Next) == 0 {
		return nil
	}
	c := d.Next[0]
	n := &nextStep{
		Title: p.TitleOf(c), Badge: p.CampaignBadge(c.State), Text: p.T("Edited {{when}}", "when", p.When(c.UpdatedAt)),
		To: p.Path("campaigns", c.ID, "send"), Button: p.T("Review"),
	}
	switch {
	case d.Review != "":
		n.To = d.Review
	case !p.May(core.ActionCampaignWrite):
		n.To, n.Button = p.Path("campaigns", c.ID), p.T("View")
	case c.State == core.CampaignApproved:
		n.Button = p.T("Send or schedule")
	case c.State == core.CampaignDraft:
		n.Review, n.To, n.Button = n.To, p.Path("campaigns", c.ID), p.T("Continue writing")
	}
	return n
}

// TitleOf returns the display name of a campaign in lists.
func (p *Page) TitleOf(c core.CampaignView) string {
	return cmp.Or(c.Name, p.Listed(c.Subject), p.T("Untitled"))
}

// backLimit is the bounce rate at which a list needs a cleanup.
const backLimit = 0.02

// fewEmails is the minimum number of emails for judging a list by a rate.
const fewEmails = 100

// through returns the deliverability rates of recent campaigns. If nothing was sent, there are none.
func (p *Page) through(d *overviewData) []rateRow {
	var sent, complained, back int64
	for i := range d.Last {
		if d.Last[i].Transport != "" { // the job reached no one
			continue
		}
		s := &d.Last[i].Stats
		sent, complained, back = sent+s.Sent+s.Failed, complained+s.Complained, back+cameBack(s)+s.Failed
	}
	if sent == 0 {
		return nil
	}
	row := func(label, of string, n int64, most float64, limit string, status core.Status, people int64) rateRow {
		r := rateRow{Label: label, Rate: p.Percent(n, sent), Of: of}
		if sent >= fewEmails {
			r.Limit, r.Over = limit, n > 1 && float64(n) >= most*float64(sent)
		}
		if n > 0 && people > 0 {
			r.To = p.Path("people") + "?status=" + string(status)
		}
		return r
	}
	return []rateRow{
		row(p.T("Spam complaints"), p.T("{{n}} of {{all}} emails in recent campaigns", "n", p.Number(complained), "all",
			p.Number(sent)), complained, complaintLimit, p.T("keep below 0.3%"), core.StatusComplaint,
			d.Counts.Complaint),
		row(p.T("Bounce rate"), p.T("{{n}} of {{all}} emails in recent campaigns couldn't be delivered", "n",
			p.Number(back), "all", p.Number(sent)), back, backLimit, p.T("keep below 2%"), core.StatusBounced,
			d.Counts.Bounced),
	}
}

// overviewState summarizes the current activity in one sentence.
func (p *Page) overviewState(d *overviewData) string {
	review := int64(0)
	for _, c := range d.Next {
		if c.State == core.CampaignInReview {
			review++
		}
	}
	switch running := int64(len(d.Running)); {
	case running > 0 && review > 0:
		return p.N("1 campaign is being sent|{{n}} campaigns are being sent", running) + " · " +
			p.N("1 campaign is waiting for approval|{{n}} campaigns are waiting for approval", review)
	case running > 0:
		return p.N("1 campaign is being sent|{{n}} campaigns are being sent", running)
	case d.Soon != nil && d.Soon.StartsAt > p.Now:
		return p.T("Next campaign starts {{in}}.", "in", p.Away(d.Soon.StartsAt))
	case d.Soon != nil:
		return p.T("Next campaign starts {{in}}.", "in", p.T("now"))
	case review > 0:
		return p.N("1 campaign is waiting for approval|{{n}} campaigns are waiting for approval", review)
	case d.Empty:
		return p.T("Create a list, then write your first campaign.")
	}
	return ""
}

// Opened formats a job's open rate.
func (p *Page) Opened(s *core.Stats) string {
	switch {
	case s.Opens == nil || !s.Opens.Measured:
		return p.T("not tracked")
	case s.Opens.Totals || s.Opens.Rate == nil:
		return p.Number(*s.Opens.People)
	}
	return p.rate(*s.Opens.Rate)
}

// Clicked formats a job's click rate.
func (p *Page) Clicked(s *core.Stats) string {
	switch {
	case s.Clicks == nil || !s.Clicks.Measured:
		return p.T("not tracked")
	case s.Clicks.Totals || s.Clicks.Rate == nil:
		return p.Number(*s.Clicks.People)
	}
	return p.rate(*s.Clicks.Rate)
}

func (p *Page) rate(part float64) string {
	const precise = 1_000_000
	return p.Percent(int64(part*precise), precise)
}

// isGet reports whether the request is for the page itself, not a submitted form.
func (p *Page) isGet() bool { return p.Request.Method == http.MethodGet }
