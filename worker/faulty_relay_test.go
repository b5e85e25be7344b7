package worker_test

import (
	"crypto/tls"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/mail/mailtest"
	"newsletterd/mail/smtp"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
	"newsletterd/worker/workertest"
)

// fate is the recorded result of a recipient, and the number of emails that the server has accepted for it.
type fate struct {
	state  int
	tries  int
	mails  int
	reason string // start of the reason
}

var fine = fate{core.RecipientSent, 1, 1, ""}

// misbehaved runs a job of three recipients over two connections to a server, and returns the fates of all three.
func misbehaved(t *testing.T, s mailtest.Script, relay smtp.Client) (j core.SendJob, fates [3]fate, connections int) {
	t.Helper()
	server := mailtest.Start(t, s) // outside the bubble, so that waits in it don't stop the time
	synctest.Test(t, func(t *testing.T) {
		relay.Addr = server.Addr()
		h := workertest.New(t, &relay)
		h.Opts.Connections, h.Opts.GiveUpAfter = 1, 6*time.Hour
		h.Readers(h.List, 3)
		h.Start()
		j = h.Wait(h.Job())
		rs, err := h.Recipients(t.Context(), &j, campaigns.RecipientFilter{}, core.Page{Limit: 10})
		h.Must(err)
		mails := map[string]int{}
		for _, m := range server.Messages() {
			mails[m.To]++
		}
		for _, r := range rs {
			for k := range fates {
				if r.Email == string(storetest.Reader(k)) {
					fates[k] = fate{r.State, r.Tries, mails[r.Email], r.Reason}
				}
			}
		}
		connections = server.Seen("CONNECT")
	})
	return j, fates, connections
}

// at responds to events of a verb: to those about recipient 1 if the verb has a recipient, otherwise to all. times is
// how often; 0 means always.
func at(verb string, times int, a mailtest.Action) func(mailtest.Event) mailtest.Action {
	var mu sync.Mutex
	n := 0
	return func(e mailtest.Event) mailtest.Action {
		if e.Verb != verb || strings.Contains(e.Arg, "@example.org") &&
			!strings.Contains(e.Arg, string(storetest.Reader(1))) {
			return mailtest.Action{}
		}
		mu.Lock()
		defer mu.Unlock()
		if n++; times > 0 && n > times {
			return mailtest.Action{}
		}
		return a
	}
}

// misbehaving is a way in which a relay can misbehave, and the resulting fate of the second of three recipients.
type misbehaving struct {
	name   string
	script mailtest.Script
	relay  smtp.Client
	second fate
}

