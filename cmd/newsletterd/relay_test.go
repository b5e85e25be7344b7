package main

import (
	"context"
	"errors"
	"net"
	"strconv"
	"testing"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
	"newsletterd/mail/mailtest"
	"newsletterd/mail/smtp"
	"newsletterd/netguard"
)

// TestTenantsRelaysPassTheGuard checks that a tenant's relay must be on the public internet, or on an address that the
// operator of the daemon allows, because the operator has not chosen it.
func TestTenantsRelaysPassTheGuard(t *testing.T) {
	server, err := mailtest.NewServer(mailtest.Script{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	number, _ := strconv.Atoi(port)
	cfg := config.Default()
	for _, tt := range []struct {
		private []string
		host    string
		taken   int
	}{
		{nil, "127.0.0.1", 0},
		{nil, "localhost", 0},
		{[]string{"127.0.0.1:1"}, "127.0.0.1", 0},
		{[]string{"127.0.0.1:" + port}, "localhost", 0},
		{[]string{"127.0.0.1:" + port}, "127.0.0.1", 1},
	} {
		cfg.Mail.PrivateRelays = tt.private
		todo, outcome := 1, smtp.Outcome{}
		err := parts.TenantRelay(cfg)(&core.Relay{Host: tt.host, Port: number, TLS: "none"}).Deliver(t.Context(),
			&smtp.Source{
				Next: func(context.Context, bool) (*smtp.Envelope, bool) {
					todo--
					return &smtp.Envelope{From: "a@example.org", To: "b@example.org", Data: []byte("Subject: x\r\n\r\n")},
						todo == 0
				},
				Commit: func(*smtp.Envelope, bool) bool { return true },
				Done:   func(_ *smtp.Envelope, o smtp.Outcome) { outcome = o },
			})
		if len(server.Messages()) != tt.taken || (tt.taken == 0) != errors.Is(err, netguard.ErrNotPublic) ||
			(tt.taken == 1) != (outcome.Result == smtp.Sent) {
			t.Errorf("%v %s: %d taken, %v, %v", tt.private, tt.host, len(server.Messages()), outcome.Result, err)
		}
	}
}
