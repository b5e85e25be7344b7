package smtp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"newsletterd/mail/mailtest"
)

// post sends numbered envelopes with one Deliver and records their outcomes.
type post struct {
	t        *testing.T
	sender   Sender
	n        int
	commit   func(to string) bool
	ahead    func(context.Context)
	between  func(to string) // before each Next that may wait
	order    []string
	outcomes map[string][]Outcome
}

func to(i int) string { return fmt.Sprintf("r%d@example.org", i) }

func (p *post) run(ctx context.Context) error {
	p.t.Helper()
	p.outcomes = map[string][]Outcome{}
	i := 0
	err := p.sender.Deliver(ctx, &Source{
		Next: func(_ context.Context, wait bool) (*Envelope, bool) {
			if i == p.n {
				return nil, false
			}
			if p.between != nil {
				if !wait {
					return nil, false
				}
				p.between(to(i + 1))
			}
			i++
			body := fmt.Sprintf("Subject: %d\r\nMessage-ID: <id%d@x.example>\r\n\r\n.dot\r\n..two\r\nend\r\n", i, i)
			return &Envelope{From: "b@bounce.example", To: to(i), Data: []byte(body)}, true
		},
		Ahead:  p.ahead,
		Commit: func(e *Envelope, _ bool) bool { return p.commit == nil || p.commit(e.To) },
		Done: func(e *Envelope, o Outcome) {
			p.order = append(p.order, e.To)
			p.outcomes[e.To] = append(p.outcomes[e.To], o)
		},
	})
	for to, o := range p.outcomes {
		if len(o) != 1 {
			p.t.Errorf("%s got %d outcomes", to, len(o))
		}
	}
	if len(p.outcomes) != i {
		p.t.Errorf("%d envelopes handed out, %d outcomes", i, len(p.outcomes))
	}
	return err
}