// TestMisbehavingRelays tests each way in which a relay can misbehave. Only the second of three recipients may be
// affected.
func TestMisbehavingRelays(t *testing.T) {
	reply := func(s string) mailtest.Action { return mailtest.Action{Reply: s} }
	failed := func(tries, mails int, reason string) fate { return fate{core.RecipientFailed, tries, mails, reason} }
	quick := smtp.Timeouts{
		Greeting: 60 * time.Millisecond, Mail: 60 * time.Millisecond, Rcpt: 60 * time.Millisecond,
		Data: 60 * time.Millisecond, Dot: 60 * time.Millisecond,
	}
	slow := func(e mailtest.Event) mailtest.Action { return mailtest.Action{Wait: 20 * time.Millisecond} }
	for _, tt := range []misbehaving{
		{
			"4xx at RCPT once",
			mailtest.Script{On: at("RCPT", 1, reply("450 4.2.1 later"))},
			smtp.Client{},
			fate{core.RecipientSent, 2, 1, ""},
		},
		{
			"4xx at RCPT always",
			mailtest.Script{On: at("RCPT", 0, reply("450 4.2.1 later"))},
			smtp.Client{},
			failed(9, 0, "450 4.2.1 later"),
		},
		{
			"4xx at the dot once",
			mailtest.Script{On: at("DOT", 1, reply("451 4.7.1 greylisted"))},
			smtp.Client{},
			fate{core.RecipientSent, 2, 1, ""},
		},
		{
			"5xx at RCPT",
			mailtest.Script{On: at("RCPT", 0, reply("550 5.1.1 no such user"))},
			smtp.Client{},
			failed(1, 0, "550 5.1.1 no such user"),
		},
		{
			"5xx at DATA",
			mailtest.Script{On: at("DATA", 0, reply("554 5.7.1 not from you"))},
			smtp.Client{},
			failed(1, 0, "554 5.7.1 not from you"),
		},
		{
			"5xx at the dot",
			mailtest.Script{On: at("DOT", 0, reply("554 5.6.0 what a mail"))},
			smtp.Client{},
			failed(1, 0, "554 5.6.0 what a mail"),
		},
		{
			"tarpit at RCPT",
			mailtest.Script{On: at("RCPT", 3, mailtest.Action{Wait: 200 * time.Millisecond})},
			smtp.Client{Timeouts: quick},
			fate{core.RecipientSent, 2, 1, ""},
		},
		{
			"tarpit at the dot",
			mailtest.Script{On: at("DOT", 1, mailtest.Action{Wait: 200 * time.Millisecond})},
			smtp.Client{Timeouts: quick},
			fate{core.RecipientSent, 1, 2, ""},
		},
		{
			"cut in the content, before the dot was written",
			mailtest.Script{On: at("DATA", 1, mailtest.Action{Reply: "354 go on", Close: true})},
			smtp.Client{},
			fate{},
		},
		{
			"cut after the dot, once",
			mailtest.Script{On: at("DOT", 1, mailtest.Action{Reply: "-", Close: true})},
			smtp.Client{},
			fate{core.RecipientSent, 1, 2, ""},
		},
		{
			"cut after the dot, always",
			mailtest.Script{On: at("DOT", 0, mailtest.Action{Reply: "-", Close: true})},
			smtp.Client{},
			failed(1, 2, "no reply to the message, twice"),
		},
		{"cut at RCPT once", mailtest.Script{On: at("RCPT", 1, mailtest.Action{Close: true})}, smtp.Client{}, fine},
		{
			"cut at RCPT always",
			mailtest.Script{On: at("RCPT", 0, mailtest.Action{Close: true})},
			smtp.Client{},
			failed(9, 0, "connection lost"),
		},
		{"421 at the second MAIL", mailtest.Script{On: mailtest.At("MAIL", 2,
			mailtest.Action{Reply: "421 4.3.2 enough", Close: true})}, smtp.Client{}, fine},
		{
			"421 at RCPT",
			mailtest.Script{On: at("RCPT", 1, mailtest.Action{Reply: "421 4.7.0 too many", Close: true})},
			smtp.Client{},
			fine,
		},
		{
			"421 at RCPT always",
			mailtest.Script{On: at("RCPT", 0, mailtest.Action{Reply: "421 4.7.0 too many", Close: true})},
			smtp.Client{},
			failed(9, 0, "421 4.7.0 too many"),
		},
		{
			"421 at the dot always",
			mailtest.Script{On: at("DOT", 0, mailtest.Action{Reply: "421 4.3.2 bye", Close: true})},
			smtp.Client{},
			failed(9, 0, "421 4.3.2 bye"),
		},
		{"one mail a connection", mailtest.Script{On: oneEach()}, smtp.Client{}, fine},
		{"slow replies", mailtest.Script{On: slow}, smtp.Client{}, fine},
		{"replies in pieces", mailtest.Script{Pieces: true}, smtp.Client{}, fine},
		{"no PIPELINING", mailtest.Script{NoPipelining: true}, smtp.Client{}, fine},
		{"no EHLO", mailtest.Script{On: at("EHLO", 0, reply("502 5.5.1 what?"))}, smtp.Client{}, fine},
	} {
		t.Run(tt.name, tt.run)
	}
}

// run sends three emails; the second one meets the problem.
func (tt misbehaving) run(t *testing.T) {
	j, fates, connections := misbehaved(t, tt.script, tt.relay)
	if strings.HasPrefix(tt.name, "cut in the content") { // the content may have been sent before the break was noticed
		if f := fates[1]; f.state != core.RecipientSent || f.mails != 1 || j.Ambiguous > 1 {
			t.Errorf("%+v, ambiguous %d", f, j.Ambiguous)
		}
		tt.second = fates[1]
	}
	if want := [3]fate{fine, tt.second, fine}; fates != want {
		t.Errorf("got  %+v\nwant %+v", fates, want)
	}
	if j.Status != core.JobCompleted || connections > 40 {
		t.Errorf("%s %q after %d connections", j.Status, j.FailureReason, connections)
	}
}

