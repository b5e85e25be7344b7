package admin

import (
	"fmt"
	"strings"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/members"
	"newsletterd/store/people"
)

var suppressionColumns = []string{"email", "kind", "tenant_id", "list_id", "reason", "disabled_by", "occurred_at"}

// suppressionKinds lists the values of the field kind.
var suppressionKinds = []string{
	core.KindDisabled, string(core.StatusBounced), string(core.StatusComplaint),
	string(core.StatusSuppressed),
}

func (p commands) suppressionCommands() *cli.Command {
	emailFlag := cli.String("email", "email `ADDRESS`")
	forTenant := cli.Tenant("only for this tenant (`ID` or name; default: the whole server)")
	create := p.Command("create", "block an address", []cli.Flag{
		emailFlag, forTenant, &cli.StringFlag{Name: "reason", Usage: "record `TEXT` as the reason", Value: "by a " +
			"server " +
			"administrator"},
	}, []string{"email"}, p.addSuppression)
	create.Description = `Ends every subscription of the address, reports each to webhooks, and
prevents new ones. Running send jobs skip the address.

   newsletterd admin suppression create --email reader@example.org --reason "asked by telephone"`
	all := p.Command("list", "list blocked addresses with the reasons", []cli.Flag{
		cli.Tenant("only suppression entries that apply to this tenant (`ID`)"),
		cli.Reference("list", people.NounList,
			"only subscribers of this list (`ID`) that bounced, marked emails as spam or are blocked"),
		cli.OneOf("kind", "filter by `KIND`: "+strings.Join(suppressionKinds, ", "),
			cli.Optional(suppressionKinds)...),
	}, nil, p.listSuppressions)
	show := p.Command("show", "show all suppression entries of an address", []cli.Flag{emailFlag, forTenant},
		[]string{"email"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			email, err := emailOf(c, s)
			if err != nil {
				return err
			}
			rows, err := s.Suppressions(c.Context, email, c.String("tenant"))
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				return fmt.Errorf("%s is not on the suppression list. Check the address", email)
			}
			return cli.List(p.Printer(c), rows, suppressionColumns...)
		})
	del := p.Command("delete", "unblock an address", []cli.Flag{emailFlag, forTenant}, []string{"email"},
		p.liftSuppression)
	del.Description = `Removes blocks (disabled) and suppressions by the send service (bounced,
complaint, suppressed), and prints the removed entries. Subscriptions aren't
restored: the person has to sign up again.

   newsletterd admin suppression delete --email reader@example.org`
	update := p.Command("update", "update the reason for blocking an address", []cli.Flag{
		emailFlag, forTenant, cli.String("reason", "new reason `TEXT`"),
	}, []string{"email", "reason"}, p.updateSuppression)
	update.Description = `Updates all suppression entries of the address, or with --tenant only that
tenant's entries. The consent history keeps the original reason.

   newsletterd admin suppression update --email reader@example.org --reason "asked by letter"`
	return &cli.Command{
		Name: "suppression", Usage: "manage the suppression list (blocked addresses)",
		Subcommands: []*cli.Command{create, all, show, update, del, p.importSuppressions(), p.exportSuppressions()},
	}
}

// emailOf returns the address in --email, after checking that the tenant in --tenant exists.
func emailOf(c *cli.Context, s *store.Store) (core.Email, error) {
	if _, _, err := cli.TenantOf(c, s); err != nil {
		return "", err
	}
	return cli.GivenEmail(c)
}

// emailAndReason is like emailOf, but also returns the value of --reason.
func emailAndReason(c *cli.Context, s *store.Store) (email core.Email, reason string, err error) {
	reason = c.String("reason")
	if email, err = emailOf(c, s); err == nil && len(reason) > core.MaxOrigin {
		err = cli.UsageErrorf(c, "--reason must have at most %d bytes", core.MaxOrigin)
	}
	return email, reason, err
}