// TestClientOutcomes sends three emails to a server that misbehaves at the second one, with and without pipelining.
// deep and plain hold the three results: 'u' untouched, 'L' lost, 'l' later, 'n' never, 'h' hard bounce, 's' sent, 'a'
// ambiguous, '-' not handed out.
func TestClientOutcomes(t *testing.T) {
	reply := func(s string) mailtest.Action { return mailtest.Action{Reply: s} }
	cut := mailtest.Action{Close: true}
	cases := []struct {
		name        string
		on          func(mailtest.Event) mailtest.Action
		deep, plain string
		fault       Fault
		stage       string // empty: no error
	}{
		{"well-behaved", nil, "sss", "sss", 0, ""},
		{"RCPT 450", mailtest.At("RCPT", 2, reply("450 4.2.0 later")), "sls", "sls", 0, ""},
		{"RCPT 452 full", mailtest.At("RCPT", 2, reply("452 4.2.2 full")), "sls", "sls", 0, ""},
		{"RCPT 552 5.2.2 full", mailtest.At("RCPT", 2, reply("552 5.2.2 full")), "sls", "sls", 0, ""},
		{"RCPT bare 552", mailtest.At("RCPT", 2, reply("552 too many")), "sls", "sls", 0, ""},
		{"RCPT 550 5.1.1", mailtest.At("RCPT", 2, reply("550 5.1.1 no such user")), "shs", "shs", 0, ""},
		{"RCPT 553 5.1.3", mailtest.At("RCPT", 2, reply("553 5.1.3 bad syntax")), "shs", "shs", 0, ""},
		{"RCPT 556 5.1.10", mailtest.At("RCPT", 2, reply("556 5.1.10 null MX")), "shs", "shs", 0, ""},
		{"RCPT 550 without code", mailtest.At("RCPT", 2, reply("550 no")), "sns", "sns", 0, ""},
		{"RCPT 550 5.7.1", mailtest.At("RCPT", 2, reply("550 5.7.1 policy")), "sns", "sns", 0, ""},
		{"RCPT 450 5.1.1 classes differ", mailtest.At("RCPT", 2, reply("450 5.1.1 odd")), "sls", "sls", 0, ""},
		{"RCPT 550 4.1.1 classes differ", mailtest.At("RCPT", 2, reply("550 4.1.1 odd")), "sns", "sns", 0, ""},
		{"RCPT 550 in lines", mailtest.At("RCPT", 2, reply("550 5.1.1 no\n550 5.1.1 really")), "shs", "shs", 0, ""},
		{"DATA 451", mailtest.At("DATA", 2, reply("451 4.3.0 later")), "sls", "sls", 0, ""},
		{"DATA 554", mailtest.At("DATA", 2, reply("554 5.7.1 no")), "sns", "sns", 0, ""},
		{"DATA 250", mailtest.At("DATA", 2, reply("250 huh")), "su-", "su-", FaultProtocol, "DATA"},
		{"dot 451", mailtest.At("DOT", 2, reply("451 4.7.1 greylisted")), "sls", "sls", 0, ""},
		{"dot 554 5.6.0", mailtest.At("DOT", 2, reply("554 5.6.0 content")), "sns", "sns", 0, ""},
		{"dot 550 5.2.1", mailtest.At("DOT", 2, reply("550 5.2.1 disabled")), "shs", "shs", 0, ""},
		{"greeting 554", mailtest.At("CONNECT", 0, reply("554 5.7.1 go away")), "u--", "u--", FaultRefused, "greeting"},
		{"greeting 421", mailtest.At("CONNECT", 0, reply("421 4.3.2 busy")), "u--", "u--", FaultRefused, "greeting"},
		{"no greeting", mailtest.At("CONNECT", 0, cut), "u--", "u--", FaultConnect, "greeting"},
		{"EHLO 421", mailtest.At("EHLO", 0, reply("421 no")), "u--", "u--", FaultRefused, "EHLO"},
		{"EHLO unknown", mailtest.At("EHLO", 0, reply("502 5.5.1 what?")), "sss", "sss", 0, ""},
		{"MAIL 451", mailtest.At("MAIL", 2, reply("451 4.3.0 wait")), "su-", "su-", FaultRefused, "MAIL"},
		{"MAIL 550", mailtest.At("MAIL", 2, reply("550 5.7.1 sender")), "su-", "su-", FaultRefused, "MAIL"},
		{"MAIL 530", mailtest.At("MAIL", 2, reply("530 5.7.0 authenticate")), "su-", "su-", FaultAuth, "MAIL"},
		{"MAIL cut", mailtest.At("MAIL", 2, cut), "sL-", "sL-", FaultConnect, "MAIL"},
		{"RCPT cut", mailtest.At("RCPT", 2, cut), "sL-", "sL-", FaultConnect, "RCPT"},
		{
			"RCPT 421", mailtest.At("RCPT", 2, mailtest.Action{Reply: "421 4.7.0 enough", Close: true}), "sL-", "sL-",
			FaultRefused,
			"RCPT",
		},
		{"RCPT 535 5.7.8", mailtest.At("RCPT", 2, reply("535 5.7.8 credentials")), "su-", "su-", FaultAuth, "RCPT"},
		{"DATA cut", mailtest.At("DATA", 2, cut), "sL-", "sL-", FaultConnect, "DATA"},
		{"DATA 421", mailtest.At("DATA", 2, reply("421 bye")), "sL-", "sL-", FaultRefused, "DATA"},
		{"dot cut", mailtest.At("DOT", 2, cut), "sau", "sa-", FaultConnect, "dot"},
		{"dot 421", mailtest.At("DOT", 2, reply("421 4.3.2 shutting down")), "sLu", "sL-", FaultRefused, "dot"},
		{"dot nonsense", mailtest.At("DOT", 2, reply("hello")), "sau", "sa-", FaultConnect, "dot"},
		{"MAIL nonsense", mailtest.At("MAIL", 2, reply("25 what")), "sL-", "sL-", FaultProtocol, "MAIL"},
	}
	for _, c := range cases {
		for mode, want := range map[string]string{"deep": c.deep, "plain": c.plain, "no extension": c.plain} {
			t.Run(c.name+"/"+mode, func(t *testing.T) {
				s := mailtest.Start(t, mailtest.Script{On: c.on, NoPipelining: mode == "no extension"})
				p := &post{t: t, n: 3, sender: &Client{Addr: s.Addr(), NoPipelining: mode == "plain"}}
				checkFault(t, p.run(t.Context()), c.fault, c.stage)
				if c.name == "EHLO unknown" {
					want = c.plain
				}
				got := ""
				for i := 1; i <= 3; i++ {
					got += letter(p.outcomes[to(i)])
				}
				if got != want {
					t.Errorf("outcomes %q, want %q: %v", got, want, p.outcomes)
				}
				taken := 0
				for _, m := range s.Messages() {
					taken++
					if string(m.Data) != fmt.Sprintf("Subject: %[1]c\r\nMessage-ID: <id%[1]c@x.example>\r\n\r\n.dot\r\n..two\r\n"+
						"end\r\n", m.To[1]) {
						t.Errorf("%s got %q", m.To, m.Data)
					}
				}
				if n := strings.Count(want, "s"); taken < n {
					t.Errorf("the server took %d, sent says %d", taken, n)
				}
			})
		}
	}
}

