package main

import (
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

// knownID lets a record have the id that a service elsewhere knows it by.
func knownID() cli.Flag {
	return stringFlag("id", "the `ID` that another service knows it by (else a new one)")
}

// newID is the id of a new record: the one given, or fresh.
func newID(c *cli.Context, fresh string) (string, error) {
	if !c.IsSet("id") {
		return fresh, nil
	}
	id, ok := core.ParseID(c.String("id"))
	if !ok {
		return "", usageError{c.Command.HelpName, "--id must be a UUID"}
	}
	return id, nil
}

func tenantFlags() []cli.Flag {
	return []cli.Flag{
		stringFlag("name", "`NAME` of the tenant"),
		listFlag("domain", "a `DOMAIN` of the tenant: of its senders and its pages (repeatable)"),
		oneOfFlag("status", "`STATUS`: active or suspended", core.TenantActive, core.TenantSuspended),
		stringFlag("mail-from", "sender `ADDRESS` of its mails, in one of its domains"),
		stringFlag("mail-from-name", "`NAME` beside that address"),
		stringFlag("reply-to", "`ADDRESS` that answers go to"),
		stringFlag("postal-address", "postal `ADDRESS` at the foot of its mails"),
		stringFlag("tenant-url", "`ORIGIN` of the links in its mails, as https://news.example.org"),
		stringFlag("brand-name", "`NAME` on its pages and mails"),
		stringFlag("brand-color", "`COLOR` of its pages and mails, as #336699"),
		stringFlag("brand-logo-url", "https `URL` of the logo on its pages and mails"),
		stringFlag("privacy-url", "`URL` of its privacy notice, linked on its pages"),
		oneOfFlag("language", "`LANGUAGE` of the pages and mails of its lists: en, de, fr or es",
			optional(core.Languages)...),
		boolFlag("totals-only", "count opens and clicks without their readers, whatever a job asks"),
		boolFlag("tracking-consent", "name readers in opens and clicks only where they agree, and ask them on its forms"),
		boolFlag("no-tracking", "never track opens and clicks, whatever a job asks; --no-tracking=false allows it again"),
		oneOfFlag("approval", "`WHOSE` approval its mailings need: "+strings.Join(core.Approvals, " or "),
			core.Approvals...),
		boolFlag("first-few", "campaigns to more than 2,000 readers go to 500 first, and to the rest 10 minutes later"),
		listFlag("test-address", "an `ADDRESS` of the test group: where tests go that name none (repeatable)"),
		stringFlag("time-zone", "`ZONE` in which times without an offset are read, as Europe/Berlin"),
		jsonFlag("mail-texts", "wordings of the mails to its subscribers"),
		jsonFlag("relays", "SMTP relays of its own in the order of use, [] for the daemon's"),
		jsonFlag("send-limits", "how much it may send in a time"),
	}
}

func tenantInput(c *cli.Context) (core.TenantInput, error) {
	in := core.TenantInput{
		Name: given(c, "name"), Domains: givenList(c, "domain"), Status: given(c, "status"),
		MailFrom:     given(c, "mail-from"),
		MailFromName: given(c, "mail-from-name"), ReplyTo: given(c, "reply-to"),
		PostalAddress: given(c, "postal-address"),
		PublicURL:     given(c, "tenant-url"), BrandName: given(c, "brand-name"), BrandColor: given(c, "brand-color"),
		BrandLogoURL: given(c, "brand-logo-url"), PrivacyURL: given(c, "privacy-url"), Language: given(c, "language"),
		Approval: given(c, "approval"), TestAddresses: givenList(c, "test-address"), TimeZone: given(c, "time-zone"),
	}
	if c.IsSet("first-few") {
		in.FirstFew = new(c.Bool("first-few"))
	}
	if c.IsSet("no-tracking") {
		off := c.Bool("no-tracking")
		in.NoTracking = &off
	}
	in.TotalsOnly = givenBool(c, "totals-only")
	in.TrackingConsent = givenBool(c, "tracking-consent")
	var err error
	if in.MailTexts, err = givenJSON[core.MailTexts](c, "mail-texts"); err != nil {
		return in, err
	}
	if in.Relays, err = givenJSON[[]core.Relay](c, "relays"); err != nil {
		return in, err
	}
	in.SendLimits, err = givenJSON[core.SendLimits](c, "send-limits")
	return in, err
}

func (p *program) tenantCommands() *cli.Command {
	create := p.command("create", "add a tenant", append([]cli.Flag{knownID()}, tenantFlags()...), []string{"name"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			in, err := tenantInput(c)
			if err != nil {
				return err
			}
			t, err := core.NewTenant(in, now())
			if err == nil {
				t.ID, err = newID(c, t.ID)
			}
			if err == nil {
				err = s.AddTenant(c.Context, t, actor())
			}
			if err != nil {
				return err
			}
			return p.printer(c).record(t)
		})
	create.Description = "   newsletterd admin tenant create --name Acme --domain acme.example --mail-from " +
		"news@acme.example"
	all := p.command("list", "list the tenants", []cli.Flag{deletedFlag("tenants")}, nil, func(c *cli.Context, _ *config.Config,
		s *store.Store,
	) error {
		if c.Bool("deleted") {
			return printDeleted(p, c, func(page core.Page) ([]core.Deleted, error) {
				return s.DeletedTenants(c.Context, now(), page)
			}, "id", "name", "deleted_at", "restorable_until")
		}
		rows, err := pages(func(t core.Tenant) string { return t.ID }, func(page core.Page) ([]core.Tenant, error) {
			return s.Tenants(c.Context, nil, true, page)
		})
		if err != nil {
			return err
		}
		return list(p.printer(c), rows, "id", "name", "status", "domains", "created_at")
	})
	show := p.command("show", "show one tenant", []cli.Flag{idFlag(people.NounTenant)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			t, err := s.Tenant(c.Context, c.String("id"))
			if err != nil {
				return missing(err, "tenant", c.String("id"))
			}
			return p.printer(c).record(t)
		})
	update := p.command("update", "change a tenant", append([]cli.Flag{idFlag(people.NounTenant)}, tenantFlags()...),
		[]string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			in, err := tenantInput(c)
			if err != nil {
				return err
			}
			at := now()
			t, err := s.UpdateTenant(c.Context, c.String("id"), actor(),
				func(t *core.Tenant) error { return t.Change(in, true, at) })
			if err != nil {
				return missing(err, "tenant", c.String("id"))
			}
			return p.printer(c).record(t)
		})
	del, restore := tenantEnds(p)
	return &cli.Command{
		Name: "tenant", Usage: "customers of the service",
		Subcommands: []*cli.Command{create, all, show, update, del, restore},
	}
}

