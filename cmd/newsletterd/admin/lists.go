package admin

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/store"
	"newsletterd/store/people"
)

func (p commands) listFormCommand() *cli.Command {
	c := p.Command("form", "print a signup form to embed in a website", []cli.Flag{cli.ID(people.NounList)},
		[]string{"id"}, func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			l, err := s.ListWithTenant(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "list", c.String("id"))
			}
			return page.WriteForm(p.Out, l, cmp.Or(cfg.Send.MemberURL, cfg.Origin()))
		})
	c.Description = `The form has the list's fields and language. You can paste it into any site
and style it as you like. The hidden field _website keeps bots out.`
	return c
}

func (p commands) listReasonsCommand() *cli.Command {
	c := p.Command("reasons", "count the reasons people gave for "+
		"unsubscribing", []cli.Flag{cli.ID(people.NounList)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if _, err := s.List(c.Context, c.String("id")); err != nil {
				return cli.Missing(err, "list", c.String("id"))
			}
			rows, err := s.LeaveReasons(c.Context, c.String("id"))
			if err != nil {
				return err
			}
			return cli.List(p.Printer(c), rows, "reason", "leavers", "last_at", "last_words")
		})
	c.Description = "The unsubscribe page offers the reasons too_many, content, never_asked and other, and a text " +
		"field."
	return c
}

// tenantEnds returns the commands that delete and restore a tenant.
func tenantEnds(p commands) (del, restore *cli.Command) {
	del = p.Command("delete", "delete a tenant and all its data (asks for confirmation); can be undone for 30 days",
		[]cli.Flag{cli.ID(people.NounTenant), cli.Yes()}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			t, err := s.Tenant(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "tenant", c.String("id"))
			}
			if err := confirmDelete(p, c, s, people.NounTenant, t.ID, t.Name, canRestore); err != nil {
				return err
			}
			if err := s.DeleteTenant(c.Context, t.ID, cli.Actor(), now()); err != nil {
				return cli.Missing(err, "tenant", t.ID)
			}
			return p.Done(c, "Deleted the tenant %q. To undo this within 30 days: "+
				"newsletterd admin tenant restore --id %s", t.Name, t.ID)
		})
	restore = p.Command("restore", "restore a tenant deleted in the last 30 days",
		[]cli.Flag{cli.ID(people.NounDeletedTenant)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			r, err := s.RestoreTenant(c.Context, c.String("id"), cli.Actor(), now())
			if err != nil {
				return cli.Missing(err, "deleted tenant", c.String("id"))
			}
			return printRestored(p, c, people.NounTenant, r)
		})
	restore.Description = `Restores the tenant's lists, clients and webhooks. Canceled send jobs stay
canceled. Clients and webhooks stay disabled until you enable them. Names
and domains that another tenant uses by now are skipped and listed.

To see what can be restored:

   newsletterd admin tenant list --deleted`
	return del, restore
}

// listEnds returns the commands that delete and restore a list.
func listEnds(p commands) (del, restore *cli.Command) {
	del = p.Command("delete", "delete a list with its subscriptions and send jobs (asks for confirmation); can be "+
		"undone for 30 days",
		[]cli.Flag{cli.ID(people.NounList), cli.Yes()}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			l, err := s.List(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "list", c.String("id"))
			}
			if err := confirmDelete(p, c, s, people.NounList, l.ID, l.Name, canRestore); err != nil {
				return err
			}
			if err := s.DeleteList(c.Context, l.ID, cli.Actor(), now()); err != nil {
				return cli.Missing(err, "list", l.ID)
			}
			return p.Done(c, "Deleted the list %q. To undo this within 30 days: newsletterd admin list restore --id %s",
				l.Name, l.ID)
		})
	restore = p.Command("restore", "restore a list deleted in the last 30 days",
		[]cli.Flag{cli.ID(people.NounDeletedList)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			r, err := s.RestoreList(c.Context, c.String("id"), cli.Actor(), now())
			if err != nil {
				return cli.Missing(err, "deleted list", c.String("id"))
			}
			return printRestored(p, c, people.NounList, r)
		})
	restore.Description = `Restores the list's subscribers, except those who unsubscribed or were
erased since. Canceled send jobs stay canceled. If the list was deleted with
its tenant, restore the tenant instead.

To see what can be restored:

   newsletterd admin list list --deleted`
	return del, restore
}

