package core

import "strings"

// MailServer is the daemon's mail server as set by server administrators in the console, through the API or by command.
// It sends emails about accounts, and those of tenants without their own relay. The zero value means that none is set,
// so emails are saved to a folder.
type MailServer struct {
	Relay Relay `json:"relay"`
	From  Email `json:"from"` // sender of emails about accounts, and of tenants without mail_from
	// ChangedAt is when it was set.
	ChangedAt Instant `json:"changed_at" like:"readonly"`
}

// Set reports whether m contains a mail server.
func (m *MailServer) Set() bool { return m.Relay.Host != "" }

// Relays returns the server as Relays, or nil if none is set.
func (m *MailServer) Relays() Relays {
	if !m.Set() {
		return nil
	}
	return Relays{m.Relay}
}

// Check validates the values that an administrator entered, and sets defaults. was is the current server with its
// password. If no password is entered, the current one is kept, but only if host, port and user are the same and
// security isn't weaker. The error is Invalid and names the field.
func (m *MailServer) Check(was *MailServer) error {
	r := &m.Relay
	r.ID, r.HasPassword = "", r.Password != ""
	if !r.HasPassword && r.Username != "" {
		if old := was.Relay; old.HasPassword && r.sameLogin(&old) {
			r.Password, r.HasPassword = old.Password, true
		}
	}
	if err := r.check("relay"); err != nil {
		return err
	}
	from, err := ParseEmail(string(m.From))
	if err != nil {
		return Invalidf("from", "from must be an email address.")
	}
	m.From = from
	return nil
}

// sameLogin reports whether r may use old's password, because it has the same host, port and user and no weaker
// security.
func (r *Relay) sameLogin(old *Relay) bool {
	n := *r
	n.HasPassword = true
	if n.check("relay") != nil { // check sets the default port
		return false
	}
	return strings.EqualFold(n.Host, old.Host) && n.Port == old.Port && n.Username == old.Username &&
		(n.TLS == old.TLS || n.TLS != "none")
}
