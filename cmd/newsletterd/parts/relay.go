package parts

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"time"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/handlers/tenants"
	"newsletterd/mail/smtp"
	"newsletterd/netguard"
)

// Timeouts for a test email. They are short because a page waits for the result.
const (
	relayTestTime = 10 * time.Second
	relayTestStep = 6 * time.Second // for one SMTP command
)

// RelayOptions returns the options for the daemon's own mail server, with the functions that send test emails.
func RelayOptions(cfg *config.Config) tenants.RelayOptions {
	o := tenants.RelayOptions{
		From: cfg.Mail.From, Kept: cfg.ServerInDatabase(), Locked: !cfg.Mail.Console,
		State: core.RelayState{
			Transport: "directory", Directory: cfg.Mail.Directory, KeyInDatabase: cfg.Auth.KeyFile == "",
		},
	}
	if c := cfg.Mail.SMTP; cfg.Mail.Transport == "smtp" {
		o.State = core.RelayState{
			Transport: "smtp", Host: c.Host, Port: c.Port, TLS: c.TLS, Username: c.Username, HasPassword: c.Username != "",
		}
	}
	if cfg.ServerInFile() {
		o.State.Source = core.RelayFile
	}
	o.Test = func(ctx context.Context, r *core.Relay, m core.RelayMail) core.RelayTest {
		sender, err := Transport(cfg)
		if r != nil {
			sender, err = TenantRelay(cfg)(r), nil
		}
		if err != nil {
			return core.RelayTest{Outcome: core.RelayDisk, Answer: err.Error()}
		}
		return tryRelay(ctx, sender, &m)
	}
	o.TestOwn = func(ctx context.Context, r *core.Relay, m core.RelayMail) core.RelayTest {
		return tryRelay(ctx, OwnRelay(cfg)(r), &m)
	}
	return o
}

// tryRelay sends a test email through a relay and returns the result.
func tryRelay(ctx context.Context, sender smtp.Sender, m *core.RelayMail) (out core.RelayTest) {
	out.Outcome = core.RelayWritten
	if client, ok := sender.(*smtp.Client); ok {
		client.Timeouts = smtp.Timeouts{
			Dial: relayTestStep, Greeting: relayTestStep, Mail: relayTestStep, Rcpt: relayTestStep, Data: relayTestStep,
			Block: relayTestStep, Dot: relayTestStep, Quit: time.Second, Closed: time.Second,
		}
		client.DrainTimeout = time.Second
		out.Outcome, out.Relay = core.RelayAccepted, client.Addr
	}
	ctx, cancel := context.WithTimeout(ctx, relayTestTime)
	defer cancel()
	began := time.Now()
	became, err := smtp.Try(ctx, sender, &smtp.Envelope{From: m.From, To: m.To, Data: m.Data})
	out.TookMS = time.Since(began).Milliseconds()
	out.Code, out.Enhanced, out.Answer = became.Code, became.Enhanced, became.Text
	fault, isRelay := errors.AsType[*smtp.RelayError](err)
	switch {
	case isRelay:
		out.Outcome, out.Stage = relayFaults[fault.Fault], fault.Stage
		if out.Code, out.Enhanced, out.Answer = fault.Code, fault.Enhanced, fault.Text; fault.Code == 0 &&
			fault.Err != nil {
			out.Answer = fault.Err.Error()
		}
	case err != nil:
		out.Outcome, out.Answer = core.RelayConnect, err.Error()
	case became.Result == smtp.Untouched || became.Result == smtp.Ambiguous:
		out.Outcome = core.RelayConnect
	case became.Result != smtp.Sent:
		out.Outcome = core.RelayRefused
	}
	return out
}

var relayFaults = map[smtp.Fault]string{
	smtp.FaultConnect: core.RelayConnect, smtp.FaultRefused: core.RelayGreeting, smtp.FaultTLS: core.RelayTLS,
	smtp.FaultAuth: core.RelayAuth, smtp.FaultProtocol: core.RelayProtocol, smtp.FaultDisk: core.RelayDisk,
}

// Transport returns the sender for emails that the configuration sets: a relay or a folder.
func Transport(cfg *config.Config) (smtp.Sender, error) {
	if cfg.Mail.Transport == "directory" {
		return smtp.NewDirectory(cfg.Mail.Directory)
	}
	c := cfg.Mail.SMTP
	return &smtp.Client{
		Addr: net.JoinHostPort(c.Host, strconv.Itoa(c.Port)), Username: c.Username, Password: c.Password.Reveal(),
		TLS: smtp.TLSMode(c.TLS), LocalName: LocalName(cfg), NoPipelining: !c.Pipelining, MaxMails: c.MailsEach,
	}, nil
}

// TenantRelay returns a function that creates senders for tenants' relays. The guard checks their addresses, because
// tenants choose them.
func TenantRelay(cfg *config.Config) func(*core.Relay) smtp.Sender {
	guard := &netguard.Guard{Allow: cfg.Mail.PrivateRelays}
	return func(r *core.Relay) smtp.Sender {
		c := client(cfg, r)
		c.Dial = guard.DialContext
		return c
	}
}

// OwnRelay returns a function that creates senders for the daemon's own mail server in the database. Its address can be
// private because a server administrator chose it.
func OwnRelay(cfg *config.Config) func(*core.Relay) smtp.Sender {
	return func(r *core.Relay) smtp.Sender { return client(cfg, r) }
}

func client(cfg *config.Config, r *core.Relay) *smtp.Client {
	return &smtp.Client{
		Addr: r.Address(), Username: r.Username, Password: r.Password, TLS: smtp.TLSMode(r.TLS),
		LocalName: LocalName(cfg), NoPipelining: r.OneByOne, MaxMails: r.MailsEach,
	}
}

// LocalName returns the host name to send in EHLO: that of public_url if other machines can look it up.
func LocalName(cfg *config.Config) string {
	_, host := config.SplitOrigin(cfg.Origin())
	if _, err := netip.ParseAddr(host); err == nil || host == "" {
		return "localhost"
	}
	return host
}
