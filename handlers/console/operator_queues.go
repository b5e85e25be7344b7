package console

import (
	"net/http"
	"net/url"
	"strconv"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// queueRow is a queued event or transactional email.
type queueRow struct {
	EventID    string       `json:"event_id"`
	EndpointID string       `json:"endpoint_id"`
	Type       string       `json:"event_type"`
	ID         int64        `json:"id"`
	Kind       string       `json:"kind"`
	Email      core.Email   `json:"email"`
	State      string       `json:"state"`
	TenantID   string       `json:"tenant_id"`
	DueAt      core.Instant `json:"due_at"`
	Tries      int64        `json:"tries"`
	LastError  string       `json:"last_error"`

	Tenant string // name of the tenant
}

// GivenUp reports whether the item is no longer retried automatically.
func (r *queueRow) GivenUp() bool { return r.State != "waiting" }

// QueueBadge returns the badge for the state of an event or email.
func (p *Page) QueueBadge(state string) Badge {
	if state == "waiting" {
		return Badge{p.T("Waiting"), "live"}
	}
	return Badge{p.T("Failed"), "bad"}
}

// tenantNames maps tenants' ids to names. It reads only one API page.
func (p *Page) tenantNames() (map[string]string, error) {
	var tenants []core.Tenant
	_, err := p.Get("/api/admin/tenants", url.Values{"limit": {"200"}}, &tenants)
	names := map[string]string{}
	for i := range tenants {
		names[tenants[i].ID] = tenants[i].Name
	}
	return names, err
}

// queuesData holds the data for templates/queues.html.
type queuesData struct {
	Status systemStatus
	Rows   []queueRow
	Mails  bool   // whether the page shows emails instead of events
	State  string // state in the query
	States []option
	Here   string // URL of the page, for the script that refreshes it
	Pager  pager
}

// queues lists the events or transactional emails that are waiting or no longer retried.
func (o *Console) queues(p *Page) (web.HTML, error) {
	status, err := p.status()
	if err != nil {
		return web.HTML{}, err
	}
	d := queuesData{
		Status: status, Mails: p.Query("what") == "mails", State: p.Query("state"), Here: p.Request.URL.RequestURI(),
	}
	path, dead := "/api/admin/outbox", "dead"
	if d.Mails {
		path, dead = "/api/admin/mails", "failed"
	}
	d.States = []option{
		{"", p.T("All statuses")},
		{dead, p.QueueBadge(dead).Text},
		{"waiting", p.QueueBadge("waiting").Text},
	}
	q := url.Values{"limit": {"30"}}
	for _, name := range []string{"state", "cursor"} {
		if value := p.Query(name); value != "" {
			q.Set(name, value)
		}
	}
	next, err := p.Get(path, q, &d.Rows)
	if err != nil {
		return web.HTML{}, err
	}
	names, err := p.tenantNames()
	if err != nil {
		return web.HTML{}, err
	}
	for i := range d.Rows {
		d.Rows[i].Tenant = names[d.Rows[i].TenantID]
	}
	d.Pager = p.Pager(next)
	v := View{Title: p.T("Queues"), Data: &d, State: p.T("No failed events or emails")}
	if n := status.Stuck(); n > 0 {
		v.State = p.N("1 event or email failed|{{n}} events and emails failed", n)
	}
	if _, ok := p.Partial(); ok {
		return p.ShowPart("queues", "queue", v)
	}
	return p.Show("queues", v)
}

// retryQueue retries one event or email, or all that are no longer retried automatically.
func (o *Console) retryQueue(p *Page) (web.HTML, error) {
	path, body, to := "/api/admin/outbox/retry", map[string]any{}, operatorPath("queues")
	switch id, event := p.Form["id"], p.Form["event_id"]; {
	case p.Form["what"] == "mails":
		path, to = "/api/admin/mails/retry", to+"?what=mails"
		if n, err := strconv.ParseInt(id, 10, 64); err == nil {
			body["id"] = n
		} else if id != "" {
			return web.HTML{}, web.ErrNotFound
		}
	case event != "":
		path = "/api/admin/outbox/" + url.PathEscape(event) + "/retry"
		if endpoint := p.Form["endpoint_id"]; endpoint != "" {
			body["endpoint_id"] = endpoint
		}
	}
	if err := p.Do(http.MethodPost, path, body, nil); err != nil {
		return web.HTML{}, err
	}
	return p.Redirect(to, "queued-again")
}

// mailingRow is a send job and its tenant's name.
type mailingRow struct {
	jobRow
	Tenant string
	Waits  string // why it isn't sending at the moment
}

// Paused reports whether the job is paused.
func (r *mailingRow) Paused() bool { return r.PausedAt != 0 }

// Goes reports whether the job has not ended yet.
func (r *mailingRow) Goes() bool {
	return r.Status == core.JobRunning || r.Status == core.JobPending
}

// mailings lists all tenants' send jobs, starting with those that have not ended.
func (o *Console) mailings(p *Page) (web.HTML, error) {
	names, err := p.tenantNames()
	if err != nil {
		return web.HTML{}, err
	}
	var d struct {
		Now, Ended []mailingRow
		Pager      pager
	}
	for _, status := range []core.JobStatus{core.JobRunning, core.JobPending} {
		rows, _, err := p.jobs(url.Values{"status": {string(status)}, "limit": {"50"}})
		if err != nil {
			return web.HTML{}, err
		}
		for _, r := range rows {
			d.Now = append(d.Now, mailingRow{r, names[r.TenantID], p.waitOf(&r.JobView)})
		}
	}
	q := url.Values{"limit": {"30"}}
	if cursor := p.Query("cursor"); cursor != "" {
		q.Set("cursor", cursor)
	}
	rows, next, err := p.jobs(q)
	if err != nil {
		return web.HTML{}, err
	}
	for _, r := range rows {
		if m := (mailingRow{r, names[r.TenantID], ""}); !m.Goes() {
			d.Ended = append(d.Ended, m)
		}
	}
	d.Pager = p.Pager(next)
	v := View{Title: p.T("Sends"), Data: &d, State: p.T("All tenants · nothing sending or scheduled")}
	if n := int64(len(d.Now)); n > 0 {
		v.State = p.N("All tenants · 1 sending or scheduled|All tenants · {{n}} sending or scheduled", n)
	}
	if _, ok := p.Partial(); ok {
		return p.ShowPart("mailings", "mailings-now", v)
	}
	return p.Show("mailings", v)
}

// actOnMailing pauses, resumes or cancels a send job.
func (o *Console) actOnMailing(p *Page) (web.HTML, error) {
	id, act := p.Form["id"], p.Form["act"]
	if parsed, ok := core.ParseID(id); !ok || parsed != id {
		return web.HTML{}, web.ErrNotFound
	}
	done, ok := map[string]string{"pause": "paused", "resume": "resumed", "cancel": "cancelled"}[act]
	if !ok {
		return web.HTML{}, core.Invalidf("act", "Unknown action. Reload the page and try again.")
	}
	to := operatorPath("mailings")
	if act == "cancel" && !p.sure() {
		return p.askSure(p.T("Cancel sending?"), secondStep{
			Text:   p.T("People who already have this email keep it. No one else will get it. You can't undo this."),
			Button: p.T("Cancel sending"), Back: to,
		}, Link{p.T("Sends"), to})
	}
	if err := p.Do(http.MethodPost, "/api/send-jobs/"+id+"/"+act, nil, nil); err != nil {
		return web.HTML{}, err
	}
	return p.Redirect(to, done)
}
