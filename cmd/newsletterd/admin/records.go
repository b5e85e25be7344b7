package admin

import (
	"errors"
	"strings"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

// knownID returns the flag that sets a new record's ID, for example to match another service.
func knownID() cli.Flag {
	return cli.String("id", "`ID` that another service uses for this record (default: a new one)")
}

// newID returns the ID for a new record: the value of the flag or, if it isn't set, fresh.
func newID(c *cli.Context, fresh string) (string, error) {
	if !c.IsSet("id") {
		return fresh, nil
	}
	id, ok := core.ParseID(c.String("id"))
	if !ok {
		return "", cli.UsageError(c, "--id must be a UUID")
	}
	return id, nil
}

func tenantFlags() []cli.Flag {
	return []cli.Flag{
		cli.String("name", "`NAME` of the tenant"),
		cli.Strings("domain", "sender and page `DOMAIN` of the tenant (repeatable)"),
		cli.OneOf("status", "`STATUS`: active or suspended", core.TenantActive, core.TenantSuspended),
		cli.String("mail-from", "default sender `ADDRESS`, in one of the tenant's domains"),
		cli.String("mail-from-name", "sender `NAME`"),
		cli.String("reply-to", "reply-to `ADDRESS`"),
		cli.String("postal-address", "postal `ADDRESS` in the footer of emails"),
		cli.String("tenant-url", "`ORIGIN` of links in emails, for example https://news.example.org"),
		cli.String("brand-name", "brand `NAME` on pages and in emails"),
		cli.String("brand-color", "brand `COLOR` on pages and in emails, for example #336699"),
		cli.String("brand-logo-url", "https `URL` of the logo on pages and in emails"),
		cli.String("brand-dark-logo-url", "https `URL` of the logo for dark backgrounds"),
		cli.String("privacy-url", "`URL` of the privacy policy, linked on pages"),
		cli.OneOf("language", "default `LANGUAGE` of pages and emails: en, de, fr or es",
			cli.Optional(core.Languages)...),
		cli.Bool("totals-only", "only count opens and clicks in total, never per person"),
		cli.Bool("tracking-consent", "track opens and clicks per person only with consent, and ask for it on signup "+
			"forms"),
		cli.Bool("no-tracking", "never track opens and clicks (=false: allow tracking)"),
		cli.OneOf("approval", "approval `RULE` for campaigns: "+strings.Join(core.Approvals, " or "),
			core.Approvals...),
		cli.Bool("first-few", "send campaigns with more than 2,000 recipients to 500 first, and to the rest 10 "+
			"minutes later"),
		cli.Strings("test-address", "default `ADDRESS` for test emails (repeatable)"),
		cli.String("time-zone", "time `ZONE` for times without an offset, for example Europe/Berlin"),
		cli.JSON("mail-texts", "texts of automatic emails to subscribers"),
		cli.JSON("relays", "SMTP relays in order of use ([]: the server's own)"),
		cli.JSON("send-limits", "sending limits"),
	}
}

func tenantInput(c *cli.Context) (core.TenantInput, error) {
	in := core.TenantInput{
		Name: cli.Given(c, "name"), Domains: cli.GivenList(c, "domain"), Status: cli.Given(c, "status"),
		MailFrom: cli.Given(c, "mail-from"), MailFromName: cli.Given(c, "mail-from-name"),
		ReplyTo: cli.Given(c, "reply-to"), PostalAddress: cli.Given(c, "postal-address"),
		PublicURL: cli.Given(c, "tenant-url"), BrandName: cli.Given(c, "brand-name"),
		BrandColor: cli.Given(c, "brand-color"), BrandLogoURL: cli.Given(c, "brand-logo-url"),
		BrandDarkLogoURL: cli.Given(c, "brand-dark-logo-url"),
		PrivacyURL:       cli.Given(c, "privacy-url"), Language: cli.Given(c, "language"),
		Approval: cli.Given(c, "approval"), TestAddresses: cli.GivenList(c, "test-address"),
		TimeZone: cli.Given(c, "time-zone"), FirstFew: cli.GivenBool(c, "first-few"),
		NoTracking: cli.GivenBool(c, "no-tracking"), TotalsOnly: cli.GivenBool(c, "totals-only"),
		TrackingConsent: cli.GivenBool(c, "tracking-consent"),
	}
	var err error
	if in.MailTexts, err = cli.GivenJSON[core.MailTexts](c, "mail-texts"); err != nil {
		return in, err
	}
	if in.Relays, err = cli.GivenJSON[[]core.Relay](c, "relays"); err != nil {
		return in, err
	}
	in.SendLimits, err = cli.GivenJSON[core.SendLimits](c, "send-limits")
	return in, err
}

func (p commands) tenantCommands() *cli.Command {
	create := p.Command("create", "add a tenant", append([]cli.Flag{knownID()}, tenantFlags()...), []string{"name"},
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
				err = s.AddTenant(c.Context, t, cli.Actor())
			}
			if err != nil {
				return err
			}
			return p.Printer(c).Record(t)
		})
	create.Description = "   newsletterd admin tenant create --name Acme --domain acme.example --mail-from " +
		"news@acme.example"
	all := p.Command("list", "list "+
		"tenants", []cli.Flag{deletedFlag("tenants")}, nil, func(c *cli.Context, _ *config.Config,
		s *store.Store,
	) error {
		if c.Bool("deleted") {
			return printDeleted(p, c, func(page core.Page) ([]core.Deleted, error) {
				return s.DeletedTenants(c.Context, now(), page)
			}, "id", "name", "deleted_at", "restorable_until")
		}
		rows, err := cli.Pages(func(t core.Tenant) string { return t.ID }, func(page core.Page) ([]core.Tenant, error) {
			return s.Tenants(c.Context, nil, true, page)
		})
		if err != nil {
			return err
		}
		return cli.List(p.Printer(c), rows, "id", "name", "status", "domains", "created_at")
	})
	show := p.Command("show", "show a tenant", []cli.Flag{cli.ID(people.NounTenant)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			t, err := s.Tenant(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "tenant", c.String("id"))
			}
			return p.Printer(c).Record(t)
		})
	update := p.Command("update", "update a tenant", append([]cli.Flag{cli.ID(people.NounTenant)}, tenantFlags()...),
		[]string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			in, err := tenantInput(c)
			if err != nil {
				return err
			}
			at := now()
			t, err := s.UpdateTenant(c.Context, c.String("id"), cli.Actor(),
				func(t *core.Tenant) error { return t.Change(in, true, at) })
			if err != nil {
				return cli.Missing(err, "tenant", c.String("id"))
			}
			return p.Printer(c).Record(t)
		})
	del, restore := tenantEnds(p)
	return &cli.Command{
		Name: "tenant", Usage: "manage tenants (the organizations that send newsletters)",
		Subcommands: []*cli.Command{create, all, show, update, del, restore},
	}
}

