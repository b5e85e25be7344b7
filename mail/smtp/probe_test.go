package smtp

import (
	"testing"

	"newsletterd/mail/mailtest"
)

// TestProbe checks that a probe authenticates and sends no email.
func TestProbe(t *testing.T) {
	s := mailtest.Start(t, mailtest.Script{Users: map[string]string{"anna": "sesame"}, Mechanisms: []string{"PLAIN"}})
	p := &Client{Addr: s.Addr(), Username: "anna", Password: "sesame"}
	if err := p.Probe(t.Context()); err != nil || len(s.Messages()) != 0 {
		t.Errorf("%v, %d messages", err, len(s.Messages()))
	}
	p.Password = "wrong"
	checkFault(t, p.Probe(t.Context()), FaultAuth, "AUTH")
}
