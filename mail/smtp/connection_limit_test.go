package smtp

import (
	"errors"
	"sync"
	"testing"
	"time"

	"newsletterd/mail/mailtest"
)

// TestClientConnectionLimit checks that a relay that permits exactly one connection per session refuses none,
// regardless of how a connection ends. A session dials again only after the relay has closed the previous connection.
func TestClientConnectionLimit(t *testing.T) {
	const sessions = 3
	slow := mailtest.Script{Connections: sessions, Linger: 5 * time.Millisecond}
	stale := slow
	var used sync.Map // connections that were used for an email
	stale.On = func(e mailtest.Event) mailtest.Action {
		if e.Verb != "MAIL" {
			return mailtest.Action{}
		}
		if _, again := used.LoadOrStore(e.Conn, true); again {
			return mailtest.Action{Reply: "421 4.4.2 idle too long", Close: true}
		}
		return mailtest.Action{}
	}
	refusing := slow
	refusing.On = func(e mailtest.Event) mailtest.Action {
		if e.Verb == "MAIL" && e.N%2 == 0 {
			return mailtest.Action{Reply: "550 5.7.1 not you"}
		}
		return mailtest.Action{}
	}
	every := func(n int) func(string) bool {
		i := 0
		return func(string) bool { i++; return i%n != 0 }
	}
	for name, c := range map[string]struct {
		script mailtest.Script
		client Client
		set    func(*post)
		fault  string // stage of errors other than a refused connection
	}{
		"full":       {slow, Client{MaxMails: 2}, nil, ""},
		"full plain": {slow, Client{MaxMails: 2, NoPipelining: true}, nil, ""},
		"given up":   {slow, Client{}, func(p *post) { p.commit = every(2) }, ""},
		"stale":      {stale, Client{}, func(p *post) { p.between = func(string) {} }, ""},
		"refused":    {refusing, Client{}, nil, "MAIL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mailtest.Start(t, c.script)
			var wg sync.WaitGroup
			for range sessions {
				wg.Go(func() {
					client := c.client
					client.Addr = s.Addr()
					for range 4 { // connections left by Deliver count too
						p := &post{t: t, n: 4, sender: &client}
						if c.set != nil {
							c.set(p)
						}
						err := p.run(t.Context())
						var r *RelayError
						if errors.As(err, &r) && r.Stage == c.fault {
							err = nil
						}
						if err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			if n := s.Refused(); n > 0 {
				t.Errorf("%d of %d connections were refused", n, s.Seen("CONNECT")+n)
			}
		})
	}
}

// TestClientNeverClosed checks that the client stops waiting for a relay that answers QUIT but doesn't close the
// connection.
func TestClientNeverClosed(t *testing.T) {
	s := mailtest.Start(t, mailtest.Script{Linger: 200 * time.Millisecond})
	p := &post{t: t, n: 6, sender: &Client{Addr: s.Addr(), MaxMails: 2, Timeouts: Timeouts{Closed: time.Millisecond}}}
	checkFault(t, p.run(t.Context()), 0, "")
	if n := len(s.Messages()); n != 6 {
		t.Errorf("%d messages", n)
	}
}