func (p commands) updateSuppression(c *cli.Context, _ *config.Config, s *store.Store) error {
	email, reason, err := emailAndReason(c, s)
	if err != nil {
		return err
	}
	rows, err := s.SetSuppressionReason(c.Context, email, c.String("tenant"), reason, cli.Actor(), now())
	if core.KindOf(err) == core.NotFound {
		return fmt.Errorf("%s has no suppression entry with a reason. Check the address and the tenant", email)
	}
	if err != nil {
		return err
	}
	return cli.List(p.Printer(c), rows, suppressionColumns...)
}

func (p commands) addSuppression(c *cli.Context, _ *config.Config, s *store.Store) error {
	email, reason, err := emailAndReason(c, s)
	if err != nil {
		return err
	}
	at := now()
	n, err := s.Suppress(c.Context, members.DisableRequest{
		Email: email, TenantID: c.String("tenant"), Reason: reason, DisabledBy: cli.Actor(), OccurredAt: at,
	}, cli.Actor(), at)
	if err != nil {
		return err
	}
	return p.Printer(c).Record(suppressionRow{email, true, n})
}

// suppressionRow is a blocked address as commands print it. The HTTP operation returns the same object.
type suppressionRow struct {
	Email         core.Email `json:"email"`
	Disabled      bool       `json:"disabled"`
	Subscriptions int        `json:"subscriptions"`
}

func (p commands) listSuppressions(c *cli.Context, _ *config.Config, s *store.Store) (err error) {
	kind, tenant, listID := c.String("kind"), c.String("tenant"), c.String("list")
	if _, _, err := cli.TenantOf(c, s); err != nil {
		return err
	}
	rows := []core.Suppressed{}
	gather := func(read func(after core.Suppressed) ([]core.Suppressed, error)) {
		after := core.Suppressed{}
		for more := err == nil; more; {
			var page []core.Suppressed
			if page, err = read(after); err != nil {
				return
			}
			for _, r := range page {
				if kind == "" || r.Kind == kind {
					rows = append(rows, r)
				}
				after = r
			}
			more = len(page) == cli.PageSize
		}
	}
	blocked := func(listID string) {
		last := ""
		gather(func(core.Suppressed) (page []core.Suppressed, err error) {
			page, last, err = s.BlockedSubscribers(c.Context, listID, last, cli.PageSize)
			return page, err
		})
	}
	if listID != "" {
		if _, err := s.List(c.Context, listID); err != nil {
			return cli.Missing(err, "list", listID)
		}
		blocked(listID)
	} else {
		gather(func(after core.Suppressed) ([]core.Suppressed, error) {
			return s.DisabledAddresses(c.Context, tenant, after, cli.PageSize)
		})
		gather(func(after core.Suppressed) ([]core.Suppressed, error) {
			return s.SuppressedAddresses(c.Context, tenant, after, cli.PageSize)
		})
		for page := (core.Page{Limit: cli.PageSize}); err == nil && kind != core.KindDisabled; {
			var lists []core.List
			lists, err = s.Lists(c.Context, []string{tenant}, tenant == "", page)
			for i := range lists {
				blocked(lists[i].ID)
				page.After = lists[i].ID
			}
			if len(lists) < cli.PageSize {
				break
			}
		}
	}
	if err != nil {
		return err
	}
	return cli.List(p.Printer(c), rows, suppressionColumns...)
}

func (p commands) liftSuppression(c *cli.Context, _ *config.Config, s *store.Store) error {
	email, err := emailOf(c, s)
	if err != nil {
		return err
	}
	tenant := c.String("tenant")
	lifted, err := s.Lift(c.Context, email, tenant, cli.Actor(), now())
	if core.KindOf(err) == core.NotFound {
		return fmt.Errorf("%s is not on the suppression list. Check the address", email)
	}
	if err != nil {
		return err
	}
	left, err := s.Suppressions(c.Context, email, tenant)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		fmt.Fprintf(p.Err, "%s is still blocked on the whole server. Run the command without --tenant to unblock it "+
			"there, too.\n", email)
	}
	return cli.List(p.Printer(c), lifted, suppressionColumns...)
}