func letter(o []Outcome) string {
	if len(o) == 0 {
		return "-"
	}
	switch o := o[0]; {
	case o.Lost:
		return "L"
	case o.HardBounce:
		return "h"
	default:
		return o.Result.String()[:1]
	}
}

func checkFault(t *testing.T, err error, fault Fault, stage string) {
	t.Helper()
	var r *RelayError
	switch {
	case stage == "" && err != nil:
		t.Errorf("error %v", err)
	case stage != "" && !errors.As(err, &r):
		t.Errorf("error %v, want a RelayError at %s", err, stage)
	case stage != "" && (r.Fault != fault || r.Stage != stage):
		t.Errorf("fault %v at %s (%v), want %v at %s", r.Fault, r.Stage, err, fault, stage)
	}
}

// TestClientPipelining checks that the end of one message and the commands of the next share a write, and that at most
// one dot is unanswered.
func TestClientPipelining(t *testing.T) {
	var mu sync.Mutex
	var events []string
	s := mailtest.Start(t, mailtest.Script{On: func(e mailtest.Event) mailtest.Action {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, e.Verb)
		return mailtest.Action{}
	}})
	p := &post{t: t, n: 3, sender: &Client{Addr: s.Addr()}}
	p.commit = func(string) bool {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, "commit")
		return true
	}
	checkFault(t, p.run(t.Context()), 0, "")
	got := strings.Join(events, " ")
	want := "CONNECT EHLO MAIL RCPT DATA commit CONTENT DOT MAIL RCPT DATA commit CONTENT DOT MAIL RCPT DATA commit " +
		"CONTENT DOT QUIT"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestClientAhead checks that Ahead is called while the reply to a final dot is pending.
func TestClientAhead(t *testing.T) {
	made := make(chan bool)
	s := mailtest.Start(t, mailtest.Script{On: func(e mailtest.Event) mailtest.Action {
		if e.Verb == "DOT" {
			<-made
		}
		return mailtest.Action{}
	}})
	n := 0
	client := &Client{Addr: s.Addr(), Timeouts: Timeouts{Dot: 10 * time.Second}}
	p := &post{t: t, n: 3, sender: client, ahead: func(context.Context) { n++; made <- true }}
	checkFault(t, p.run(t.Context()), 0, "")
	if n != 3 || len(s.Messages()) != 3 {
		t.Errorf("%d times for %d mails", n, len(s.Messages()))
	}
}

// TestClientLoneDot checks that a dot is sent if RCPT was refused but DATA is answered with 354, and that no message is
// delivered.
func TestClientLoneDot(t *testing.T) {
	s := mailtest.Start(t, mailtest.Script{On: func(e mailtest.Event) mailtest.Action {
		switch {
		case e.Verb == "RCPT" && e.N == 2:
			return mailtest.Action{Reply: "550 5.1.1 no"}
		case e.Verb == "DATA" && e.N == 2:
			return mailtest.Action{Reply: "354 whatever"}
		}
		return mailtest.Action{}
	}})
	p := &post{t: t, n: 3, sender: &Client{Addr: s.Addr()}}
	checkFault(t, p.run(t.Context()), 0, "")
	if n := len(s.Messages()); n != 2 || s.Seen("CONTENT") != 2 || s.Seen("DOT") != 3 || s.Seen("RSET") != 0 {
		t.Errorf("%d messages, %d contents, %d dots, %d RSETs", n, s.Seen("CONTENT"), s.Seen("DOT"), s.Seen("RSET"))
	}
	if o := p.outcomes[to(2)][0]; !o.HardBounce {
		t.Errorf("outcome %+v", o)
	}
}

