package admin

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/people"
)

// shownStatuses lists the values of --status: the states of a subscription, and the reasons why an active subscriber
// gets no email.
var shownStatuses = []string{
	core.SubscriptionPending, core.SubscriptionActive, core.SubscriptionUnsubscribed,
	string(core.StatusBounced), string(core.StatusComplaint), string(core.StatusSuppressed),
}

// subscriptionCommands returns the subcommands of admin subscriber for the subscriptions of an address or a list.
func (p commands) subscriptionCommands() []*cli.Command {
	oneList := cli.Reference("list", people.NounList, "list (`ID` or name)")
	email := cli.String("email", "`ADDRESS` of the subscriber")
	all := p.Command("list", "list the subscribers of a list", []cli.Flag{
		oneList, cli.OneOf("status", "filter by `STATUS`: "+strings.Join(shownStatuses, ", "),
			cli.Optional(shownStatuses)...),
		cli.String("email", "filter by `TEXT` at the start of the address"),
		matchingFlag(), ruleFlag("only subscribers who match this rule"),
	}, []string{"list"}, p.listSubscribers)
	all.Description = `Subscribers who can't be emailed have the status bounced, complaint or
suppressed.

   newsletterd admin subscriber list --list ID --email ann@
   newsletterd admin subscriber list --list ID --segment "New in Berlin"`
	show := p.Command("show", "show an address's subscriptions, tags, consent and emails",
		[]cli.Flag{
			email, cli.Reference("list", people.NounList, "only on this list (`ID` or name; default: all lists)"),
			tenantOrAll(),
		}, []string{"email"}, p.showSubscriber)
	show.Description = `Shows the subscriptions, tags, consent history and suppression entries of the
address. Also shows the campaigns sent to it, and its last 20 transactional
emails with the receiving server's responses. To see all data about a person:
newsletterd admin subscriber export --email ADDRESS`
	add := p.Command("add", "add an address to a list", []cli.Flag{
		oneList, email,
		cli.OneOf("status", "pending (send a confirmation email) or active (you have their consent)",
			core.SubscriptionPending, core.SubscriptionActive).ByDefault(core.SubscriptionPending),
		cli.String("source", "source `TEXT` for the consent history (default: the account that runs the command)"),
	}, []string{"list", "email"}, p.addSubscriber)
	add.Description = `Addresses that unsubscribed, bounced, marked emails as spam or are blocked
can't be added.

   newsletterd admin subscriber add --list ID --email ann@acme.example --source "signed at the fair"`
	end := p.Command("unsubscribe", "unsubscribe an address from a list, or from all lists of a tenant",
		[]cli.Flag{
			email, cli.Reference("list", people.NounList, "list (`ID` or name; default: all lists of the tenant)"),
			func() cli.Flag {
				f := cli.Tenant("unsubscribe from all lists of this tenant (`ID` or name)")
				f.Whole = func(c *cli.Context) bool { return !c.IsSet("list") }
				return f
			}(),
		}, []string{"email"}, p.unsubscribeSubscriber)
	end.Description = `The consent history records that a server administrator unsubscribed the
address, and webhooks get an event. The person can sign up again. To prevent
that: newsletterd admin suppression create --email ADDRESS`
	return []*cli.Command{all, show, add, end}
}

// matchingFlag returns the flag that names a segment to filter by.
func matchingFlag() cli.Flag {
	return cli.Reference("segment", people.NounSegment, "only subscribers in this segment (`ID` or name)")
}

// subscriptionReader calls take with each of a list's subscriptions. It reads page by page, because a list can have
// millions.
type subscriptionReader func(take func(*core.Subscription) error) error

// subscriptionRows returns a reader for a list's subscriptions, filtered by --status, and by --segment or --rule.
func subscriptionRows(p commands, c *cli.Context, s *store.Store, listID string) (subscriptionReader, error) {
	l, err := s.List(c.Context, listID)
	if err != nil {
		return nil, cli.Missing(err, "list", listID)
	}
	status := c.String("status")
	if !c.IsSet("segment") && !c.IsSet("rule") {
		return func(take func(*core.Subscription) error) error {
			return allSubscriptions(c, s, listID, status, take)
		}, nil
	}
	q, err := matchingQuestion(p, c, s, &l)
	if err != nil {
		return nil, err
	}
	f := people.SubscriptionFilter{
		Tenants: []string{l.TenantID}, ListID: l.ID, Status: status, Rule: q.Rule, Now: q.Now,
	}
	return func(take func(*core.Subscription) error) error {
		for page := (core.Page{Limit: cli.PageSize}); ; {
			rows, next, err := s.MatchingSubscriptions(c.Context, f, page)
			if err != nil {
				return unsaved(c, err)
			}
			for i := range rows {
				rows[i].Status = rows[i].Shown()
				if err := take(&rows[i].Subscription); err != nil {
					return err
				}
			}
			if page.After = next; next == "" {
				return nil
			}
		}
	}, nil
}

