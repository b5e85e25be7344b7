package smtp

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/mail/mailtest"
)

// TestChunkOutcomes sends five emails to a server that misbehaves once, in groups of one, two and two. The letters are
// those of TestClientOutcomes.
func TestChunkOutcomes(t *testing.T) {
	reply := func(s string) mailtest.Action { return mailtest.Action{Reply: s} }
	gone := func(s string) mailtest.Action { return mailtest.Action{Reply: s, Close: true} }
	cut := mailtest.Action{Close: true}
	cases := []struct {
		name  string
		on    func(mailtest.Event) mailtest.Action
		want  string
		fault Fault
		stage string // empty: no error
	}{
		{"well-behaved", nil, "sssss", 0, ""},
		{"RCPT 450", mailtest.At("RCPT", 2, reply("450 4.2.0 later")), "slsss", 0, ""},
		{"RCPT 550 5.1.1", mailtest.At("RCPT", 2, reply("550 5.1.1 no such user")), "shsss", 0, ""},
		{"RCPT 550 5.1.1, last of a group", mailtest.At("RCPT", 3, reply("550 5.1.1 no such user")), "sshss", 0, ""},
		{"RCPT 535 5.7.8", mailtest.At("RCPT", 2, reply("535 5.7.8 credentials")), "sus--", FaultAuth, "RCPT"},
		{"RCPT 421", mailtest.At("RCPT", 2, gone("421 4.7.0 enough")), "sLu--", FaultRefused, "RCPT"},
		{"RCPT 421, stays", mailtest.At("RCPT", 2, reply("421 4.7.0 enough")), "sLs--", FaultRefused, "RCPT"},
		{"RCPT 550, cut", mailtest.At("RCPT", 2, gone("550 5.1.1 no")), "sha--", FaultConnect, "BDAT"},
		{"RCPT cut", mailtest.At("RCPT", 2, cut), "saa--", FaultConnect, "BDAT"},
		{"MAIL 451", mailtest.At("MAIL", 2, reply("451 4.3.0 wait")), "sus--", FaultRefused, "MAIL"},
		{"MAIL 550, last of a group", mailtest.At("MAIL", 3, reply("550 5.7.1 sender")), "ssu--", FaultRefused, "MAIL"},
		{"MAIL 530", mailtest.At("MAIL", 2, reply("530 5.7.0 authenticate")), "sus--", FaultAuth, "MAIL"},
		{"MAIL cut", mailtest.At("MAIL", 3, cut), "ssa--", FaultConnect, "BDAT"},
		{"MAIL nonsense", mailtest.At("MAIL", 2, reply("25 what")), "saa--", FaultProtocol, "BDAT"},
		{"RSET 421", mailtest.At("RSET", 1, gone("421 4.3.2 bye")), "ssu--", FaultRefused, "MAIL"},
		{"RSET 503", mailtest.At("RSET", 1, reply("503 5.5.1 why?")), "ssa--", FaultProtocol, "BDAT"},
		{"BDAT 451", mailtest.At("DOT", 2, reply("451 4.7.1 greylisted")), "slsss", 0, ""},
		{"BDAT 451, last of a group", mailtest.At("DOT", 3, reply("451 4.7.1 greylisted")), "sslss", 0, ""},
		{"BDAT 554 5.6.0", mailtest.At("DOT", 2, reply("554 5.6.0 content")), "snsss", 0, ""},
		{"BDAT 550 5.2.1", mailtest.At("DOT", 2, reply("550 5.2.1 disabled")), "shsss", 0, ""},
		{"BDAT 421", mailtest.At("DOT", 2, gone("421 4.3.2 bye")), "sLu--", FaultRefused, "BDAT"},
		{"BDAT cut", mailtest.At("DOT", 2, cut), "saa--", FaultConnect, "BDAT"},
		{"BDAT cut after the reply", mailtest.At("DOT", 2, gone("250 2.0.0 ok")), "ssa--", FaultConnect, "BDAT"},
		{"BDAT nonsense", mailtest.At("DOT", 2, reply("hello")), "saa--", FaultProtocol, "BDAT"},
		{"BDAT unknown", mailtest.At("DOT", 1, reply("502 5.5.1 what?")), "ussss", 0, ""},
		{"BDAT not wanted", mailtest.At("DOT", 1, reply("503 5.5.1 what?")), "ussss", 0, ""},
		{"BDAT 500 of one that takes them", mailtest.At("DOT", 2, reply("500 5.7.1 policy")), "snsss", 0, ""},
		{"BDAT 554 at first", mailtest.At("DOT", 1, reply("554 5.6.0 content")), "nssss", 0, ""},
		{"RCPT 550 at first", mailtest.At("RCPT", 1, reply("550 5.1.1 no")), "hssss", 0, ""},
		{"BDAT 421 after RCPT 550", func(e mailtest.Event) mailtest.Action {
			switch {
			case e.Verb == "RCPT" && e.N == 2:
				return reply("550 5.1.1 no")
			case e.Verb == "DOT" && e.N == 2:
				return gone("421 4.7.0 too many errors")
			}
			return mailtest.Action{}
		}, "shu--", FaultRefused, "MAIL"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := mailtest.Start(t, mailtest.Script{On: c.on, Chunking: true})
			p := &post{t: t, n: 5, sender: &Client{Addr: s.Addr()}}
			checkFault(t, p.run(t.Context()), c.fault, c.stage)
			got, sent := "", []string(nil)
			for i := 1; i <= 5; i++ {
				l := letter(p.outcomes[to(i)])
				if got += l; l == "s" {
					sent = append(sent, to(i))
				}
			}
			if got != c.want {
				t.Errorf("outcomes %q, want %q: %v", got, c.want, p.outcomes)
			}
			for _, m := range s.Messages() {
				if string(m.Data) != fmt.Sprintf("Subject: %[1]c\r\nMessage-ID: <id%[1]c@x.example>\r\n\r\n.dot\r\n..two\r\n"+
					"end\r\n", m.To[1]) {
					t.Errorf("%s got %q", m.To, m.Data)
				}
				sent = slices.DeleteFunc(sent, func(to string) bool { return to == m.To })
			}
			if len(sent) > 0 {
				t.Errorf("said to be sent, and never taken: %v", sent)
			}
		})
	}
}

