package worker_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/worker/workertest"
)

// busy is a relay whose route to busy.example accepts a limited number of emails a second and refuses the others.
type busy struct {
	mu                     sync.Mutex
	limit                  int
	reply                  smtp.Outcome
	second                 int64
	now                    int
	refused, taken, others int
}

func (b *busy) answer(to string, _ int) smtp.Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !strings.HasSuffix(to, "@busy.example") {
		b.others++
		return smtp.Outcome{Result: smtp.Sent, Code: 250}
	}
	if s := time.Now().Unix(); s != b.second {
		b.second, b.now = s, 0
	}
	if b.now++; b.now > b.limit {
		b.refused++
		return b.reply
	}
	b.taken++
	return smtp.Outcome{Result: smtp.Sent, Code: 250}
}

func (b *busy) figures() (refused, taken, others int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused, b.taken, b.others
}

// TestAThrottlingDestinationIsSlowedDown checks that a destination that refuses emails because of their number gets
// half as many until it accepts them. No other destination is slowed down. The rate is later raised step by step.
func TestAThrottlingDestinationIsSlowedDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &busy{limit: 8, reply: smtp.Outcome{
			Result: smtp.Later, Code: 451, Enhanced: "4.7.500",
			Text: "server busy",
		}}
		h := workertest.New(t, &smtptest.Sender{Answer: b.answer})
		h.Opts.Limits.PerSecond = 80
		h.Readers(h.List, 2000, mixed)
		h.Start()
		j := h.Job()
		coretest.Settle(2 * time.Minute)
		refused, taken, others := b.figures()
		if refused > 400 || taken < 500 || others != 1000 {
			t.Errorf("in 2 min %d refused, %d taken, %d to others", refused, taken, others)
		}
		if f := h.Sender.Figures(); f.Slowed[""] != 1 {
			t.Errorf("%+v", f)
		}
		j = h.Wait(j)
		h.AddsUp(j, 2000, 0, 0)
		all, _, _ := b.figures()
		t.Logf("%d refused in 2 min, %d in all; %v", refused, all, j.FinishedAt.Sub(j.StartedAt))
		if all > 2*refused || j.FinishedAt.Sub(j.StartedAt) > 30*time.Minute {
			t.Errorf("%d refused in 2 min, %d in all; %v", refused, all, j.FinishedAt.Sub(j.StartedAt))
		}
		b.mu.Lock()
		b.limit = 1_000_000 // it accepts more again
		b.mu.Unlock()
		time.Sleep(2 * time.Hour)
		j = h.Job()
		coretest.Settle(26 * time.Second)
		if j, err := h.SendJob(t.Context(), j.ID); err != nil || j.Sent != 2000 {
			t.Errorf("%v: %d at the old speed", err, j.Sent)
		}
		if f := h.Sender.Figures(); len(f.Slowed) != 0 {
			t.Errorf("%v", f.Slowed)
		}
	})
}

// TestGreylistingIsNoThrottling checks that greylisting, which refuses each new sender once at any rate, slows nothing
// down, and that all emails arrive at the second try.
func TestGreylistingIsNoThrottling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, &smtptest.Sender{Answer: func(_ string, nth int) smtp.Outcome {
			if nth == 1 {
				return smtp.Outcome{
					Result: smtp.Later, Code: 451, Enhanced: "4.7.1",
					Text: "Greylisted, please come back",
				}
			}
			return smtp.Outcome{Result: smtp.Sent, Code: 250}
		}})
		h.Opts.Limits.PerSecond = 100
		h.Readers(h.List, 500)
		h.Start()
		j := h.Wait(h.Job())
		h.AddsUp(j, 500, 0, 0)
		if took := j.FinishedAt.Sub(j.StartedAt); took > 6*time.Minute || len(h.Sender.Figures().Slowed) > 0 {
			t.Errorf("%v, %v", took, h.Sender.Figures().Slowed)
		}
	})
}

// TestAThrottlingDestinationThatHangsUp checks that a 421 4.7.x for a recipient pauses the route, as every 421 does,
// and slows down the destination that it was about.
func TestAThrottlingDestinationThatHangsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &busy{limit: 4, reply: smtp.Outcome{
			Result: smtp.Untouched, Code: 421, Enhanced: "4.7.0",
			Text: "too many mails",
		}}
		h := workertest.New(t, &smtptest.Sender{Answer: b.answer})
		h.Opts.Limits.PerSecond, h.Opts.Connections = 20, 1
		h.Readers(h.List, 1000, mixed)
		h.Start()
		j := h.Job()
		coretest.Settle(5 * time.Minute)
		if f := h.Sender.Figures(); f.Slowed[""] != 1 {
			t.Errorf("%+v", f)
		}
		j = h.Wait(j)
		h.AddsUp(j, 1000, 0, 0)
		refused, taken, _ := b.figures()
		t.Logf("%d refused, %d taken; %v", refused, taken, j.FinishedAt.Sub(j.StartedAt))
		if refused > 30 || taken != 500 {
			t.Errorf("%d refused, %d taken", refused, taken)
		}
	})
}

// mixed returns the address of the k-th recipient. Every other one is at busy.example.
func mixed(k int) core.Email {
	return core.Email(fmt.Sprintf("r%d@%s", k, [...]string{"busy.example", "idle.example"}[k%2]))
}
