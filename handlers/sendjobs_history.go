package handlers

import (
	"strconv"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// links are the tracked links of a job, the most followed first.
func (a sendjobs) links(c *web.Call, id string) ([]core.Link, error) {
	j, err := a.store.SendJob(c, id)
	if err != nil {
		return nil, err
	}
	links, err := a.store.Links(c, j.No)
	if links == nil {
		links = []core.Link{}
	}
	return links, err
}

// failures are why mails of a job did not arrive, the most frequent first.
func (a sendjobs) failures(c *web.Call, id string) (core.Failures, error) {
	j, err := a.store.SendJob(c, id)
	if err != nil {
		return core.Failures{}, err
	}
	return a.store.Failures(c, &j)
}

// historyOf names the address whose history is asked for.
type historyOf struct {
	Email    core.Email `query:"email,required"`
	TenantID string     `query:"tenant_id"`
}

// mailed is what became of the mail of one job to the address.
type mailed struct {
	JobID      string       `json:"job_id"`
	TenantID   string       `json:"tenant_id"`
	ListID     string       `json:"list_id"`
	Name       string       `json:"name,omitempty"`
	Subject    string       `json:"subject"`
	Status     string       `json:"status" enum:"queued|deferred|sent|failed|skipped"`
	Reason     string       `json:"reason,omitempty"`
	Tries      int          `json:"tries"`
	FinishedAt core.Instant `json:"finished_at,omitzero"`
	Events     []string     `json:"events"` // what was reported of it since
	// folder: the emails of the job were saved to a folder on the server; partly: some of them
	Transport string `json:"transport,omitempty" enum:"folder|partly"`

	Engagements []core.PersonOpening `json:"engagements"` // opens and links, where the job was tracked

	no int64
}

func (m mailed) key() string { return strconv.FormatInt(m.no, 10) }

// history lists what was ever sent to an address, the newest first.
func (a sendjobs) history(c *web.Call, in historyOf, page core.Page) ([]mailed, error) {
	tenants, all, err := web.TenantsFor(c, web.TenantFilter{TenantID: in.TenantID})
	if err != nil {
		return nil, err
	}
	rows, err := a.store.History(c, in.Email, tenants, all, page)
	return mailedRows(rows), err
}

// mailedRows are the rows of a history as answers show them.
func mailedRows(rows []core.HistoryEntry) []mailed {
	out := make([]mailed, len(rows))
	for i, r := range rows {
		out[i] = mailed{
			r.JobID, r.TenantID, r.ListID, r.Name, r.Subject, core.RecipientStates[r.State], r.Reason, r.Tries,
			r.FinishedAt,
			r.Marks.Names(), r.Transport, r.Engagements, r.JobNo,
		}
		if out[i].Engagements == nil {
			out[i].Engagements = []core.PersonOpening{}
		}
	}
	return out
}

// whyAnswer tells why an address got no email.
type whyAnswer struct {
	Email         core.Email             `json:"email"`
	Subscriptions []core.WhySubscription `json:"subscriptions"`
	Blocks        []block                `json:"blocks"`    // what stands against mailing the address
	Mails         []core.WhyMail         `json:"mails"`     // transactional emails, the newest first
	Campaigns     []mailed               `json:"campaigns"` // emails of campaigns, the newest first
}

// why shows all that tells why an address got no email.
func (a subscribers) why(c *web.Call, in historyOf) (out whyAnswer, err error) {
	tenants, all, err := web.TenantsFor(c, web.TenantFilter{TenantID: in.TenantID})
	if err != nil {
		return out, err
	}
	w, err := a.store.Why(c, in.Email, tenants, all)
	out = whyAnswer{
		w.Email, w.Subscriptions, web.RowsOf(w.Blocks, func(s *core.Suppressed) block { return blockOf(c, s) }), w.Mails,
		mailedRows(w.Campaigns),
	}
	return out, err
}