// TestClientCommitRefused checks that dropping a message before its content closes the connection, and that the next
// one is sent.
func TestClientCommitRefused(t *testing.T) {
	s := mailtest.Start(t, mailtest.Script{})
	p := &post{t: t, n: 3, sender: &Client{Addr: s.Addr()}, commit: func(a string) bool { return a != to(2) }}
	checkFault(t, p.run(t.Context()), 0, "")
	if o := p.outcomes[to(2)][0]; o != (Outcome{}) {
		t.Errorf("outcome %+v", o)
	}
	if n := len(s.Messages()); n != 2 || s.Seen("CONNECT") != 2 {
		t.Errorf("%d messages over %d connections", n, s.Seen("CONNECT"))
	}
}

func TestClientAgeing(t *testing.T) {
	s := mailtest.Start(t, mailtest.Script{})
	p := &post{t: t, n: 7, sender: &Client{Addr: s.Addr(), MaxMails: 3}}
	checkFault(t, p.run(t.Context()), 0, "")
	if s.Seen("CONNECT") != 3 || s.Seen("QUIT") != 3 || len(s.Messages()) != 7 {
		t.Errorf("%d connections, %d QUITs, %d messages", s.Seen("CONNECT"), s.Seen("QUIT"), len(s.Messages()))
	}
}

// TestClientStale checks that it is not a fault if a server closes an idle connection or answers 421 on it.
func TestClientStale(t *testing.T) {
	for name, a := range map[string]mailtest.Action{
		"cut": {Close: true},
		"421": {Reply: "421 4.4.2 idle too long", Close: true},
	} {
		s := mailtest.Start(t, mailtest.Script{On: mailtest.At("MAIL", 2, a)})
		p := &post{t: t, n: 3, sender: &Client{Addr: s.Addr()}, between: func(string) {}}
		checkFault(t, p.run(t.Context()), 0, "")
		if len(s.Messages()) != 3 || s.Seen("CONNECT") != 2 {
			t.Errorf("%s: %d messages, %d connections", name, len(s.Messages()), s.Seen("CONNECT"))
		}
	}
}

// TestClientIdle checks that an idle connection is closed with QUIT and opened again for the next email.
func TestClientIdle(t *testing.T) {
	s := mailtest.Start(t, mailtest.Script{})
	n := 0
	var sent []Outcome
	src := &Source{
		Next: func(ctx context.Context, wait bool) (*Envelope, bool) {
			if !wait || n == 2 {
				return nil, false
			}
			if n == 1 && s.Seen("QUIT") == 0 {
				<-ctx.Done() // waits until the connection is idle
				return nil, false
			}
			n++
			return &Envelope{From: "b@x.example", To: to(n), Data: []byte("a: b\r\n\r\n")}, true
		},
		Commit: func(*Envelope, bool) bool { return true },
		Done:   func(_ *Envelope, o Outcome) { sent = append(sent, o) },
	}
	err := (&Client{Addr: s.Addr(), IdleTimeout: 10 * time.Millisecond}).Deliver(t.Context(), src)
	if err != nil || len(sent) != 2 || s.Seen("CONNECT") != 2 || s.Seen("QUIT") != 2 {
		t.Errorf("%v, %d sent, %d connections, %d QUITs", err, len(sent), s.Seen("CONNECT"), s.Seen("QUIT"))
	}
}

// TestClientDrain checks that, after ctx is canceled, messages in flight are finished and no new ones are taken.
func TestClientDrain(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := mailtest.Start(t, mailtest.Script{On: func(e mailtest.Event) mailtest.Action {
		if e.Verb == "DOT" && e.N == 2 {
			cancel()
		}
		return mailtest.Action{}
	}})
	p := &post{t: t, n: 10, sender: &Client{Addr: s.Addr()}}
	checkFault(t, p.run(ctx), 0, "")
	// the second dot shares a write with the commands of the third message, so that is in flight too
	if n := len(s.Messages()); n != 3 || len(p.order) != 3 {
		t.Errorf("%d messages, outcomes of %v", n, p.order)
	}
}