// listText is a list with its counts as a table shows it; in JSON they are a record of their own, as in the API.
type listText struct {
	core.List
	core.ListCounts
}

func listFlags() []cli.Flag {
	return []cli.Flag{
		stringFlag("name", "`NAME` of the list, as subscribers read it"),
		oneOfFlag("status", "`STATUS`: active or inactive", core.ListActive, core.ListInactive),
		oneOfFlag("confirm-token",
			"what the token in subscribe's answer is good for: live, receipt or trusted (empty: as configured)", "",
			"live",
			"receipt", "trusted"),
		boolFlag("require-mailed-proof", "send jobs leave out those who didn't confirm by a mailed link"),
		boolFlag("sync-removes-absent", "a full sync unsubscribes whom it doesn't name (default; =false: it doesn't)"),
		oneOfFlag("language", "`LANGUAGE` of its pages and mails: en, de, fr or es (empty: the tenant's)",
			optional(core.Languages)...),
		stringFlag("description", "`TEXT` above its subscribe form"),
		stringFlag("consent-text", "`TEXT` that one agrees to there; every version is kept"),
		jsonFlag("fields", "what it asks for beside the address"),
		jsonFlag("mail-texts", "wordings of the mails to its subscribers"),
		stringFlag("subscribe-redirect-url", "`URL` that the form leads to (empty: our own page)"),
		stringFlag("confirm-redirect-url", "`URL` that the confirmation leads to"),
		stringFlag("unsubscribe-redirect-url", "`URL` that the unsubscribe page leads to"),
		boolFlag("archive", "show what was sent to everyone, at /a/SLUG/; --archive=false: to no one"),
		stringFlag("slug", "`SLUG` of the archive's address: lower-case letters, digits and hyphens (empty: the id)"),
	}
}

