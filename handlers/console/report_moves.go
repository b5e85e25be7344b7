package console

import (
	"net/http"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// moveMailing pauses, resumes or cancels a campaign's send job, or resends to the recipients whom it didn't reach.
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
		"retry": {"retry-failed", "retried"}, "move": {"", "moved"}, "now": {"", ""},
	}[p.Form["do"]]
	if !known {
		return web.HTML{}, core.Invalidf("do", "Unknown action. Reload the page and try again.")
	}
	method, body := http.MethodPost, any(nil)
	if move.part == "" {
		at := p.scheduledAt()
		if at == "" { // the API would start immediately
			return p.campaignAgain(p.T("Enter a date and time."), http.StatusBadRequest)
		}
		method, body = http.MethodPatch, map[string]string{"scheduled_at": at, "time_zone": p.Zone.String()}
	}
	err = p.Do(method, jobAPI(jobs[0].ID, move.part), body, nil)
	if fault, status, ok := p.FaultOf(err); ok {
		return p.campaignAgain(fault, status)
	}
	if err != nil {
		return web.HTML{}, err
	}
	return p.Redirect(p.Path("campaigns", id), move.notice)
}

// scheduledAt returns the form's new start time for a scheduled send. It is at least undoSeconds in the future, so that
// the visitor can undo it.
func (p *Page) scheduledAt() string {
	soonest, at := p.Now.Add(undoSeconds*time.Second), p.Form["at"]
	if p.Form["do"] == "now" {
		return p.Machine(soonest)
	}
	t, err := core.ParseTime("scheduled_at", at, p.Zone)
	if err == nil && t != 0 && t < soonest && t >= p.Now.Add(-core.ScheduleGrace) {
		return p.Machine(soonest)
	}
	return at
}
