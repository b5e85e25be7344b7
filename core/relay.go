package core

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// MaxRelays is the maximum number of relays per tenant.
const MaxRelays = 8

// Relay is an SMTP server that a tenant uses instead of the daemon's own. If a tenant has several, the first one that
// works is used.
type Relay struct {
	ID          string     `json:"id"`
	Name        string     `json:"name,omitempty" like:"line" max:"60" about:"Name in logs; defaults to the host"`
	Host        string     `json:"host" is:"needed" min:"1" about:"Host name or IP address"`
	Port        int        `json:"port" min:"0" max:"65535" about:"Default: 587, or 465 with implicit TLS"`
	TLS         string     `json:"tls" enum:"starttls|implicit|none" about:"starttls (default), implicit, or none"`
	Username    string     `json:"username,omitempty" max:"320" about:"Username; requires a password"`
	Password    string     `json:"password,omitempty" max:"1024" about:"Password; unchanged if left out; never shown"`
	HasPassword bool       `json:"has_password" like:"readonly" about:"Whether a password is set; read-only"`
	Connections int        `json:"connections" min:"0" max:"64" about:"Default: 4"`
	MailsEach   int        `json:"mails_per_connection" min:"0" max:"1000000" about:"Default: 1000"`
	OneByOne    bool       `json:"one_by_one" about:"Send commands one by one, even if the server offers PIPELINING"`
	DKIMSkip    Strings    `json:"dkim_skip" each:"min=1 max=60" about:"Header fields that the relay changes"`
	Limits      SendLimits `json:"limits" like:"period" about:"Limits of the sending rate; empty: none"`
}

// Label returns the relay's name for logs and statistics.
func (r *Relay) Label() string {
	if r.Name != "" {
		return r.Name
	}
	return r.Host
}