// allSubscriptions calls take with each subscription of a list that has the given status. An empty status means all.
func allSubscriptions(c *cli.Context, s *store.Store, listID, status string,
	take func(*core.Subscription) error,
) error {
	for after := ""; ; {
		page, err := s.Subscriptions(c.Context, listID, after, cli.PageSize)
		if err != nil || len(page) == 0 {
			return err
		}
		last := page[len(page)-1].ID
		blocked, err := s.BlockedAmong(c.Context, listID, after, last)
		if err != nil {
			return err
		}
		for i := range page {
			sub := &page[i]
			if kind := blocked[sub.ID]; kind != "" && sub.Status == core.SubscriptionActive {
				sub.Status = kind
			}
			if status != "" && sub.Status != status {
				continue
			}
			if err := take(sub); err != nil {
				return err
			}
		}
		after = last
	}
}

// listSubscribers prints the subscriptions of a list, each as soon as it is read.
func (p commands) listSubscribers(c *cli.Context, _ *config.Config, s *store.Store) error {
	prefix := core.Email(strings.TrimSpace(c.String("email"))).Key()
	rows, err := subscriptionRows(p, c, s, c.String("list"))
	if err != nil {
		return err
	}
	out := &rowWriter{w: bufio.NewWriter(p.Out), json: cli.JSONWanted(c)}
	if err = out.begin(); err == nil {
		err = rows(func(sub *core.Subscription) error {
			if !strings.HasPrefix(sub.Email.Key(), prefix) {
				return nil
			}
			return out.row(sub)
		})
	}
	return errors.Join(err, out.end())
}

// rowWriter writes subscriptions one by one, as a table or as a JSON array.
type rowWriter struct {
	w    *bufio.Writer
	json bool
	rows int
}

const subscriptionLine = "%-36s  %-12s  %-24s  %s\n"

func (o *rowWriter) begin() error {
	if o.json {
		return o.w.WriteByte('[')
	}
	_, err := fmt.Fprintf(o.w, subscriptionLine, "ID", "STATUS", "CREATED_AT", "EMAIL")
	return err
}

func (o *rowWriter) row(sub *core.Subscription) error {
	o.rows++
	if !o.json {
		_, err := fmt.Fprintf(o.w, subscriptionLine, sub.ID, sub.Status, sub.CreatedAt,
			cli.Printable(string(sub.Email)))
		return err
	}
	b, err := json.MarshalIndent(sub, "  ", "  ")
	if err != nil {
		return err
	}
	if o.rows > 1 {
		b = append([]byte{','}, append([]byte("\n  "), b...)...)
	} else {
		b = append([]byte("\n  "), b...)
	}
	_, err = o.w.Write(b)
	return err
}

func (o *rowWriter) end() error {
	if o.json {
		if o.rows > 0 {
			_ = o.w.WriteByte('\n') // Flush reports the error
		}
		_, _ = o.w.WriteString("]\n")
	}
	return o.w.Flush()
}

// shownSubscriber is the output of admin subscriber show.
type shownSubscriber struct {
	Email         string                    `json:"email"`
	Subscriptions []core.PersonSubscription `json:"subscriptions"`
	Subscribers   []core.PersonSubscriber   `json:"subscribers"`
	Tags          []core.PersonTag          `json:"tags"`
	Blocks        []core.PersonBlock        `json:"blocks"`
	Mailings      []core.PersonMailing      `json:"mailings"`
	Mails         []core.WhyMail            `json:"mails"` // transactional emails, newest first
}

func (p commands) showSubscriber(c *cli.Context, _ *config.Config, s *store.Store) error {
	who, err := subscriberOf(c)
	if err != nil {
		return err
	}
	among, all, err := cli.TenantOf(c, s)
	if err != nil {
		return err
	}
	listID := c.String("list")
	if listID != "" {
		l, err := s.List(c.Context, listID)
		if err != nil {
			return cli.Missing(err, "list", listID)
		}
		who.TenantID, among, all = l.TenantID, []string{l.TenantID}, false
	}
	data, err := s.ExportPerson(c.Context, who)
	if err != nil {
		return err
	}
	why, err := s.Why(c.Context, who.Email, among, all)
	if err != nil {
		return err
	}
	shown := shownSubscriber{
		data.Email, onList(data.Subscriptions, listID, func(r *core.PersonSubscription) string { return r.ListID }),
		onList(data.Subscribers, listID, func(r *core.PersonSubscriber) string { return r.ListID }),
		data.Tags, data.Blocks,
		onList(data.Mailings, listID, func(r *core.PersonMailing) string { return r.ListID }),
		onList(why.Mails, listID, func(r *core.WhyMail) string { return r.ListID }),
	}
	if len(shown.Subscriptions)+len(shown.Subscribers)+len(shown.Blocks)+len(shown.Mailings)+len(shown.Mails) == 0 {
		return nothingKnown(who)
	}
	out := p.Printer(c)
	if out.JSON {
		return out.Value(shown)
	}
	return shown.print(out)
}

