package main

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/cmd/newsletterd/terminal"
	"newsletterd/core"
	"newsletterd/handlers"
	"newsletterd/handlers/members"
	"newsletterd/handlers/web"
	"newsletterd/mail/picture"
	"newsletterd/mail/report"
	"newsletterd/netguard"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/worker"
)

// daemon holds the parts of the daemon. build creates them, and run starts them.
type daemon struct {
	cfg       *config.Config
	log       *slog.Logger
	store     *store.Store
	standby   *standby // listens until the daemon takes over the listener; nil: no replica
	listener  net.Listener
	clients   *connections
	certs     *certificates // of the listener; nil: plain HTTP
	certWatch *worker.Loop  // nil: as above
	redirect  *redirector   // nil: off
	auth      *auth.Provider
	keys      parts.MailKeys
	handler   *handlers.Handler
	server    *http.Server
	workers   *worker.Group // loops that claim and send
	keepers   *worker.Group // housekeeping, which stops last
	tracker   *worker.Tracker
	pictures  *semaphore.Weighted // memory for decoding images
	registry  *prometheus.Registry
	metrics   *metricsServer
	bounces   *bounceListener // nil: off
}

// build opens and wires everything, in production and in tests. Every port can be 0. If build fails, it closes what it
// opened.
func build(ctx context.Context, cfg *config.Config, log *slog.Logger) (_ *daemon, err error) {
	d := &daemon{cfg: cfg, log: log}
	defer func() {
		if err != nil {
			d.abandon()
		}
	}()
	o, err := storeOptions(cfg, log)
	if err != nil {
		return nil, err
	}
	o.Migrate = true
	if cfg.Replica.URL != "" {
		if sharesFolder(cfg) {
			log.Warn("replica: "+sameDiskText, slog.String("advice", sameDiskAdvice))
		}
		if d.standby, err = newStandby(cfg, log); err != nil {
			return nil, err
		}
		if err = replicate(&o, cfg, log, d.standby.waiting); err != nil {
			return nil, err
		}
	}
	if d.store, err = store.Open(ctx, o); err != nil {
		return nil, err
	}
	if err = checkAfterCrash(ctx, d.store, checkedFirst, log); err != nil {
		return nil, err
	}
	if err = settleHome(ctx, d.store, cfg.TakeOver, log); err != nil {
		return nil, err
	}
	if err = d.listen(); err != nil {
		return nil, err
	}
	if cfg.Server.PublicURL == "" && strings.HasSuffix(cfg.Server.Listen, ":0") {
		cfg.Server.Listen = d.listener.Addr().String() // links must contain this port
	}
	d.registry = newRegistry(d.store, cfg)
	if err := d.wire(ctx); err != nil {
		return nil, err
	}
	registerHashes(d.registry, d.auth)
	d.clients.register(d.registry)
	if err := advise(ctx, cfg, d.store, log); err != nil {
		return nil, err
	}
	d.server = web.Server(d.handler)
	d.server.ConnState = d.clients.state
	d.server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	if d.bounces, err = newBounceListener(cfg, d.store, d.keys.Ident, log); err != nil {
		return nil, fmt.Errorf("bounce.listen: %w", err)
	}
	d.metrics, err = newMetricsServer(cfg.Metrics, d.handler.Metrics(), log)
	return d, err
}

