package console

import (
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// waitOf explains why a job isn't sending at the moment. If it is sending or has ended, it returns an empty string.
func (p *Page) waitOf(j *core.JobView) string {
	reason, detail, _ := strings.Cut(j.PauseReason, ": ")
	switch {
	case j.Status.Final():
		return ""
	case j.PauseReason == "" && j.FirstUntil > p.Now:
		return p.T("Sent to the first {{n}} recipients. The others get the campaign at {{time}} unless there are "+
			"problems.", "n",
			p.Number(j.Stats.Sent), "time", p.Clock(j.FirstUntil))
	case j.PauseReason == "":
		return ""
	case j.PauseReason == core.PausePerson:
		return p.T("Paused by a team member.")
	case j.PauseReason == core.PauseTenant:
		return p.T("This newsletter is suspended. Contact the server administrator.")
	case j.PauseReason == core.PauseList:
		return p.T("The list is inactive. Activate it to resume sending.")
	case j.PauseReason == core.HoldSender:
		return p.T("Your mail server rejected the sender address. Sending resumes once the server accepts it.")
	case strings.HasSuffix(j.PauseReason, core.PauseSender):
		return p.T("The sender domain is no longer verified. Verify it in Settings, then resume sending.")
	case strings.HasPrefix(j.PauseReason, core.PauseRestored):
		return p.T("The database was restored from a backup, so it's unclear who already has this email. Contact the " +
			"server administrator.")
	case reason == core.PauseSegment:
		return p.T("Paused because the segment no longer works: a list, campaign or segment it refers to was " +
			"deleted, or opens are no longer tracked. Cancel sending and fix the segment. Then duplicate the " +
			"campaign and send the copy.")
	case reason == core.PauseLink:
		return p.T("A link isn't responding ({{what}}). Fix it below, or resume sending anyway.", "what", detail)
	case reason == core.PauseFirst:
		return p.T("Paused after the first 500 recipients: {{what}}.", "what", p.firstProblem(detail))
	case reason == core.PauseBounces:
		return p.T("Too many bounces ({{what}}). Sending more would hurt your sender reputation.", "what",
			p.shareOf(detail))
	case reason == core.PauseComplaints:
		return p.T("Too many spam complaints ({{what}}). Sending more would hurt your sender reputation.", "what",
			p.shareOf(detail))
	case j.PauseReason == core.ReasonRelay:
		return p.T("Your mail server doesn't accept emails at the moment. newsletterd retries automatically.")
	case strings.HasPrefix(j.PauseReason, core.HoldDaily):
		return p.T("Daily sending limit reached. Sending resumes automatically tomorrow.")
	}
	return j.PauseReason
}

// shareOf translates the figures in a pause reason.
func (p *Page) shareOf(detail string) string {
	if v, ok := valuesOf("%d of %d", detail); ok {
		return p.T("{{done}} of {{all}}", "done", v[0], "all", v[1])
	}
	return detail
}

// firstProblem translates the problem with a campaign's first recipients (core.SendJob.FirstFault).
func (p *Page) firstProblem(detail string) string {
	if v, ok := valuesOf("%d of %d addresses don't exist", detail); ok {
		return p.T("{{n}} of {{all}} addresses don't exist", "n", v[0], "all", v[1])
	}
	if v, ok := valuesOf("%d of %d emails were rejected for policy reasons", detail); ok {
		return p.T("{{n}} of {{all}} emails were rejected for policy reasons", "n", v[0], "all", v[1])
	}
	return detail
}

// undoRow is a send job that can still be undone.
type undoRow struct {
	ID, Title, To, In string

	Plan bool // whether it was scheduled
}

// newestLooked is the number of newest jobs that are checked for undo.
const newestLooked = 5

// undoable returns the newest jobs that start within minutes, but not the page's own job.
func (p *Page) undoable() (rows []undoRow) {
	if _, part := p.Partial(); part && p.Request.URL.Path != p.Path("undo") || !p.May(core.ActionFiguresRead) {
		return nil
	}
	jobs, _, err := p.jobs(p.ofTenant("limit", strconv.Itoa(newestLooked)))
	if err != nil {
		p.LogError(err) // show the page without its banner
		return nil
	}
	for i := range jobs {
		j := &jobs[i]
		to := p.Path("campaigns", j.CampaignID)
		if j.Status == core.JobPending && j.RetryOf == "" && j.StartsAt.Sub(p.Now) <= core.MaxUndo &&
			j.StartsAt > p.Now && p.Request.URL.Path != to {
			rows = append(rows, undoRow{j.CampaignID, j.Title(), to, p.Away(j.StartsAt), planned(j, p.Now)})
		}
	}
	return rows
}

// planned reports whether a job is scheduled to start later than an immediate send.
func planned(j *jobRow, now core.Instant) bool {
	return j.ScheduledAt != 0 && j.StartsAt.Sub(now) > undoSeconds*time.Second
}

// undoPart shows the banner with jobs that can be undone.
func (o *Console) undoPart(p *Page) (web.HTML, error) { return p.ShowPart("message", "undo", View{}) }

// readyAt estimates when a running job ends at its current speed. If that is unknown, it returns an empty string.
func (p *Page) readyAt(d *reportData) string {
	j := d.Job
	elapsed, done := p.Now.Sub(j.StartedAt), j.Done()
	left := d.Total - done - j.Stats.Deferred
	if j.Status != core.JobRunning || d.Waits != "" || done == 0 || left <= 0 || elapsed < 2*time.Second {
		return ""
	}
	at := p.Now.Add(time.Duration(float64(elapsed) / float64(done) * float64(left)))
	return p.T("done around {{time}}", "time", p.Clock(at))
}
