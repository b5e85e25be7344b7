package main

import (
	"context"
	"errors"
	"time"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/handlers/tenants"
	"newsletterd/mail/smtp"
)

// Times of a test mail: a page waits for it.
const (
	relayTestTime = 10 * time.Second
	relayTestStep = 6 * time.Second // of a command
)

// relayOptions is how mails leave, and how that is tried.
func relayOptions(cfg *config.Config) tenants.RelayOptions {
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
		sender, err := transport(cfg)
		if r != nil {
			sender, err = tenantRelay(cfg)(r), nil
		}
		if err != nil {
			return core.RelayTest{Outcome: core.RelayDisk, Answer: err.Error()}
		}
		return tryRelay(ctx, sender, &m)
	}
	o.TestOwn = func(ctx context.Context, r *core.Relay, m core.RelayMail) core.RelayTest {
		return tryRelay(ctx, ownRelay(cfg)(r), &m)
	}
	return o
}

// tryRelay sends a mail by a relay.
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
