package admin

import (
	"errors"
	"fmt"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/terminal"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/people"
	"newsletterd/store/tenants"
)

// syncRow is the output for a full sync that was requested.
type syncRow struct {
	SyncID string `json:"sync_id"`
}

func (p commands) listSyncCommand() *cli.Command {
	c := p.Command("sync", "send a full copy of a list to the send service, or compare both services", []cli.Flag{
		cli.Reference("id", people.NounList, "list (`ID`; with --dry-run the default is all lists)", "list"),
		cli.Bool("dry-run", "dry run: compare both services without sending the list"),
		&cli.IntFlag{Name: "sample", Usage: "with --dry-run: show up to `N` differences", Value: 10},
		cli.Bool("take-over", "take over a list that another webhook client feeds; subscribers unknown to this "+
			"service are unsubscribed"),
	}, nil, p.syncList)
	c.Description = `Normally events keep the send service up to date, and a nightly check
repairs differences ([webhooks] self_check). Use this command after a
restore or a long outage. The daemon sends the batches; if it isn't running,
it sends them at its next start.

   newsletterd admin list sync --id LIST --dry-run
   newsletterd admin list sync --id LIST

The dry run counts differences: missing (active here, unknown there),
stopped (active here, unsubscribed there), running (unsubscribed here,
active there), unknown (active there, unconfirmed or gone here), different
(other fields or spelling), and in_flight (an event is on its way).`
	return c
}

// syncState is a full sync as commands print it.
type syncState struct {
	core.Sync
	State string `json:"state"` // waiting, running, finished, failed
}

func (p commands) listSyncsCommand() *cli.Command {
	return p.Command("syncs", "list full syncs, newest first", []cli.Flag{
		cli.Reference("id", people.NounList, "filter by list (`ID`)", "list"),
		cli.Limit("show at most `N`", 50),
	}, nil, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		limit, err := cli.LimitOf(c)
		if err != nil {
			return err
		}
		if err := cli.KnownList(c, s, "id"); err != nil {
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
		return cli.List(p.Printer(c), rows, "sync_id", "list_id", "state", "started_at", "done", "batch_total",
			"reason")
	})
}

func (p commands) syncList(c *cli.Context, cfg *config.Config, s *store.Store) error {
	id := c.String("id")
	if c.Bool("dry-run") {
		if cfg.Webhooks.SendURL != "" {
			return errors.New("another service does the sending (webhooks.send_url). Compare the lists there")
		}
		if id == "" {
			return p.printAllDrift(c, s)
		}
		return p.printDrift(c, s, id)
	}
	if err := cli.Need(c, "id"); err != nil {
		return err
	}
	if c.Bool("take-over") {
		if err := s.TakeOver(c.Context, id, cli.Actor(), now()); err != nil && core.KindOf(err) != core.NotFound {
			return err
		}
	}
	sync, err := s.RequestSync(db.By(c.Context, cli.Actor(), now()), id, now())
	if errors.Is(err, tenants.ErrForeignFed) {
		return fmt.Errorf("%s To take the list over, pass --take-over", terminal.Message(err))
	}
	if err != nil {
		return cli.Missing(err, "list", id)
	}
	return p.Printer(c).Record(syncRow{sync})
}

func (p commands) printDrift(c *cli.Context, s *store.Store, id string) error {
	d, err := s.Drift(c.Context, id, max(c.Int("sample"), 0))
	if err != nil {
		return cli.Missing(err, "list", id)
	}
	out := p.Printer(c)
	if out.JSON {
		return out.Value(d)
	}
	sample := d.Sample
	d.Sample = nil
	if err := out.Record(d); err != nil {
		return err
	}
	switch {
	case d.FedBy != "":
		fmt.Fprintln(p.Err, "Another webhook client feeds this list. Differences are not repaired here.")
	case d.SyncOpen:
		fmt.Fprintln(p.Err, "A full sync of this list is running. Compare again when it has ended.")
	}
	if len(sample) == 0 {
		return nil
	}
	fmt.Fprintln(p.Out)
	return cli.List(out, sample, "email", "what", "member", "send")
}

func (p commands) printAllDrift(c *cli.Context, s *store.Store) error {
	lists, err := cli.Pages(func(l core.List) string { return l.ID }, func(page core.Page) ([]core.List, error) {
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
	return cli.List(p.Printer(c), rows, "list_id", "member_active", "send_active", "missing", "stopped", "running",
		"unknown",
		"different",
		"in_flight", "sync_open", "fed_by")
}