// listText is a list with its counts as a table shows it. In JSON, the counts are a separate record, as in the API.
type listText struct {
	core.List
	core.ListCounts
}

func listFlags() []cli.Flag {
	return []cli.Flag{
		cli.String("name", "`NAME` of the list, as subscribers see it"),
		cli.OneOf("status", "`STATUS`: active or inactive", core.ListActive, core.ListInactive),
		cli.OneOf("confirm-token",
			"what the API's confirm_token can do: live, receipt or trusted (empty: as configured)", "",
			"live",
			"receipt", "trusted"),
		cli.Bool("require-mailed-proof", "skip subscribers who didn't confirm through an emailed link"),
		cli.Bool("sync-removes-absent", "full sync unsubscribes everyone it doesn't contain (default; =false: keep "+
			"them)"),
		cli.OneOf("language", "`LANGUAGE` of pages and emails: en, de, fr or es (empty: the tenant's)",
			cli.Optional(core.Languages)...),
		cli.String("description", "introduction `TEXT` on the signup page"),
		cli.String("consent-text", "consent `TEXT` on the signup form; every version is kept"),
		cli.JSON("fields", "custom fields (forms leave out those with \"set_by\": \"team\")"),
		cli.JSON("mail-texts", "texts of automatic emails to subscribers"),
		cli.String("subscribe-redirect-url", "`URL` to show after signup (empty: newsletterd's page)"),
		cli.String("confirm-redirect-url", "`URL` to show after confirmation"),
		cli.String("unsubscribe-redirect-url", "`URL` to show after unsubscribing"),
		cli.Bool("archive", "publish sent campaigns in a public archive at /a/SLUG/ (=false: no archive)"),
		cli.String("slug", "`SLUG` of the archive's URL: lowercase letters, digits and hyphens (empty: the ID)"),
		cli.String("signup-tag-id", "`TAG` (ID or name) for people who confirm a signup (empty: none)"),
	}
}