// writes counts the writes of a connection.
type writes struct {
	net.Conn
	n *atomic.Int64
}

func (w writes) Write(b []byte) (int, error) {
	w.n.Add(1)
	return w.Conn.Write(b)
}

// dialCounted returns a dial function that counts the writes of its connections in n.
func dialCounted(n *atomic.Int64) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		nc, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return writes{nc, n}, err
	}
}

// TestChunksShareAWrite checks that groups of 1, 2, 4 and 8 messages take one write each, and that RSET
// precedes each message of a group except the first.
func TestChunksShareAWrite(t *testing.T) {
	s := mailtest.Start(t, mailtest.Script{Chunking: true})
	var n atomic.Int64
	p := &post{t: t, n: 15, sender: &Client{Addr: s.Addr(), Dial: dialCounted(&n)}}
	checkFault(t, p.run(t.Context()), 0, "")
	if got, want := n.Load(), int64(1+4+1); got != want || len(s.Messages()) != 15 {
		t.Errorf("%d writes for %d messages, want %d: EHLO, four groups and QUIT", got, len(s.Messages()), want)
	}
	if got := s.Seen("RSET"); got != 0+1+3+7 || s.Seen("DATA") != 0 {
		t.Errorf("%d RSETs, %d DATAs", got, s.Seen("DATA"))
	}
}

