package main

import (
	"encoding/json"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
	"newsletterd/store/tenants"
)

// outboxRow is an event of the outbox as it is printed.
type outboxRow struct {
	core.OutboxEvent
	State string `json:"state"`
	// Event is what is posted; for show alone.
	Event json.RawMessage `json:"event,omitempty"`
}

func (p *program) outboxCommands() *cli.Command {
	all := p.command("list", "list the events that wait, and the dead letters", []cli.Flag{
		tenantFlag("only those of the tenant `ID` or name"),
		referenceFlag("list", people.NounList, "only those of the list `ID`"),
		stringFlag("email", "only those about the `ADDRESS`, with --list"),
		oneOfFlag("type", "only those of the `TYPE`, as subscription.unsubscribed", optional(core.EventTypes())...),
		referenceFlag("endpoint", people.NounEndpoint, "only those for the endpoint `ID` (admin webhook-endpoint)"),
		oneOfFlag("state", "only those in the `STATE`: waiting or dead", "", core.EventWaiting, core.EventDead),
		limitFlag("at most `N`, the oldest first", pageSize),
	}, nil, p.listOutbox)
	all.Description = `An event is here until the receiver has taken it. One that was refused for good (410, 422), or for 72 hours, is a dead
letter: it stays 30 days for "retry", and does not hold back later events.

   newsletterd admin outbox list --state dead`
	endpoint := referenceFlag("endpoint", people.NounEndpoint, "as it goes to the endpoint `ID`")
	show := p.command("show", "show one event with its body", []cli.Flag{idFlag(people.NounEvent), endpoint},
		[]string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			found, err := s.OutboxEvent(c.Context, c.String("id"), c.String("endpoint"))
			if err != nil {
				return missing(err, "event in the outbox:", c.String("id"))
			}
			e := found[0]
			return p.printer(c).record(outboxRow{e, e.State(), json.RawMessage(e.Body)})
		})
	retry := p.command("retry", "deliver an event, or all dead letters, again now", []cli.Flag{
		idFlag(people.NounEvent), endpoint, boolFlag("dead", "all dead letters"),
		tenantFlag("all dead letters of the tenant `ID` or name"),
	}, nil, p.retryOutbox)
	retry.Description = `A receiver that was told something newer meanwhile leaves a late event without effect, so nothing can go wrong by it.

   newsletterd admin outbox retry --id EVENT
   newsletterd admin outbox retry --tenant ID
   newsletterd admin outbox retry --dead`
	return &cli.Command{
		Name: "outbox", Usage: "events on their way to the send service and to endpoints",
		Subcommands: []*cli.Command{all, show, retry},
	}
}

func (p *program) listOutbox(c *cli.Context, _ *config.Config, s *store.Store) error {
	f := tenants.OutboxFilter{
		TenantID: c.String("tenant"), ListID: c.String("list"), Type: c.String("type"),
		State: c.String("state"), EndpointID: c.String("endpoint"),
	}
	if email := c.String("email"); email != "" {
		if f.ListID == "" {
			return usageError{c.Command.HelpName, "--email needs --list"}
		}
		e, err := core.ParseEmail(email)
		if err != nil {
			return err
		}
		f.SubscriptionID = s.SubscriptionID(f.ListID, e.Key())
	}
	limit, err := limitOf(c)
	if err != nil {
		return err
	}
	if _, _, err := tenantOf(c, s); err != nil {
		return err
	}
	if err := knownList(c, s, "list"); err != nil {
		return err
	}
	rows, after := []outboxRow{}, int64(0)
	for len(rows) < limit {
		page, err := s.OutboxEvents(c.Context, f, after, min(pageSize, limit-len(rows)))
		if err != nil {
			return err
		}
		for _, e := range page {
			rows, after = append(rows, outboxRow{OutboxEvent: e, State: e.State()}), e.ID
		}
		if len(page) < pageSize {
			break
		}
	}
	return list(p.printer(c), rows, "event_id", "event_type", "state", "list_id", "endpoint_id", "occurred_at",
		"due_at",
		"tries", "last_error")
}

func (p *program) retryOutbox(c *cli.Context, _ *config.Config, s *store.Store) error {
	tenant, id := c.String("tenant"), c.String("id")
	switch {
	case id != "" && (tenant != "" || c.Bool("dead")), id == "" && tenant == "" && !c.Bool("dead"):
		return usageError{c.Command.HelpName, "say which: --id ID, or all dead letters by --tenant ID or --dead"}
	case id != "":
		found, err := s.OutboxEvent(c.Context, id, c.String("endpoint"))
		for i := range found {
			if err == nil {
				err = s.RetryEvent(c.Context, found[i].ID, actor(), now())
			}
		}
		if err != nil {
			return missing(err, "event in the outbox:", id)
		}
		return p.printer(c).record(retried{int64(len(found))})
	}
	if _, _, err := tenantOf(c, s); err != nil {
		return err
	}
	total := int64(0)
	for {
		n, err := s.RetryDead(c.Context, tenants.OutboxFilter{TenantID: tenant}, pageSize, actor(), now())
		if total += n; err != nil {
			return err
		}
		if n < pageSize {
			return p.printer(c).record(retried{total})
		}
	}
}

// retried is how many events go out again.
type retried struct {
	Retried int64 `json:"retried"`
}
