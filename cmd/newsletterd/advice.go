package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
	"newsletterd/store"
)

// advise logs warnings at startup about settings that are allowed but rarely intended.
func advise(ctx context.Context, cfg *config.Config, s *store.Store, log *slog.Logger) error {
	if readableByOthers(cfg) {
		log.Warn("others can read the configuration file, but it contains secrets; run chmod 600 on it",
			slog.String("file", cfg.File))
	}
	if !public(cfg) {
		return nil
	}
	if unlistedProxy(cfg) {
		log.Warn("no proxy is trusted, so rate limits see all callers as one IP address; set [server] "+
			"trusted_proxies, for example [\"127.0.0.1\", \"::1\"]", slog.String("listen", cfg.Server.Listen))
	}
	options := parts.RelayOptions(cfg)
	state, err := options.Now(ctx, s)
	if err != nil {
		return err
	}
	if state.Transport == "directory" {
		log.Warn("no mail server is set up; emails are saved to a folder and not sent",
			slog.String("directory", cfg.Mail.Directory))
	}
	if state.From == config.Default().Mail.From {
		log.Warn("[mail] from is still the default, which receiving servers reject; set it to your own address",
			slog.String("from", cfg.Mail.From))
	}
	live, names, err := liveLists(ctx, cfg, s)
	if err != nil {
		return err
	}
	if live > 0 {
		log.Warn("anyone who signs up an address to these lists can also confirm it with the token in the response; "+
			"set confirm_token = \"receipt\" to require the emailed link",
			slog.Int("lists", live), slog.String("first", fmt.Sprintf("%q", names)))
	}
	return nil
}

// liveLists counts the lists whose subscribe responses contain a live confirmation token, and returns the names of the
// first ones.
func liveLists(ctx context.Context, cfg *config.Config, s *store.Store) (live int, names []string, err error) {
	lists, err := cli.Pages(func(l core.List) string { return l.ID }, func(page core.Page) ([]core.List, error) {
		return s.Lists(ctx, nil, true, page)
	})
	const shown = 5
	for _, l := range lists {
		if l.ConfirmMode(cfg.Newsletter.ConfirmToken) == core.ConfirmLive {
			if live++; live <= shown {
				names = append(names, l.Name)
			}
		}
	}
	return live, names, err
}

// public reports whether the configuration suggests that other machines can reach the daemon.
func public(cfg *config.Config) bool {
	_, host := config.SplitOrigin(cfg.Origin())
	return !config.IsLoopback(host)
}

// unlistedProxy reports whether a proxy probably forwards requests to the daemon, although no proxy is trusted. It
// assumes so if the daemon listens only on loopback, or if public_url is https but the listener isn't.
func unlistedProxy(cfg *config.Config) bool {
	if !public(cfg) || len(cfg.Server.TrustedProxies) > 0 {
		return false
	}
	host, _, _ := net.SplitHostPort(cfg.Server.Listen)
	scheme, _ := config.SplitOrigin(cfg.Origin())
	return config.IsLoopback(host) || scheme == "https" && !cfg.HTTPS()
}

// readableByOthers reports whether the configuration file holds a secret and other users can read it.
func readableByOthers(cfg *config.Config) bool {
	if !cfg.SecretInFile() {
		return false
	}
	fi, err := os.Stat(cfg.File)
	return err == nil && fi.Mode().Perm()&0o044 != 0
}
