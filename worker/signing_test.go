package worker_test

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/mail/dkim/dkimtest"
	"newsletterd/mail/mailtest"
	"newsletterd/mail/smtp"
	"newsletterd/store/storetest"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

// TestMailsAreSigned checks that every email of a job is signed, with few connections or many, and that a key deleted
// meanwhile signs no more emails.
func TestMailsAreSigned(t *testing.T) {
	for _, connections := range []int{1, 8} {
		server := mailtest.Start(t, mailtest.Script{})
		h := workertest.New(t, &smtp.Client{Addr: server.Addr()})
		rsa := h.DKIMKey(core.DKIMRSA, "one")
		ed := h.DKIMKey(core.DKIMEd25519, "two")
		h.Opts.Connections, h.Opts.Signers, h.Opts.DKIMSkip = connections, worker.NewSigners(h.Store), []string{"date"}
		h.Readers(h.List, 60)
		h.Start()
		if j := h.Wait(h.Job()); j.Sent != 60 {
			t.Fatalf("%+v", j)
		}
		seen := map[string]bool{}
		for _, m := range server.Messages() {
			seen[m.To] = true
			if good, bad := dkimtest.Verify(t, m.Data, rsa, ed); good != 2 || bad != 0 {
				t.Fatalf("%d good signatures, %d bad in\n%s", good, bad, m.Data)
			}
		}
		if len(seen) != 60 || len(server.Messages()) != 60 {
			t.Errorf("%d addresses, %d messages", len(seen), len(server.Messages()))
		}
		h.Must(errors.Join(h.DeleteDKIMKey(h.Context(), rsa.ID, "test", 3000)))
		if j := h.Wait(h.Job()); j.Sent != 60 {
			t.Fatalf("%+v", j)
		}
		for _, m := range server.Messages()[60:] {
			if bytes.Contains(m.Data, []byte("DKIM-Signature:")) {
				t.Fatalf("signed by a key that is gone:\n%s", m.Data)
			}
		}
	}
}

// aheadHouse returns a harness with n subscribers that has started to send through a relay.
func aheadHouse(t *testing.T, server *mailtest.Server, signed bool, connections, n int) *workertest.Harness {
	t.Helper()
	h := workertest.New(t, &smtp.Client{Addr: server.Addr()})
	if signed {
		h.DKIMKey(core.DKIMRSA, "one")
	}
	h.Opts.Connections, h.Opts.Signers = connections, worker.NewSigners(h.Store)
	h.Readers(h.List, n)
	h.Start()
	return h
}

// TestWhoLeavesWhileMailsAreMade checks that an email prepared in advance, or waiting for its signature, is checked
// once more before it is sent.
func TestWhoLeavesWhileMailsAreMade(t *testing.T) {
	for n, signed := range map[int]bool{40: true, 400: false} { // only signed emails are prepared far in advance
		fifth, left := make(chan bool), make(chan bool)
		server := mailtest.Start(t, mailtest.Script{On: func(e mailtest.Event) mailtest.Action {
			if e.Verb == "DOT" && e.N == 5 {
				close(fifth)
				<-left
			}
			return mailtest.Action{}
		}})
		h := aheadHouse(t, server, signed, 1, n)
		j := h.Job()
		<-fifth
		for k := range n {
			h.Tell(h.List, core.StatusUnsubscribed, storetest.Reader(k))
		}
		close(left)
		if j = h.Wait(j); j.Status != core.JobCompleted || j.Sent < 5 || j.Sent > 6 || j.Sent+j.Skipped != int64(n) {
			t.Errorf("%+v", j)
		}
	}
}

// TestMailsMadeAheadOnABrokenConnection checks that emails prepared on a connection that breaks are sent through
// another one, each once.
func TestMailsMadeAheadOnABrokenConnection(t *testing.T) {
	for _, signed := range []bool{false, true} {
		server := mailtest.Start(t, mailtest.Script{On: func(e mailtest.Event) mailtest.Action {
			return mailtest.Action{Close: e.Verb == "MAIL" && e.N%50 == 0}
		}})
		synctest.Test(t, func(t *testing.T) {
			h := aheadHouse(t, server, signed, 2, 400)
			j := h.Wait(h.Job())
			h.AddsUp(j, 400, 0, 0)
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

// TestMailsMadeAheadOfAHangingRelay checks that emails which a connection has prepared don't wait for a relay that
// hangs: other connections send them.
func TestMailsMadeAheadOfAHangingRelay(t *testing.T) {
	for _, signed := range []bool{false, true} {
		others := make(chan bool)
		var taken atomic.Int64
		server := mailtest.Start(t, mailtest.Script{On: func(e mailtest.Event) mailtest.Action {
			if e.Verb == "DOT" {
				if e.N == 20 {
					<-others
				} else if taken.Add(1) == 398 { // of 400: without the one that hangs and the next one
					close(others)
				}
			}
			return mailtest.Action{}
		}})
		h := aheadHouse(t, server, signed, 2, 400)
		if j := h.Wait(h.Job()); j.Sent != 400 {
			t.Errorf("%+v", j)
		}
	}
}

func TestConfirmationsAreSigned(t *testing.T) {
	server := mailtest.Start(t, mailtest.Script{})
	h := workertest.New(t, &smtp.Client{Addr: server.Addr()})
	k := h.DKIMKey(core.DKIMRSA, "one")
	h.Opts.Signers = worker.NewSigners(h.Store)
	h.Start()
	h.Run(worker.Mailer(h.MailerOptions()))
	h.Pending(h.List.ID, "a@example.org")
	for server.Seen("DOT") < 1 || len(server.Messages()) < 1 {
		time.Sleep(time.Millisecond)
	}
	m := server.Messages()[0]
	if good, bad := dkimtest.Verify(t, m.Data, k); good != 1 || bad != 0 {
		t.Errorf("%d good signatures, %d bad in\n%s", good, bad, m.Data)
	}
}