// TestChunksOfAnySize checks that content of any size arrives unchanged, with and without a tail or a line end, and if
// it exceeds a buffer.
func TestChunksOfAnySize(t *testing.T) {
	line := []byte(".A line of a message that begins with a dot.\r\n")
	large, tail := bytes.Repeat(line, 9000), bytes.Repeat(line[1:], 3000)
	all := []Envelope{
		{Data: []byte("Subject: 1\r\n\r\n.\r\n")},
		{Data: []byte("Subject: 2\r\n\r\nno line end")},
		{Data: []byte("Subject: 3\r\n\r\n"), Tail: line[1:]},
		{Data: large},
		{Data: large, Tail: tail, Dotless: true},
		{Data: []byte("Subject: 6\r\n\r\n")},
	}
	s := mailtest.Start(t, mailtest.Script{Chunking: true})
	i := 0
	err := (&Client{Addr: s.Addr()}).Deliver(t.Context(), &Source{
		Next: func(context.Context, bool) (*Envelope, bool) {
			if i == len(all) {
				return nil, false
			}
			i++
			all[i-1].From, all[i-1].To = "b@x.example", to(i)
			return &all[i-1], true
		},
		Commit: func(*Envelope, bool) bool { return true },
		Done: func(e *Envelope, o Outcome) {
			if o.Result != Sent {
				t.Errorf("%s: %v", e.To, o)
			}
		},
	})
	got := s.Messages()
	if err != nil || len(got) != len(all) {
		t.Fatalf("%d messages, %v", len(got), err)
	}
	for i, e := range all {
		want := slices.Concat(e.Data, e.Tail)
		if !bytes.HasSuffix(want, []byte("\r\n")) {
			want = append(want, "\r\n"...)
		}
		if !bytes.Equal(got[i].Data, want) {
			t.Errorf("message %d has %d octets, want %d", i+1, len(got[i].Data), len(want))
		}
	}
}

// TestChunksWaitForASlot checks that a message that may not join others is sent after their replies, and that Commit
// may then block. Dropping a message leaves the connection open.
func TestChunksWaitForASlot(t *testing.T) {
	s := mailtest.Start(t, mailtest.Script{Chunking: true})
	var asked []string
	n := 0
	err := (&Client{Addr: s.Addr()}).Deliver(t.Context(), &Source{
		Next: func(context.Context, bool) (*Envelope, bool) {
			if n == 6 {
				return nil, false
			}
			n++
			return &Envelope{From: "b@x.example", To: to(n), Data: []byte("Subject: x\r\n\r\n")}, true
		},
		Commit: func(e *Envelope, wait bool) bool {
			asked = append(asked, fmt.Sprint(e.To[:2], map[bool]string{true: " waits", false: " joins"}[wait]))
			return e.To != to(5) && (wait || e.To != to(3))
		},
		Done: func(e *Envelope, o Outcome) { asked = append(asked, e.To[:2]+" "+o.Result.String()) },
	})
	want := "r1 waits, r1 sent, r2 waits, r3 joins, r2 sent, r3 waits, r4 joins, r5 joins, r3 sent, r4 sent, r5 waits, " +
		"r5 untouched, r6 waits, r6 sent"
	if got := strings.Join(asked, ", "); err != nil || got != want {
		t.Errorf("got  %s\nwant %s\n%v", got, want, err)
	}
	if len(s.Messages()) != 5 || s.Seen("CONNECT") != 1 {
		t.Errorf("%d messages over %d connections", len(s.Messages()), s.Seen("CONNECT"))
	}
}

// TestChunksOfAServerThatCannot checks that DATA is used for a while if the first chunk breaks a connection or the
// server doesn't know the command.
func TestChunksOfAServerThatCannot(t *testing.T) {
	for name, a := range map[string]mailtest.Action{"cut": {Close: true}, "unknown": {Reply: "502 5.5.1 what?"}} {
		s := mailtest.Start(t, mailtest.Script{On: mailtest.At("DOT", 1, a), Chunking: true})
		client := &Client{Addr: s.Addr()}
		_ = (&post{t: t, n: 1, sender: client}).run(t.Context())
		p := &post{t: t, n: 3, sender: client}
		checkFault(t, p.run(t.Context()), 0, "")
		if s.Seen("DATA") != 3 {
			t.Errorf("%s: %d of 3 by DATA", name, s.Seen("DATA"))
		}
		client.chunks.avoided -= int64(avoidChunks)
		checkFault(t, p.run(t.Context()), 0, "")
		if s.Seen("DATA") != 3 {
			t.Errorf("%s: DATA is used for longer than %v", name, avoidChunks)
		}
	}
}

