package console

import (
	"net/url"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// recipientRow is the outcome of one email as returned by the API.
type recipientRow struct {
	Email      string       `json:"email"`
	Subscriber string       `json:"subscriber_id"` // id of the subscriber; empty: erased since
	Name       string       `json:"name"`
	Status     string       `json:"status"`
	Reason     string       `json:"reason"`
	Tries      int          `json:"tries"`
	NextTryAt  core.Instant `json:"next_try_at"`
	FinishedAt core.Instant `json:"finished_at"`
	Events     []string     `json:"events"`
}

// outcome returns the badge for the state of an email and its reported events.
func (p *Page) outcome(status string, events []string) Badge {
	has := func(event string) bool { return slices.Contains(events, event) }
	switch {
	case has("complained"):
		return Badge{p.T("Marked as spam"), "bad"}
	case has("bounced"):
		return Badge{p.T("Bounced"), "bad"}
	case has("clicked") && !has("machine_clicked"):
		return Badge{p.T("Clicked"), "good"}
	case has("opened") && !has("machine_opened"):
		return Badge{p.T("Opened"), "good"}
	case has("machine_clicked"):
		return Badge{p.T("Automated click"), ""}
	case has("delivered"):
		return Badge{p.T("Delivered"), "good"}
	}
	return p.statusBadge(status)
}

func (p *Page) statusBadge(status string) Badge {
	switch status {
	case "sent":
		return Badge{p.T("Sent"), ""}
	case "deferred":
		return Badge{p.T("Retrying"), "warn"}
	case "failed":
		return Badge{p.T("Not delivered"), "bad"}
	case "skipped":
		return Badge{p.T("Skipped"), ""}
	}
	return Badge{p.T("Waiting"), ""}
}

// shownEvents lists the events by which recipients can be filtered, in addition to the states of their emails.
var shownEvents = []string{"clicked", "opened", "machine_clicked", "bounced", "complained"}

// stateOf returns the API's name for the chosen state.
func stateOf(chosen string) string {
	if slices.Contains(shownEvents, chosen) {
		return "event"
	}
	return "status"
}

// shownRecipient is a row of the recipients table.
type shownRecipient struct {
	recipientRow
	Badge Badge
	Why   whyNot
}

// recipients lists the outcomes of the emails of a campaign's last job.
func (o *Console) recipients(p *Page) (web.HTML, error) {
	c, err := p.campaign()
	if err != nil {
		return web.HTML{}, err
	}
	jobs, err := p.jobsOf(c.ID, maxRetries)
	if err != nil {
		return web.HTML{}, err
	}
	d := struct {
		Campaign                  *campaignPage
		People                    []shownRecipient
		Advice                    []refusal // what to do about the refusals on the page
		Statuses, Jobs            []option
		Status, Text, Code, JobID string
		Pager                     pager
	}{Campaign: c, Status: p.Query("status"), Text: p.Query("q"), Code: p.Query("code"), JobID: p.Query("job")}
	v := View{
		Title: p.T("Recipients"), Data: &d,
		Within: []Link{{p.T("Campaigns"), p.Path("campaigns")}, {c.Title(p), p.Path("campaigns", c.ID)}},
		State:  p.T("Delivery status of each recipient, in sending order"),
	}
	d.Statuses = []option{{"", p.T("All recipients")}}
	for _, status := range []string{"sent", "deferred", "failed", "skipped", "queued"} {
		d.Statuses = append(d.Statuses, option{status, p.statusBadge(status).Text})
	}
	for _, event := range shownEvents {
		text := p.outcome("", []string{event}).Text
		if event == "bounced" { // unlike "Not delivered", which means that the server rejected the email immediately
			text = p.T("Bounced after sending")
		}
		d.Statuses = append(d.Statuses, option{event, text})
	}
	jobs = reaching(jobs)
	i := slices.IndexFunc(jobs, func(j jobRow) bool { return j.ID == d.JobID })
	if len(jobs) == 0 {
		return p.Show("recipients", v)
	}
	transport := jobs[max(i, 0)].Transport
	d.JobID = jobs[max(i, 0)].ID
	for n := range jobs {
		if len(jobs) > 1 {
			d.Jobs = append(d.Jobs, option{jobs[n].ID, p.When(firstAt(jobs[n].StartedAt, jobs[n].CreatedAt))})
		}
	}
	q := url.Values{}
	for name, value := range map[string]string{stateOf(d.Status): d.Status, "code": d.Code} {
		if value != "" {
			q.Set(name, value)
		}
	}
	found, next, err := p.findRecipients(d.JobID, d.Text, q)
	if err := p.blame(&v, err); err != nil {
		return web.HTML{}, err
	}
	for i := range found {
		r := &found[i]
		badge := p.outcome(r.Status, r.Events)
		if r.Status == "sent" && transport != "" {
			badge = p.sentBadge(transport)
		}
		why := whyNotSent(r.Status, r.Reason)
		d.People = append(d.People, shownRecipient{*r, badge, why})
		if why.What != "" && why.Turn != turnNone && !slices.Contains(d.Advice, why.refusal) {
			d.Advice = append(d.Advice, why.refusal)
		}
	}
	d.Pager = p.Pager(next)
	return p.Show("recipients", v)
}

// findRecipients reads one page of a job's recipients. It finds those whose address, or a word in whose name, begins
// with the text. A full address is looked up directly.
func (p *Page) findRecipients(jobID, text string, q url.Values) (found []recipientRow, next string, err error) {
	path := jobAPI(jobID, "recipients")
	if email, err := core.ParseEmail(text); err == nil && p.Query("cursor") == "" {
		q.Set("email", string(email))
		q.Set("limit", "1")
		if _, err := p.Get(path, q, &found); err != nil || len(found) > 0 {
			return found, "", err
		}
		q.Del("email")
	}
	if text = strings.TrimSpace(text); text != "" {
		q.Set("search", text)
	}
	next, err = readShort(p, path, q, peoplePage, &found)
	return found, next, err
}

// recipientsFile returns the API path for exporting a job's recipients.
func (p *Page) recipientsFile() (string, error) {
	c, err := p.campaign()
	if err != nil {
		return "", err
	}
	jobs, err := p.jobsOf(c.ID, maxRetries)
	if err != nil {
		return "", err
	}
	jobs = reaching(jobs)
	i := slices.IndexFunc(jobs, func(j jobRow) bool { return j.ID == p.Query("job") })
	if len(jobs) == 0 {
		return "", core.ErrJobNotFound
	}
	q := url.Values{"spreadsheet": {p.separator()}}
	if status := p.Query("status"); status != "" {
		q.Set(stateOf(status), status)
	}
	return jobAPI(jobs[max(i, 0)].ID, "recipients/export") + "?" + q.Encode(), nil
}

func firstAt(all ...core.Instant) core.Instant {
	for _, at := range all {
		if at != 0 {
			return at
		}
	}
	return 0
}
