package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/store/replica/objects"
)

// check checks each value and some combinations of values, and records a fault for each error.
func (r *loader) check() {
	c := r.cfg
	r.that("server.listen", CheckAddress(c.Server.Listen))
	r.that("server.public_url", r.origin(&c.Server.PublicURL))
	for _, p := range c.Server.TrustedProxies {
		r.that("server.trusted_proxies", addressRange(p))
	}
	r.pair("server.tls_cert", c.Server.TLSCert, "server.tls_key", c.Server.TLSKey)
	r.that("server.tls_cert", readable(c.Server.TLSCert))
	r.that("server.tls_key", readable(c.Server.TLSKey))
	r.checkACME()
	r.that("server.max_connections", between(c.Server.MaxConnections, 16, 1_000_000))
	r.that("server.max_connections_per_address", between(c.Server.MaxConnectionsPerAddress, 0, 1_000_000))
	r.that("database.path", filled(c.Database.Path))
	r.that("database.checkpoints", oneOf(c.Database.Checkpoints, "own", "external"))
	if c.Backup.Every != 0 {
		r.that("backup.every", spanBetween(c.Backup.Every, time.Minute, 30*24*time.Hour))
	}
	r.checkReplica()
	r.checkMail()
	r.checkProviders()
	r.that("send.max_unrecorded", between(c.Send.MaxUnrecorded, 1, 65536))
	r.that("send.give_up_after", spanBetween(c.Send.GiveUpAfter, time.Minute, 30*24*time.Hour))
	r.that("send.keep_recipients", spanBetween(c.Send.KeepRecipients, 24*time.Hour, 3660*24*time.Hour))
	r.that("send.keep_tracking", spanBetween(c.Send.KeepTracking, 8*24*time.Hour, 3660*24*time.Hour))
	r.that("send.duplicate_guard", spanBetween(c.Send.DuplicateGuard, 0, 30*24*time.Hour))
	r.that("send.stop_sample", between(c.Send.StopSample, 1, 1_000_000))
	_, err := c.Send.RatesOfDomains()
	r.that("send.domain_rates", err)
	r.checkRemoteServices()
	for _, a := range c.Webhooks.Allow {
		r.that("webhooks.allow", CheckAddress(a))
	}
	_, _, err = c.Webhooks.SelfCheckAt()
	r.that("webhooks.self_check", err)
	if c.Bounce.Listen != "" {
		r.that("bounce.listen", CheckAddress(c.Bounce.Listen))
		r.that("bounce.listen", differs(c.Bounce.Listen, c.Server.Listen))
	}
	r.that("auth.key_file", readable(c.Auth.KeyFile))
	r.that("auth.registration", oneOf(c.Auth.Registration, "open", "closed"))
	r.that("auth.second_factor", oneOf(c.Auth.SecondFactor, "off", "operators", "staff", "all"))
	r.that("auth.register_existing", oneOf(c.Auth.RegisterExisting, "same", "conflict"))
	r.that("auth.common_passwords", oneOf(c.Auth.CommonPasswords, "auto", "refuse", "allow"))
	r.that("auth.access_ttl", spanBetween(c.Auth.AccessTTL, time.Minute, core.MaxAccessTTL))
	r.that("auth.refresh_idle", spanBetween(c.Auth.RefreshIdle, time.Hour, 3660*24*time.Hour))
	r.that("auth.refresh_total", spanBetween(c.Auth.RefreshTotal, c.Auth.RefreshIdle.Std(), 3660*24*time.Hour))
	r.that("auth.refresh_grace", spanBetween(c.Auth.RefreshGrace, 0, time.Minute))
	if c.Auth.RotateKeys != 0 {
		r.that("auth.rotate_keys", spanBetween(c.Auth.RotateKeys, 7*24*time.Hour, 3660*24*time.Hour))
	}
	r.that("newsletter.confirm_token", oneOf(c.Newsletter.ConfirmToken, "live", "receipt", "trusted"))
	r.that("newsletter.unsubscribe_token_auth", oneOf(c.Newsletter.UnsubscribeTokenAuth, "none", "bearer"))
	r.that("newsletter.disable_scope", oneOf(c.Newsletter.DisableScope, "global", "tenant"))
	r.that("newsletter.pending_ttl", spanBetween(c.Newsletter.PendingTTL, core.ConfirmTTLDays*24*time.Hour,
		3660*24*time.Hour))
	r.that("limits.model_bytes", sizeBetween(c.Limits.ModelBytes, 1, 1<<40))
	r.that("limits.model_bytes_per_owner", sizeBetween(c.Limits.ModelBytesPerOwner, c.Limits.ModelBytes, 1<<50))
	r.that("limits.model_bytes_total", sizeBetween(c.Limits.ModelBytesTotal, 0, 1<<50))
	r.that("limits.models_per_owner", between(c.Limits.ModelsPerOwner, 0, 1_000_000))
	r.that("limits.import_bytes", sizeBetween(c.Limits.ImportBytes, 1, 1<<40))
	r.that("limits.media_bytes", sizeBetween(c.Limits.MediaBytes, 1, 16<<20)) // an image is held in memory
	r.that("limits.media_bytes_per_tenant", sizeBetween(c.Limits.MediaBytesPerTenant, c.Limits.MediaBytes, 1<<50))
	r.that("limits.subscribe_per_address", between(c.Limits.SubscribePerAddress, 0, 1_000_000))
	r.that("log.level", oneOf(c.Log.Level, "debug", "info", "warn", "error"))
	r.that("log.format", oneOf(c.Log.Format, "auto", "text", "json"))
	r.that("log.client_addresses", oneOf(c.Log.ClientAddresses, "none", "failures", "all"))
	if c.Metrics.Listen != "" {
		r.that("metrics.listen", CheckAddress(c.Metrics.Listen))
		r.that("metrics.listen", differs(c.Metrics.Listen, c.Server.Listen))
	}
}