// TestMisbehavingRelaysOfChunks does the same with a relay that accepts chunks. An ambiguous email is sent with DATA
// the second time, so it fails only if the connection breaks between its own final dot and the reply.
func TestMisbehavingRelaysOfChunks(t *testing.T) {
	reply := func(s string) mailtest.Action { return mailtest.Action{Reply: s} }
	failed := func(tries, mails int, reason string) fate { return fate{core.RecipientFailed, tries, mails, reason} }
	for _, tt := range []misbehaving{
		{"well-behaved", mailtest.Script{Chunking: true}, smtp.Client{}, fine},
		{
			"refused",
			mailtest.Script{Chunking: true, On: at("RCPT", 0, reply("550 5.1.1 no such user"))},
			smtp.Client{},
			failed(1, 0, "550 5.1.1 no such user"),
		},
		{
			"cut in place of the reply",
			mailtest.Script{Chunking: true, On: at("DOT", 1, mailtest.Action{Reply: "-", Close: true})},
			smtp.Client{},
			fate{core.RecipientSent, 1, 2, ""},
		},
		{
			"cut at RCPT always",
			mailtest.Script{Chunking: true, On: at("RCPT", 0, mailtest.Action{Close: true})},
			smtp.Client{},
			failed(9, 0, "connection lost"),
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

// oneEach accepts one message per connection.
func oneEach() func(mailtest.Event) mailtest.Action {
	var mu sync.Mutex
	seen := map[int]bool{}
	return func(e mailtest.Event) mailtest.Action {
		mu.Lock()
		defer mu.Unlock()
		if e.Verb == "MAIL" && seen[e.Conn] {
			return mailtest.Action{Reply: "421 4.7.0 one each", Close: true}
		}
		seen[e.Conn] = seen[e.Conn] || e.Verb == "MAIL"
		return mailtest.Action{}
	}
}

// TestRelaysThatLetNobodyIn checks that a problem that affects all recipients counts against none of them. No try is
// counted, the relay is tried less and less often, and in the end the job fails with the reason.
func TestRelaysThatLetNobodyIn(t *testing.T) {
	cert, pool, err := mailtest.Certificate("relay.example.org")
	if err != nil {
		t.Fatal(err)
	}
	offered := &tls.Config{Certificates: []tls.Certificate{cert}}
	now := time.Now() // the certificate has the current date, but the bubble is in another century
	trusted := &tls.Config{RootCAs: pool, Time: func() time.Time { return now }}
	for name, tt := range map[string]struct {
		script mailtest.Script
		relay  smtp.Client
	}{
		"STARTTLS demanded":     {mailtest.Script{TLS: offered}, smtp.Client{TLS: smtp.TLSNone}},
		"STARTTLS not offered":  {mailtest.Script{}, smtp.Client{TLS: smtp.TLSStart}},
		"bad certificate":       {mailtest.Script{TLS: offered}, smtp.Client{TLS: smtp.TLSStart}},
		"certificate of others": {mailtest.Script{TLS: offered}, smtp.Client{TLS: smtp.TLSStart, TLSConfig: trusted}},
		"AUTH wrong": {mailtest.Script{
			Users:      map[string]string{"me": "right"},
			Mechanisms: []string{"PLAIN", "SCRAM-SHA-256"},
		}, smtp.Client{Username: "me", Password: "wrong"}},
		"AUTH demanded": {
			mailtest.Script{Users: map[string]string{"me": "right"}, Mechanisms: []string{"PLAIN"}},
			smtp.Client{},
		},
		"5xx at the greeting": {
			mailtest.Script{On: at("CONNECT", 0, mailtest.Action{Reply: "554 5.7.1 go away"})},
			smtp.Client{},
		},
		"421 always": {
			mailtest.Script{On: at("MAIL", 0, mailtest.Action{Reply: "421 4.3.2 never"})},
			smtp.Client{},
		},
		"sender refused": {
			mailtest.Script{On: at("MAIL", 0, mailtest.Action{Reply: "550 5.7.1 not you"})},
			smtp.Client{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			j, fates, connections := misbehaved(t, tt.script, tt.relay)
			nobody := fate{core.RecipientFailed, 0, 0, core.ReasonRelay}
			if want := [3]fate{nobody, nobody, nobody}; fates != want {
				t.Errorf("got  %+v\nwant %+v", fates, want)
			}
			if j.Status != core.JobFailed || j.FailureReason != core.ReasonRelay || connections < 10 || connections > 40 {
				t.Errorf("%s %q after %d connections", j.Status, j.FailureReason, connections)
			}
		})
	}
}

// TestRelaysThatAreStrict runs the same cases with the right certificate and credentials. All recipients must get the
// email.
func TestRelaysThatAreStrict(t *testing.T) {
	cert, pool, err := mailtest.Certificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	now, offered := time.Now(), &tls.Config{Certificates: []tls.Certificate{cert}}
	for _, mechanism := range []string{"SCRAM-SHA-256", "PLAIN", "LOGIN", "CRAM-MD5"} {
		t.Run(mechanism, func(t *testing.T) {
			j, fates, _ := misbehaved(t, mailtest.Script{
				TLS: offered, Users: map[string]string{"me": "right"}, Mechanisms: []string{mechanism}, Pieces: true,
			}, smtp.Client{
				TLS: smtp.TLSStart, TLSConfig: &tls.Config{RootCAs: pool, Time: func() time.Time { return now }},
				Username: "me", Password: "right",
			})
			if want := [3]fate{fine, fine, fine}; fates != want || j.Status != core.JobCompleted {
				t.Error(fmt.Sprint(fates), j.Status)
			}
		})
	}
}
