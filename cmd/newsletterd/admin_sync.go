package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/terminal"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/people"
	"newsletterd/store/tenants"
)

// syncRow is a full sync that was asked for.
type syncRow struct {
	SyncID string `json:"sync_id"`
}

func (p *program) listSyncCommand() *cli.Command {
	c := p.command("sync", "send a list whole to the send service, or tell what differs", []cli.Flag{
		referenceFlag("id", people.NounList, "the `ID` of the list; with --dry-run all lists without it", "list"),
		boolFlag("dry-run", "send nothing: compare both sides and say what differs"),
		&cli.IntFlag{Name: "sample", Usage: "with --dry-run: show `N` of the subscriptions that differ", Value: 10},
		boolFlag("take-over", "also a list that another webhook client has fed: whom this service does not know is ended"),
	}, nil, p.syncList)
	c.Description = `Events keep the send service up to date by themselves; this repairs it after a restore or a long breakdown. The
running daemon sends the batches, at its next start if it isn't running. It compares both sides itself every night
([webhooks] self_check) and heals what differs.

   newsletterd admin list sync --id LIST --dry-run
   newsletterd admin list sync --id LIST

--dry-run counts: missing (active here, unknown there), stopped (active here, unsubscribed there), running (unsubscribed
here, active there), unknown (active there, never confirmed or gone here), different (other preferences or spelling).
Whose event is on its way counts as in_flight.`
	return c
}

// syncState is a full sync as it is printed.
type syncState struct {
	core.Sync
	State string `json:"state"` // waiting, running, finished, failed
}

func (p *program) listSyncsCommand() *cli.Command {
	return p.command("syncs", "show the full syncs, the newest first", []cli.Flag{
		referenceFlag("id", people.NounList, "only those of the list `ID`", "list"),
		limitFlag("at most `N`", 50),
	}, nil, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		limit, err := limitOf(c)
		if err != nil {
			return err
		}
		if err := knownList(c, s, "id"); err != nil {
			return err
		}
		syncs, err := s.SyncsAmong(c.Context, nil, true, c.String("id"), core.Page{Limit: limit})
		if err != nil {
			return err
		}
		rows := make([]syncState, len(syncs))
		for i, y := range syncs {
			rows[i] = syncState{y, y.State()}
		}
		return list(p.printer(c), rows, "sync_id", "list_id", "state", "started_at", "done", "batch_total", "reason")
	})
}

func (p *program) syncList(c *cli.Context, cfg *config.Config, s *store.Store) error {
	id := c.String("id")
	if c.Bool("dry-run") {
		if cfg.Webhooks.SendURL != "" {
			return errors.New("the send side is another service (webhooks.send_url): only that one knows what it has")
		}
		if id == "" {
			return p.printAllDrift(c, s)
		}
		return p.printDrift(c, s, id)
	}
	if err := need(c, "id"); err != nil {
		return err
	}
	if c.Bool("take-over") {
		if err := s.TakeOver(c.Context, id, actor(), now()); err != nil && core.KindOf(err) != core.NotFound {
			return err
		}
	}
	sync, err := s.RequestSync(db.By(c.Context, actor(), now()), id, now())
	if errors.Is(err, tenants.ErrForeignFed) {
		return fmt.Errorf("%s (--take-over makes it this service's)", terminal.Message(err))
	}
	if err != nil {
		return missing(err, "list", id)
	}
	return p.printer(c).record(syncRow{sync})
}

func (p *program) printDrift(c *cli.Context, s *store.Store, id string) error {
	d, err := s.Drift(c.Context, id, max(c.Int("sample"), 0))
	if err != nil {
		return missing(err, "list", id)
	}
	out := p.printer(c)
	if out.json {
		return out.value(d)
	}
	sample := d.Sample
	d.Sample = nil
	if err := out.record(d); err != nil {
		return err
	}
	switch {
	case d.FedBy != "":
		fmt.Fprintln(p.err, "Another webhook client feeds this list; nothing is healed here.")
	case d.SyncOpen:
		fmt.Fprintln(p.err, "A full sync of this list is on its way; look again when it has ended.")
	}
	if len(sample) == 0 {
		return nil
	}
	fmt.Fprintln(p.out)
	return list(out, sample, "email", "what", "member", "send")
}

func (p *program) printAllDrift(c *cli.Context, s *store.Store) error {
	lists, err := pages(func(l core.List) string { return l.ID }, func(page core.Page) ([]core.List, error) {
		return s.Lists(c.Context, nil, true, page)
	})
	if err != nil {
		return err
	}
	rows := make([]core.Drift, 0, len(lists))
	for _, l := range lists {
		d, err := s.Drift(c.Context, l.ID, 0)
		if err != nil {
			return err
		}
		rows = append(rows, d)
	}
	return list(p.printer(c), rows, "list_id", "member_active", "send_active", "missing", "stopped", "running",
		"unknown",
		"different",
		"in_flight", "sync_open", "fed_by")
}
