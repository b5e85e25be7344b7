package main

import (
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
)

// mailedRecord is what became of the mail of one job to an address.
type mailedRecord struct {
	JobID      string       `json:"job_id"`
	TenantID   string       `json:"tenant_id"`
	ListID     string       `json:"list_id"`
	Subject    string       `json:"subject"`
	Status     string       `json:"status"`
	Reason     string       `json:"reason,omitempty"`
	Tries      int          `json:"tries"`
	FinishedAt core.Instant `json:"finished_at,omitzero"`
	Events     string       `json:"events"` // what was reported of it since
}

func (p *program) subscriberHistory() *cli.Command {
	history := p.command("history", "list what was ever sent to an address", []cli.Flag{
		stringFlag("email", "the `ADDRESS`"), tenantOrAll(),
	}, []string{"email"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		email, err := core.ParseEmail(c.String("email"))
		if err != nil {
			return err
		}
		tenants, all, err := tenantOf(c, s)
		if err != nil {
			return err
		}
		rows, err := pages(func(m core.HistoryEntry) string { return strconv.FormatInt(m.JobNo, 10) },
			func(page core.Page) ([]core.HistoryEntry, error) {
				return s.History(c.Context, email, tenants, all, page)
			})
		if err != nil {
			return err
		}
		out := make([]mailedRecord, len(rows))
		for i, m := range rows {
			out[i] = mailedRecord{
				m.JobID, m.TenantID, m.ListID, m.Subject, core.RecipientStates[m.State], m.Reason, m.Tries, m.FinishedAt,
				strings.Join(m.Marks.Names(), " "),
			}
		}
		return list(p.printer(c), out, "finished_at", "status", "subject", "events", "reason", "job_id")
	})
	history.Description = "The newest first, of every job whose record is kept ([send] keep_recipients)."
	return history
}
