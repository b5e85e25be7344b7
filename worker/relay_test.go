package worker_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/mail/mailtest"
	"newsletterd/mail/smtp"
	"newsletterd/store/storetest"
	"newsletterd/worker/workertest"
)

// moody is a relay that refuses, defers, breaks connections and recovers, depending on the number in each address. It
// breaks the connection only once for each address, because an email whose reply is lost twice fails. With CHUNKING, an
// email is sent with DATA only after such a break, so moody then leaves its content alone.
type moody struct {
	chunking bool

	mu   sync.Mutex
	once map[string]bool
}

// first reports whether something happens for the first time.
func (m *moody) first(what string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := m.once[what]
	m.once[what] = true
	return !seen
}

func (m *moody) answer(e mailtest.Event) mailtest.Action {
	var k int
	if at := strings.IndexByte(e.Arg, 'r'); at >= 0 {
		_, _ = fmt.Sscanf(e.Arg[at:], "r%06d@", &k)
	}
	switch {
	case e.Verb == "RCPT" && strings.Contains(e.Arg, "r000") && k%100 == 1:
		return mailtest.Action{Reply: "550 5.1.1 no such user"}
	case e.Verb == "RCPT" && k%100 == 2 && m.first(e.Arg):
		return mailtest.Action{Reply: "451 4.2.1 later"}
	case e.Verb == "DOT" && k%100 == 3:
		return mailtest.Action{Reply: "554 5.7.1 not from you"}
	case e.Verb == "DOT" && k == 104 && m.first("cut behind the dot"):
		return mailtest.Action{Reply: "-", Close: true}
	case e.Verb == "CONTENT" && k == 205 && !m.chunking && m.first("cut in the content"):
		return mailtest.Action{Reply: "-", Close: true}
	case e.Verb == "MAIL" && e.N == 300:
		return mailtest.Action{Reply: "421 4.3.2 going down", Close: true}
	case e.Verb == "CONNECT" && e.N == 7:
		return mailtest.Action{Reply: "421 4.3.2 too busy", Close: true}
	}
	return mailtest.Action{}
}

// TestARelayInAllItsMoods runs a job with a real SMTP server that misbehaves. Each recipient must end as the replies
// say.
func TestARelayInAllItsMoods(t *testing.T) {
	for _, chunking := range []bool{false, true} {
		t.Run(map[bool]string{false: "DATA", true: "BDAT"}[chunking], func(t *testing.T) { allMoods(t, chunking) })
	}
}

func allMoods(t *testing.T, chunking bool) {
	m := &moody{chunking: chunking, once: map[string]bool{}}
	// Outside the bubble, so that waits in it don't stop the time.
	server := mailtest.Start(t, mailtest.Script{On: m.answer, Chunking: chunking})
	var j core.SendJob
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, &smtp.Client{Addr: server.Addr(), TLS: smtp.TLSNone})
		h.Opts.Connections = 4
		h.Readers(h.List, 600)
		h.Start()
		j = h.Wait(h.Job())
		h.AddsUp(j, 588, 12, 0)
		if j.Status != core.JobCompleted || j.Bounced != 6 {
			t.Errorf("%s, bounced %d", j.Status, j.Bounced)
		}
	})
	count := map[string]int{}
	for _, msg := range server.Messages() {
		count[msg.To]++
	}
	twice := 0
	for to, n := range count {
		if n > 1 && (n > 2 || !chunking && to != string(storetest.Reader(104))) {
			t.Errorf("%s got %d", to, n)
		}
		if n > 1 {
			twice++
		}
	}
	if len(count) != 588 {
		t.Errorf("%d addresses got the mail", len(count))
	}
	// The dot is sent in the same write as the content, so a break in the content leaves the outcome open, too. With
	// chunks, the outcomes of all messages around the broken one are open.
	least, most := int64(2), int64(2)
	if chunking {
		least, most = 1, 8
	}
	if j.Ambiguous < least || j.Ambiguous > most || int64(twice) > j.Ambiguous {
		t.Errorf("%d ambiguous, %d got two", j.Ambiguous, twice)
	}
	if chunking && server.Seen("RSET") < 100 {
		t.Errorf("only %d mails followed another in a write", server.Seen("RSET"))
	}
}
