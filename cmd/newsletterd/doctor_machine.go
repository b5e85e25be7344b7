package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/terminal"
	"newsletterd/core"
	"newsletterd/handlers/web"
)

// permissions checks which users can read the files that contain secrets or addresses.
func (d *doctor) permissions() {
	open := []string{}
	for _, f := range []string{
		d.cfg.Database.Path, d.cfg.Database.Path + "-wal", snapshotPath(d.cfg), d.cfg.Auth.KeyFile,
		d.cfg.Server.TLSKey,
	} {
		if fi, err := os.Stat(f); f != "" && err == nil && fi.Mode().Perm()&0o077 != 0 {
			open = append(open, f)
		}
	}
	if readableByOthers(d.cfg) {
		open = append(open, d.cfg.File)
	}
	if len(open) > 0 {
		d.fault("permissions", "", "others can read %s", strings.Join(open, ", "))
		d.advise("chmod 600 %s", strings.Join(open, " "))
	} else {
		d.ok("permissions", "only the daemon's user can read the database, backup, keys and passwords")
	}
	switch key := d.cfg.Auth.KeyFile; {
	case key == "" && public(d.cfg):
		d.warn("key file", "set [auth] key_file", "keys and secrets are stored unencrypted in the database and in "+
			"every backup")
	case key != "" && filepath.Dir(key) == filepath.Dir(snapshotPath(d.cfg)):
		d.warn("key file", "keep it in a different place than the backups", "%s is next to the backup that it protects",
			key)
	}
}

// clock checks whether a time service synchronizes the machine's clock.
func (d *doctor) clock() {
	switch synced, known := clockSynced(); {
	case !known:
		d.ok("clock", "%s", time.Now().UTC().Format(time.RFC3339))
	case synced:
		d.ok("clock", "synchronized, %s", time.Now().UTC().Format(time.RFC3339))
	default:
		d.warn("clock",
			"run a time service (systemd-timesyncd, chrony): if the clock is off by 300 s, webhooks are rejected, "+
				"and tokens expire at the wrong time", "not synchronized, %s", time.Now().UTC().Format(time.RFC3339))
	}
}

// database checks the database file, its disk, its records and the snapshot.
func (d *doctor) database() {
	o, err := d.store.Overview(d.ctx)
	if err != nil {
		d.fault("database", "", "%s", cause(err))
		return
	}
	d.runs = o.DaemonRuns || d.daemon
	state := core.Say("no daemon is running")
	if d.runs {
		state = core.Say("a daemon is running")
	}
	d.ok("database", "%s, %s, schema %d; %s", d.store.Path(), bytesText(o.Disk.Database), o.Schema, state)
	if at, err := d.store.NewestChange(d.ctx); err == nil && at > now()+core.Instant(time.Minute/time.Millisecond) {
		d.fault("clock", "correct the clock; recent changes have wrong times",
			"the clock is %s behind the database", time.Until(at.Time()).Round(time.Second))
	}
	d.disk(o.Disk.Free, o.Disk.Total, o.Disk.Database, o.Disk.ReadOnly)
	d.snapshot()
	d.passkeys()
	if o.Outbox.Dead > 0 {
		d.warn("outbox", "newsletterd admin outbox list", "%d events could not be delivered",
			o.Outbox.Dead)
	}
	if n, err := d.store.DisabledEndpoints(d.ctx); err == nil && n > 0 {
		d.warn("endpoints", "find them with newsletterd admin webhook-endpoint list, and the reason with show --id ID",
			"%d webhook endpoints are disabled", n)
	}
	if n, err := d.store.DroppingEndpoints(d.ctx); err == nil && n > 0 {
		d.warn("endpoints", "find them with newsletterd admin webhook-endpoint list, and the reason with log --id ID",
			"%d webhook endpoints accept events too slowly and lose new ones", n)
	}
	if e, err := d.store.EndpointState(d.ctx); err == nil && e.Dead > 0 {
		d.warn("endpoints", "newsletterd admin outbox list --state dead, then newsletterd admin outbox retry",
			"%d events could not be delivered to webhook endpoints", e.Dead)
	}
	if o.Mails.Failed > 0 {
		last, _ := d.store.LastRefusal(d.ctx) // the number alone justifies a finding
		d.warn("mails", "newsletterd admin mail list --state failed; for one person: newsletterd why --email ADDRESS",
			"%s failed in the last 30 days, most recently: %s",
			counted(o.Mails.Failed, "transactional email"), last)
	}
	if o.Restored > 0 {
		d.warn("jobs",
			"newsletterd admin job list; cancel jobs that were already sent, then newsletterd admin job resume --id "+
				"ID, or --all",
			"%s paused because the database was restored or copied", counted(o.Restored, "job"))
	}
	d.lists()
	d.origins()
}

