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
	all := p.command("list", "list queued events and dead letters", []cli.Flag{
		tenantFlag("filter by tenant (`ID` or name)"),
		referenceFlag("list", people.NounList, "filter by list (`ID`)"),
		stringFlag("email", "filter by email `ADDRESS`; needs --list"),
		oneOfFlag("type", "filter by `TYPE`, for example subscription.unsubscribed", optional(core.EventTypes())...),
		referenceFlag("endpoint", people.NounEndpoint, "filter by webhook endpoint (`ID`)"),
		oneOfFlag("state", "filter by `STATE`: waiting or dead", "", core.EventWaiting, core.EventDead),
		limitFlag("show at most `N`, oldest first", pageSize),
	}, nil, p.listOutbox)
	all.Description = `An event is listed until its receiver accepts it. If the receiver rejects it
(410, 422) or fails for 72 hours, it becomes a dead letter: it stays for 30
days, can be retried, and doesn't hold back later events.

   newsletterd admin outbox list --state dead`
	endpoint := referenceFlag("endpoint", people.NounEndpoint, "show it as sent to this webhook endpoint (`ID`)")
	show := p.command("show", "show an event with its body", []cli.Flag{idFlag(people.NounEvent), endpoint},
		[]string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			found, err := s.OutboxEvent(c.Context, c.String("id"), c.String("endpoint"))
			if err != nil {
				return missing(err, "queued event", c.String("id"))
			}
			e := found[0]
			return p.printer(c).record(outboxRow{e, e.State(), json.RawMessage(e.Body)})
		})
	retry := p.command("retry", "retry one event, or all dead letters", []cli.Flag{
		idFlag(people.NounEvent), endpoint, boolFlag("dead", "retry all dead letters"),
		tenantFlag("retry all dead letters of a tenant (`ID` or name)"),
	}, nil, p.retryOutbox)
	retry.Description = `Retrying is safe: the send service ignores events older than what it has.

   newsletterd admin outbox retry --id EVENT
   newsletterd admin outbox retry --tenant ID
   newsletterd admin outbox retry --dead`
	return &cli.Command{
		Name: "outbox", Usage: "view and retry events for the send service and webhooks",
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
		return usageError{c.Command.HelpName, "nothing to retry: pass --id, --tenant or --dead"}
	case id != "":
		found, err := s.OutboxEvent(c.Context, id, c.String("endpoint"))
		for i := range found {
			if err == nil {
				err = s.RetryEvent(c.Context, found[i].ID, actor(), now())
			}
		}
		if err != nil {
			return missing(err, "queued event", id)
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
