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
	"time"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/mail"
	"newsletterd/mail/report"
	"newsletterd/netguard"
	"newsletterd/store/campaigns"
	"newsletterd/store/people"
	"newsletterd/worker"
	"newsletterd/worker/pictures"
)

// wireWorkers creates the background loops.
func (d *daemon) wireWorkers(ctx context.Context) error {
	cfg, s, log := d.cfg, d.store, d.log
	route, err := parts.Transport(cfg)
	if err != nil {
		return err
	}
	loop, err := auth.ParseSecret(auth.NewSecret())
	if err != nil {
		return err
	}
	if err := s.EnsureLoopClient(ctx, loop, now()); err != nil {
		return err
	}
	if err := s.EnsureDefaultProvider(ctx, report.KindGeneric, auth.NewSecret(), now()); err != nil {
		return err
	}
	poster, err := d.poster()
	if err != nil {
		return err
	}
	relay, own := parts.TenantRelay(cfg), (*worker.OwnServer)(nil)
	if cfg.ServerInDatabase() {
		own = worker.NewOwnServer(s, parts.OwnRelay(cfg))
	}
	rates, err := cfg.Send.RatesOfDomains()
	if err != nil {
		return err
	}
	var signers *worker.Signers
	if cfg.Mail.DKIM.Enabled {
		signers = worker.NewSigners(s)
	}
	sender := worker.NewSender(s, route, worker.SendOptions{
		Connections: cfg.Mail.SMTP.Connections, MaxUnrecorded: cfg.Send.MaxUnrecorded,
		Limits: relayLimits(&cfg.Mail.SMTP), DomainRates: rates, Relay: relay, GiveUpAfter: cfg.Send.GiveUpAfter.Std(),
		From: mail.Address{Email: cfg.Mail.From}, Own: own, Folder: cfg.Mail.Transport == "directory",
		Provider: relayProvider(cfg), BounceDomain: cfg.Mail.BounceDomain, PublicURL: cfg.Origin(),
		Sealer: d.keys.Sealer, Ident: d.keys.Ident, Log: log,
		Signers: signers, DKIMSkip: cfg.Mail.SMTP.DKIMSkip, ExtraThread: parts.ExtraThread,
	})
	d.registry.MustRegister(sendCollector{sender})
	mailer := worker.MailerOptions{
		Store: s, Sender: route, Sealer: d.keys.Sealer, Ident: d.keys.Ident, PublicURL: cfg.Origin(),
		From: mail.Address{Email: cfg.Mail.From}, Log: log,
		Signers: signers, DKIMSkip: cfg.Mail.SMTP.DKIMSkip, Own: own, Tenants: true,
	}
	tried := drafts.Drafts{Store: s, Origin: cfg.Origin(), Checks: parts.CampaignChecks(cfg)}
	loops := []*worker.Loop{
		worker.Scheduler(s, sender, log),
		worker.FirstLinks(s, tried.DeadLink, log),
		sender.Loop(),
		worker.Outbox(s, poster, log),
		worker.FullSync(s, poster, log),
		worker.Endpoints(s, worker.NewEndpointPoster(s, parts.EndpointClient(cfg)), log),
		worker.Disabler(d.disabler()),
		worker.Mailer(mailer),
		worker.Imports(s, parts.SmallHeap, log),
		worker.Bulk(s, log),
		worker.Pages(s, log),
		worker.Removals(s, log),
		d.picturesLoop(),
		worker.TenantMailer(mailer, relay),
		worker.Issues(s, func(ctx context.Context, i *core.Issue) (campaigns.IssueText, error) {
			return drafts.IssueText(ctx, s, i)
		}, log),
	}
	d.workers = worker.NewGroup(log, loops...)
	d.wireKeepers()
	return nil
}

// picturesAllow lists the private addresses from which images may be copied. It is empty except in tests. [webhooks]
// allow doesn't apply: it is for the server administrator's own services, but posts come from tenants.
var picturesAllow []string

// picturesLoop creates the loop that copies the images in imported issues.
func (d *daemon) picturesLoop() *worker.Loop {
	return pictures.Loop(pictures.Options{
		Store: d.store, Client: (&netguard.Guard{Allow: picturesAllow}).Client(), Limits: parts.MediaLimits(d.cfg),
		Origin: d.cfg.Origin(), Memory: d.pictures, Log: d.log,
		Text: func(ctx context.Context, title, body string) (campaigns.IssueText, error) {
			return drafts.ImportedText(ctx, d.store, title, body)
		},
	})
}

