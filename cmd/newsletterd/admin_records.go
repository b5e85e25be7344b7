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
	return stringFlag("id", "`ID` that another service uses for this record (default: a new one)")
}

// newID returns the id for a new record: the given one, or fresh if none is given.
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
		listFlag("domain", "sender and page `DOMAIN` of the tenant (repeatable)"),
		oneOfFlag("status", "`STATUS`: active or suspended", core.TenantActive, core.TenantSuspended),
		stringFlag("mail-from", "default sender `ADDRESS`, in one of the tenant's domains"),
		stringFlag("mail-from-name", "sender `NAME`"),
		stringFlag("reply-to", "reply-to `ADDRESS`"),
		stringFlag("postal-address", "postal `ADDRESS` in the footer of emails"),
		stringFlag("tenant-url", "`ORIGIN` of links in emails, for example https://news.example.org"),
		stringFlag("brand-name", "brand `NAME` on pages and in emails"),
		stringFlag("brand-color", "brand `COLOR` on pages and in emails, for example #336699"),
		stringFlag("brand-logo-url", "https `URL` of the logo on pages and in emails"),
		stringFlag("privacy-url", "`URL` of the privacy policy, linked on pages"),
		oneOfFlag("language", "default `LANGUAGE` of pages and emails: en, de, fr or es",
			optional(core.Languages)...),
		boolFlag("totals-only", "only count opens and clicks in total, never per person"),
		boolFlag("tracking-consent", "track opens and clicks per person only with consent, and ask for it on signup "+
			"forms"),
		boolFlag("no-tracking", "never track opens and clicks (=false: allow tracking again)"),
		oneOfFlag("approval", "`WHO` must approve campaigns: "+strings.Join(core.Approvals, " or "),
			core.Approvals...),
		boolFlag("first-few", "send campaigns with more than 2,000 recipients to 500 first, and to the rest 10 "+
			"minutes later"),
		listFlag("test-address", "default `ADDRESS` for test emails (repeatable)"),
		stringFlag("time-zone", "time `ZONE` for times without an offset, for example Europe/Berlin"),
		jsonFlag("mail-texts", "texts of automatic emails to subscribers"),
		jsonFlag("relays", "SMTP relays in order of use ([]: the server's own)"),
		jsonFlag("send-limits", "sending limits"),
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
	all := p.command("list", "list "+
		"tenants", []cli.Flag{deletedFlag("tenants")}, nil, func(c *cli.Context, _ *config.Config,
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
	show := p.command("show", "show a tenant", []cli.Flag{idFlag(people.NounTenant)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			t, err := s.Tenant(c.Context, c.String("id"))
			if err != nil {
				return missing(err, "tenant", c.String("id"))
			}
			return p.printer(c).record(t)
		})
	update := p.command("update", "update a tenant", append([]cli.Flag{idFlag(people.NounTenant)}, tenantFlags()...),
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
		Name: "tenant", Usage: "manage tenants (the organizations that send newsletters)",
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
		stringFlag("name", "`NAME` of the list, as subscribers see it"),
		oneOfFlag("status", "`STATUS`: active or inactive", core.ListActive, core.ListInactive),
		oneOfFlag("confirm-token",
			"what the API's confirm_token can do: live, receipt or trusted (empty: as configured)", "",
			"live",
			"receipt", "trusted"),
		boolFlag("require-mailed-proof", "skip subscribers who didn't confirm through an emailed link"),
		boolFlag("sync-removes-absent", "full sync unsubscribes everyone it doesn't contain (default; =false: keep "+
			"them)"),
		oneOfFlag("language", "`LANGUAGE` of pages and emails: en, de, fr or es (empty: the tenant's)",
			optional(core.Languages)...),
		stringFlag("description", "introduction `TEXT` on the signup page"),
		stringFlag("consent-text", "consent `TEXT` on the signup form; every version is kept"),
		jsonFlag("fields", "custom fields; those with \"set_by\": \"team\" don't appear in forms"),
		jsonFlag("mail-texts", "texts of automatic emails to subscribers"),
		stringFlag("subscribe-redirect-url", "`URL` to show after signup (empty: newsletterd's page)"),
		stringFlag("confirm-redirect-url", "`URL` to show after confirmation"),
		stringFlag("unsubscribe-redirect-url", "`URL` to show after unsubscribing"),
		boolFlag("archive", "publish sent campaigns in a public archive at /a/SLUG/ (=false: no archive)"),
		stringFlag("slug", "`SLUG` of the archive's URL: lowercase letters, digits and hyphens (empty: the ID)"),
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
	tenantOption := tenantFlag("tenant (`ID` or name)")
	create := p.command("create", "add a list", append([]cli.Flag{tenantOption, knownID()}, listFlags()...),
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
	all := p.command("list", "list lists",
		[]cli.Flag{tenantFlag("filter by tenant (`ID` or name)"), deletedFlag("lists")}, nil, p.printLists)
	show := p.command("show", "show a list", []cli.Flag{idFlag(people.NounList)}, []string{"id"},
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
	update := p.command("update", "update a list",
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
		Name: "list", Usage: "manage newsletter lists",
		Subcommands: append([]*cli.Command{
			create, all, show, update, del, restore, p.listSyncCommand(), p.listSyncsCommand(),
			p.listFormCommand(), p.listReasonsCommand(),
		}, p.listHygieneCommands()...),
	}
}
