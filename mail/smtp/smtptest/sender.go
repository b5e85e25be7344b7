// Package smtptest provides a Sender that delivers no emails. It replies as a test specifies, without delay, and also
// works in fake time. Tests that need a network use the servers in mail/mailtest.
package smtptest

import (
	"context"
	"slices"
	"sync"

	"newsletterd/mail/smtp"
)

// Func is an smtp.Sender that consists of one function.
type Func func(ctx context.Context, src *smtp.Source) error

// Deliver implements smtp.Sender.
func (f Func) Deliver(ctx context.Context, src *smtp.Source) error { return f(ctx, src) }

// Sender is an smtp.Sender that accepts each email unless one of its functions decides otherwise. Several connections
// call the functions concurrently.
type Sender struct {
	// Begin is called before each email, and returns an error if the relay can't be reached.
	Begin func() *smtp.RelayError
	// Refuse is called at MAIL FROM.
	Refuse func(e *smtp.Envelope) *smtp.RelayError
	// Message is called with each email, and may block.
	Message func(e *smtp.Envelope)
	// Answer returns the outcome for the nth try of an address, starting at 1. smtp.Untouched ends the connection at
	// RCPT TO, unless Outcome.Lost is set. Lost is set for code 421.
	Answer func(to string, nth int) smtp.Outcome

	mu    sync.Mutex // guards the following fields
	tries int
	tried map[string]int
	mails []string
	texts []string
}

// Deliver implements smtp.Sender.
func (s *Sender) Deliver(ctx context.Context, src *smtp.Source) error {
	for {
		e, ok := src.Next(ctx, true)
		if !ok {
			return nil
		}
		s.mu.Lock()
		s.tries++
		s.mu.Unlock()
		if s.Begin != nil {
			if err := s.Begin(); err != nil {
				src.Done(e, smtp.Outcome{})
				return err
			}
		}
		if s.Refuse != nil {
			if err := s.Refuse(e); err != nil {
				src.Done(e, smtp.Outcome{Code: err.Code, Enhanced: err.Enhanced})
				return err
			}
		}
		if !src.Commit(e, true) {
			src.Done(e, smtp.Outcome{})
			continue
		}
		o := s.take(e)
		ends := o.Result == smtp.Untouched && !o.Lost
		o.Lost = o.Lost || ends && o.Code == 421
		src.Done(e, o)
		if ends {
			return &smtp.RelayError{Fault: smtp.FaultRefused, Stage: "RCPT", Code: o.Code, Enhanced: o.Enhanced}
		}
	}
}

func (s *Sender) take(e *smtp.Envelope) smtp.Outcome {
	s.mu.Lock()
	if s.tried == nil {
		s.tried = map[string]int{}
	}
	s.tried[e.To]++
	nth, to := s.tried[e.To], e.To
	s.mu.Unlock()
	if s.Message != nil {
		s.Message(e)
	}
	o := smtp.Outcome{Result: smtp.Sent, Code: 250}
	if s.Answer != nil {
		o = s.Answer(to, nth)
	}
	if o.Result == smtp.Sent || o.Result == smtp.Ambiguous {
		s.mu.Lock()
		s.mails, s.texts = append(s.mails, to), append(s.texts, string(e.Data)+string(e.Tail))
		s.mu.Unlock()
	}
	return o
}

// Tries returns the number of emails received, including those that Begin refused.
func (s *Sender) Tries() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tries
}

// Tried returns how often an email to an address reached RCPT TO.
func (s *Sender) Tried(to string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tried[to]
}

// Sum returns the number of accepted emails.
func (s *Sender) Sum() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mails)
}

// Count returns the number of accepted emails per address.
func (s *Sender) Count() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[string]int{}
	for _, to := range s.mails {
		n[to]++
	}
	return n
}

// Texts returns the accepted emails, oldest first.
func (s *Sender) Texts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.texts)
}
