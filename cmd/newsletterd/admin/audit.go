package admin

import (
	"slices"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
)

// mostAudited is the maximum number of audit log entries that a command lists. auditPage is the number of entries per
// read.
const (
	mostAudited = 100000
	auditPage   = 1000
)

func (p commands) auditCommands() *cli.Command {
	all := p.Command("list", "list audit log entries", []cli.Flag{
		cli.Tenant("filter by tenant (`ID` or name)"),
		cli.String("actor", "filter by `ACTOR`, as shown in the list"),
		cli.String("action", "filter by `ACTION`, or by its first word, for example list"),
		cli.String("object", "filter by record (`ID`)"),
		cli.String("from", "only changes at or after `TIME`, for example 2026-12-24T08:00:00Z"),
		cli.String("until", "only changes before `TIME`"),
		&cli.IntFlag{Name: "limit", Usage: "number of entries: the newest `N`", Value: 100},
	}, nil, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		f, err := auditFilter(c, s)
		if err != nil {
			return err
		}
		rows, err := auditEntries(c, s, f)
		if err != nil {
			return err
		}
		return cli.List(p.Printer(c), rows, "at", "actor", "client_id", "origin", "action", "object", "tenant_id",
			"changes")
	})
	all.Description = `Lists the newest entries last. The actor is the ID of a user or client, or
the system account that ran a command; client_id is the OAuth client a user
acted through. The origin is the IP address of the request and is kept for
90 days. Changes show each field before and after; secrets and personal data
are masked.

   newsletterd admin audit list --limit 20
   newsletterd admin audit list --action list --from 2026-12-01T00:00:00Z`
	return &cli.Command{Name: "audit", Usage: "view the audit log", Subcommands: []*cli.Command{all}}
}

// auditFilter returns the audit log filter that the flags describe.
func auditFilter(c *cli.Context, s *store.Store) (f core.AuditFilter, err error) {
	if n := c.Int("limit"); n < 1 || n > mostAudited {
		return f, cli.UsageErrorf(c, "--limit must be from 1 to %d", mostAudited)
	}
	if _, _, err := cli.TenantOf(c, s); err != nil {
		return f, err
	}
	f = core.AuditFilter{
		TenantID: c.String("tenant"), Actor: c.String("actor"), Action: c.String("action"), Object: c.String("object"),
	}
	if f.From, err = cli.GivenInstant(c, "from"); err != nil {
		return f, err
	}
	f.Until, err = cli.GivenInstant(c, "until")
	return f, err
}

// auditEntries returns the newest audit log entries, at most --limit, in chronological order.
func auditEntries(c *cli.Context, s *store.Store, f core.AuditFilter) (rows []core.AuditEntry, err error) {
	page := core.Page{}
	for {
		page.Limit = min(auditPage, c.Int("limit")-len(rows))
		found, next, err := s.Audit(c.Context, f, page)
		rows = append(rows, found...)
		if err != nil || next == "" || len(rows) == c.Int("limit") {
			slices.Reverse(rows)
			return rows, err
		}
		page.After = next
	}
}