// TestClientDrainTimeout checks that a message whose dot is never answered is ambiguous after DrainTimeout, without a
// fault.
func TestClientDrainTimeout(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := mailtest.Start(t, mailtest.Script{On: func(e mailtest.Event) mailtest.Action {
		if e.Verb == "DOT" {
			cancel()
			return mailtest.Action{Reply: "-"}
		}
		return mailtest.Action{}
	}})
	p := &post{t: t, n: 1, sender: &Client{Addr: s.Addr(), DrainTimeout: 20 * time.Millisecond}}
	checkFault(t, p.run(ctx), 0, "")
	if o := p.outcomes[to(1)][0]; o.Result != Ambiguous {
		t.Errorf("outcome %+v", o)
	}
}

func TestClientTimeouts(t *testing.T) {
	silent := mailtest.Action{Reply: "-"}
	const soon = 20 * time.Millisecond
	short := Timeouts{Greeting: soon, Mail: soon, Rcpt: soon, Data: soon, Dot: soon, Quit: time.Millisecond}
	for verb, want := range map[string]string{
		"CONNECT": "u", "EHLO": "u", "MAIL": "L", "RCPT": "L", "DATA": "L",
		"DOT": "a",
	} {
		s := mailtest.Start(t, mailtest.Script{On: mailtest.At(verb, 0, silent), NoPipelining: true})
		p := &post{t: t, n: 1, sender: &Client{Addr: s.Addr(), Timeouts: short}}
		err := p.run(t.Context())
		var r *RelayError
		if !errors.As(err, &r) || !errors.Is(err, os.ErrDeadlineExceeded) || letter(p.outcomes[to(1)]) != want {
			t.Errorf("%s: %v, %v", verb, err, p.outcomes)
		}
	}
}

func TestClientPieces(t *testing.T) {
	s := mailtest.Start(t, mailtest.Script{Pieces: true})
	p := &post{t: t, n: 5, sender: &Client{Addr: s.Addr()}}
	checkFault(t, p.run(t.Context()), 0, "")
	if len(s.Messages()) != 5 {
		t.Errorf("%d messages", len(s.Messages()))
	}
}

// TestClientLarge checks that content larger than several buffers arrives unchanged, including dots, and that an
// unfinished last line gets a line end.
func TestClientLarge(t *testing.T) {
	s := mailtest.Start(t, mailtest.Script{})
	data := []byte("a: b\r\n\r\n" + strings.Repeat(".x\r\n..\r\n.\r\ntext\r\n", 30_000))
	for cut := range 20 { // moves each octet of the pattern to the end of a buffer
		data[2], data[3] = 'b', byte('a'+cut)
		whole := append(bytes.Repeat([]byte("y"), cut), data...)
		sent := 0
		src := &Source{
			Next: func(context.Context, bool) (*Envelope, bool) {
				sent++
				return &Envelope{From: "b@x.example", To: "r@x.example", Data: whole[:len(whole)-2*(sent-1)]}, sent <= 2
			},
			Commit: func(*Envelope, bool) bool { return true },
			Done:   func(*Envelope, Outcome) {},
		}
		if err := (&Client{Addr: s.Addr()}).Deliver(t.Context(), src); err != nil {
			t.Fatal(err)
		}
		got := s.Messages()
		for i, m := range got[len(got)-2:] {
			if !bytes.Equal(m.Data, whole) {
				t.Errorf("cut %d, message %d: %d octets, want %d", cut, i, len(m.Data), len(whole))
			}
		}
	}
}

func TestClientBadAddress(t *testing.T) {
	s := mailtest.Start(t, mailtest.Script{})
	bad := []string{"a@b.example>\r\nRSET", "a b@c.example", "", "ü@x.example"}
	i, results := 0, ""
	src := &Source{
		Next: func(context.Context, bool) (*Envelope, bool) {
			if i++; i > len(bad) {
				return nil, false
			}
			return &Envelope{From: "b@x.example", To: bad[i-1], Data: []byte("a: b\r\n\r\n")}, true
		},
		Commit: func(*Envelope, bool) bool { return true },
		Done:   func(_ *Envelope, o Outcome) { results += letter([]Outcome{o}) },
	}
	if err := (&Client{Addr: s.Addr()}).Deliver(t.Context(), src); err != nil || results != "nnnn" ||
		s.Seen("CONNECT") != 0 {
		t.Errorf("%v %q, %d connections", err, results, s.Seen("CONNECT"))
	}
}