func (r *loader) checkReplica() {
	c := &r.cfg.Replica
	r.that("replica.ttl", spanBetween(c.TTL, 3*time.Second, time.Minute))
	r.that("replica.keep", spanBetween(c.Keep, time.Hour, 366*24*time.Hour))
	if c.URL == "" {
		return
	}
	r.that("replica.url", objects.CheckURL(c.URL))
	if r.cfg.Database.Checkpoints == "external" {
		r.that("database.checkpoints", errors.New(`must be "own" if replica.url is set`))
	}
}

func (r *loader) checkACME() {
	c := &r.cfg.Server
	if len(c.ACMEDomains) == 0 {
		return
	}
	for i, d := range c.ACMEDomains {
		domain, ok := core.ParseDomain(d)
		if !ok {
			r.that("server.acme_domains", fmt.Errorf("%q is not a domain name", d))
		}
		c.ACMEDomains[i] = domain
	}
	if c.TLSCert != "" {
		r.that("server.acme_domains", fmt.Errorf("can't be combined with tls_cert. Use certificate files or ACME"))
	}
	if _, host := SplitOrigin(c.PublicURL); c.PublicURL != "" && !slices.Contains(c.ACMEDomains, host) {
		r.that("server.acme_domains", fmt.Errorf("must contain %s, the host of public_url", host))
	}
	if c.ACMEEmail != "" {
		if _, err := core.ParseEmail(c.ACMEEmail); err != nil {
			r.that("server.acme_email", fmt.Errorf("%q is not a valid email address", c.ACMEEmail))
		}
	}
	if u, err := url.Parse(c.ACMEDirectory); err != nil || u.Scheme != "https" || u.Host == "" {
		r.that("server.acme_directory", fmt.Errorf("%q is not an https URL", c.ACMEDirectory))
	}
	if c.ACMEHTTP != "" {
		r.that("server.acme_http", CheckAddress(c.ACMEHTTP))
		r.that("server.acme_http", differs(c.ACMEHTTP, c.Listen))
	}
}

// RatesOfDomains returns the maximum number of emails per second for each domain. The key * is for all other domains.
func (s *Send) RatesOfDomains() (map[string]float64, error) {
	rates := map[string]float64{}
	for _, w := range s.DomainRates {
		domain, number, _ := strings.Cut(w, "=")
		if domain = strings.TrimSpace(domain); domain != "*" {
			var ok bool
			if domain, ok = core.ParseDomain(domain); !ok {
				return nil, fmt.Errorf("%q is not of the form DOMAIN=EMAILS_PER_SECOND, for example gmail.com=20", w)
			}
		}
		rate, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || rate < 0.001 || rate > 1_000_000 {
			return nil, fmt.Errorf("%q: emails per second must be from 0.001 to 1000000", w)
		}
		rates[domain] = rate
	}
	return rates, nil
}

