package config

import (
	"net"
	"reflect"
	"strings"
	"time"

	"golang.org/x/crypto/acme/autocert"

	"newsletterd/core"
)

// Config holds everything that an operator can set: one field for each section of the file. newsletterd.example.toml
// lists each key with its unit and default.
type Config struct {
	Server     Server     `toml:"server"`
	Database   Database   `toml:"database"`
	Backup     Backup     `toml:"backup"`
	Replica    Replica    `toml:"replica"`
	Mail       Mail       `toml:"mail"`
	Send       Send       `toml:"send"`
	Webhooks   Webhooks   `toml:"webhooks"`
	Bounce     Bounce     `toml:"bounce"`
	Auth       Auth       `toml:"auth"`
	Newsletter Newsletter `toml:"newsletter"`
	Limits     Limits     `toml:"limits"`
	Log        Log        `toml:"log"`
	Metrics    Metrics    `toml:"metrics"`

	// Providers are the mail providers [providers.NAME].
	Providers map[string]*Provider `toml:"-"`

	// File is where the configuration was read from; empty: defaults and environment alone.
	File string `toml:"-"`
	// Searched are the files that were looked for where File is empty.
	Searched []string `toml:"-"`
	// From holds where each key that was set comes from: "file", "environment" or "flag".
	From map[string]string `toml:"-"`
	// TakeOver is the flag of serve by which jobs of a restored or copied file go on.
	TakeOver bool `toml:"-"`
}

// Server is about the one listener and the origin as the world sees it.
type Server struct {
	Listen         string   `toml:"listen"`          // host:port
	PublicURL      string   `toml:"public_url"`      // origin; empty: http:// + listen
	TrustedProxies []string `toml:"trusted_proxies"` // addresses and CIDR ranges
	TLSCert        string   `toml:"tls_cert"`        // PEM file
	TLSKey         string   `toml:"tls_key"`         // PEM file
	ACMEDomains    []string `toml:"acme_domains"`    // hosts to get certificates for; empty: no ACME
	ACMEEmail      string   `toml:"acme_email"`      // told to the authority
	ACMEDirectory  string   `toml:"acme_directory"`  // of the authority
	ACMEHTTP       string   `toml:"acme_http"`       // host:port of the plain listener; empty: off
	MaxConnections int      `toml:"max_connections"` // of clients at once

	MaxConnectionsPerAddress int `toml:"max_connections_per_address"` // 0: no bound
}

// Database is about the one file.
type Database struct {
	Path        string `toml:"path"`
	Checkpoints string `toml:"checkpoints"` // own, external
}

// Backup is about the snapshot that may be copied at any moment.
type Backup struct {
	Every Duration `toml:"every"` // 0: off
	Path  string   `toml:"path"`  // empty: backup/<name> next to the database
}

// Replica is about the copy of the database that outlives this machine.
type Replica struct {
	URL         string   `toml:"url"` // of a bucket or a folder; empty: off
	TTL         Duration `toml:"ttl"` // of the lease
	Acknowledge bool     `toml:"acknowledge"`
	Keep        Duration `toml:"keep"` // for how long any past state can be restored
}

// Mail is about mails that are sent.
type Mail struct {
	Transport     string   `toml:"transport"` // smtp, directory
	Console       bool     `toml:"console"`   // the mail server may be set in the console where no key sets it
	Directory     string   `toml:"directory"`
	From          string   `toml:"from"`
	BounceDomain  string   `toml:"bounce_domain"`
	PrivateRelays []string `toml:"private_relays"` // host:port of tenants' relays that are not public
	DNSServer     string   `toml:"dns_server"`     // host:port; empty: those of the machine
	SMTP          SMTP     `toml:"smtp"`
	DKIM          DKIM     `toml:"dkim"`
}

// DKIM is about the signatures of mails.
type DKIM struct {
	Enabled bool `toml:"enabled"` // where there is a key
}

// ServerInFile reports whether the configuration (its file, the environment or a flag) sets the mail server: one of the
// keys of [mail.smtp], or the transport smtp. The transport directory alone sets none.
func (c *Config) ServerInFile() bool {
	for key := range c.From {
		if strings.HasPrefix(key, "mail.smtp.") {
			return true
		}
	}
	return c.Mail.Transport == "smtp"
}

// ServerInDatabase reports whether the mail server is the one that server administrators set in the console. With
// Mail.Console false it stays in force, and can only be removed.
func (c *Config) ServerInDatabase() bool { return !c.ServerInFile() }

