package worker_test

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	verifier "github.com/emersion/go-msgauth/dkim"

	"newsletterd/core"
	"newsletterd/mail/dkim"
	"newsletterd/mail/mailtest"
	"newsletterd/mail/smtp"
	"newsletterd/store"
	"newsletterd/store/storetest"
	"newsletterd/worker"
)

// dkimKey gives the tenant a domain, a sender in it and a key.
func (h *house) dkimKey(algorithm, selector string) core.DKIMKey {
	h.Helper()
	h.ChangeTenant(h.list.TenantID, core.TenantInput{
		Domains: &[]string{"acme.example"}, MailFrom: new("letters@acme.example"),
	})
	private, public, err := dkim.NewKey(algorithm)
	h.Must(err)
	k := core.DKIMKey{
		ID: core.NewID(), TenantID: h.list.TenantID, Domain: "acme.example", Selector: selector, Algorithm: algorithm,
		Status: core.DKIMActive, Public: public, CreatedAt: core.At(time.Now()),
	}
	h.Must(h.AddDKIMKey(h.Context(), k, private, "test"))
	return k
}

// signatures counts the good signatures of a message.
func signatures(t testing.TB, msg []byte, keys ...core.DKIMKey) (good int) {
	t.Helper()
	vs, err := verifier.VerifyWithOptions(bytes.NewReader(msg),
		&verifier.VerifyOptions{LookupTXT: func(name string) ([]string, error) {
			for _, k := range keys {
				if k.RecordName() == name {
					return []string{k.RecordValue()}, nil
				}
			}
			return nil, errors.New("no such name")
		}})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vs {
		if v.Err == nil {
			good++
		} else {
			t.Error(v.Err)
		}
	}
	return good
}

// Every mail of a job is signed, by few connections as by many; a key that is deleted meanwhile signs no more.
func TestMailsAreSigned(t *testing.T) {
	for _, connections := range []int{1, 8} {
		server, err := mailtest.NewServer(mailtest.Script{})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		h := newHouse(t, &smtp.Client{Addr: server.Addr()})
		rsa := h.dkimKey(core.DKIMRSA, "one")
		ed := h.dkimKey(core.DKIMEd25519, "two")
		h.opts.Connections, h.opts.Signers, h.opts.DKIMSkip = connections, worker.NewSigners(h.Store), []string{"date"}
		h.Readers(h.list, 60)
		h.start()
		if j := h.wait(h.job(nil)); j.Sent != 60 {
			t.Fatalf("%+v", j)
		}
		seen := map[string]bool{}
		for _, m := range server.Messages() {
			seen[m.To] = true
			if n := signatures(t, m.Data, rsa, ed); n != 2 {
				t.Fatalf("%d good signatures in\n%s", n, m.Data)
			}
		}
		if len(seen) != 60 || len(server.Messages()) != 60 {
			t.Errorf("%d addresses, %d messages", len(seen), len(server.Messages()))
		}
		h.Must(errors.Join(h.DeleteDKIMKey(h.Context(), rsa.ID, "test", 3000)))
		if j := h.wait(h.job(nil)); j.Sent != 60 {
			t.Fatalf("%+v", j)
		}
		for _, m := range server.Messages()[60:] {
			if bytes.Contains(m.Data, []byte("DKIM-Signature:")) {
				t.Fatalf("signed by a key that is gone:\n%s", m.Data)
			}
		}
	}
}

// aheadServer is a relay that answers as on says.
func aheadServer(t *testing.T, on func(mailtest.Event) mailtest.Action) *mailtest.Server {
	t.Helper()
	server, err := mailtest.NewServer(mailtest.Script{On: on})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server
}

// aheadHouse is one with n subscribers that has started to send by a relay.
func aheadHouse(t *testing.T, server *mailtest.Server, signed bool, connections, n int) *house {
	t.Helper()
	h := newHouse(t, &smtp.Client{Addr: server.Addr()})
	if signed {
		h.dkimKey(core.DKIMRSA, "one")
	}
	h.opts.Connections, h.opts.Signers = connections, worker.NewSigners(h.Store)
	h.Readers(h.list, n)
	h.start()
	return h
}

