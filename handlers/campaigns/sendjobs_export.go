package campaigns

import (
	"cmp"
	"encoding/csv"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/campaigns"
	"newsletterd/store/subscribercsv"
)

// exportRecipients writes the outcome for each recipient of a job as CSV, without a limit on the number of recipients.
func (a sendjobs) exportRecipients(c *web.Call, in recipientFilter) error {
	j, err := a.Store.SendJob(c, c.ID())
	if err != nil {
		return err
	}
	shown, err := a.Store.JobView(c, c.ID())
	if err != nil {
		return err
	}
	page := core.Page{Limit: web.ExportPage}
	rows, err := a.Store.Recipients(c, &j, campaigns.RecipientFilter(in), page)
	if err == nil {
		err = a.Store.NoteJobExport(c, &j, web.Actor(c), c.Now)
	}
	if err != nil {
		return err
	}
	h := c.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", web.Attachment(cmp.Or(shown.Name, shown.Subject)+".csv"))
	w := csv.NewWriter(c.Stream())
	err = w.Write([]string{"email", "list_id", "status", "reason", "tries", "finished_at", "events"})
	for len(rows) > 0 && err == nil {
		for _, r := range rows {
			at := ""
			if r.FinishedAt != 0 {
				at = r.FinishedAt.String()
			}
			err = w.Write([]string{
				subscribercsv.Cell(r.Email), r.ListID, core.RecipientStates[r.State], subscribercsv.Cell(r.Reason),
				strconv.Itoa(r.Tries), at, strings.Join(r.Marks.Names(), " "),
			})
			if err != nil {
				break
			}
		}
		if w.Flush(); err == nil {
			err = w.Error()
		}
		if err != nil || len(rows) < web.ExportPage {
			break
		}
		page.After = strconv.FormatInt(rows[len(rows)-1].Seq, 10)
		rows, err = a.Store.Recipients(c, &j, campaigns.RecipientFilter(in), page)
	}
	if w.Flush(); err == nil {
		err = w.Error()
	}
	if err != nil {
		c.Cut(err) // the header has been sent: only cutting the connection shows the error
	}
	return nil
}

// recipient holds the outcome for one recipient of a job.
type recipient struct {
	Seq        int64        `json:"seq"`
	Email      string       `json:"email"`
	Name       string       `json:"name,omitempty"`          // current name
	ListID     string       `json:"list_id"`                 // list through which the recipient was reached
	Subscriber string       `json:"subscriber_id,omitempty"` // id on that list; empty: erased since
	Status     string       `json:"status" enum:"queued|deferred|sent|failed|skipped"`
	Reason     string       `json:"reason,omitempty"`
	Tries      int          `json:"tries"`
	Ambiguous  int          `json:"ambiguous"`
	NextTryAt  core.Instant `json:"next_try_at,omitzero"`
	FinishedAt core.Instant `json:"finished_at,omitzero"`
	// reported events of the email: delivered, bounced, complained, opened, clicked
	Events []string `json:"events"`
}

// recipientFilter filters the list of a job's recipients.
type recipientFilter struct {
	Status string     `query:"status" enum:"queued|deferred|sent|failed|skipped"`
	Code   string     `query:"code" like:"status_code"`
	Email  core.Email `query:"email"`
	Event  string     `query:"event" enum:"bounced|complained|opened|clicked|machine_opened|machine_clicked"`
	Search string     `query:"search"`
}

func (a sendjobs) recipients(c *web.Call, in recipientFilter, page core.Page) ([]recipient, string, error) {
	j, err := a.Store.SendJob(c, c.ID())
	if err != nil {
		return nil, "", err
	}
	f, next := campaigns.RecipientFilter(in), ""
	var rows []core.Recipient
	if in.Search != "" {
		rows, next, err = a.Store.FindRecipients(c, &j, f, page)
	} else { // an extra row shows whether there is a next page
		rows, err = a.Store.Recipients(c, &j, f, core.Page{After: page.After, Limit: page.Limit + 1})
		if len(rows) > page.Limit {
			rows = rows[:page.Limit]
			next = strconv.FormatInt(rows[len(rows)-1].Seq, 10)
		}
	}
	out := make([]recipient, len(rows))
	for i, r := range rows {
		out[i] = recipient{
			r.Seq, r.Email, r.Name, r.ListID, r.SubscriberID, core.RecipientStates[r.State], r.Reason, r.Tries,
			r.Ambiguous,
			r.DueAt,
			r.FinishedAt, r.Marks.Names(),
		}
	}
	return out, next, err
}