// TestChunkThatWaitsForABrokenConnection checks that a message is untouched if it waits for chunks that break the
// connection.
func TestChunkThatWaitsForABrokenConnection(t *testing.T) {
	s := mailtest.Start(t, mailtest.Script{On: mailtest.At("DOT", 2, mailtest.Action{Close: true}), Chunking: true})
	n, results := 0, ""
	err := (&Client{Addr: s.Addr()}).Deliver(t.Context(), &Source{
		Next: func(context.Context, bool) (*Envelope, bool) {
			n++
			return &Envelope{From: "b@x.example", To: to(n), Data: []byte("Subject: x\r\n\r\n")}, n <= 4
		},
		Commit: func(_ *Envelope, wait bool) bool { return wait },
		Done:   func(_ *Envelope, o Outcome) { results += o.Result.String()[:1] },
	})
	if results != "sau" || err == nil {
		t.Errorf("outcomes %s, %v", results, err)
	}
}

// TestChunksOfAServerThatCuts checks that DATA is used after three consecutive connections broke at their first chunk,
// even if the server accepted chunks before. A connection that breaks later doesn't count.
func TestChunksOfAServerThatCuts(t *testing.T) {
	s := mailtest.Start(t, mailtest.Script{Chunking: true, On: func(e mailtest.Event) mailtest.Action {
		return mailtest.Action{Close: e.Verb == "DOT" && e.N > 3}
	}})
	client := &Client{Addr: s.Addr()}
	deliver := func(n int) (results string) {
		p := &post{t: t, n: n, sender: client}
		_ = p.run(t.Context())
		for i := 1; i <= n; i++ {
			results += letter(p.outcomes[to(i)])
		}
		return results
	}
	got := []string{deliver(3), deliver(1), deliver(1), deliver(1)}
	if want := []string{"sss", "a", "a", "a"}; !slices.Equal(got, want) || client.chunks.usable() {
		t.Errorf("%v, want %v; chunks are used: %v", got, want, client.chunks.usable())
	}
}

// TestAfterAnIdleTimeTheWriteFails checks that a message announced on a closed connection is sent completely and once
// on a new one. If its recipient is refused there, replies still match the commands.
func TestAfterAnIdleTimeTheWriteFails(t *testing.T) {
	for name, a := range map[string]mailtest.Action{"accepted": {}, "refused": {Reply: "550 5.1.1 no"}} {
		s := mailtest.Start(t, mailtest.Script{Chunking: true, On: mailtest.At("RCPT", 2, a)})
		var broken atomic.Bool
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return &onceBroken{nc, &broken}, err
		}
		n, results := 0, ""
		err := (&Client{Addr: s.Addr(), Dial: dial}).Deliver(t.Context(), &Source{
			Next: func(_ context.Context, wait bool) (*Envelope, bool) {
				if n == 1 { // the connection is idle, and closed when it is used again
					if !wait {
						return nil, false
					}
					broken.Store(true)
				}
				n++
				return &Envelope{From: "b@x.example", To: to(n), Data: []byte("Subject: x\r\n\r\n.\r\n")}, n <= 5
			},
			Commit: func(*Envelope, bool) bool { return true },
			Done:   func(_ *Envelope, o Outcome) { results += letter([]Outcome{o}) },
		})
		want := map[string]string{"accepted": "sssss", "refused": "shsss"}[name]
		if err != nil || results != want || len(s.Messages()) != strings.Count(want, "s") || s.Seen("CONNECT") != 2 {
			t.Errorf("%s: %s and %d messages over %d connections, %v", name, results, len(s.Messages()), s.Seen("CONNECT"), err)
		}
	}
}