func listInput(c *cli.Context) (core.ListInput, error) {
	in := core.ListInput{
		Name: cli.Given(c, "name"), Status: cli.Given(c, "status"), ConfirmToken: cli.Given(c, "confirm-token"),
		RequireMailedProof:     cli.GivenBool(c, "require-mailed-proof"),
		SyncRemovesAbsent:      cli.GivenBool(c, "sync-removes-absent"),
		Language:               cli.Given(c, "language"),
		Description:            cli.Given(c, "description"),
		ConsentText:            cli.Given(c, "consent-text"),
		SubscribeRedirectURL:   cli.Given(c, "subscribe-redirect-url"),
		ConfirmRedirectURL:     cli.Given(c, "confirm-redirect-url"),
		UnsubscribeRedirectURL: cli.Given(c, "unsubscribe-redirect-url"),
		Archive:                cli.GivenBool(c, "archive"), Slug: cli.Given(c, "slug"),
		SignupTagID: cli.Given(c, "signup-tag-id"),
	}
	var err1, err2 error
	in.Fields, err1 = cli.GivenJSON[[]core.Field](c, "fields")
	in.MailTexts, err2 = cli.GivenJSON[core.MailTexts](c, "mail-texts")
	return in, errors.Join(err1, err2)
}

func (p commands) printLists(c *cli.Context, _ *config.Config, s *store.Store) error {
	ids, every, err := cli.TenantOf(c, s)
	if err != nil {
		return err
	}
	if c.Bool("deleted") {
		return printDeleted(p, c, func(page core.Page) ([]core.Deleted, error) {
			return s.DeletedLists(c.Context, ids, every, now(), page)
		}, "id", "tenant_id", "name", "deleted_at", "restorable_until")
	}
	rows, err := cli.Pages(func(l core.CountedList) string { return l.ID },
		func(page core.Page) ([]core.CountedList, error) {
			return s.CountedLists(c.Context, ids, every, page)
		})
	if err != nil {
		return err
	}
	if out := p.Printer(c); out.JSON {
		return cli.List(out, rows)
	}
	flat := make([]listText, len(rows))
	for i := range rows {
		flat[i] = listText{rows[i].List, rows[i].Counts}
	}
	return cli.List(p.Printer(c), flat, "id", "tenant_id", "name", "status", "active", "pending", "unsubscribed",
		"bounced", "mailable")
}

func (p commands) listCommands() *cli.Command {
	tenantOption := cli.Tenant("tenant (`ID` or name)")
	create := p.Command("create", "add a list", append([]cli.Flag{tenantOption, knownID()}, listFlags()...),
		[]string{"tenant", "name"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			in, err := listInput(c)
			if err != nil {
				return err
			}
			in.TenantID = cli.Given(c, "tenant")
			l, err := core.NewList(in, now())
			if err == nil {
				l.ID, err = newID(c, l.ID)
			}
			if err != nil {
				return err
			}
			if err := s.AddList(c.Context, l, cli.Actor()); err != nil {
				return cli.Missing(err, "tenant", l.TenantID)
			}
			return p.Printer(c).Record(l)
		})
	create.Description = "   newsletterd admin list create --tenant ID --name \"Monthly news\""
	all := p.Command("list", "list lists",
		[]cli.Flag{cli.Tenant("filter by tenant (`ID` or name)"), deletedFlag("lists")}, nil, p.printLists)
	show := p.Command("show", "show a list", []cli.Flag{cli.ID(people.NounList)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			l, err := s.CountedList(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "list", c.String("id"))
			}
			if out := p.Printer(c); out.JSON {
				return out.Value(l)
			}
			return p.Printer(c).Record(listText{l.List, l.Counts})
		})
	update := p.Command("update", "update a list",
		append([]cli.Flag{cli.ID(people.NounList)}, listFlags()...),
		[]string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			in, err := listInput(c)
			if err != nil {
				return err
			}
			at := now()
			l, err := s.UpdateList(c.Context, c.String("id"), cli.Actor(),
				func(l *core.List) error { return l.Change(in, at) })
			if err != nil {
				return cli.Missing(err, "list", c.String("id"))
			}
			return p.Printer(c).Record(l)
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
