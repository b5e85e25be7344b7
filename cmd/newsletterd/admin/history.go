package admin

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
)

// mailedRecord is a job's email to an address in the output of why, with its result.
type mailedRecord struct {
	JobID      string       `json:"job_id"`
	TenantID   string       `json:"tenant_id"`
	ListID     string       `json:"list_id"`
	Subject    string       `json:"subject"`
	Status     string       `json:"status"`
	Reason     string       `json:"reason,omitempty"`
	Tries      int          `json:"tries"`
	FinishedAt core.Instant `json:"finished_at,omitzero"`
	Events     string       `json:"events"` // events reported since
}

func (p commands) subscriberHistory() *cli.Command {
	history := p.Command("history", "list all emails sent to an address", []cli.Flag{
		cli.String("email", "`ADDRESS` that the emails were sent to"), tenantOrAll(),
	}, []string{"email"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		email, err := cli.GivenEmail(c)
		if err != nil {
			return err
		}
		tenants, all, err := cli.TenantOf(c, s)
		if err != nil {
			return err
		}
		rows, err := cli.Pages(func(m core.HistoryEntry) string { return strconv.FormatInt(m.JobNo, 10) },
			func(page core.Page) ([]core.HistoryEntry, error) {
				return s.History(c.Context, email, tenants, all, page)
			})
		if err != nil {
			return err
		}
		return cli.List(p.Printer(c), mailedRecords(rows), "finished_at", "status", "subject", "events", "reason",
			"job_id")
	})
	history.Description = "Lists the newest first. Emails of send jobs older than [send] keep_recipients " +
		"aren't listed."
	return history
}

// mailColumns lists the columns of tables with transactional emails.
var mailColumns = []string{"created_at", "kind", "state", "tries", "due_at", "last_error"}

// whyRecord is the JSON output of why.
type whyRecord struct {
	Email         core.Email             `json:"email"`
	Subscriptions []core.WhySubscription `json:"subscriptions"`
	Blocks        []core.Suppressed      `json:"blocks"`
	Mails         []core.WhyMail         `json:"mails"`
	Campaigns     []mailedRecord         `json:"campaigns"`
}

// Why returns the command that explains why an address got no email.
func Why(program *cli.Program) *cli.Command {
	p := commands{program}
	why := p.Command("why", "show why an address got no email",
		[]cli.Flag{cli.String("email", "`ADDRESS` that got no email"), tenantOrAll()},
		[]string{"email"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			email, err := cli.GivenEmail(c)
			if err != nil {
				return err
			}
			tenants, all, err := cli.TenantOf(c, s)
			if err != nil {
				return err
			}
			w, err := s.Why(c.Context, email, tenants, all)
			if err != nil {
				return err
			}
			r := whyRecord{w.Email, w.Subscriptions, w.Blocks, w.Mails, mailedRecords(w.Campaigns)}
			if out := p.Printer(c); out.JSON {
				return out.Value(r)
			}
			return printWhy(p, &r)
		})
	why.Description = `Shows the subscriptions and suppression entries of the address, and the last
emails with the receiving server's responses. To resend a failed
transactional email, see: newsletterd admin mail list

   newsletterd why --email ann@example.org`
	return why
}

func printWhy(p commands, r *whyRecord) error {
	out := cli.Printer{Out: p.Out}
	section := func(title, none string, n int, rows func() error) error {
		if n == 0 {
			_, err := fmt.Fprintf(p.Out, "%s\n  %s\n\n", title, none)
			return err
		}
		fmt.Fprintln(p.Out, title)
		err := rows()
		fmt.Fprintln(p.Out)
		return err
	}
	return errors.Join(
		section("Subscriptions", "None. The address isn't on any list.", len(r.Subscriptions), func() error {
			return cli.List(out, r.Subscriptions, "list_name", "status", "block", "changed_at")
		}),
		section("Blocks", "None.", len(r.Blocks), func() error {
			return cli.List(out, r.Blocks, "kind", "tenant_id", "list_id", "reason", "occurred_at")
		}),
		section("Transactional emails (to resend one: newsletterd admin mail list)", "None in the last 30 "+
			"days.", len(r.Mails),
			func() error { return cli.List(out, r.Mails, mailColumns...) }),
		section("Campaigns", "None.", len(r.Campaigns), func() error {
			return cli.List(out, r.Campaigns, "finished_at", "status", "subject", "events", "reason")
		}),
	)
}

func mailedRecords(rows []core.HistoryEntry) []mailedRecord {
	out := make([]mailedRecord, len(rows))
	for i, m := range rows {
		if m.Transport == core.TransportFolder && m.State == core.RecipientSent {
			m.Reason = "saved to a folder on the server, not sent"
		}
		out[i] = mailedRecord{
			m.JobID, m.TenantID, m.ListID, m.Subject, core.RecipientStates[m.State], m.Reason, m.Tries, m.FinishedAt,
			strings.Join(m.Marks.Names(), " "),
		}
	}
	return out
}