// A mail that was made ahead, or waits for its signature, is checked once more before it goes.
func TestWhoLeavesWhileMailsAreMade(t *testing.T) {
	for n, signed := range map[int]bool{40: true, 400: false} { // few are made ahead only where they are signed
		fifth, left := make(chan bool), make(chan bool)
		server := aheadServer(t, func(e mailtest.Event) mailtest.Action {
			if e.Verb == "DOT" && e.N == 5 {
				close(fifth)
				<-left
			}
			return mailtest.Action{}
		})
		h := aheadHouse(t, server, signed, 1, n)
		j := h.job(nil)
		<-fifth
		for k := range n {
			h.Tell(h.list, core.StatusUnsubscribed, storetest.Reader(k))
		}
		close(left)
		if j = h.wait(j); j.Status != core.JobCompleted || j.Sent < 5 || j.Sent > 6 || j.Sent+j.Skipped != int64(n) {
			t.Errorf("%+v", j)
		}
	}
}

// Mails that were made ahead on a connection that breaks go by another one, each once.
func TestMailsMadeAheadOnABrokenConnection(t *testing.T) {
	for _, signed := range []bool{false, true} {
		server := aheadServer(t, func(e mailtest.Event) mailtest.Action {
			return mailtest.Action{Close: e.Verb == "MAIL" && e.N%50 == 0}
		})
		synctest.Test(t, func(t *testing.T) {
			h := aheadHouse(t, server, signed, 2, 400)
			j := h.wait(h.job(nil))
			h.addsUp(j, 400, 0, 0)
		})
		mails := map[string]int{}
		for _, m := range server.Messages() {
			mails[m.To]++
		}
		if len(mails) != 400 || len(server.Messages()) != 400 {
			t.Errorf("%d mails to %d people", len(server.Messages()), len(mails))
		}
		if n := server.Seen("MAIL"); n < 408 {
			t.Errorf("%d times MAIL: no connection broke", n)
		}
	}
}

// What a connection has made ahead does not wait with it for a relay that hangs: others send it.
func TestMailsMadeAheadOfAHangingRelay(t *testing.T) {
	for _, signed := range []bool{false, true} {
		others := make(chan bool)
		var taken atomic.Int64
		server := aheadServer(t, func(e mailtest.Event) mailtest.Action {
			if e.Verb == "DOT" {
				if e.N == 20 {
					<-others
				} else if taken.Add(1) == 398 { // of 400, but for the one that hangs, and the one whose MAIL comes after it
					close(others)
				}
			}
			return mailtest.Action{}
		})
		h := aheadHouse(t, server, signed, 2, 400)
		if j := h.wait(h.job(nil)); j.Sent != 400 {
			t.Errorf("%+v", j)
		}
	}
}

func TestConfirmationsAreSigned(t *testing.T) {
	server, err := mailtest.NewServer(mailtest.Script{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	h := newHouse(t, &smtp.Client{Addr: server.Addr()})
	k := h.dkimKey(core.DKIMRSA, "one")
	h.start()
	g := worker.NewGroup(h.opts.Log, worker.Mailer(worker.MailerOptions{
		Store: h.Store, Sender: h.route, Sealer: h.opts.Sealer, Ident: h.opts.Ident, PublicURL: "http://news.test",
		From:    h.opts.From,
		Signers: worker.NewSigners(h.Store), Log: h.opts.Log,
	}))
	g.Start()
	defer g.Drain(time.Minute)
	_, _, err = h.Subscribe(t.Context(), store.SubscribeRequest{ListID: h.list.ID, Email: "a@example.org"},
		core.At(time.Now()))
	h.Must(err)
	for server.Seen("DOT") < 1 || len(server.Messages()) < 1 {
		time.Sleep(time.Millisecond)
	}
	if m := server.Messages()[0]; signatures(t, m.Data, k) != 1 {
		t.Errorf("no good signature in\n%s", m.Data)
	}
}
