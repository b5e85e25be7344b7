package worker_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"newsletterd/mail/smtp"
)

// inBubble runs a test in fake time, which begins on 2000-01-01.
func inBubble(t *testing.T, f func(t *testing.T)) { synctest.Test(t, f) }

// script is a smtp.Sender that answers as a test decides, within fake time. An answer of smtp.Untouched ends the session
// at RCPT, unless the connection is lost.
type script struct {
	mu      sync.Mutex
	mails   []string                              // RCPT TO, in order of acceptance
	answer  func(to string, nth int) smtp.Outcome // nth: how often this address was tried, from 1
	route   func() *smtp.RelayError               // asked when a session begins
	tried   map[string]int
	dials   int
	message func(e *smtp.Envelope)
	refuse  func(e *smtp.Envelope) *smtp.RelayError // at MAIL
}

func (s *script) Deliver(ctx context.Context, src *smtp.Source) error {
	for {
		e, ok := src.Next(ctx, true)
		if !ok {
			return nil
		}
		s.mu.Lock()
		s.dials++
		s.mu.Unlock()
		if s.route != nil {
			if err := s.route(); err != nil {
				src.Done(e, smtp.Outcome{})
				return err
			}
		}
		if s.refuse != nil {
			if err := s.refuse(e); err != nil {
				src.Done(e, smtp.Outcome{Code: err.Code, Enhanced: err.Enhanced})
				return err
			}
		}
		if !src.Commit(e) {
			src.Done(e, smtp.Outcome{})
			continue
		}
		o := s.take(e)
		src.Done(e, o)
		if o.Result == smtp.Untouched && !o.Lost {
			return &smtp.RelayError{Fault: smtp.FaultRefused, Stage: "RCPT", Code: o.Code, Enhanced: o.Enhanced}
		}
	}
}

func (s *script) take(e *smtp.Envelope) smtp.Outcome {
	s.mu.Lock()
	if s.tried == nil {
		s.tried = map[string]int{}
	}
	s.tried[e.To]++
	nth, to := s.tried[e.To], e.To
	s.mu.Unlock()
	if s.message != nil {
		s.message(e)
	}
	o := smtp.Outcome{Result: smtp.Sent, Code: 250}
	if s.answer != nil {
		o = s.answer(to, nth)
	}
	if o.Result == smtp.Sent || o.Result == smtp.Ambiguous {
		s.mu.Lock()
		s.mails = append(s.mails, to)
		s.mu.Unlock()
	}
	return o
}

func (s *script) count() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[string]int{}
	for _, to := range s.mails {
		n[to]++
	}
	return n
}
