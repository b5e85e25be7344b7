package admin

import (
	"fmt"
	"strconv"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/tenants"
)

func (p commands) mailCommands() *cli.Command {
	kind := cli.String("kind", "filter by `KIND`, for example confirm or invitation")
	all := p.Command("list", "list transactional emails that are queued or failed", []cli.Flag{
		cli.Tenant("filter by tenant (`ID` or name)"), kind,
		cli.OneOf("state", "filter by `STATE`: waiting or failed", "", core.MailWaiting, core.MailFailed),
		cli.Limit("show at most `N`, oldest first", cli.PageSize),
	}, nil, p.listMails)
	all.Description = `Transactional emails are confirmations, password resets, invitations and
tests, not campaigns. Emails that were sent are no longer listed.

   newsletterd admin mail list --state failed`
	retry := p.Command("retry", "retry one transactional email, or all failed ones", []cli.Flag{
		cli.String("id", "retry the email with this number (`N`)"), cli.Bool("failed", "retry all failed emails"),
		cli.Tenant("retry all failed emails of a tenant (`ID` or name)"), kind,
	}, nil, p.retryMails)
	retry.Description = `Emails with an expired link aren't retried. The person has to request a new
email.

   newsletterd admin mail retry --id 7
   newsletterd admin mail retry --failed --kind confirm`
	return &cli.Command{
		Name: "mail", Usage: "view and retry transactional emails", Subcommands: []*cli.Command{all, retry},
	}
}

func (p commands) listMails(c *cli.Context, _ *config.Config, s *store.Store) error {
	limit, err := cli.LimitOf(c)
	if err != nil {
		return err
	}
	if _, _, err := cli.TenantOf(c, s); err != nil {
		return err
	}
	f := tenants.MailFilter{TenantID: c.String("tenant"), Kind: c.String("kind"), State: c.String("state")}
	rows, after := []core.QueuedMail{}, int64(0)
	for len(rows) < limit {
		page, err := s.QueuedMails(c.Context, f, after, min(cli.PageSize, limit-len(rows)))
		if err != nil {
			return err
		}
		if rows = append(rows, page...); len(page) < cli.PageSize {
			break
		}
		after = page[len(page)-1].ID
	}
	return cli.List(p.Printer(c), rows, "id", "kind", "state", "email", "created_at", "due_at", "tries", "last_error")
}

func (p commands) retryMails(c *cli.Context, _ *config.Config, s *store.Store) error {
	if _, _, err := cli.TenantOf(c, s); err != nil {
		return err
	}
	tenant := c.String("tenant")
	id, many := c.String("id"), tenant != "" || c.Bool("failed")
	switch {
	case id != "" && (many || c.String("kind") != ""), id == "" && !many:
		return cli.UsageError(c, "nothing to retry: pass --id, --tenant or --failed")
	case id != "":
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return cli.UsageError(c, "--id must be the number of an email, as shown by newsletterd "+
				"admin mail list")
		}
		if err := s.RetryMail(c.Context, n, cli.Actor(), now()); err != nil {
			return cli.Missing(err, "queued email", id)
		}
		return p.Printer(c).Record(retried{1})
	}
	f, total := tenants.MailFilter{TenantID: tenant, Kind: c.String("kind")}, int64(0)
	for {
		n, err := s.RetryFailedMails(c.Context, f, cli.PageSize, cli.Actor(), now())
		if total += n; err != nil {
			return err
		}
		if n < cli.PageSize {
			return p.Printer(c).Record(retried{total})
		}
	}
}

func mailServerCommands(p commands) *cli.Command {
	show := p.Command("show", "show the mail server and where it is configured", nil, nil,
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			o := parts.RelayOptions(cfg)
			state, err := o.Now(c.Context, s)
			if err != nil {
				return err
			}
			return p.Printer(c).Record(state)
		})
	set := p.Command("set", "send a test email and, if it is accepted, save the mail server", []cli.Flag{
		cli.String("host", "`HOST` name or IP address"),
		&cli.IntFlag{Name: "port", Usage: "`PORT`", DefaultText: "587, or 465 with implicit TLS"},
		cli.OneOf("tls", "encryption `MODE`: starttls (default), implicit or none", "starttls", "implicit", "none"),
		cli.String("username", "user `NAME`; prompts for the password, or reads it from standard input"),
		cli.Bool("keep-password", "keep the current password, for the same server and user"),
		cli.String("from", "sender `ADDRESS` of account emails, and the default for newsletters"),
		cli.String("test-to", "send the test email to `ADDRESS`"),
		&cli.IntFlag{Name: "per-second", Usage: "send at most `N` campaign emails per second", DefaultText: "no limit"},
		&cli.IntFlag{Name: "per-day", Usage: "send at most `N` campaign emails per day", DefaultText: "no limit"},
	}, []string{"host", "from", "test-to"}, setMailServer(p))
	set.Description = `Only works if [mail.smtp] is empty in the configuration file and [mail] console
is true. You can also set the mail server in the console, under Server.

   newsletterd admin mail-server set --host smtp.example.com --username news --from news@example.com --test-to ann@example.com`
	remove := p.Command("remove", "remove the mail server; emails are then saved to a "+
		"folder", []cli.Flag{cli.Yes()}, nil,
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			o := parts.RelayOptions(cfg)
			state, err := o.Now(c.Context, s)
			if err != nil {
				return err
			}
			if state.Source == core.RelayConsole {
				yes, err := p.Sure(c, fmt.Sprintf("Remove the mail server %s?", state.Host))
				if err != nil || !yes {
					return err
				}
			}
			if err := o.RemoveServer(c.Context, s, "", cli.Actor(), now()); err != nil {
				return cli.Missing(err, "mail server", "in the database")
			}
			return p.Done(c, "Mail server removed. Emails are saved to a folder.")
		})
	return &cli.Command{
		Name: "mail-server", Usage: "show, set or remove the mail server that sends emails",
		Subcommands: []*cli.Command{show, set, remove},
	}
}

func setMailServer(p commands) func(*cli.Context, *config.Config, *store.Store) error {
	return func(c *cli.Context, cfg *config.Config, s *store.Store) error {
		o := parts.RelayOptions(cfg)
		to, err := core.ParseEmail(c.String("test-to"))
		if err != nil {
			return cli.UsageError(c, "--test-to must be an email address")
		}
		m := core.MailServer{
			Relay: core.Relay{
				Host: c.String("host"), Port: c.Int("port"), TLS: c.String("tls"), Username: c.String("username"),
				DKIMSkip: core.Strings{}, Limits: core.SendLimits{
					PerSecond: c.Int("per-second"),
					PerDay:    c.Int("per-day"),
				},
			},
			From: core.Email(c.String("from")),
		}
		if m.Relay.Username != "" && !c.Bool("keep-password") {
			if m.Relay.Password, err = p.Password(c.Context, "Password"); err != nil {
				return err
			}
			if m.Relay.Password == "" {
				return cli.UsageError(c, "the password is missing. Enter it, or pass it on standard input")
			}
		}
		if err := o.CheckServer(c.Context, s, &m); err != nil {
			return err
		}
		test, err := o.SetServer(c.Context, s, &m, to, "", cli.Actor(), now())
		if err != nil {
			return err
		}
		return p.Printer(c).Record(test)
	}
}
