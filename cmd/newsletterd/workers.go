package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strconv"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/store"
	"newsletterd/worker"
)

// wireWorkers makes everything that happens without a request.
func (d *daemon) wireWorkers(ctx context.Context) error {
	cfg, s, log := d.cfg, d.store, d.log
	route, err := transport(cfg)
	if err != nil {
		return err
	}
	ident, err := mailIdent(ctx, s)
	if err != nil {
		return err
	}
	from := mail.Address{Email: cfg.Mail.From}
	loop, err := auth.ParseSecret(auth.NewSecret())
	if err != nil {
		return err
	}
	if err := s.EnsureLoopClient(ctx, loop, now()); err != nil {
		return err
	}
	if err := s.EnsureDefaultProvider(ctx, mail.KindGeneric, auth.NewSecret(), now()); err != nil {
		return err
	}
	poster := worker.NewPoster(s, d.sendURL(), d.loopTransport(cfg.Webhooks.SendURL == ""))
	sender := worker.NewSender(s, route, worker.SendOptions{
		Connections: cfg.Mail.SMTP.Connections, MaxUnrecorded: cfg.Send.MaxUnrecorded,
		RatePerSecond: float64(cfg.Mail.SMTP.RatePerSecond), GiveUpAfter: cfg.Send.GiveUpAfter.Std(), From: from,
		BounceDomain: cfg.Mail.BounceDomain, PublicURL: cfg.Origin(), Sealer: d.sealer, Ident: ident, Log: log,
	})
	d.workers = worker.NewGroup(log,
		worker.Scheduler(s, sender, log),
		sender.Loop(),
		worker.Outbox(s, poster, log),
		worker.FullSync(s, poster, log),
		worker.Disabler(worker.DisablerOptions{
			Store: s, Base: d.ownURL(), Transport: d.loopTransport(true), Log: log,
			Token: func(ctx context.Context, tenantID string, now core.Instant) (string, error) {
				return d.auth.OwnToken(ctx, tenantID, core.ScopeEventsWrite, now)
			},
		}),
		worker.Mailer(worker.MailerOptions{
			Store: s, Sender: route, Sealer: d.sealer, Ident: ident, PublicURL: cfg.Origin(), From: from, Log: log,
		}),
	)
	keepers := []*worker.Loop{worker.Housekeeping(s, retention(cfg), log), keysLoop(d.auth, cfg.Auth.RotateKeys.Std(), log)}
	if every := cfg.Backup.Every.Std(); every > 0 {
		keepers = append(keepers, worker.Snapshot(s, snapshotPath(cfg), every, log))
	}
	d.keepers = worker.NewGroup(log, keepers...)
	return nil
}

// transport is the way out for mails.
func transport(cfg *Config) (mail.Sender, error) {
	if cfg.Mail.Transport == "directory" {
		return mail.NewDirectory(cfg.Mail.Directory)
	}
	c := cfg.Mail.SMTP
	return &mail.SMTP{
		Addr: net.JoinHostPort(c.Host, strconv.Itoa(c.Port)), Username: c.Username, Password: c.Password.Reveal(),
		TLS: mail.TLSMode(c.TLS), LocalName: localName(cfg), NoPipelining: !c.Pipelining,
	}, nil
}

// localName is what EHLO says: the host of public_url where that is a name that others can look up.
func localName(cfg *Config) string {
	_, host := splitOrigin(cfg.Origin())
	if _, err := netip.ParseAddr(host); err == nil || host == "" {
		return "localhost"
	}
	return host
}

// sendURL is where events go: the configured service, or this daemon's own listener.
func (d *daemon) sendURL() string {
	if d.cfg.Webhooks.SendURL != "" {
		return d.cfg.Webhooks.SendURL
	}
	return d.ownURL()
}

// ownURL is the address of this daemon's own listener.
func (d *daemon) ownURL() string {
	addr := d.listener.Addr().String()
	if host, port, err := net.SplitHostPort(addr); err == nil {
		if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
			addr = net.JoinHostPort("127.0.0.1", port)
		}
	}
	if d.certificate != nil {
		return "https://" + addr
	}
	return "http://" + addr
}

// loopTransport lets the daemon post to its own https listener: the address is not in the certificate's names, so the
// certificate itself is compared.
func (d *daemon) loopTransport(own bool) http.RoundTripper {
	if d.certificate == nil || !own {
		return nil
	}
	ours := d.certificate.Certificate[0]
	return &http.Transport{
		MaxIdleConns: 64, MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second, DisableCompression: true,
		TLSClientConfig: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			InsecureSkipVerify: true, // VerifyPeerCertificate demands our very certificate
			VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
				if len(raw) == 0 || !bytes.Equal(raw[0], ours) {
					return errors.New("another certificate than ours answers on our own address")
				}
				return nil
			},
		},
	}
}

// snapshotPath is backup/newsletterd.db beside the database, unless it is set.
func snapshotPath(cfg *Config) string {
	if cfg.Backup.Path != "" {
		return cfg.Backup.Path
	}
	return filepath.Join(filepath.Dir(cfg.Database.Path), "backup", filepath.Base(cfg.Database.Path))
}

func retention(cfg *Config) store.Retention {
	const day = 24 * time.Hour
	return store.Retention{
		Pending: cfg.Newsletter.PendingTTL.Std(), Recipients: cfg.Send.KeepRecipients.Std(), Deleted: 30 * day, Mail: 30 * day,
		Events: 30 * day,
	}
}
