package main

import (
	"context"
	"log/slog"
	"time"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/worker"
)

func (p *program) keysCommand() *cli.Command {
	show := p.Command("list", "list token signing keys", nil, nil,
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			keys, err := s.SigningKeys(c.Context, now())
			if err != nil {
				return err
			}
			return cli.List(p.Printer(c), keyRows(keys, now()), "kid", "alg", "state", "active_at", "retired_at",
				"expires_at")
		})
	rotate := p.Command("rotate", "create the next signing keys; they take effect tomorrow", nil, nil,
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			made, err := auth.RotateKeys(db.By(c.Context, cli.Actor(), now()), s, now())
			if err != nil {
				return err
			}
			rows := keyRows(made, now())
			for i := range rows {
				rows[i].ServedBy = made[i].CreatedAt.Add(auth.KeysEvery)
			}
			if out := p.Printer(c); out.JSON || len(made) > 0 {
				return cli.List(out, rows, "kid", "alg", "state", "served_by", "active_at")
			}
			return p.Done(c, "The next keys already exist; nothing was created. To see when they take effect: "+
				"newsletterd keys list")
		})
	rotate.Description = `A running daemon publishes the new keys within a minute (served_by) and
signs with them a day later (active_at), so that all apps can read them
first. The current keys stay published until their last token has expired.
The daemon also rotates keys automatically, see auth.rotate_keys in
newsletterd config.`
	return &cli.Command{Name: "keys", Usage: "manage the keys that sign " +
		"tokens", Subcommands: []*cli.Command{show, rotate}}
}

// keyRow is a signing key as `keys` prints it.
type keyRow struct {
	KID       string       `json:"kid"`
	Alg       string       `json:"alg"`
	State     string       `json:"state"`              // next, signs, retired
	ServedBy  core.Instant `json:"served_by,omitzero"` // when a running daemon publishes it; only for new keys
	ActiveAt  core.Instant `json:"active_at"`
	RetiredAt core.Instant `json:"retired_at"`
	ExpiresAt core.Instant `json:"expires_at"`
}

func keyRows(keys []core.SigningKey, now core.Instant) []keyRow {
	rows := make([]keyRow, len(keys))
	for i, k := range keys {
		rows[i] = keyRow{
			KID: k.KID, Alg: k.Alg, State: k.State(now), ActiveAt: k.ActiveAt, RetiredAt: k.RetiredAt,
			ExpiresAt: k.ExpiresAt,
		}
	}
	return rows
}

// keysLoop returns the loop that rotates the signing keys on schedule, and removes keys whose last token has expired.
func keysLoop(p *auth.Provider, every time.Duration, log *slog.Logger) *worker.Loop {
	return &worker.Loop{Name: "keys", Step: func(ctx context.Context, at time.Time) time.Time {
		next, err := p.TendKeys(ctx, every, core.At(at))
		if err != nil {
			log.Error("keys", slog.Any("error", err))
		}
		return next.Time()
	}}
}