func listInput(c *cli.Context) (core.ListInput, error) {
	in := core.ListInput{
		Name: given(c, "name"), Status: given(c, "status"), ConfirmToken: given(c, "confirm-token"),
		RequireMailedProof: givenBool(c, "require-mailed-proof"),
		SyncRemovesAbsent:  givenBool(c, "sync-removes-absent"),
		Language:           given(c, "language"), Description: given(c, "description"), ConsentText: given(c, "consent-text"),
		SubscribeRedirectURL: given(c, "subscribe-redirect-url"), ConfirmRedirectURL: given(c, "confirm-redirect-url"),
		UnsubscribeRedirectURL: given(c, "unsubscribe-redirect-url"),
		Archive:                givenBool(c, "archive"), Slug: given(c, "slug"),
	}
	var err1, err2 error
	in.Fields, err1 = givenJSON[[]core.Field](c, "fields")
	in.MailTexts, err2 = givenJSON[core.MailTexts](c, "mail-texts")
	return in, errors.Join(err1, err2)
}

func (p *program) printLists(c *cli.Context, _ *config.Config, s *store.Store) error {
	ids, every, err := tenantOf(c, s)
	if err != nil {
		return err
	}
	if c.Bool("deleted") {
		return printDeleted(p, c, func(page core.Page) ([]core.Deleted, error) {
			return s.DeletedLists(c.Context, ids, every, now(), page)
		}, "id", "tenant_id", "name", "deleted_at", "restorable_until")
	}
	rows, err := pages(func(l core.CountedList) string { return l.ID },
		func(page core.Page) ([]core.CountedList, error) {
			return s.CountedLists(c.Context, ids, every, page)
		})
	if err != nil {
		return err
	}
	if out := p.printer(c); out.json {
		return list(out, rows)
	}
	flat := make([]listText, len(rows))
	for i := range rows {
		flat[i] = listText{rows[i].List, rows[i].Counts}
	}
	return list(p.printer(c), flat, "id", "tenant_id", "name", "status", "active", "pending", "unsubscribed", "bounced",
		"mailable")
}

func (p *program) listCommands() *cli.Command {
	tenantOption := tenantFlag("the `ID` or name of its tenant")
	create := p.command("create", "add a newsletter list", append([]cli.Flag{tenantOption, knownID()}, listFlags()...),
		[]string{"tenant", "name"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			in, err := listInput(c)
			if err != nil {
				return err
			}
			in.TenantID = given(c, "tenant")
			l, err := core.NewList(in, now())
			if err == nil {
				l.ID, err = newID(c, l.ID)
			}
			if err != nil {
				return err
			}
			if err := s.AddList(c.Context, l, actor()); err != nil {
				return missing(err, "tenant", l.TenantID)
			}
			return p.printer(c).record(l)
		})
	create.Description = "   newsletterd admin list create --tenant ID --name \"Monthly news\""
	all := p.command("list", "list the newsletter lists",
		[]cli.Flag{tenantFlag("only those of the tenant `ID` or name"), deletedFlag("lists")}, nil, p.printLists)
	show := p.command("show", "show one newsletter list", []cli.Flag{idFlag(people.NounList)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			l, err := s.CountedList(c.Context, c.String("id"))
			if err != nil {
				return missing(err, "list", c.String("id"))
			}
			if out := p.printer(c); out.json {
				return out.value(l)
			}
			return p.printer(c).record(listText{l.List, l.Counts})
		})
	update := p.command("update", "change a newsletter list",
		append([]cli.Flag{idFlag(people.NounList)}, listFlags()...),
		[]string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			in, err := listInput(c)
			if err != nil {
				return err
			}
			at := now()
			l, err := s.UpdateList(c.Context, c.String("id"), actor(),
				func(l *core.List) error { return l.Change(in, at) })
			if err != nil {
				return missing(err, "list", c.String("id"))
			}
			return p.printer(c).record(l)
		})
	del, restore := listEnds(p)
	return &cli.Command{
		Name: "list", Usage: "newsletter lists",
		Subcommands: append([]*cli.Command{
			create, all, show, update, del, restore, p.listSyncCommand(), p.listSyncsCommand(),
			p.listFormCommand(), p.listReasonsCommand(),
		}, p.listHygieneCommands()...),
	}
}
