package mail

import (
	"testing"

	"newsletterd/mail/mailtest"
)

// TestProbe signs in and mails nothing.
func TestProbe(t *testing.T) {
	s := serve(t, mailtest.Script{Users: map[string]string{"anna": "sesame"}, Mechanisms: []string{"PLAIN"}})
	p := &SMTP{Addr: s.Addr(), Username: "anna", Password: "sesame"}
	if err := p.Probe(t.Context()); err != nil || len(s.Messages()) != 0 {
		t.Errorf("%v, %d messages", err, len(s.Messages()))
	}
	p.Password = "wrong"
	checkFault(t, p.Probe(t.Context()), FaultAuth, "AUTH")
}