// origins checks for a proxy that isn't trusted, because all its clients then count as one address.
func (d *doctor) origins() {
	if d.cfg.Limits.SubscribePerAddress == 0 {
		return
	}
	seen, err := d.store.RequestOrigins(d.ctx)
	if err != nil {
		d.fault("subscribe limit", "", "%s", cause(err))
		return
	}
	for _, o := range seen {
		a, err := netip.ParseAddr(o.Remote)
		if err != nil || !web.Unproxied(a, proxies(d.cfg.Server.TrustedProxies)) || a.IsLoopback() && !public(d.cfg) {
			continue
		}
		d.warn("subscribe limit", "",
			"%s to subscribe came from the private address %s, which is limited to %d per hour",
			counted(o.Requests, "request"), o.Remote, max(d.cfg.Limits.SubscribePerAddress, web.SubscribePerPrivate))
		d.advise("if this is a proxy, set [server] trusted_proxies, for example [%q]; if it is your website, "+
			"use a token with the scope newsletter:events.write", o.Remote)
		return
	}
}

func (d *doctor) disk(free, total, database int64, readOnly bool) {
	const advice = "a backup needs as much space as the database, and an import up to 64 MB for the -wal file"
	switch {
	case readOnly:
		d.fault("disk", "remount it with write access", "it is read-only")
	case free < 64<<20:
		d.fault("disk", advice, "%s free of %s", bytesText(free), bytesText(total))
	case free < 2*database+(256<<20):
		d.warn("disk", advice, "%s free of %s, and the database has %s", bytesText(free), bytesText(total),
			bytesText(database))
	default:
		d.ok("disk", "%s free of %s", bytesText(free), bytesText(total))
	}
	fsync, err := fsyncTime(filepath.Dir(d.store.Path()))
	if err != nil {
		d.fault("disk", "", "no file can be written next to the database: %s", cause(err))
		return
	}
	d.ok("disk speed", "an fsync takes %s; with max_unrecorded = %d this limits sending to about %d emails/s",
		fsync.Round(10*time.Microsecond),
		d.cfg.Send.MaxUnrecorded, sendCeiling(d.cfg.Send.MaxUnrecorded, fsync))
}

