package main

import (
	"net"
	"strings"
	"time"

	"newsletterd/core"
)

// Config is everything that an operator can set: one struct, one section a field. Each key stands in
// newsletterd.example.toml with its unit and default; environment variables are NEWSLETTERD_<SECTION>_<KEY>.
type Config struct {
	Server     ServerConfig     `toml:"server"`
	Database   DatabaseConfig   `toml:"database"`
	Backup     BackupConfig     `toml:"backup"`
	Mail       MailConfig       `toml:"mail"`
	Send       SendConfig       `toml:"send"`
	Webhooks   WebhooksConfig   `toml:"webhooks"`
	Bounce     BounceConfig     `toml:"bounce"`
	Auth       AuthConfig       `toml:"auth"`
	Newsletter NewsletterConfig `toml:"newsletter"`
	Limits     LimitsConfig     `toml:"limits"`
	Log        LogConfig        `toml:"log"`
	Metrics    MetricsConfig    `toml:"metrics"`

	// Providers are the mail providers [providers.NAME].
	Providers map[string]*ProviderConfig `toml:"-"`

	// File is where the configuration was read from; empty: defaults and environment alone.
	File string `toml:"-"`
	// From tells for each key that was set who set it: "file", "environment" or "flag".
	From map[string]string `toml:"-"`
}

// ServerConfig is about the one listener and the origin as the world sees it.
type ServerConfig struct {
	Listen         string   `toml:"listen"`          // host:port
	PublicURL      string   `toml:"public_url"`      // origin; empty: http:// + listen
	TrustedProxies []string `toml:"trusted_proxies"` // addresses and CIDR ranges
	TLSCert        string   `toml:"tls_cert"`        // PEM file
	TLSKey         string   `toml:"tls_key"`         // PEM file
}

// DatabaseConfig is about the one file.
type DatabaseConfig struct {
	Path        string `toml:"path"`
	Checkpoints string `toml:"checkpoints"` // own, external
}

// BackupConfig is about the snapshot that may be copied at any moment.
type BackupConfig struct {
	Every Duration `toml:"every"` // 0: off
	Path  string   `toml:"path"`  // empty: backup/<name> beside the database
}

// MailConfig is about mails on their way out.
type MailConfig struct {
	Transport    string     `toml:"transport"` // smtp, directory
	Directory    string     `toml:"directory"`
	From         string     `toml:"from"`
	BounceDomain string     `toml:"bounce_domain"`
	SMTP         SMTPConfig `toml:"smtp"`
}

// SMTPConfig is the relay.
type SMTPConfig struct {
	Host          string `toml:"host"`
	Port          int    `toml:"port"`
	Username      string `toml:"username"`
	Password      Secret `toml:"password"`
	TLS           string `toml:"tls"` // none, starttls, implicit
	Connections   int    `toml:"connections"`
	Pipelining    bool   `toml:"pipelining"`
	RatePerSecond int    `toml:"rate_per_second"` // 0: no limit
}

// SendConfig is about send jobs.
type SendConfig struct {
	MaxUnrecorded  int      `toml:"max_unrecorded"`  // mails, over all connections
	GiveUpAfter    Duration `toml:"give_up_after"`   // of a relay that stays down
	KeepRecipients Duration `toml:"keep_recipients"` // of jobs that have ended
	DuplicateGuard Duration `toml:"duplicate_guard"` // 0: off
}

// WebhooksConfig is about the events that go from the member side to the send side.
type WebhooksConfig struct {
	SendURL string `toml:"send_url"` // empty: the listener's own address
}

// BounceConfig is about mails that come back.
type BounceConfig struct {
	Listen string `toml:"listen"` // host:port for LMTP; empty: off
}