// wireKeepers creates the loops that maintain the installation, such as housekeeping.
func (d *daemon) wireKeepers() {
	cfg, s, log := d.cfg, d.store, d.log
	keepers := []*worker.Loop{
		worker.Housekeeping(s, retention(cfg), log), d.tracker.Loop(),
		keysLoop(d.auth, cfg.Auth.RotateKeys.Std(), log),
	}
	if at, ok, _ := cfg.Webhooks.SelfCheckAt(); ok {
		check := worker.NewSelfCheck(s, at, cfg.Webhooks.SendURL != "", log)
		registerSelfCheck(d.registry, check)
		keepers = append(keepers, check.Loop())
	}
	if every := cfg.Backup.Every.Std(); every > 0 {
		keepers = append(keepers, worker.Snapshot(s, snapshotPath(cfg), every, log))
	}
	keepers = append(keepers, d.replicaKeepers()...)
	if d.certWatch != nil {
		keepers = append(keepers, d.certWatch)
	}
	d.keepers = worker.NewGroup(log, keepers...)
}

func relayLimits(c *config.SMTP) core.SendLimits {
	l := core.SendLimits{PerSecond: c.RatePerSecond, PerPeriod: c.PerPeriod, PerDay: c.PerDay}
	if l.PerPeriod > 0 {
		l.PeriodSeconds = int(c.Period.Std() / time.Second)
	}
	return l
}

// relayProvider returns the kind of email provider that the daemon's relay belongs to, or an empty string if there is
// none.
func relayProvider(cfg *config.Config) string {
	switch c := cfg.Mail.SMTP; {
	case cfg.Mail.Transport != "smtp" || c.Provider == "none":
		return ""
	case c.Provider == "auto":
		return mail.ProviderOfHost(c.Host)
	default:
		return c.Provider
	}
}

// sendURL returns the URL that events are posted to: that of the configured service, or of this daemon's own listener.
func (d *daemon) sendURL() string {
	if d.cfg.Webhooks.SendURL != "" {
		return d.cfg.Webhooks.SendURL
	}
	return d.ownURL()
}

// ownURL returns the URL of this daemon's own listener.
func (d *daemon) ownURL() string {
	addr := d.listener.Addr().String()
	if host, port, err := net.SplitHostPort(addr); err == nil {
		if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
			addr = net.JoinHostPort("127.0.0.1", port)
		}
	}
	if d.certs != nil {
		return "https://" + addr
	}
	return "http://" + addr
}

// loopTransport lets the daemon post to its own HTTPS listener. The listener's certificate doesn't name that address,
// so the transport requests a separate certificate and compares it byte for byte.
func (d *daemon) loopTransport(own bool) http.RoundTripper {
	if d.certs == nil || !own {
		return nil
	}
	ours := d.certs.loop.Certificate[0]
	return &http.Transport{
		MaxIdleConns: 64, MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second, DisableCompression: true,
		TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, ServerName: loopName,
			InsecureSkipVerify: true, // VerifyPeerCertificate accepts only our own certificate
			VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
				if len(raw) == 0 || !bytes.Equal(raw[0], ours) {
					return errors.New("this server's own address responds with another server's certificate")
				}
				return nil
			},
		},
	}
}

// snapshotPath returns the path of the snapshot: the configured one, or backup/newsletterd.db next to the database.
func snapshotPath(cfg *config.Config) string {
	if cfg.Backup.Path != "" {
		return cfg.Backup.Path
	}
	return filepath.Join(filepath.Dir(cfg.Database.Path), "backup", filepath.Base(cfg.Database.Path))
}

func retention(cfg *config.Config) people.Retention {
	const day = 24 * time.Hour
	return people.Retention{
		Pending: cfg.Newsletter.PendingTTL.Std(), Recipients: cfg.Send.KeepRecipients.Std(), Deleted: core.RestorableFor,
		Tracking: cfg.Send.KeepTracking.Std(), Mail: 30 * day,
		Events: 30 * day,
	}
}
