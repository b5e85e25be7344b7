package smtp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"newsletterd/mail/mailtest"
)

// TestClientFaultyRelay sends 1,200 emails in 8 sessions to a server that fails in every possible way, and retries the
// failed ones. Each must arrive, and a second copy is permitted only after an ambiguous outcome.
func TestClientFaultyRelay(t *testing.T) {
	for _, chunking := range []bool{false, true} {
		t.Run(map[bool]string{false: "DATA", true: "BDAT"}[chunking], func(t *testing.T) { faultyRelay(t, chunking) })
	}
}

func faultyRelay(t *testing.T, chunking bool) {
	var mu sync.Mutex
	rnd := rand.New(rand.NewPCG(1, 2))
	actions := []mailtest.Action{
		{Close: true},
		{Reply: "421 4.3.2 no more", Close: true},
		{Reply: "451 4.3.0 later"},
		{Reply: "421 4.3.2 tired"},
		{Reply: "250 2.0.0 and gone", Close: true},
	}
	s := mailtest.Start(t, mailtest.Script{Chunking: chunking, On: func(e mailtest.Event) mailtest.Action {
		mu.Lock()
		defer mu.Unlock()
		if e.Verb == "CONTENT" || e.Verb == "QUIT" || rnd.IntN(25) > 0 {
			return mailtest.Action{}
		}
		a := actions[rnd.IntN(len(actions))]
		if e.Verb == "DATA" && a.Reply != "" && a.Reply[0] == '2' {
			a.Reply = "354 2.0.0 and gone"
		}
		return a
	}})
	const all = 1200 // enough for some ambiguous outcomes, in any order of the sessions
	todo := make([]string, 0, all)
	for i := range cap(todo) {
		todo = append(todo, to(i))
	}
	sent, ambiguous, open := map[string]int{}, map[string]int{}, 0
	src := func() *Source {
		return &Source{
			Next: func(context.Context, bool) (*Envelope, bool) {
				mu.Lock()
				defer mu.Unlock()
				if len(todo) == 0 {
					return nil, false
				}
				e := &Envelope{From: "b@x.example", To: todo[0], Data: []byte("Subject: " + todo[0] + "\r\n\r\n.x\r\n")}
				todo, open = todo[1:], open+1
				return e, true
			},
			Commit: func(*Envelope, bool) bool { mu.Lock(); defer mu.Unlock(); return rnd.IntN(40) > 0 },
			Done: func(e *Envelope, o Outcome) {
				mu.Lock()
				defer mu.Unlock()
				open--
				switch o.Result {
				case Sent:
					sent[e.To]++
				case Never:
					t.Errorf("%s: %+v", e.To, o)
				case Ambiguous:
					ambiguous[e.To]++
					todo = append(todo, e.To)
				default:
					todo = append(todo, e.To)
				}
			},
		}
	}
	for round := 0; len(todo) > 0 && round < 1000; round++ {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				_ = (&Client{Addr: s.Addr(), NoPipelining: i == 0, MaxMails: 20}).Deliver(t.Context(), src())
			})
		}
		wg.Wait()
	}
	if open != 0 || len(todo) > 0 {
		t.Fatalf("%d envelopes without an outcome, %d left over", open, len(todo))
	}
	copies := map[string]int{}
	for _, m := range s.Messages() {
		copies[m.To]++
		if string(m.Data) != fmt.Sprintf("Subject: %s\r\n\r\n.x\r\n", m.To) {
			t.Errorf("%s got %q", m.To, m.Data)
		}
	}
	for i := range all {
		r := to(i)
		if sent[r] != 1 || copies[r] < 1 || copies[r] > 1+ambiguous[r] {
			t.Errorf("%s: %d times sent, %d copies, %d times ambiguous", r, sent[r], copies[r], ambiguous[r])
		}
	}
	if len(ambiguous) == 0 {
		t.Error("the server was too kind for this test to mean anything")
	}
}