// Address returns host and port as used in URLs.
func (r *Relay) Address() string {
	host := r.Host
	if strings.Contains(host, ":") { // an IPv6 address
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(r.Port)
}

// Relays lists a tenant's relays in order of preference.
type Relays []Relay

// Column returns the value to store in the database column.
func (r Relays) Column() string { return jsonColumn(r, len(r) == 0, "[]") }

// bringsPassword reports whether any relay in a request contains a new password.
func (r Relays) bringsPassword() bool {
	return slices.ContainsFunc(r, func(r Relay) bool { return r.Password != "" })
}

// Scan implements sql.Scanner.
func (r *Relays) Scan(src any) error { return scanJSON(src, r) }

// SendLimits limits how many emails are sent per period and per day. 0 means no limit.
type SendLimits struct {
	PerSecond int `json:"per_second" min:"0" max:"1000000000" about:"Emails per second; 0: no limit"`
	// in any PeriodSeconds (a sliding window)
	PerPeriod int `json:"per_period" min:"0" max:"1000000000" about:"Emails in period_seconds; 0: no limit"`
	// 1 to 86400
	PeriodSeconds int `json:"period_seconds" min:"0" max:"86400" about:"Length of the period in seconds; required with per_period"`
	// for each UTC day, counted across restarts
	PerDay int `json:"per_day" min:"0" max:"1000000000" about:"Emails per UTC day; 0: no limit"`
}

// Column returns the value to store in the database column.
func (l SendLimits) Column() string { return jsonColumn(l, l == SendLimits{}, "{}") }

// Scan implements sql.Scanner.
func (l *SendLimits) Scan(src any) error { return scanJSON(src, l) }

const maxSendLimit = 1_000_000_000

// Check validates the limits. Its error names the invalid limit, with field as the parent.
func (l SendLimits) Check(field string) error {
	for _, limit := range [...]struct {
		name string
		n    int
	}{{"per_second", l.PerSecond}, {"per_period", l.PerPeriod}, {"per_day", l.PerDay}} {
		if limit.n < 0 || limit.n > maxSendLimit {
			return Invalidf(field+"."+limit.name, "A limit must be from 0 (no limit) to %d.", maxSendLimit)
		}
	}
	switch {
	case l.PeriodSeconds < 0 || l.PeriodSeconds > 86400 || l.PerPeriod > 0 && l.PeriodSeconds == 0:
		return Invalidf(field+".period_seconds", "per_period needs period_seconds. Set it to a value from 1 to 86400.")
	case l.PerPeriod == 0 && l.PeriodSeconds > 0:
		return Invalidf(field+".per_period", "period_seconds needs per_period. Set it to the number of emails.")
	}
	return nil
}

// change replaces the relays with those in a request. A relay with the id of an existing one keeps that id. It also
// keeps the password if user and host are the same and no new password is given. A password is never sent to a
// different server.
func (r *Relays) change(in []Relay) error {
	if len(in) > MaxRelays {
		return Invalidf("relays", "%s must be at most %d.", "relays", MaxRelays)
	}
	was, out := *r, make(Relays, len(in))
	seen := map[string]bool{}
	for i := range in {
		n := in[i]
		at := slices.IndexFunc(was, func(o Relay) bool { return o.ID == n.ID && n.ID != "" })
		if n.HasPassword = n.Password != ""; at >= 0 && n.Username != "" &&
			n.Username == was[at].Username && strings.EqualFold(n.Host, was[at].Host) {
			n.HasPassword = n.HasPassword || was[at].HasPassword
		}
		if at < 0 || seen[n.ID] {
			n.ID = NewID()
		}
		seen[n.ID] = true
		if err := n.check("relays[" + strconv.Itoa(i) + "]"); err != nil {
			return err
		}
		out[i] = n
	}
	*r = out
	return nil
}

func (r *Relay) check(field string) error {
	if err := checkText(&r.Name, field+".name", 60, false); err != nil {
		return err
	}
	host, ok := ParseDomain(r.Host)
	ip, err := netip.ParseAddr(r.Host)
	local := r.Host == "localhost" || err == nil && ip.IsLoopback()
	switch {
	case ok:
		r.Host = host
	case err != nil && !local || err == nil && ip.Zone() != "":
		return Invalidf(field+".host", "%s.host must be a host name or an IP address.", field)
	}
	if r.TLS == "" {
		r.TLS = "starttls"
	}
	if r.Port == 0 {
		r.Port = 587
		if r.TLS == "implicit" {
			r.Port = 465
		}
	}
	if r.Connections == 0 {
		r.Connections = 4
	}
	if r.MailsEach == 0 {
		r.MailsEach = 1000
	}
	switch {
	case r.Port < 1 || r.Port > 65535:
		return Invalidf(field+".port", "%s.port must be from 1 to 65535.", field)
	case r.TLS != "starttls" && r.TLS != "implicit" && r.TLS != "none":
		return Invalidf(field+".tls", "%s.tls must be starttls, implicit or none.", field)
	case r.TLS == "none" && !local:
		return Invalidf(field+".tls", "%s.tls can only be none for a relay on this machine. Use starttls "+
			"or implicit.", field)
	case r.Connections < 1 || r.Connections > 64:
		return Invalidf(field+".connections", "%s.connections must be from 1 to 64.", field)
	case r.MailsEach < 1 || r.MailsEach > 1_000_000:
		return Invalidf(field+".mails_per_connection", "%s.mails_per_connection must be from 1 to 1000000.", field)
	case (r.Username != "") != r.HasPassword:
		return Invalidf(field+".password", "%s: set both username and password, or neither.", field)
	case strings.ContainsFunc(r.Username+r.Password, func(c rune) bool { return c < ' ' || c == 0x7f }) ||
		len(r.Username) > 320 || len(r.Password) > 1024:
		return Invalidf(field+".password", "%s: username or password is too long or contains control "+
			"characters. Enter it again.", field)
	}
	for _, name := range r.DKIMSkip {
		if !isFieldName(name) {
			return Invalidf(field+".dkim_skip", "%s.dkim_skip must contain only names of header fields.", field)
		}
	}
	return r.Limits.Check(field + ".limits")
}

// isFieldName reports whether s is a valid header field name (RFC 5322 section 2.2).
func isFieldName(s string) bool {
	return s != "" && len(s) <= 60 && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c >= 0x7f ||
			c == ':'
	})
}

// TenantRelays holds a tenant's own relays, with their passwords, and its limits. If Relays is empty, emails go
// through the daemon's relay.
type TenantRelays struct {
	Relays Relays
	Limits SendLimits
}