func (r *loader) checkMail() {
	m := r.cfg.Mail
	r.that("mail.transport", oneOf(m.Transport, "smtp", "directory"))
	r.that("mail.directory", filled(m.Directory))
	r.that("mail.from", sender(m.From))
	if m.BounceDomain != "" {
		if _, ok := core.ParseDomain(m.BounceDomain); !ok {
			r.that("mail.bounce_domain", fmt.Errorf("%q is not a domain name", m.BounceDomain))
		}
	}
	r.that("mail.smtp.host", relayHost(m.SMTP.Host))
	r.that("mail.smtp.port", between(m.SMTP.Port, 1, 65535))
	r.that("mail.smtp.provider", oneOf(m.SMTP.Provider, append([]string{"auto", "none"}, mail.MarkedProviders()...)...))
	r.that("mail.smtp.tls", oneOf(m.SMTP.TLS, "none", "starttls", "implicit"))
	r.that("mail.smtp.connections", between(m.SMTP.Connections, 1, 256))
	r.that("mail.smtp.mails_per_connection", between(m.SMTP.MailsEach, 1, 1_000_000))
	r.that("mail.smtp.rate_per_second", between(m.SMTP.RatePerSecond, 0, 1_000_000))
	r.that("mail.smtp.per_period", between(m.SMTP.PerPeriod, 0, 1_000_000_000))
	r.that("mail.smtp.period", spanBetween(m.SMTP.Period, time.Second, 24*time.Hour))
	r.that("mail.smtp.per_day", between(m.SMTP.PerDay, 0, 1_000_000_000))
	for _, addr := range m.PrivateRelays {
		r.that("mail.private_relays", CheckAddress(addr))
	}
	if m.DNSServer != "" {
		r.that("mail.dns_server", CheckAddress(m.DNSServer))
	}
	r.pair("mail.smtp.username", m.SMTP.Username, "mail.smtp.password", m.SMTP.Password.Reveal())
	if m.SMTP.Username != "" && m.SMTP.TLS == "none" && !IsLoopback(m.SMTP.Host) {
		r.that("mail.smtp.tls", fmt.Errorf(
			`"none" would send the password unencrypted to %s. Use "starttls" or "implicit"`, m.SMTP.Host))
	}
}

// that records an error for a key together with the source that set the key. It records only the first error for each
// key.
func (r *loader) that(key string, err error) {
	if err == nil || slices.ContainsFunc(r.faults, func(f Fault) bool { return f.Key == key }) {
		return
	}
	r.fault(key, r.source[key], "%s", err)
}

func (r *loader) pair(keyA, a, keyB, b string) {
	switch {
	case a != "" && b == "":
		r.that(keyB, fmt.Errorf("is missing, but %s is set", keyA))
	case a == "" && b != "":
		r.that(keyA, fmt.Errorf("is missing, but %s is set", keyB))
	}
}

// origin validates an origin, scheme://host[:port], and removes a trailing slash.
func (r *loader) origin(p *string) error {
	if *p == "" {
		return nil
	}
	s := strings.TrimSuffix(*p, "/")
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("%q is not an origin. Use a form such as https://news.example.org", *p)
	}
	if u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || strings.ContainsAny(s, "?#") {
		return fmt.Errorf("%q must consist of a scheme and a host. Remove the path, query and user", *p)
	}
	*p = u.Scheme + "://" + strings.ToLower(u.Host)
	return nil
}

// CheckAddress returns an error if s isn't host:port. The host may be empty.
func CheckAddress(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil || strings.ContainsAny(host, " /\t") {
		return fmt.Errorf("%q is not an address. Use a form such as 127.0.0.1:8080 or :8080", s)
	}
	return nil
}

func differs(a, b string) error {
	if a == b && !strings.HasSuffix(a, ":0") {
		return fmt.Errorf("%s is also server.listen. Use another port", a)
	}
	return nil
}

func addressRange(s string) error {
	if _, err := netip.ParseAddr(s); err == nil {
		return nil
	}
	if _, err := netip.ParsePrefix(s); err == nil {
		return nil
	}
	return fmt.Errorf("%q is not an IP address or a range such as 10.0.0.0/8", s)
}