func TestClientTLS(t *testing.T) {
	cert, pool, err := mailtest.Certificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := mailtest.Certificate("other.example")
	if err != nil {
		t.Fatal(err)
	}
	good := &tls.Config{Certificates: []tls.Certificate{cert}}
	old := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	roots := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS10} // our own minimum is higher
	wrong := &tls.Config{Certificates: []tls.Certificate{other}}
	start := Client{TLS: TLSStart, TLSConfig: roots}
	refused := mailtest.At("STARTTLS", 0, mailtest.Action{Reply: "454 4.7.0 not now"})
	cases := []struct {
		name   string
		script mailtest.Script
		client Client
		fault  Fault
		stage  string
	}{
		{"STARTTLS", mailtest.Script{TLS: good}, start, 0, ""},
		{"implicit", mailtest.Script{TLS: good, Implicit: true}, Client{TLS: TLSImplicit, TLSConfig: roots}, 0, ""},
		{"not offered", mailtest.Script{}, start, FaultTLS, "STARTTLS"},
		{"refused", mailtest.Script{TLS: good, On: refused}, start, FaultTLS, "STARTTLS"},
		{"unknown authority", mailtest.Script{TLS: good}, Client{TLS: TLSStart}, FaultTLS, "STARTTLS"},
		{"wrong name", mailtest.Script{TLS: wrong}, start, FaultTLS, "STARTTLS"},
		{"old TLS", mailtest.Script{TLS: old}, start, FaultTLS, "STARTTLS"},
		{"demanded by the server", mailtest.Script{TLS: good}, Client{TLS: TLSNone}, FaultAuth, "MAIL"},
		{
			"injected replies",
			mailtest.Script{TLS: good, Inject: "250-evil\r\n250 PIPELINING\r\n250 ok\r\n"},
			start, 0,
			"",
		},
	}
	for i := range cases {
		c := &cases[i]
		t.Run(c.name, func(t *testing.T) {
			s := mailtest.Start(t, c.script)
			c.client.Addr = s.Addr()
			p := &post{t: t, n: 2, sender: &c.client}
			err := p.run(t.Context())
			checkFault(t, err, c.fault, c.stage)
			if want := 2; c.stage == "" && len(s.Messages()) != want {
				t.Errorf("%d messages", len(s.Messages()))
			}
			if c.stage != "" && letter(p.outcomes[to(1)]) != "u" {
				t.Errorf("outcomes %v", p.outcomes)
			}
		})
	}
}

func TestClientAuth(t *testing.T) {
	users := map[string]string{"anna": "open,=sesame"}
	all := []string{"CRAM-MD5", "LOGIN", "PLAIN", "SCRAM-SHA-256"}
	for _, mech := range all {
		for _, pass := range []string{"open,=sesame", "wrong"} {
			s := mailtest.Start(t, mailtest.Script{Users: users, Mechanisms: []string{"XOAUTH2", mech}})
			p := &post{t: t, n: 1, sender: &Client{Addr: s.Addr(), Username: "anna", Password: pass}}
			err := p.run(t.Context())
			if pass == "wrong" {
				checkFault(t, err, FaultAuth, "AUTH")
				var r *RelayError
				if errors.As(err, &r) && r.Backoff(1) < time.Minute {
					t.Error("credentials are tried again too soon")
				}
				continue
			}
			checkFault(t, err, 0, "")
			if len(s.Messages()) != 1 || !strings.HasPrefix(s.Lines()[1], "AUTH "+mech) {
				t.Errorf("%s: %d messages, %q", mech, len(s.Messages()), s.Lines())
			}
		}
	}
	s := mailtest.Start(t, mailtest.Script{Users: users, Mechanisms: all})
	p := &post{t: t, n: 1, sender: &Client{Addr: s.Addr(), Username: "anna", Password: "open,=sesame"}}
	checkFault(t, p.run(t.Context()), 0, "")
	if !strings.HasPrefix(s.Lines()[1], "AUTH SCRAM-SHA-256 ") {
		t.Errorf("the best mechanism was not taken: %q", s.Lines()[1])
	}
	for name, script := range map[string]mailtest.Script{
		"impostor": {Users: users, Mechanisms: []string{"SCRAM-SHA-256"}, Impostor: true},
		"none":     {Users: users, Mechanisms: []string{"GSSAPI"}},
	} {
		s := mailtest.Start(t, script)
		p := &post{t: t, n: 1, sender: &Client{Addr: s.Addr(), Username: "anna", Password: "open,=sesame"}}
		err := p.run(t.Context())
		if checkFault(t, err, FaultAuth, "AUTH"); letter(p.outcomes[to(1)]) != "u" {
			t.Errorf("%s: %v", name, p.outcomes)
		}
	}
}