// onceBroken fails one write after broken is set.
type onceBroken struct {
	net.Conn
	broken *atomic.Bool
}

func (b *onceBroken) Write(data []byte) (int, error) {
	if b.broken.CompareAndSwap(true, false) {
		return 0, net.ErrClosed
	}
	return b.Conn.Write(data)
}

// TestChunksAfterALongWaitForASlot checks that a connection that waited long for a slot is treated like an idle one,
// because it may be closed.
func TestChunksAfterALongWaitForASlot(t *testing.T) {
	s := mailtest.Start(t, mailtest.Script{Chunking: true})
	synctest.Test(t, func(t *testing.T) {
		n, results := 0, ""
		err := (&Client{Addr: s.Addr()}).Deliver(t.Context(), &Source{
			Next: func(context.Context, bool) (*Envelope, bool) {
				n++
				return &Envelope{From: "b@x.example", To: to(n), Data: []byte("Subject: x\r\n\r\n")}, n <= 4
			},
			Commit: func(e *Envelope, wait bool) bool {
				if e.To == to(2) {
					time.Sleep(staleAfter + time.Second)
				}
				return true
			},
			Done: func(_ *Envelope, o Outcome) { results += letter([]Outcome{o}) },
		})
		if err != nil || results != "suss" || s.Seen("DATA") != 1 {
			t.Errorf("%s, %d by DATA, %v", results, s.Seen("DATA"), err)
		}
	})
}

// TestChunksWithAReplyTooMuch checks that an unsolicited reply ends the connection with a fault, because later replies
// would not match the commands. The relay then gets no connections for a while.
func TestChunksWithAReplyTooMuch(t *testing.T) {
	for more, fault := range map[string]Fault{
		"250 2.0.0 and more\r\n": FaultProtocol, "554 5.5.1 what?\r\n": FaultProtocol, "421 4.7.0 slow down\r\n": FaultRefused,
	} {
		s := mailtest.Start(t, mailtest.Script{Chunking: true})
		var said atomic.Bool
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return &talkative{nc, more, &said}, err
		}
		p := &post{t: t, n: 3, sender: &Client{Addr: s.Addr(), Dial: dial}}
		checkFault(t, p.run(t.Context()), fault, "MAIL")
		got := letter(p.outcomes[to(1)]) + letter(p.outcomes[to(2)]) + letter(p.outcomes[to(3)])
		if got != "su-" || len(s.Messages()) != 1 {
			t.Errorf("%q: outcomes %s, %d messages", more, got, len(s.Messages()))
		}
	}
}

// talkative adds an unsolicited reply after the first accepted message.
type talkative struct {
	net.Conn
	more string
	said *atomic.Bool
}

func (c *talkative) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if bytes.Contains(b[:n], []byte("taken")) && c.said.CompareAndSwap(false, true) {
		n += copy(b[n:], c.more)
	}
	return n, err
}

// TestTryByDATA checks that Try gets the relay's reply even if the relay announces CHUNKING but accepts no chunks.
func TestTryByDATA(t *testing.T) {
	s := mailtest.Start(t, mailtest.Script{Chunking: true})
	e := &Envelope{From: "b@x.example", To: to(1), Data: []byte("Subject: x\r\n\r\n")}
	if o, err := Try(t.Context(), &Client{Addr: s.Addr()}, e); err != nil || o.Result != Sent || s.Seen("DATA") != 1 {
		t.Errorf("%v, %v, %d by DATA", o, err, s.Seen("DATA"))
	}
}