// onList returns the rows that belong to a list, or all rows if listID is empty.
func onList[T any](rows []T, listID string, of func(*T) string) []T {
	found := []T{}
	for i := range rows {
		if listID == "" || of(&rows[i]) == listID {
			found = append(found, rows[i])
		}
	}
	return found
}

// print prints a table for each kind of row that isn't empty.
func (d *shownSubscriber) print(out cli.Printer) error {
	var consents []core.Consent
	for i := range d.Subscriptions {
		consents = append(consents, d.Subscriptions[i].Consents...)
	}
	_, err := fmt.Fprintln(out.Out, cli.Printable(d.Email))
	return errors.Join(
		err,
		section(out, "subscriptions", d.Subscriptions, "status", "status_at", "means=proof", "created_at",
			"list_name", "list_id"),
		section(out, "tags", d.Tags, "name", "at", "tenant_id"),
		section(out, "consent history", consents, "at", "what=event", "means=proof", "source", "remote=ip_address",
			"reason", "list_id"),
		section(out, "send service", d.Subscribers, "word=status", "word_at=status_at", "block", "block_at",
			"soft_bounces", "list_id"),
		section(out, "blocks", d.Blocks, "kind", "created_at", "reason", "disabled_by", "tenant_id"),
		section(out, "sent", d.Mailings, "finished_at", "state", "subject", "marks", "reason", "job_id"),
		section(out, "transactional emails", d.Mails, mailColumns...))
}

// section prints a title and a table. If there are no rows, it prints nothing.
func section[T any](out cli.Printer, title string, rows []T, columns ...string) error {
	if len(rows) == 0 {
		return nil
	}
	if _, err := io.WriteString(out.Out, "\n"+title+"\n"); err != nil {
		return err
	}
	return cli.List(out, rows, columns...)
}

func (p commands) addSubscriber(c *cli.Context, _ *config.Config, s *store.Store) error {
	email, err := cli.GivenEmail(c)
	if err != nil {
		return err
	}
	source := c.String("source")
	if source == "" {
		source = cli.Actor()
	}
	if len(source) > core.MaxOrigin {
		return cli.UsageErrorf(c, "--source must have at most %d bytes", core.MaxOrigin)
	}
	sub, changed, err := s.AddSubscription(c.Context, imports.SubscriptionInput{
		ListID: c.String("list"), Email: email, Status: c.String("status"), Source: source,
	}, cli.Actor(), now())
	if err != nil {
		return cli.Missing(err, "list", c.String("list"))
	}
	if !changed {
		fmt.Fprintf(p.Err, "%s is already %s. Nothing was changed and no email is sent.\n", email, sub.Status)
	}
	return p.Printer(c).Record(sub)
}

func (p commands) unsubscribeSubscriber(c *cli.Context, _ *config.Config, s *store.Store) error {
	email, err := cli.GivenEmail(c)
	if err != nil {
		return err
	}
	listID, tenant := c.String("list"), c.String("tenant")
	leaving := members.UnsubscribeRequest{
		Email: email, Proof: core.ProofAdmin, Actor: cli.Actor(),
		Origin: core.Origin{Source: cli.Actor()},
	}
	if listID == "" {
		if _, _, err := cli.TenantOf(c, s); err != nil {
			return err
		}
		left, err := s.UnsubscribeAll(c.Context, tenant, leaving, now())
		if err == nil && len(left) == 0 {
			err = fmt.Errorf("%s isn't subscribed to any list. Check the address", email)
		}
		if err != nil {
			return err
		}
		return cli.List(p.Printer(c), left, "email", "status", "list_id")
	}
	l, err := s.List(c.Context, listID)
	if err != nil {
		return cli.Missing(err, "list", listID)
	}
	if tenant != "" && l.TenantID != tenant {
		return cli.UsageError(c, "--list and --tenant name different tenants. Leave out one of them")
	}
	leaving.ListID, leaving.SubscriptionID = listID, s.SubscriptionID(listID, email.Key())
	sub, err := s.Unsubscribe(c.Context, leaving, now())
	if core.KindOf(err) == core.NotFound { // another member service may have the subscription
		known, serr := s.Subscriber(c.Context, listID, email)
		if core.KindOf(serr) == core.NotFound && serr != nil {
			return fmt.Errorf("%s is not on the list. Check the address and the list", email)
		}
		sub, err = core.Subscription{
			ID: known.ID, ListID: listID, Email: known.Email, Status: string(known.MemberStatus),
			Preferences: known.Preferences, CreatedAt: known.CreatedAt,
		}, serr
	}
	if err != nil {
		return err
	}
	return cli.List(p.Printer(c), []core.Subscription{sub}, "email", "status", "list_id")
}