// errNotDeleted is returned if the answer to the confirmation question isn't yes.
var errNotDeleted = errors.New("canceled; nothing was deleted")

// confirmDelete asks for confirmation before a record is deleted. It lists what else is deleted. end is the end of the
// question, for example canRestore.
func confirmDelete(p commands, c *cli.Context, s *store.Store, noun people.Noun, id, name, end string) error {
	a, err := s.Affected(c.Context, noun, id, now())
	if err != nil {
		return err
	}
	var with []string
	for _, n := range []struct {
		n     int64
		thing string
	}{
		{a.Lists, "list"},
		{a.Subscribers, "subscriber"},
		{a.Jobs, "unfinished send job"},
		{a.Clients, "API client"},
		{a.Endpoints, "webhook"},
		{a.Roles, "role"},
		{a.Devices, "device"},
		{a.Models, "model"},
		{a.SignIns, "active sign-in"},
	} {
		if n.n > 0 {
			with = append(with, cli.Counted(n.n, n.thing))
		}
	}
	what := ""
	if len(with) > 0 {
		what = " with " + strings.Join(with, ", ")
	}
	yes, err := p.Sure(c, fmt.Sprintf("%s Delete the %s %q%s?", end, noun, name, what))
	if err == nil && !yes {
		err = errNotDeleted
	}
	return err
}

// canRestore ends the question before deleting a record that can be restored.
const canRestore = "You can restore it for 30 days."

// leftOutWords describes a value that was not restored with a record.
func leftOutWords(l core.LeftOut) string {
	switch l.Kind {
	case core.LeftOutDomain:
		return "domain " + l.Name + ": verified for another tenant"
	case core.LeftOutDKIMKey:
		return "DKIM key " + l.Name + ": deleted with the domain"
	case core.LeftOutSlug:
		return "slug " + l.Name + ": used by another list"
	case core.LeftOutPublicURL:
		return "public_url " + l.Name + ": used by another tenant"
	}
	return "mail_from " + l.Name + ": its domain belongs to another tenant"
}

// printRestored prints what was restored and what was not.
func printRestored(p commands, c *cli.Context, noun people.Noun, r core.Restored) error {
	if out := p.Printer(c); out.JSON {
		return out.Value(r)
	}
	fmt.Fprintf(p.Out, "Restored the %s %q.", noun, r.Name)
	if noun == people.NounTenant {
		fmt.Fprintf(p.Out, " %s restored; %s and %s stay disabled.", cli.Counted(r.Lists, "list"),
			cli.Counted(r.Clients, "API client"),
			cli.Counted(r.Endpoints, "webhook"))
	}
	fmt.Fprintln(p.Out, " Canceled send jobs stay canceled.")
	if len(r.LeftOut) > 0 {
		fmt.Fprintln(p.Out, "Skipped:")
	}
	for _, l := range r.LeftOut {
		fmt.Fprintln(p.Out, "  "+leftOutWords(l))
	}
	return nil
}

func deletedFlag(records string) cli.Flag {
	return cli.Bool("deleted", "list deleted "+records+" that can still be restored")
}

// printDeleted lists the records that can be restored.
func printDeleted(p commands, c *cli.Context, read func(core.Page) ([]core.Deleted, error), columns ...string) error {
	rows, err := cli.Pages(func(d core.Deleted) string { return d.ID }, read)
	if err != nil {
		return err
	}
	return cli.List(p.Printer(c), rows, columns...)
}