// AuthConfig is about users and tokens.
type AuthConfig struct {
	KeyFile          string `toml:"key_file"`
	Registration     string `toml:"registration"`      // open, closed
	RegisterExisting string `toml:"register_existing"` // same, conflict
	CommonPasswords  string `toml:"common_passwords"`  // auto, refuse, allow

	AccessTTL    Duration `toml:"access_ttl"`
	RefreshIdle  Duration `toml:"refresh_idle"`
	RefreshTotal Duration `toml:"refresh_total"`
	RefreshGrace Duration `toml:"refresh_grace"` // 0: strict
	RotateKeys   Duration `toml:"rotate_keys"`   // 0: never
}

// NewsletterConfig is about subscriptions.
type NewsletterConfig struct {
	ConfirmToken         string   `toml:"confirm_token"`          // live, receipt, trusted
	UnsubscribeTokenAuth string   `toml:"unsubscribe_token_auth"` // none, bearer
	DisableScope         string   `toml:"disable_scope"`          // global, tenant
	PendingTTL           Duration `toml:"pending_ttl"`
}

// LimitsConfig is about what users may bring.
type LimitsConfig struct {
	ModelBytes         Size `toml:"model_bytes"`           // of one model's file
	ModelBytesPerOwner Size `toml:"model_bytes_per_owner"` // of all models of one user
}

// LogConfig is about the lines on standard error.
type LogConfig struct {
	Level  string `toml:"level"`  // debug, info, warn, error
	Format string `toml:"format"` // auto, text, json
	PII    bool   `toml:"pii"`
}

// MetricsConfig is about the second, local listener.
type MetricsConfig struct {
	Listen string `toml:"listen"` // host:port; empty: off
	Pprof  bool   `toml:"pprof"`
}

// DefaultConfig is what runs without a file, variable or flag.
func DefaultConfig() *Config {
	return &Config{
		Server:   ServerConfig{Listen: "127.0.0.1:8080", TrustedProxies: []string{}},
		Database: DatabaseConfig{Path: "./newsletterd.db", Checkpoints: "own"},
		Backup:   BackupConfig{Every: Duration(time.Hour)},
		Mail: MailConfig{
			Transport: "directory", Directory: "./mail", From: "newsletterd@localhost",
			SMTP: SMTPConfig{Host: "localhost", Port: 587, TLS: "starttls", Connections: 16, Pipelining: true},
		},
		Send: SendConfig{
			MaxUnrecorded: 64, GiveUpAfter: Duration(48 * time.Hour), KeepRecipients: Duration(400 * 24 * time.Hour),
		},
		Webhooks: WebhooksConfig{},
		Auth: AuthConfig{
			Registration: "open", RegisterExisting: "same", CommonPasswords: "auto",
			AccessTTL: Duration(15 * time.Minute), RefreshIdle: Duration(30 * 24 * time.Hour),
			RefreshTotal: Duration(180 * 24 * time.Hour), RefreshGrace: Duration(10 * time.Second), RotateKeys: Duration(90 * 24 * time.Hour),
		},
		Newsletter: NewsletterConfig{
			ConfirmToken: "live", UnsubscribeTokenAuth: "none", DisableScope: "global",
			PendingTTL: Duration(30 * 24 * time.Hour),
		},
		Limits:  LimitsConfig{ModelBytes: core.DefaultModelBytes, ModelBytesPerOwner: core.DefaultModelBytesPerOwner},
		Log:     LogConfig{Level: "info", Format: "auto"},
		Metrics: MetricsConfig{Listen: "127.0.0.1:8081"},
		From:    map[string]string{},
	}
}

// Origin is public_url, or its default: the scheme and address of the listener.
func (c *Config) Origin() string {
	if c.Server.PublicURL != "" {
		return c.Server.PublicURL
	}
	scheme := "http://"
	if c.Server.TLSCert != "" {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(c.Server.Listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip.IsUnspecified()) {
		return scheme + net.JoinHostPort("localhost", port)
	}
	return scheme + c.Server.Listen
}

// splitOrigin takes an origin apart into scheme and host, without the port.
func splitOrigin(origin string) (scheme, host string) {
	scheme, rest, _ := strings.Cut(origin, "://")
	if h, _, err := net.SplitHostPort(rest); err == nil {
		rest = h
	}
	return scheme, strings.Trim(rest, "[]")
}