// wire creates the handlers and workers, which use the store.
func (d *daemon) wire(ctx context.Context) (err error) {
	if d.auth, err = auth.New(ctx, d.store, parts.AuthConfig(d.cfg), now()); err != nil {
		return err
	}
	if d.keys, err = parts.NewMailKeys(ctx, d.store); err != nil {
		return err
	}
	d.tracker = worker.NewTracker(d.store, d.log)
	d.pictures = semaphore.NewWeighted(picture.MaxMemory)
	d.handler, err = handlers.New(handlers.Options{
		Log: d.log, ClientAddresses: d.cfg.Log.ClientAddresses, Registry: d.registry, PublicURL: d.cfg.Origin(),
		TrustedProxies: proxies(d.cfg.Server.TrustedProxies),
		Store:          d.store, Auth: d.auth, Bearer: d.auth.Bearer, Sealer: d.keys.Sealer, Ident: d.keys.Ident,
		ModelLimits:    parts.ModelLimits(d.cfg),
		ImportBytes:    int64(d.cfg.Limits.ImportBytes),
		MediaLimits:    parts.MediaLimits(d.cfg),
		PictureMemory:  d.pictures,
		DuplicateGuard: d.cfg.Send.DuplicateGuard.Std(),
		Engage:         d.tracker.Add,
		Checks:         parts.CampaignChecks(d.cfg),
		Videos:         parts.Videos(),
		LookupTXT:      parts.Resolver(d.cfg.Mail.DNSServer).LookupTXT,
		DNS:            domainDNS(d.cfg),
		Relay:          parts.RelayOptions(d.cfg),
		SmallHeap:      parts.SmallHeap,
		Snapshot:       func() handlers.SnapshotState { return snapshotOf(d.cfg) },
		Doctor:         d.findings,
		Versions:       versions(),
		MayPost:        func(url string) error { return parts.MayPost(d.cfg, url) },
		TestEndpoint:   worker.NewEndpointPoster(d.store, parts.EndpointClient(d.cfg)).Test,
		Providers:      parts.Providers(d.cfg), SNS: &report.SNS{Fetch: (&netguard.Guard{}).Fetcher()},
		Newsletter: members.Options{
			ConfirmToken: d.cfg.Newsletter.ConfirmToken, UnsubscribeTokenAuth: d.cfg.Newsletter.UnsubscribeTokenAuth,
			DisableScope: d.cfg.Newsletter.DisableScope, MemberURL: d.cfg.Send.MemberURL,
			SendElsewhere:       d.cfg.Webhooks.SendURL != "",
			SubscribePerAddress: d.cfg.Limits.SubscribePerAddress,
		},
	})
	if err != nil {
		return err
	}
	if err := d.store.KeepIssuer(ctx, d.auth.Issuer); err != nil {
		return err
	}
	return d.wireWorkers(ctx)
}

// abandon closes everything that a failed build opened.
func (d *daemon) abandon() {
	d.standby.abandon()
	if d.listener != nil {
		_ = d.listener.Close()
	}
	if d.bounces != nil {
		_ = d.bounces.listener.Close()
	}
	d.redirect.stop()
	if d.store != nil {
		_ = d.store.Close()
	}
}

func storeOptions(cfg *config.Config, log *slog.Logger) (db.Options, error) {
	key, err := masterKey(cfg.Auth.KeyFile)
	return db.Options{
		Path: cfg.Database.Path, ExternalCheckpoints: cfg.Database.Checkpoints == "external", MasterKey: key, Log: log,
		SendElsewhere: cfg.Webhooks.SendURL != "", MemberElsewhere: cfg.Send.MemberURL != "",
		StopRule: core.StopRule{
			Complaints: cfg.Send.StopComplaints.Share(), HardBounces: cfg.Send.StopHardBounces.Share(),
			Sample: int64(cfg.Send.StopSample),
		},
	}, err
}

const masterKeyBytes = 32

// masterKey reads the key that seals secrets in the database. If no file is named, it returns nil. If other users can
// read the file, it returns an error.
func masterKey(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	fi, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("auth.key_file: %w", err)
	}
	if fi.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("auth.key_file: others can read %s (mode %04o). Run chmod 600 on it", file,
			fi.Mode().Perm())
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("auth.key_file: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(b)))
	if err != nil || len(key) != masterKeyBytes {
		return nil, fmt.Errorf("auth.key_file: %s must contain %d bytes in base64. To create it: head -c 32 "+
			"/dev/urandom | base64",
			file,
			masterKeyBytes)
	}
	return key, nil
}

func (d *daemon) listen() (err error) {
	if d.certs, err = newCertificates(d.cfg, d.store, d.log); err != nil {
		return err
	}
	if d.standby != nil {
		d.listener, err = d.standby.leave()
		d.standby = nil
	} else {
		d.listener, err = terminal.Listen("server.listen", d.cfg.Server.Listen)
	}
	if err != nil {
		return err
	}
	d.clients = configuredConnections(d.cfg.Server, d.log)
	d.listener = d.clients.listener(d.listener)
	if d.certs != nil {
		d.listener = tls.NewListener(d.listener, d.certs.config())
		d.certWatch = d.certs.watch()
	}
	d.redirect, err = newRedirector(d.cfg, d.certs, d.clients, d.log)
	return err
}

// proxies parses the configured addresses and CIDR ranges, which config has already validated.
func proxies(words []string) []netip.Prefix {
	var out []netip.Prefix
	for _, w := range words {
		if p, err := netip.ParsePrefix(w); err == nil {
			out = append(out, p.Masked())
		} else if a, err := netip.ParseAddr(w); err == nil {
			out = append(out, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	return out
}

func now() core.Instant { return core.At(time.Now()) }
