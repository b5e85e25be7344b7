package main

import (
	"strconv"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/tenants"
)

func (p *program) mailCommands() *cli.Command {
	kind := stringFlag("kind", "only those of the `KIND`, as confirm or invitation")
	all := p.command("list", "list the mails to one person that wait, or were refused for good", []cli.Flag{
		tenantFlag("only those of the tenant `ID` or name"), kind,
		oneOfFlag("state", "only those in the `STATE`: waiting or failed", "", core.MailWaiting, core.MailFailed),
		limitFlag("at most `N`, the oldest first", pageSize),
	}, nil, p.listMails)
	all.Description = `Confirmations, passwords, invitations and tests, not the mails of send jobs. One that was sent is no longer shown.

   newsletterd admin mail list --state failed`
	retry := p.command("retry", "send a mail, or all that were refused, again now", []cli.Flag{
		stringFlag("id", "the mail `N`"), boolFlag("failed", "all that were refused for good"),
		tenantFlag("all of the tenant `ID` or name that were refused for good"), kind,
	}, nil, p.retryMails)
	retry.Description = `A mail whose link is good no more stays: the person asks for another one.

   newsletterd admin mail retry --id 7
   newsletterd admin mail retry --failed --kind confirm`
	return &cli.Command{
		Name: "mail", Usage: "mails to one person that wait or were refused", Subcommands: []*cli.Command{all, retry},
	}
}

func (p *program) listMails(c *cli.Context, _ *config.Config, s *store.Store) error {
	limit, err := limitOf(c)
	if err != nil {
		return err
	}
	if _, _, err := tenantOf(c, s); err != nil {
		return err
	}
	f := tenants.MailFilter{TenantID: c.String("tenant"), Kind: c.String("kind"), State: c.String("state")}
	rows, after := []core.QueuedMail{}, int64(0)
	for len(rows) < limit {
		page, err := s.QueuedMails(c.Context, f, after, min(pageSize, limit-len(rows)))
		if err != nil {
			return err
		}
		if rows = append(rows, page...); len(page) < pageSize {
			break
		}
		after = page[len(page)-1].ID
	}
	return list(p.printer(c), rows, "id", "kind", "state", "email", "created_at", "due_at", "tries", "last_error")
}

func (p *program) retryMails(c *cli.Context, _ *config.Config, s *store.Store) error {
	if _, _, err := tenantOf(c, s); err != nil {
		return err
	}
	tenant := c.String("tenant")
	id, many := c.String("id"), tenant != "" || c.Bool("failed")
	switch {
	case id != "" && (many || c.String("kind") != ""), id == "" && !many:
		return usageError{c.Command.HelpName, "say which: --id N, or all that were refused by --tenant ID or --failed"}
	case id != "":
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return usageError{c.Command.HelpName, "--id must be the number of a mail, as list shows it"}
		}
		if err := s.RetryMail(c.Context, n, actor(), now()); err != nil {
			return missing(err, "mail in the queue:", id)
		}
		return p.printer(c).record(retried{1})
	}
	f, total := tenants.MailFilter{TenantID: tenant, Kind: c.String("kind")}, int64(0)
	for {
		n, err := s.RetryFailedMails(c.Context, f, pageSize, actor(), now())
		if total += n; err != nil {
			return err
		}
		if n < pageSize {
			return p.printer(c).record(retried{total})
		}
	}
}