// TestAloneByDATA checks that a message with Alone shares no write with other messages.
func TestAloneByDATA(t *testing.T) {
	s := mailtest.Start(t, mailtest.Script{Chunking: true})
	n := 0
	err := (&Client{Addr: s.Addr()}).Deliver(t.Context(), &Source{
		Next: func(context.Context, bool) (*Envelope, bool) {
			n++
			return &Envelope{From: "b@x.example", To: to(n), Data: []byte("Subject: x\r\n\r\n"), Alone: n == 3}, n <= 6
		},
		Commit: func(*Envelope, bool) bool { return true },
		Done: func(e *Envelope, o Outcome) {
			if o.Result != Sent {
				t.Errorf("%s: %v", e.To, o)
			}
		},
	})
	var verbs []string
	for _, line := range s.Lines() {
		verb, _, _ := strings.Cut(line, " ")
		verbs = append(verbs, verb)
	}
	want := "EHLO MAIL RCPT BDAT MAIL RCPT BDAT MAIL RCPT DATA MAIL RCPT BDAT RSET MAIL RCPT BDAT RSET MAIL RCPT BDAT QUIT"
	if got := strings.Join(verbs, " "); err != nil || got != want {
		t.Errorf("got  %s\nwant %s\n%v", got, want, err)
	}
}

// TestChunksAfterAnIdleTime checks that no content is written to an idle connection before a reply, so that no outcome
// is ambiguous if it was closed.
func TestChunksAfterAnIdleTime(t *testing.T) {
	for name, a := range map[string]mailtest.Action{
		"cut": {Close: true},
		"421": {Reply: "421 4.4.2 idle too long", Close: true},
	} {
		s := mailtest.Start(t, mailtest.Script{On: mailtest.At("MAIL", 2, a), Chunking: true})
		p := &post{t: t, n: 3, sender: &Client{Addr: s.Addr()}, between: func(string) {}}
		checkFault(t, p.run(t.Context()), 0, "")
		if len(s.Messages()) != 3 || s.Seen("CONNECT") != 2 {
			t.Errorf("%s: %d messages, %d connections", name, len(s.Messages()), s.Seen("CONNECT"))
		}
	}
}

// TestChunksThatAreNotWritten checks that, if the connection breaks while a group is written, the messages that were
// not written completely are untouched, and only the first of them is lost.
func TestChunksThatAreNotWritten(t *testing.T) {
	s := mailtest.Start(t, mailtest.Script{Chunking: true})
	var first atomic.Bool
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		nc, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return &halfWritten{Conn: nc, broken: &first}, err
	}
	p := &post{t: t, n: 5, sender: &Client{Addr: s.Addr(), Dial: dial}}
	p.commit = func(a string) bool { first.Store(a == to(3)); return true }
	checkFault(t, p.run(t.Context()), FaultConnect, "BDAT")
	got := ""
	for i := 1; i <= 5; i++ {
		got += letter(p.outcomes[to(i)])
	}
	if got != "ssL--" { // the reply to the written messages was received
		t.Errorf("outcomes %q: %v", got, p.outcomes)
	}
}

// halfWritten writes three quarters of a write and breaks, after broken is set.
type halfWritten struct {
	net.Conn
	broken *atomic.Bool
}

func (h *halfWritten) Write(b []byte) (int, error) {
	if !h.broken.Load() {
		return h.Conn.Write(b)
	}
	n, _ := h.Conn.Write(b[:len(b)*3/4])
	return n, net.ErrClosed
}

// TestChunksAtADrain checks that a group without replies is ambiguous when the drain ends.
func TestChunksAtADrain(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var once sync.Once
	s := mailtest.Start(t, mailtest.Script{Chunking: true, On: func(e mailtest.Event) mailtest.Action {
		if e.Verb != "DOT" || e.N < 2 {
			return mailtest.Action{}
		}
		once.Do(cancel)
		<-t.Context().Done()
		return mailtest.Action{Close: true}
	}})
	p := &post{t: t, n: 5, sender: &Client{Addr: s.Addr(), DrainTimeout: time.Millisecond}}
	if err := p.run(ctx); err != nil {
		t.Error(err)
	}
	got := ""
	for i := 1; i <= 5; i++ {
		got += letter(p.outcomes[to(i)])
	}
	if got != "saa--" {
		t.Errorf("outcomes %q: %v", got, p.outcomes)
	}
}
