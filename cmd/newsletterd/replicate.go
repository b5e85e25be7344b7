package main

import (
	"fmt"
	"log/slog"
	"net/url"
	"os"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/store"
	"newsletterd/store/replica"
)

// replicate adds to the options of a store what keeps the database elsewhere, where the configuration says so. waiting
// is called while another machine serves; its error ends the wait.
func replicate(o *store.Options, cfg *config.Config, log *slog.Logger, waiting func(host string) error) error {
	if cfg.Replica.URL == "" {
		return nil
	}
	r, err := replica.New(replica.Options{
		URL: cfg.Replica.URL, Path: cfg.Database.Path, TTL: cfg.Replica.TTL.Std(), Keep: cfg.Replica.Keep.Std(),
		Log: log, Waiting: waiting,
		// The other machine answers and sends already: what this one has not written is not worth a moment.
		Failed: func(error) { os.Exit(exitLost) },
	})
	if err != nil {
		return fmt.Errorf("replica.url: %w", err)
	}
	o.Replica, o.ReplicaLags, o.ReplicaName = r, !cfg.Replica.Acknowledge, replicaName(cfg.Replica.URL)
	return nil
}

// replicaName is the address of a replica without what only says how it is reached.
func replicaName(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.RawQuery = ""
	return u.String()
}