// TestOutcomeText checks that the outcome contains the server's text.
func TestOutcomeText(t *testing.T) {
	s := mailtest.Start(t,
		mailtest.Script{On: mailtest.At("RCPT", 1, mailtest.Action{Reply: "552 5.2.2 mailbox\n552 5.2.2 is full"})})
	p := &post{t: t, n: 2, sender: &Client{Addr: s.Addr()}}
	checkFault(t, p.run(t.Context()), 0, "")
	if o := p.outcomes[to(1)][0]; o != (Outcome{Result: Later, Code: 552, Enhanced: "5.2.2", Text: "mailbox is full"}) ||
		!o.MailboxFull() {
		t.Errorf("%+v", o)
	}
	if o := p.outcomes[to(2)][0]; o != (Outcome{Result: Sent, Code: 250, Enhanced: "2.0.0", Text: "taken"}) {
		t.Errorf("%+v", o)
	}
}

func TestRelayErrorBackoff(t *testing.T) {
	var got []string
	for _, f := range []Fault{FaultConnect, FaultAuth} {
		for n := range 7 {
			got = append(got, (&RelayError{Fault: f}).Backoff(n).String())
		}
	}
	want := "5s 5s 15s 1m0s 5m0s 15m0s 15m0s 1m0s 1m0s 1m0s 1m0s 5m0s 15m0s 15m0s"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	err := &RelayError{
		Fault: FaultRefused, Stage: "MAIL", Code: 451, Enhanced: "4.3.0", Text: "wait",
		Err: os.ErrClosed,
	}
	if s := err.Error(); s != "mail route: refused at MAIL: 451 4.3.0 wait: file already closed" ||
		!errors.Is(err, os.ErrClosed) {
		t.Errorf("%s", s)
	}
}

func TestClientConnectionRefused(t *testing.T) {
	s := mailtest.Start(t, mailtest.Script{})
	addr := s.Addr()
	_ = s.Close()
	p := &post{t: t, n: 1, sender: &Client{Addr: addr}}
	checkFault(t, p.run(t.Context()), FaultConnect, "dial")
}

// TestATailFollowsTheData checks that a shared tail of any size follows each message's own data completely.
func TestATailFollowsTheData(t *testing.T) {
	for _, lines := range []int{1, 1000, 4000} {
		s := mailtest.Start(t, mailtest.Script{})
		tail := []byte(strings.Repeat(strings.Repeat("x", 62)+"\r\n", lines))
		sent := 0
		err := (&Client{Addr: s.Addr()}).Deliver(t.Context(), &Source{
			Next: func(context.Context, bool) (*Envelope, bool) {
				sent++
				data := fmt.Sprintf("Subject: %d\r\n\r\nown\r\n", sent)
				return &Envelope{From: "b@x.example", To: to(sent), Data: []byte(data), Tail: tail, Dotless: true}, sent <= 3
			},
			Commit: func(*Envelope, bool) bool { return true },
			Done:   func(*Envelope, Outcome) {},
		})
		if err != nil {
			t.Fatal(err)
		}
		got := s.Messages()
		for i, m := range got {
			if want := fmt.Sprintf("Subject: %d\r\n\r\nown\r\n%s", i+1, tail); string(m.Data) != want {
				t.Errorf("message %d has %d octets, want %d", i+1, len(m.Data), len(want))
			}
		}
		if len(got) != 3 {
			t.Errorf("%d messages", len(got))
		}
	}
}