func oneOf(s string, allowed ...string) error {
	if slices.Contains(allowed, s) {
		return nil
	}
	quoted := make([]string, len(allowed))
	for i, a := range allowed {
		quoted[i] = strconv.Quote(a)
	}
	return fmt.Errorf("must be %s, not %q", strings.Join(quoted, " or "), s)
}

func sizeBetween(n, low, high Size) error {
	if n < low || n > high {
		return fmt.Errorf("must be from %s to %s, not %s", low, high, n)
	}
	return nil
}

func between(n, low, high int) error {
	if n < low || n > high {
		return fmt.Errorf("must be from %d to %d, not %d", low, high, n)
	}
	return nil
}

func spanBetween(d Duration, low, high time.Duration) error {
	if d.Std() < low || d.Std() > high {
		return fmt.Errorf("must be from %s to %s, not %s", Duration(low), Duration(high), d)
	}
	return nil
}

func filled(s string) error {
	if strings.TrimSpace(s) == "" {
		return fmt.Errorf("is empty. Enter a value")
	}
	return nil
}

// relayHost validates the host name or IP address of a relay. The port is a separate setting.
func relayHost(s string) error {
	if err := filled(s); err != nil {
		return err
	}
	if _, after, found := strings.Cut(s, "://"); found {
		host, _, _ := strings.Cut(after, "/")
		return fmt.Errorf("must be a host name or an IP address, without a scheme. Did you mean %q?", host)
	}
	if host, port, err := net.SplitHostPort(s); err == nil {
		return fmt.Errorf("contains a port. Set mail.smtp.host to %q and mail.smtp.port to %s", host,
			cmp.Or(port, "587"))
	}
	if inner, found := strings.CutPrefix(s, "["); found {
		return fmt.Errorf("must be an IPv6 address without brackets. Use %q", strings.TrimSuffix(inner, "]"))
	}
	if strings.ContainsAny(s, " \t/@") {
		return fmt.Errorf("must be a host name or an IP address, not %q", s)
	}
	return nil
}

// sender validates a sender address. It also permits the default, newsletterd@localhost.
func sender(s string) error {
	if local, ok := strings.CutSuffix(s, "@localhost"); ok {
		s = local + "@localhost.localdomain"
	}
	if _, err := core.ParseEmail(s); err != nil {
		return fmt.Errorf("%q is not a valid email address", s)
	}
	return nil
}

func readable(file string) error {
	if file == "" {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	return f.Close()
}

// IsLoopback reports whether a host is localhost or a loopback address.
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}

// SelfCheckAt returns the time of day of the self-check as the duration since midnight. If the self-check is off, ok is
// false.
func (w *Webhooks) SelfCheckAt() (at time.Duration, ok bool, err error) {
	if w.SelfCheck == "" {
		return 0, false, nil
	}
	t, err := time.Parse("15:04", w.SelfCheck)
	if err != nil {
		return 0, false, fmt.Errorf("%q is not a time of day. Use a form such as 03:00", w.SelfCheck)
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, true, nil
}

// checkRemoteServices checks the keys for a send service or member service that runs in a different daemon.
func (r *loader) checkRemoteServices() {
	c := r.cfg
	r.that("webhooks.send_url", r.origin(&c.Webhooks.SendURL))
	r.pair("webhooks.send_client", c.Webhooks.SendClient, "webhooks.send_secret", c.Webhooks.SendSecret.Reveal())
	if c.Webhooks.SendClient != "" {
		r.that("webhooks.send_url", filled(c.Webhooks.SendURL))
		if _, err := auth.ParseSecret(c.Webhooks.SendSecret.Reveal()); c.Webhooks.SendSecret != "" {
			r.that("webhooks.send_secret", err)
		}
	}
	r.that("send.member_url", r.origin(&c.Send.MemberURL))
	r.pair("send.member_client", c.Send.MemberClient, "send.member_secret", c.Send.MemberSecret.Reveal())
	if (c.Send.MemberURL == "") != (c.Send.MemberClient == "") {
		r.that("send.member_url", errors.New("set member_url, member_client and member_secret together"))
	}
	if c.Send.MemberURL != "" && c.Webhooks.SendURL != "" {
		r.that("send.member_url",
			errors.New("set either send_url or member_url: a daemon is the member service or the send service, not "+
				"both"))
	}
}
