package main

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
	"newsletterd/mail/mailtest"
)

// TestRelayIsTried checks that the result of a test email contains the reply of the server that accepted or refused it.
func TestRelayIsTried(t *testing.T) {
	said := mailtest.Action{}
	server, err := mailtest.NewServer(mailtest.Script{On: func(e mailtest.Event) mailtest.Action {
		if e.Verb == "RCPT" {
			return said
		}
		return mailtest.Action{}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	host, port, _ := strings.Cut(server.Addr(), ":")
	cfg := config.Default()
	cfg.Mail.Transport, cfg.Mail.SMTP.Host, cfg.Mail.SMTP.TLS = "smtp", host, "none"
	cfg.Mail.PrivateRelays = []string{server.Addr()}
	own := &core.Relay{Host: host, TLS: "none"}
	if own.Port, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	cfg.Mail.SMTP.Port = own.Port
	try := func(r *core.Relay) core.RelayTest {
		return parts.RelayOptions(cfg).Test(t.Context(), r, core.RelayMail{
			From: "a@acme.example", To: "b@acme.example", Data: []byte("Subject: x\r\n\r\ny\r\n"),
		})
	}
	for _, r := range []*core.Relay{nil, own} {
		if got := try(r); got.Outcome != core.RelayAccepted || got.Code != 250 || got.Relay != server.Addr() {
			t.Errorf("%+v", got)
		}
	}
	if n := len(server.Messages()); n != 2 {
		t.Errorf("%d mails", n)
	}
	said = mailtest.Action{Reply: "550 5.1.1 no such mailbox"}
	if got := try(nil); got.Outcome != core.RelayRefused || got.Code != 550 ||
		!strings.Contains(got.Answer, "no such mailbox") {
		t.Errorf("%+v", got)
	}
	_ = server.Close()
	if got := try(own); got.Outcome != core.RelayConnect || got.Stage != "dial" || got.Answer == "" {
		t.Errorf("%+v", got)
	}
	cfg.Mail.PrivateRelays = nil
	if got := try(own); got.Outcome != core.RelayConnect || got.Good() {
		t.Errorf("past the guard: %+v", got)
	}
	cfg.Mail.Transport, cfg.Mail.Directory = "directory", filepath.Join(t.TempDir(), "mail")
	if got := try(nil); got.Outcome != core.RelayWritten {
		t.Errorf("%+v", got)
	}
}

// TestFirstSteps checks that serve on a terminal prints how to create the first account, until there is an operator.
func TestFirstSteps(t *testing.T) {
	d := start(t, nil)
	if got := firstSteps(t.Context(), d.cfg, d.store); !strings.Contains(got, d.cfg.Origin()+"/setup?token=") {
		t.Error(got)
	}
	if strings.Contains(d.log.String(), "/setup") {
		t.Error("the link stands in the log")
	}
	ann := d.addUser("ann@example.org")
	d.Must(d.store.GrantRole(t.Context(), ann.ID, core.Role{Role: core.RoleOperator}, false, now()))
	if got := firstSteps(t.Context(), d.cfg, d.store); got != "" {
		t.Error(got)
	}
}
