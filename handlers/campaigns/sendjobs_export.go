package campaigns

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/campaigns"
	"newsletterd/store/subscribercsv"
)

// exportRecipients writes the outcomes for a job's recipients as CSV. Their number is not limited.
func (a sendjobs) exportRecipients(c *web.Call, in recipientExport) error {
	j, err := a.Store.SendJob(c, c.ID())
	if err != nil {
		return err
	}
	shown, err := a.Store.JobView(c, c.ID())
	if err != nil {
		return err
	}
	return web.Export[core.Recipient]{
		Name: cmp.Or(shown.Name, shown.Subject) + in.part() + ".csv",
		Read: func(page core.Page) (rows []core.Recipient, next string, err error) {
			rows, err = a.Store.Recipients(c, &j, campaigns.RecipientFilter(in.recipientFilter), page)
			if len(rows) == page.Limit {
				next = strconv.FormatInt(rows[len(rows)-1].Seq, 10)
			}
			return rows, next, err
		},
		Note: func() error { return a.Store.NoteJobExport(c, &j, web.Actor(c), c.Now) },
		Open: func(out io.Writer) (func(*core.Recipient) error, func() error, error) {
			return recipientWriter(out, in.Spreadsheet, a.listNames(c))
		},
	}.Write(c)
}

// part returns the file name suffix that describes the exported recipients, or an empty string for all.
func (f *recipientFilter) part() string {
	what := cmp.Or(f.Event, f.Status)
	if what == core.RecipientStates[core.RecipientFailed] {
		what = "not delivered" // as in the console
	}
	if what == "" {
		return ""
	}
	return " - " + strings.ReplaceAll(what, "_", " ")
}

// listNames returns a function that maps a list's id to its name, or to an empty string if the list was deleted.
func (a sendjobs) listNames(ctx context.Context) func(id string) (string, error) {
	names := map[string]string{}
	return func(id string) (string, error) {
		if name, ok := names[id]; ok {
			return name, nil
		}
		l, err := a.Store.List(ctx, id)
		if errors.Is(err, core.ErrListNotFound) || errors.Is(err, core.ErrNotFound) {
			err = nil
		}
		names[id] = l.Name
		return l.Name, err
	}
}

// recipientWriter returns functions that write recipients as CSV and finish the file. If the file is for a spreadsheet
// program, it begins with a byte order mark. listName returns a list's name.
func recipientWriter(out io.Writer, spreadsheet string, listName func(id string) (string, error)) (
	write func(*core.Recipient) error, end func() error, err error,
) {
	w, first := csv.NewWriter(out), "email"
	if comma := subscribercsv.Comma(spreadsheet); comma != 0 {
		w.Comma, first = comma, subscribercsv.ByteOrderMark+first
	}
	err = w.Write([]string{first, "list_id", "status", "reason", "tries", "finished_at", "events", "name", "list"})
	return func(r *core.Recipient) error {
		at := ""
		if r.FinishedAt != 0 {
			at = r.FinishedAt.String()
		}
		list, err := listName(r.ListID)
		if err != nil {
			return err
		}
		return w.Write([]string{
			subscribercsv.Cell(r.Email), r.ListID, core.RecipientStates[r.State], subscribercsv.Cell(r.Reason),
			strconv.Itoa(r.Tries), at, strings.Join(r.Marks.Names(), " "),
			subscribercsv.Cell(r.Name), subscribercsv.Cell(list),
		})
	}, func() error { w.Flush(); return w.Error() }, err
}

// recipient is one of a job's recipients with the outcome.
type recipient struct {
	Seq        int64        `json:"seq" about:"Number of the recipient in the job"`
	Email      string       `json:"email"`
	Name       string       `json:"name,omitempty" about:"Current name of the subscriber; absent: none"`
	ListID     string       `json:"list_id" about:"List through which the recipient was reached"`
	Subscriber string       `json:"subscriber_id,omitempty" about:"ID of the subscriber on that list; absent: erased since"`
	Status     string       `json:"status" enum:"queued|deferred|sent|failed|skipped" about:"What became of the email"`
	Reason     string       `json:"reason,omitempty" about:"Why the email was skipped, deferred or failed; absent: it was not"`
	Tries      int          `json:"tries"`
	Ambiguous  int          `json:"ambiguous" about:"How often the email was sent again because the connection was lost"`
	NextTryAt  core.Instant `json:"next_try_at,omitzero"`
	FinishedAt core.Instant `json:"finished_at,omitzero"`
	Events     []string     `json:"events" about:"What was reported since: delivered, bounced, complained, opened or clicked"`
}

// recipientFilter filters the list of a job's recipients.
type recipientFilter struct {
	Status string     `query:"status" enum:"queued|deferred|sent|failed|skipped" about:"Only recipients with this status"`
	Code   string     `query:"code" like:"status_code" about:"Only failures with this code, such as 550 or 5.1.1"`
	Email  core.Email `query:"email"`
	Event  string     `query:"event" enum:"bounced|complained|opened|clicked|machine_opened|machine_clicked" about:"Only recipients with this event; machine_ means automated only"`
	Search string     `query:"search"`
}

// recipientExport is the query of an export of recipients.
type recipientExport struct {
	recipientFilter
	Spreadsheet string `query:"spreadsheet" enum:"comma|semicolon"`
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