// SMTP is the relay.
type SMTP struct {
	Host          string `toml:"host"`
	Port          int    `toml:"port"`
	Username      string `toml:"username"`
	Password      Secret `toml:"password"`
	TLS           string `toml:"tls"` // none, starttls, implicit
	Connections   int    `toml:"connections"`
	Pipelining    bool   `toml:"pipelining"`
	RatePerSecond int    `toml:"rate_per_second"` // 0: no limit
	MailsEach     int    `toml:"mails_per_connection"`

	PerPeriod int      `toml:"per_period"` // mails in any period; 0: no limit
	Period    Duration `toml:"period"`
	PerDay    int      `toml:"per_day"`   // 0: no limit
	DKIMSkip  []string `toml:"dkim_skip"` // header fields that the relay changes
	Provider  string   `toml:"provider"`  // behind the relay: auto, none, or its kind
}

// Send is about send jobs.
type Send struct {
	MaxUnrecorded  int      `toml:"max_unrecorded"`  // mails, over all connections
	GiveUpAfter    Duration `toml:"give_up_after"`   // of a relay that stays down
	KeepRecipients Duration `toml:"keep_recipients"` // of jobs that have ended
	KeepTracking   Duration `toml:"keep_tracking"`   // when mails were opened and links followed, of jobs that have ended
	DuplicateGuard Duration `toml:"duplicate_guard"` // 0: off
	DomainRates    []string `toml:"domain_rates"`    // domain=mails a second

	StopComplaints  Percent `toml:"stop_complaints"`   // of the sent mails; 0: off
	StopHardBounces Percent `toml:"stop_hard_bounces"` // of the mails taken or refused; 0: off
	StopSample      int     `toml:"stop_sample"`       // mails

	MemberURL    string `toml:"member_url"` // empty: this daemon is the member service
	MemberClient string `toml:"member_client"`
	MemberSecret Secret `toml:"member_secret"`
}

// Webhooks is about the events that go from the member side to the send side.
type Webhooks struct {
	SendURL    string `toml:"send_url"` // empty: the listener's own address
	SendClient string `toml:"send_client"`
	SendSecret Secret `toml:"send_secret"`

	SelfCheck string   `toml:"self_check"` // time of the day, as 03:00; empty: off
	Allow     []string `toml:"allow"`      // host:port of endpoints that are not public
}

// Bounce is about mails that come back.
type Bounce struct {
	Listen string `toml:"listen"` // host:port for LMTP; empty: off
}

// Auth is about users and tokens.
type Auth struct {
	KeyFile          string `toml:"key_file"`
	Registration     string `toml:"registration"`      // open, closed
	RegisterExisting string `toml:"register_existing"` // same, conflict
	CommonPasswords  string `toml:"common_passwords"`  // auto, refuse, allow
	SecondFactor     string `toml:"second_factor"`     // who must have one: off, operators, staff, all

	AccessTTL    Duration `toml:"access_ttl"`
	RefreshIdle  Duration `toml:"refresh_idle"`
	RefreshTotal Duration `toml:"refresh_total"`
	RefreshGrace Duration `toml:"refresh_grace"` // 0: strict
	RotateKeys   Duration `toml:"rotate_keys"`   // 0: never
}

// Newsletter is about subscriptions.
type Newsletter struct {
	ConfirmToken         string   `toml:"confirm_token"`          // live, receipt, trusted
	UnsubscribeTokenAuth string   `toml:"unsubscribe_token_auth"` // none, bearer
	DisableScope         string   `toml:"disable_scope"`          // global, tenant
	PendingTTL           Duration `toml:"pending_ttl"`
}

// Limits is about what users may bring.
type Limits struct {
	ModelBytes         Size `toml:"model_bytes"`           // of one model's file
	ModelBytesPerOwner Size `toml:"model_bytes_per_owner"` // of all models of one user
	ModelBytesTotal    Size `toml:"model_bytes_total"`     // of all models; 0 = half of the disk
	ModelsPerOwner     int  `toml:"models_per_owner"`      // 0 = none

	ImportBytes Size `toml:"import_bytes"` // of one file of subscribers

	MediaBytes          Size `toml:"media_bytes"`            // of one picture
	MediaBytesPerTenant Size `toml:"media_bytes_per_tenant"` // of all pictures of one tenant

	SubscribePerAddress int `toml:"subscribe_per_address"` // requests an hour of one address of origin; 0: any number
}

// Log is about the lines on standard error.
type Log struct {
	Level  string `toml:"level"`  // debug, info, warn, error
	Format string `toml:"format"` // auto, text, json
	PII    bool   `toml:"pii"`

	ClientAddresses string `toml:"client_addresses"` // none, failures, all
}

// Metrics is about the second, local listener.
type Metrics struct {
	Listen string `toml:"listen"` // host:port; empty: off
	Pprof  bool   `toml:"pprof"`
}