// fsyncTime returns the median time of a few small synced writes to a folder.
func fsyncTime(folder string) (time.Duration, error) {
	f, err := os.CreateTemp(folder, ".doctor.*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	page, took := make([]byte, 4096), []time.Duration{}
	for range 25 {
		begin := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// sendCeiling estimates the maximum number of emails per second, given the number of unrecorded emails (the window) and
// the time of an fsync. Sending a window takes about 2.2 commits plus the work on its emails. The two constants fit
// measurements with windows of 16, 64 and 256 at an fsync of 0.15, 1.15 and 4.15 ms.
func sendCeiling(window int, fsync time.Duration) int {
	const perMail = 17 * time.Microsecond
	turn := time.Duration(2.2*float64(fsync)) + time.Duration(window)*perMail
	rate := float64(window) / turn.Seconds()
	return int(rate/100) * 100
}

func (d *doctor) snapshot() {
	s := snapshotOf(d.cfg)
	every := d.cfg.Backup.Every.Std()
	switch {
	case s.Path == "":
		d.warn("snapshot", "set [backup] every, or run newsletterd backup regularly", "no automatic backup")
	case s.At == 0 && d.runs:
		d.ok("snapshot", "none yet; the first is written one minute after newsletterd starts")
	case s.At == 0:
		d.ok("snapshot", "none yet")
	case d.runs && time.Since(s.At.Time()) > 2*every+time.Hour && changedSince(d.store.Path(), s.At):
		d.fault("snapshot", "the daemon's log has the reason", "%s is %s old", s.Path, aged(s.At))
	default:
		d.ok("snapshot", "%s, %s old; copy it to another machine", s.Path, aged(s.At))
	}
}

func (d *doctor) lists() {
	if !public(d.cfg) {
		return
	}
	live, names, err := liveLists(d.ctx, d.cfg, d.store)
	if err != nil {
		d.fault("lists", "", "%s", cause(err))
		return
	}
	if live > 0 {
		d.warn("lists", `set [newsletter] confirm_token = "receipt", or --confirm-token receipt on the list`,
			"anyone who signs up an address to %s can also confirm it, for example %q",
			counted(live, "list"), names)
	}
}

// ports checks that the daemon responds or, if it doesn't run, that its ports are free.
func (d *doctor) ports() {
	for _, l := range []struct{ key, addr string }{
		{"server.listen", d.cfg.Server.Listen},
		{"metrics.listen", d.cfg.Metrics.Listen},
		{"bounce.listen", d.cfg.Bounce.Listen},
		{"server.acme_http", acmeHTTP(d.cfg)},
	} {
		switch {
		case l.addr == "":
		case d.runs:
			d.answers(l.key, l.addr)
		default:
			d.listens(l.key, l.addr)
		}
	}
	if d.runs {
		d.health()
	}
}

func (d *doctor) answers(key, addr string) {
	c, err := (&net.Dialer{Timeout: timeLimit}).DialContext(d.ctx, "tcp", reachable(addr))
	if err != nil {
		d.fault("ports", "check that the daemon was started with this configuration", "%s: no response at %s", key,
			addr)
		return
	}
	_ = c.Close()
	d.ok("ports", "%s: %s responds", key, addr)
}

func (d *doctor) listens(key, addr string) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		const which = "to see which: ss -ltnp"
		switch {
		case errors.Is(err, os.ErrPermission):
			d.fault("ports", "ports below 1024 need CAP_NET_BIND_SERVICE; newsletterd systemd-unit sets it",
				"%s: %s",
				key, cause(err))
		case d.store == nil && errors.Is(err, syscall.EADDRINUSE):
			d.warn("ports", which, "%s: a program uses %s; without a database newsletterd can't check "+
				"whether it is the daemon", key, addr)
		default:
			d.fault("ports", "", "%s: %s is used by %s", key, addr, terminal.PortHolder(addr))
			d.advise("stop that program, or set %s to another port", key)
		}
		return
	}
	_ = l.Close()
	d.ok("ports", "%s: %s is free", key, addr)
}

// reachable returns the address to connect to for a listen address.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}

// health adds findings for the problems that the running daemon reports at /healthz.
func (d *doctor) health() {
	h, err := askHealth(d.ctx, d.cfg)
	switch status := fmt.Sprintf("%d %s", h.Code, http.StatusText(h.Code)); {
	case err != nil: // the check answers has reported the error
	case d.waits && h.Code == http.StatusServiceUnavailable:
		d.ok("health", "the daemon responds %s: it is a standby or starting", status)
	case h.Code != http.StatusOK:
		d.fault("health", "the daemon's log has the details", "the daemon responds %s: %s", status, h)
	case len(h.Degraded) > 0:
		d.warn("health", "free up disk space: signups are rejected", "the daemon responds %s, %s",
			status, h)
	default:
		d.ok("health", "the daemon responds %s", status)
	}
}

// certificate checks the certificate files of [server].
func (d *doctor) certificate() {
	c := d.cfg.Server
	if c.TLSCert == "" {
		if scheme, _ := config.SplitOrigin(d.cfg.Origin()); scheme == "http" && public(d.cfg) {
			d.warn("https", "put a proxy in front, or set tls_cert and tls_key, and set public_url to https://",
				"public_url is plain http: passwords and tokens are sent unencrypted")
		}
		if unlistedProxy(d.cfg) {
			d.warn("proxy", `set [server] trusted_proxies, for example ["127.0.0.1", "::1"]`,
				"no trusted proxy is set, so rate limits treat all callers as one IP address")
		}
		return
	}
	pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		d.fault("certificate", "", "%s", cause(err))
		return
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		d.fault("certificate", "", "%s", cause(err))
		return
	}
	d.leaf(leaf)
}

func (d *doctor) leaf(leaf *x509.Certificate) {
	_, host := config.SplitOrigin(d.cfg.Origin())
	left := time.Until(leaf.NotAfter)
	const until, renew = "valid until %s", "renew it; the daemon reloads changed files, and on SIGHUP"
	day := leaf.NotAfter.UTC().Format(time.DateOnly)
	switch {
	case leaf.VerifyHostname(host) != nil:
		d.fault("certificate", "get a certificate for the host of public_url", "the certificate is for %s, not for %s",
			strings.Join(leaf.DNSNames, ", "), host)
	case left < 0:
		d.fault("certificate", renew, until, day)
	case left < 14*24*time.Hour:
		d.warn("certificate", renew, until, day)
	default:
		d.ok("certificate", "%s, valid until %s", host, day)
	}
}

// passkeys checks for passkeys that were created for a host other than that of public_url. Browsers no longer offer
// them.
func (d *doctor) passkeys() {
	hosts, err := d.store.PasskeyHosts(d.ctx)
	if err != nil {
		d.fault("passkeys", "", "%s", cause(err))
		return
	}
	host, _ := auth.PasskeyHost(d.cfg.Origin())
	for _, other := range slices.Sorted(maps.Keys(hosts)) {
		if other != host {
			d.warn("passkeys", "change public_url back, or ask these users to sign in with their password and add "+
				"new passkeys",
				"%d passkeys were created for %s and don't work on %s", hosts[other], other, d.cfg.Origin())
		}
	}
}
