package config

import (
	"net"
	"reflect"
	"strings"
	"time"

	"golang.org/x/crypto/acme/autocert"

	"newsletterd/core"
)

// Config holds the configuration, with one field for each section in the file. newsletterd.example.toml documents each
// key with its unit and default.
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

	// Providers holds the email providers from [providers.NAME], by name.
	Providers map[string]*Provider `toml:"-"`

	// File is the configuration file; empty: only defaults, environment and flags.
	File string `toml:"-"`
	// Searched lists the files that were searched for if File is empty.
	Searched []string `toml:"-"`
	// From maps each key that was set to its source: "file", "environment" or "flag".
	From map[string]string `toml:"-"`
	// TakeOver is the value of the flag that makes serve resume the jobs of a restored or copied database.
	TakeOver bool `toml:"-"`
}

// Server configures the listener and the public origin.
type Server struct {
	Listen         string   `toml:"listen"`          // host:port
	PublicURL      string   `toml:"public_url"`      // origin; empty: http:// + listen
	TrustedProxies []string `toml:"trusted_proxies"` // addresses and CIDR ranges
	TLSCert        string   `toml:"tls_cert"`        // PEM file
	TLSKey         string   `toml:"tls_key"`         // PEM file
	ACMEDomains    []string `toml:"acme_domains"`    // hosts to get certificates for; empty: no ACME
	ACMEEmail      string   `toml:"acme_email"`      // contact address for the certificate authority
	ACMEDirectory  string   `toml:"acme_directory"`  // directory URL of the certificate authority
	ACMEHTTP       string   `toml:"acme_http"`       // host:port of the plain HTTP listener; empty: off
	MaxConnections int      `toml:"max_connections"` // maximum number of concurrent client connections

	MaxConnectionsPerAddress int `toml:"max_connections_per_address"` // 0: no limit
}

// Database configures the database file.
type Database struct {
	Path        string `toml:"path"`
	Checkpoints string `toml:"checkpoints"` // own or external
}

// Backup configures the snapshot, a file that can be copied at any time.
type Backup struct {
	Every Duration `toml:"every"` // 0: off
	Path  string   `toml:"path"`  // empty: backup/<name> next to the database
}

// Replica configures the replica: a copy of the database that survives the loss of this machine.
type Replica struct {
	URL         string   `toml:"url"` // bucket or folder; empty: off
	TTL         Duration `toml:"ttl"` // lifetime of the lease
	Acknowledge bool     `toml:"acknowledge"`
	Keep        Duration `toml:"keep"` // how far back the database can be restored
}

// Mail configures how emails are sent.
type Mail struct {
	Transport     string   `toml:"transport"` // smtp or directory
	Console       bool     `toml:"console"`   // the mail server may be set in the console if no key sets it
	Directory     string   `toml:"directory"`
	From          string   `toml:"from"`
	BounceDomain  string   `toml:"bounce_domain"`
	PrivateRelays []string `toml:"private_relays"` // host:port of tenants' relays on non-public addresses
	DNSServer     string   `toml:"dns_server"`     // host:port; empty: the machine's name servers
	SMTP          SMTP     `toml:"smtp"`
	DKIM          DKIM     `toml:"dkim"`
}

// DKIM configures how emails are signed.
type DKIM struct {
	Enabled bool `toml:"enabled"` // sign if there is a key
}

// ServerInFile reports whether the configuration (its file, the environment or a flag) sets the mail server: a key of
// [mail.smtp] is set, or the transport is smtp.
func (c *Config) ServerInFile() bool {
	for key := range c.From {
		if strings.HasPrefix(key, "mail.smtp.") {
			return true
		}
	}
	return c.Mail.Transport == "smtp"
}

// ServerInDatabase reports whether the mail server comes from the database, where server administrators set it in the
// console. If Mail.Console is false, an existing setting stays in effect, but can only be removed.
func (c *Config) ServerInDatabase() bool { return !c.ServerInFile() }

// SMTP configures the daemon's own relay.
type SMTP struct {
	Host          string `toml:"host"`
	Port          int    `toml:"port"`
	Username      string `toml:"username"`
	Password      Secret `toml:"password"`
	TLS           string `toml:"tls"` // none, starttls or implicit
	Connections   int    `toml:"connections"`
	Pipelining    bool   `toml:"pipelining"`
	RatePerSecond int    `toml:"rate_per_second"` // 0: no limit
	MailsEach     int    `toml:"mails_per_connection"`

	PerPeriod int      `toml:"per_period"` // emails in any period; 0: no limit
	Period    Duration `toml:"period"`
	PerDay    int      `toml:"per_day"`   // 0: no limit
	DKIMSkip  []string `toml:"dkim_skip"` // header fields that the relay changes
	Provider  string   `toml:"provider"`  // email provider of the relay: auto, none, or its kind
}