// Default returns the configuration that runs without a file, variable or flag.
func Default() *Config {
	return &Config{
		Server: Server{
			Listen: "127.0.0.1:8080", TrustedProxies: []string{},
			ACMEDomains: []string{}, ACMEDirectory: autocert.DefaultACMEDirectory, ACMEHTTP: ":80",
			MaxConnections: 16384, MaxConnectionsPerAddress: 1024,
		},
		Database: Database{Path: "./newsletterd.db", Checkpoints: "own"},
		Backup:   Backup{Every: Duration(time.Hour)},
		Replica:  Replica{TTL: Duration(10 * time.Second), Acknowledge: true, Keep: Duration(72 * time.Hour)},
		Mail: Mail{
			Transport: "directory", Console: true, Directory: "./mail", From: "newsletterd@localhost",
			SMTP: SMTP{
				Host: "localhost", Port: 587, TLS: "starttls", Connections: 16, Pipelining: true, MailsEach: 1000,
				Provider: "auto", Period: Duration(time.Hour), DKIMSkip: []string{},
			},
			PrivateRelays: []string{},
			DKIM:          DKIM{Enabled: true},
		},
		Send: Send{
			MaxUnrecorded: 64, GiveUpAfter: Duration(48 * time.Hour), KeepRecipients: Duration(400 * 24 * time.Hour),
			KeepTracking: Duration(400 * 24 * time.Hour),
			DomainRates:  []string{}, StopComplaints: 0.3, StopHardBounces: 5, StopSample: 1000,
		},
		Webhooks: Webhooks{SelfCheck: "03:00", Allow: []string{}},
		Auth: Auth{
			Registration: "open", RegisterExisting: "same", CommonPasswords: "auto", SecondFactor: "off",
			AccessTTL: Duration(15 * time.Minute), RefreshIdle: Duration(30 * 24 * time.Hour),
			RefreshTotal: Duration(180 * 24 * time.Hour), RefreshGrace: Duration(10 * time.Second),
			RotateKeys: Duration(90 * 24 * time.Hour),
		},
		Newsletter: Newsletter{
			ConfirmToken: "live", UnsubscribeTokenAuth: "none", DisableScope: "global",
			PendingTTL: Duration(30 * 24 * time.Hour),
		},
		Limits: Limits{
			ImportBytes: core.DefaultImportBytes,
			MediaBytes:  core.DefaultMediaBytes, MediaBytesPerTenant: core.DefaultMediaBytesPerTenant,
			ModelBytes: core.DefaultModelBytes, ModelBytesPerOwner: core.DefaultModelBytesPerOwner,
			ModelsPerOwner: core.DefaultModelsPerOwner, SubscribePerAddress: 60,
		},
		Log:     Log{Level: "info", Format: "auto", ClientAddresses: "failures"},
		Metrics: Metrics{Listen: "127.0.0.1:8081"},
		From:    map[string]string{},
	}
}

// Origin returns public_url, or its default: the scheme and address of the listener.
func (c *Config) Origin() string {
	if c.Server.PublicURL != "" {
		return c.Server.PublicURL
	}
	scheme := "http://"
	if c.HTTPS() {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(c.Server.Listen)
	if domains := c.Server.ACMEDomains; err == nil && len(domains) > 0 {
		if port == "443" {
			return scheme + domains[0]
		}
		return scheme + net.JoinHostPort(domains[0], port)
	}
	if ip := net.ParseIP(host); err == nil && (host == "" || ip.IsUnspecified()) {
		return scheme + net.JoinHostPort("localhost", port)
	}
	return scheme + c.Server.Listen
}

// HTTPS reports whether the listener itself speaks https.
func (c *Config) HTTPS() bool { return c.Server.TLSCert != "" || len(c.Server.ACMEDomains) > 0 }

// SecretInFile reports whether the configuration file sets a secret.
func (c *Config) SecretInFile() bool {
	found := false
	walk(reflect.ValueOf(c).Elem(), "", func(path string, v reflect.Value) {
		s, is := v.Interface().(Secret)
		found = found || is && s != "" && c.From[path] == "file"
	})
	for name := range c.Providers {
		path := providersSection + "." + name + ".secret"
		found = found || c.From[path] == "file" || c.From[path+"s"] == "file"
	}
	return found
}

// SplitOrigin returns the scheme and the host of an origin, without the port.
func SplitOrigin(origin string) (scheme, host string) {
	scheme, rest, _ := strings.Cut(origin, "://")
	if h, _, err := net.SplitHostPort(rest); err == nil {
		rest = h
	}
	return scheme, strings.Trim(rest, "[]")
}
