package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/store"
)

// jobRecord is a send job as it is printed.
type jobRecord struct {
	ID            string         `json:"id"`
	TenantID      string         `json:"tenant_id"`
	ListID        string         `json:"list_id"`
	Status        core.JobStatus `json:"status"`
	Name          string         `json:"name"`
	Subject       string         `json:"subject"`
	ScheduledAt   core.Instant   `json:"scheduled_at"`
	WindowStart   core.Instant   `json:"window_start"`
	WindowEnd     core.Instant   `json:"window_end"`
	CreatedAt     core.Instant   `json:"created_at"`
	StartedAt     core.Instant   `json:"started_at"`
	FinishedAt    core.Instant   `json:"finished_at"`
	FailureReason string         `json:"failure_reason"`
	Recipients    int64          `json:"recipients"`
	Sent          int64          `json:"sent"`
	Deferred      int64          `json:"deferred"`
	Failed        int64          `json:"failed"`
	Skipped       int64          `json:"skipped"`
	Bounced       int64          `json:"bounced"`
}

func jobOf(c *cli.Context, s *store.Store, j *core.SendJob) (jobRecord, error) {
	content, err := s.Campaign(c.Context, j.CampaignID)
	return jobRecord{
		ID: j.ID, TenantID: j.TenantID, ListID: j.ListID, Status: j.Status, Name: content.Name, Subject: content.Subject,
		ScheduledAt: j.ScheduledAt, WindowStart: j.WindowStart, WindowEnd: j.WindowEnd, CreatedAt: j.CreatedAt, StartedAt: j.StartedAt,
		FinishedAt: j.FinishedAt, FailureReason: j.FailureReason, Recipients: j.Recipients, Sent: j.Sent, Deferred: j.Deferred,
		Failed: j.Failed, Skipped: j.Skipped, Bounced: j.Bounced,
	}, err
}

func jobFlags() []cli.Flag {
	return []cli.Flag{
		stringFlag("list", "the `LIST` to mail"),
		stringFlag("subject", "`SUBJECT`, with placeholders as {{preferences.first_name}}"),
		stringFlag("html", "`FILE` with the HTML body"),
		stringFlag("text", "`FILE` with the text body (else it is made of the HTML)"),
		stringFlag("template", "`NAME` of the template"),
		stringFlag("unsubscribe-url", "`URL` with {{unsubscribe_token}}: the visible link, in place of ours"),
		stringFlag("name", "`NAME` of the job, for yourself"),
		stringFlag("scheduled-at", "not before this `TIME`, as 2026-01-31T08:00:00Z"),
		stringFlag("window-start", "not before this `TIME`"),
		stringFlag("window-end", "nothing is sent after this `TIME`"),
	}
}

// jobInput reads the flags of a new job.
func jobInput(c *cli.Context) (n core.NewJob, err error) {
	n = core.NewJob{Name: c.String("name"), Subject: c.String("subject")}
	var ok bool
	if n.ListID, ok = core.ParseID(c.String("list")); !ok {
		return n, core.Invalidf("list", "list must be a UUID.")
	}
	for flag, body := range map[string]*string{"html": &n.BodyHTML, "text": &n.BodyText} {
		if file := c.String(flag); file != "" {
			b, err := os.ReadFile(file)
			if err != nil {
				return n, err
			}
			*body = string(b)
		}
	}
	for flag, at := range map[string]*core.Instant{"scheduled-at": &n.ScheduledAt, "window-start": &n.WindowStart, "window-end": &n.WindowEnd} {
		if text := c.String(flag); text != "" {
			if *at, err = core.ParseInstant(text); err != nil {
				return n, fmt.Errorf("--%s: %w", flag, err)
			}
		}
	}
	if c.IsSet("template") || c.IsSet("unsubscribe-url") {
		n.Template = fmt.Appendf(nil, `{"mailer_template_name":%s,"unsubscribe_url":%s}`,
			jsonText(c.String("template")), jsonText(c.String("unsubscribe-url")))
	}
	return n, nil
}

func (p *program) jobCommands() *cli.Command {
	create := p.command("create", "send a mail to a list", jobFlags(), []string{"list", "subject"}, p.createJob)
	create.Description = `   newsletterd admin job create --list ID --subject 'News for {{preferences.first_name | default: "you"}}' --html news.html`
	all := p.command("list", "list the jobs", []cli.Flag{stringFlag("tenant", "only those of this `TENANT`")}, nil, func(c *cli.Context, _ *Config, s *store.Store) error {
		tenants, all, err := tenantOf(c, s)
		if err != nil {
			return err
		}
		jobs, err := pages(func(j core.SendJob) string { return j.ID }, func(page core.Page) ([]core.SendJob, error) {
			return s.SendJobs(c.Context, tenants, all, page)
		})
		rows := make([]jobRecord, len(jobs))
		for i := range jobs {
			if err == nil {
				rows[i], err = jobOf(c, s, &jobs[i])
			}
		}
		if err != nil {
			return err
		}
		return list(p.printer(c), rows, "id", "status", "subject", "recipients", "sent", "failed", "created_at")
	})
	show := p.command("show", "show one job", []cli.Flag{idFlag("job")}, []string{"id"}, func(c *cli.Context, _ *Config, s *store.Store) error {
		j, err := s.SendJob(c.Context, c.String("id"))
		return p.printJob(c, s, &j, err)
	})
	cancel := p.command("cancel", "stop a job", []cli.Flag{idFlag("job")}, []string{"id"}, func(c *cli.Context, _ *Config, s *store.Store) error {
		j, err := s.CancelSendJob(c.Context, c.String("id"), now())
		return p.printJob(c, s, &j, err)
	})
	return &cli.Command{Name: "job", Usage: "mailings", Subcommands: []*cli.Command{create, all, show, cancel}}
}

func (p *program) createJob(c *cli.Context, _ *Config, s *store.Store) error {
	n, err := jobInput(c)
	if err == nil {
		err = n.Validate(now())
	}
	if err != nil {
		return err
	}
	warnings, err := mail.TryContent(&n)
	if err != nil {
		return err
	}
	j, known, err := s.AddSendJob(c.Context, store.JobRequest{
		NewJob: n, CreatedBy: actor(), Caller: core.Caller{UserID: actor(), Operator: true},
	}, now())
	if err != nil {
		return err
	}
	if !known {
		warnings = append(warnings, "The template does not exist yet; the job fails if it is still missing when it starts.")
	}
	for _, w := range warnings {
		fmt.Fprintln(p.err, "warning:", w)
	}
	return p.printJob(c, s, &j, nil)
}

func (p *program) printJob(c *cli.Context, s *store.Store, j *core.SendJob, err error) error {
	if err != nil {
		return missing(err, "job", c.String("id"))
	}
	r, err := jobOf(c, s, j)
	if err != nil {
		return err
	}
	return p.printer(c).record(r)
}

// jsonText is a text as JSON writes it.
func jsonText(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // no string fails
	}
	return b
}