// Send configures send jobs.
type Send struct {
	MaxUnrecorded  int      `toml:"max_unrecorded"`  // emails, for all connections together
	GiveUpAfter    Duration `toml:"give_up_after"`   // how long a relay may be down before its jobs fail
	KeepRecipients Duration `toml:"keep_recipients"` // retention of recipients of ended jobs
	KeepTracking   Duration `toml:"keep_tracking"`   // retention of opens and clicks of ended jobs
	DuplicateGuard Duration `toml:"duplicate_guard"` // 0: off
	DomainRates    []string `toml:"domain_rates"`    // domain=emails per second

	StopComplaints  Percent `toml:"stop_complaints"`   // share of sent emails; 0: off
	StopHardBounces Percent `toml:"stop_hard_bounces"` // share of accepted or refused emails; 0: off
	StopSample      int     `toml:"stop_sample"`       // sent emails before complaints are judged

	MemberURL    string `toml:"member_url"` // empty: this daemon is the member service
	MemberClient string `toml:"member_client"`
	MemberSecret Secret `toml:"member_secret"`
}

// Webhooks configures the events from the member service to the send service.
type Webhooks struct {
	SendURL    string `toml:"send_url"` // empty: the listener's own address
	SendClient string `toml:"send_client"`
	SendSecret Secret `toml:"send_secret"`

	SelfCheck string   `toml:"self_check"` // time of day, such as 03:00; empty: off
	Allow     []string `toml:"allow"`      // host:port of endpoints on non-public addresses
}

// Bounce configures the processing of bounce messages.
type Bounce struct {
	Listen string `toml:"listen"` // host:port for LMTP; empty: off
}

// Auth configures users and tokens.
type Auth struct {
	KeyFile          string `toml:"key_file"`
	Registration     string `toml:"registration"`      // open or closed
	RegisterExisting string `toml:"register_existing"` // same or conflict
	CommonPasswords  string `toml:"common_passwords"`  // auto, refuse or allow
	SecondFactor     string `toml:"second_factor"`     // users who must have one: off, operators, staff, all

	AccessTTL    Duration `toml:"access_ttl"`
	RefreshIdle  Duration `toml:"refresh_idle"`
	RefreshTotal Duration `toml:"refresh_total"`
	RefreshGrace Duration `toml:"refresh_grace"` // 0: every reuse counts as a replay
	RotateKeys   Duration `toml:"rotate_keys"`   // 0: never
}

// Newsletter configures subscriptions.
type Newsletter struct {
	ConfirmToken         string   `toml:"confirm_token"`          // live, receipt or trusted
	UnsubscribeTokenAuth string   `toml:"unsubscribe_token_auth"` // none or bearer
	DisableScope         string   `toml:"disable_scope"`          // global or tenant
	PendingTTL           Duration `toml:"pending_ttl"`
}

// Limits configures the limits for uploaded files and subscribe requests.
type Limits struct {
	ModelBytes         Size `toml:"model_bytes"`           // one model's file
	ModelBytesPerOwner Size `toml:"model_bytes_per_owner"` // all models of one user
	ModelBytesTotal    Size `toml:"model_bytes_total"`     // all models; 0: half of the disk
	ModelsPerOwner     int  `toml:"models_per_owner"`      // 0: no limit

	ImportBytes Size `toml:"import_bytes"` // one file of subscribers

	MediaBytes          Size `toml:"media_bytes"`            // one image
	MediaBytesPerTenant Size `toml:"media_bytes_per_tenant"` // all images of one tenant

	SubscribePerAddress int `toml:"subscribe_per_address"` // requests per hour from one client address; 0: no limit
}

// Log configures the log on standard error.
type Log struct {
	Level  string `toml:"level"`  // debug, info, warn or error
	Format string `toml:"format"` // auto, text or json
	PII    bool   `toml:"pii"`

	ClientAddresses string `toml:"client_addresses"` // none, failures or all
}

// Metrics configures the second listener, for metrics and profiles.
type Metrics struct {
	Listen string `toml:"listen"` // host:port; empty: off
	Pprof  bool   `toml:"pprof"`
}

// Default returns the configuration with all defaults.
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

// Origin returns public_url, or its default: the listener's scheme and address.
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

// HTTPS reports whether the listener itself uses HTTPS.
func (c *Config) HTTPS() bool { return c.Server.TLSCert != "" || len(c.Server.ACMEDomains) > 0 }

// SecretInFile reports whether the configuration file contains a secret.
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

// SplitOrigin returns the scheme of an origin and the host without the port.
func SplitOrigin(origin string) (scheme, host string) {
	scheme, rest, _ := strings.Cut(origin, "://")
	if h, _, err := net.SplitHostPort(rest); err == nil {
		rest = h
	}
	return scheme, strings.Trim(rest, "[]")
}
