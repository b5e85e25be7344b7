package admin

import (
	"encoding/json"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
	"newsletterd/store/tenants"
)

// outboxRow is an outbox event as commands print it.
type outboxRow struct {
	core.OutboxEvent
	State string `json:"state"`
	// Event is the event as it is posted. Only the command show sets it.
	Event json.RawMessage `json:"event,omitempty"`
}

func (p commands) outboxCommands() *cli.Command {
	all := p.Command("list", "list queued events and dead letters", []cli.Flag{
		cli.Tenant("filter by tenant (`ID` or name)"),
		cli.Reference("list", people.NounList, "filter by list (`ID`)"),
		cli.String("email", "filter by email `ADDRESS`; needs --list"),
		cli.OneOf("type", "filter by `TYPE`, for example subscription.unsubscribed",
			cli.Optional(core.EventTypes())...),
		cli.Reference("endpoint", people.NounEndpoint, "filter by webhook endpoint (`ID`)"),
		cli.OneOf("state", "filter by `STATE`: waiting or dead", "", core.EventWaiting, core.EventDead),
		cli.Limit("show at most `N`, oldest first", cli.PageSize),
	}, nil, p.listOutbox)
	all.Description = `An event is listed until it is delivered. If its endpoint rejects the event
(410, 422) or fails for 72 hours, the event becomes a dead letter. Dead
letters are kept for 30 days, can be retried, and don't delay later events.

   newsletterd admin outbox list --state dead`
	endpoint := func(usage string) cli.Flag { return cli.Reference("endpoint", people.NounEndpoint, usage) }
	show := p.Command("show", "show an event with its body", []cli.Flag{
		cli.ID(people.NounEvent), endpoint("show it as sent to this webhook endpoint (`ID`)"),
	}, []string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		found, err := s.OutboxEvent(c.Context, c.String("id"), c.String("endpoint"))
		if err != nil {
			return cli.Missing(err, "queued event", c.String("id"))
		}
		e := found[0]
		return p.Printer(c).Record(outboxRow{e, e.State(), json.RawMessage(e.Body)})
	})
	retry := p.Command("retry", "retry one event, or all dead letters", []cli.Flag{
		cli.ID(people.NounEvent), endpoint("with --id: only retry it for this webhook endpoint (`ID`)"),
		cli.Bool("dead", "retry all dead letters"),
		cli.Tenant("retry all dead letters of a tenant (`ID` or name)"),
	}, nil, p.retryOutbox)
	retry.Description = `Retrying is safe: the send service ignores events older than its own data.

   newsletterd admin outbox retry --id EVENT
   newsletterd admin outbox retry --tenant ID
   newsletterd admin outbox retry --dead`
	return &cli.Command{
		Name: "outbox", Usage: "view and retry events for the send service and webhooks",
		Subcommands: []*cli.Command{all, show, retry},
	}
}

func (p commands) listOutbox(c *cli.Context, _ *config.Config, s *store.Store) error {
	f := tenants.OutboxFilter{
		TenantID: c.String("tenant"), ListID: c.String("list"), Type: c.String("type"),
		State: c.String("state"), EndpointID: c.String("endpoint"),
	}
	if email := c.String("email"); email != "" {
		if f.ListID == "" {
			return cli.UsageError(c, "--email needs --list")
		}
		e, err := core.ParseEmail(email)
		if err != nil {
			return err
		}
		f.SubscriptionID = s.SubscriptionID(f.ListID, e.Key())
	}
	limit, err := cli.LimitOf(c)
	if err != nil {
		return err
	}
	if _, _, err := cli.TenantOf(c, s); err != nil {
		return err
	}
	if err := cli.KnownList(c, s, "list"); err != nil {
		return err
	}
	rows, after := []outboxRow{}, int64(0)
	for len(rows) < limit {
		page, err := s.OutboxEvents(c.Context, f, after, min(cli.PageSize, limit-len(rows)))
		if err != nil {
			return err
		}
		for _, e := range page {
			rows, after = append(rows, outboxRow{OutboxEvent: e, State: e.State()}), e.ID
		}
		if len(page) < cli.PageSize {
			break
		}
	}
	return cli.List(p.Printer(c), rows, "event_id", "event_type", "state", "list_id", "endpoint_id", "occurred_at",
		"due_at",
		"tries", "last_error")
}

func (p commands) retryOutbox(c *cli.Context, _ *config.Config, s *store.Store) error {
	tenant, id := c.String("tenant"), c.String("id")
	switch {
	case id != "" && (tenant != "" || c.Bool("dead")), id == "" && tenant == "" && !c.Bool("dead"):
		return cli.UsageError(c, "nothing to retry: pass --id, --tenant or --dead")
	case id != "":
		found, err := s.OutboxEvent(c.Context, id, c.String("endpoint"))
		for i := range found {
			if err == nil {
				err = s.RetryEvent(c.Context, found[i].ID, cli.Actor(), now())
			}
		}
		if err != nil {
			return cli.Missing(err, "queued event", id)
		}
		return p.Printer(c).Record(retried{int64(len(found))})
	}
	if _, _, err := cli.TenantOf(c, s); err != nil {
		return err
	}
	total := int64(0)
	for {
		n, err := s.RetryDead(c.Context, tenants.OutboxFilter{TenantID: tenant}, cli.PageSize, cli.Actor(), now())
		if total += n; err != nil {
			return err
		}
		if n < cli.PageSize {
			return p.Printer(c).Record(retried{total})
		}
	}
}

// retried is the output of a command that resends events: their number.
type retried struct {
	Retried int64 `json:"retried"`
}
