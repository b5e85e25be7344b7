package handlers

import (
	"encoding/csv"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/campaigns"
	"newsletterd/store/subscribercsv"
)

// exportRecipients writes what happened to each recipient of a job as CSV, however many there are.
func (a sendjobs) exportRecipients(c *web.Call, in recipientFilter) error {
	j, err := a.store.SendJob(c, c.ID())
	if err != nil {
		return err
	}
	page := core.Page{Limit: web.ExportPage}
	rows, err := a.store.Recipients(c, &j, campaigns.RecipientFilter(in), page)
	if err == nil {
		err = a.store.NoteJobExport(c, &j, web.Actor(c), c.Now)
	}
	if err != nil {
		return err
	}
	h := c.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="recipients.csv"`)
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
		rows, err = a.store.Recipients(c, &j, campaigns.RecipientFilter(in), page)
	}
	if w.Flush(); err == nil {
		err = w.Error()
	}
	if err != nil {
		c.Cut(err) // the head is out: only a cut connection shows it
	}
	return nil
}
