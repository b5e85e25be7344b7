package console

import (
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// waitOf says why nothing of a mailing goes out just now; empty: it goes out, or has ended.
func (p *Page) waitOf(j *core.JobView) string {
	reason, detail, _ := strings.Cut(j.PauseReason, ": ")
	switch {
	case j.Status.Final():
		return ""
	case j.PauseReason == "" && j.FirstUntil > p.Now:
		return p.T("{{n}} readers have it already. The others follow at {{time}}, unless something is wrong.", "n",
			p.Number(j.Stats.Sent), "time", p.Clock(j.FirstUntil))
	case j.PauseReason == "":
		return ""
	case j.PauseReason == core.PausePerson:
		return p.T("Someone has paused it.")
	case j.PauseReason == core.PauseTenant:
		return p.T("Nothing is sent: this account is suspended.")
	case j.PauseReason == core.PauseList:
		return p.T("The list is switched off. It goes on when the list is on again.")
	case j.PauseReason == core.HoldSender:
		return p.T("The relay does not accept the sender. It goes on when it does.")
	case strings.HasSuffix(j.PauseReason, core.PauseSender):
		return p.T("The sender's domain is not yours any more.")
	case strings.HasPrefix(j.PauseReason, core.PauseRestored):
		return p.T("The database was restored, so it is not known who has got it. Whoever looks after this installation decides.")
	case reason == core.PauseLink:
		return p.T("A link in it does not answer: {{what}}. Mend it below, or let it go on.", "what", detail)
	case reason == "first few":
		return p.T("Something was wrong with the first few, so the others wait: {{what}}.", "what", detail)
	case reason == "too many hard bounces":
		return p.T("Too many addresses do not exist ({{what}}). Such mailings harm the sender's name.", "what", detail)
	case reason == "too many complaints":
		return p.T("Too many have complained ({{what}}). Such mailings harm the sender's name.", "what", detail)
	case strings.HasPrefix(j.PauseReason, "daily quota"):
		return p.T("As much was sent today as may be sent a day. It goes on by itself.")
	}
	return j.PauseReason
}

// undoRow is a mailing that can be taken back just now.
type undoRow struct{ ID, Title, To, In string }

// newestLooked is how many of the newest mailings are looked at for those that can be taken back.
const newestLooked = 5

// undoable are those among the newest mailings that begin within minutes, but for that of the page itself.
func (p *Page) undoable() (rows []undoRow) {
	if _, part := p.Partial(); part && p.Request.URL.Path != p.Path("undo") || !p.May(core.ActionFiguresRead) {
		return nil
	}
	jobs, _, err := p.jobs(p.ofTenant("limit", strconv.Itoa(newestLooked)))
	if err != nil {
		p.LogError(err) // the page is worth more than its banner
		return nil
	}
	for i := range jobs {
		j := &jobs[i]
		to := p.Path("campaigns", j.CampaignID)
		if j.Status == core.JobPending && j.RetryOf == "" && j.StartsAt.Sub(p.Now) <= core.MaxUndo &&
			j.StartsAt > p.Now && p.Request.URL.Path != to {
			rows = append(rows, undoRow{j.CampaignID, j.Title(), to, p.Away(j.StartsAt)})
		}
	}
	return rows
}

// undoPart is the banner about what can be taken back.
func (o *Console) undoPart(p *Page) (web.HTML, error) { return p.ShowPart("message", "undo", View{}) }

// readyAt says when a running mailing is through, if it goes on as so far; empty: that isn't known.
func (p *Page) readyAt(d *reportData) string {
	j := d.Job
	elapsed, done := p.Now.Sub(j.StartedAt), j.Done()
	left := d.Total - done - j.Stats.Deferred
	if j.Status != core.JobRunning || d.Waits != "" || done == 0 || left <= 0 || elapsed < 2*time.Second {
		return ""
	}
	at := p.Now.Add(time.Duration(float64(elapsed) / float64(done) * float64(left)))
	return p.T("ready at about {{time}}", "time", p.Clock(at))
}
