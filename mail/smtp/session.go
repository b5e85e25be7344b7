package smtp

import (
	"context"
	"errors"
	"os"
	"time"

	"newsletterd/mail/internal/octets"
)

// session is the state of one call to Deliver. Its connection is opened when there is work.
type session struct {
	client   *Client
	ctx      context.Context
	src      *Source
	timeouts Timeouts
	maxMails int
	maxAge   time.Duration
	wire     *wire // nil: not connected
	finished int   // number of envelopes with an outcome
	burst    []chunk
}

func (s *session) run() error {
	var cur *Envelope // unless it is sent in chunks, its commands are written and their replies unread
	for {
		if cur == nil {
			if cur = s.wait(); cur == nil {
				return nil
			}
			if err := s.begin(cur); err != nil {
				return s.drained(err)
			}
		}
		send := s.finish
		if s.inChunks(cur) {
			send = s.stream
		}
		next, err := send(cur)
		if err != nil {
			return s.drained(err)
		}
		cur = next
	}
}

// drained returns err, or nil if err only means that the client closed the connection at the end of a drain.
func (s *session) drained(err error) error {
	if s.ctx.Err() != nil && (errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.Canceled)) {
		return nil
	}
	return err
}

// done reports the outcome of e.
func (s *session) done(e *Envelope, o Outcome) {
	s.finished++
	s.src.Done(e, o)
}

// next returns the source's next envelope, or nil if there is none. If an envelope's addresses are not valid in a
// command, it gets its outcome immediately.
func (s *session) next(ctx context.Context, wait bool) *Envelope {
	for ctx.Err() == nil {
		e, ok := s.src.Next(ctx, wait)
		if !ok {
			return nil
		}
		if (e.From == "" || octets.Address(e.From)) && octets.Address(e.To) {
			return e
		}
		s.done(e, Outcome{Result: Never, Text: "the address can't be put into an SMTP command"})
	}
	return nil
}

// wait waits for the next envelope. It returns nil when the session is over. It closes a connection that has reached
// its limits before it waits, and an idle connection while it waits.
func (s *session) wait() *Envelope {
	if s.wire != nil && s.aged() {
		s.hangUp()
	}
	if s.wire == nil {
		return s.next(s.ctx, true)
	}
	if e := s.next(s.ctx, false); e != nil {
		return e
	}
	s.wire.idled = true
	idle, cancel := context.WithTimeout(s.ctx, orDefault(s.client.IdleTimeout, 30*time.Second))
	defer cancel()
	e := s.next(idle, true)
	if e != nil || idle.Err() == nil || s.ctx.Err() != nil {
		return e
	}
	s.hangUp()
	return s.next(s.ctx, true)
}

// aged reports whether the connection has reached its limit of emails or time.
func (s *session) aged() bool {
	return s.wire.mails >= s.maxMails || time.Since(s.wire.openedAt) >= s.maxAge
}

// hangUp ends the connection, if there is one, with QUIT.
func (s *session) hangUp() {
	if s.wire != nil {
		s.wire.quit(s.timeouts.Quit, s.timeouts.Closed)
		s.wire = nil
	}
}

// drop ends the connection without QUIT, because the server could mistake QUIT for content.
func (s *session) drop() {
	if s.wire != nil {
		s.wire.end(s.timeouts.Closed)
		s.wire = nil
	}
}

// cut closes a failed connection without waiting for the server to close it. The relay isn't contacted for a while
// anyway.
func (s *session) cut() {
	if s.wire != nil {
		s.wire.close()
		s.wire = nil
	}
}

// begin connects if necessary, and writes MAIL, RCPT and DATA for e unless e is sent in chunks. If it returns an error,
// it has set the outcome of e.
func (s *session) begin(e *Envelope) error {
	if err := s.connected(e); err != nil || s.inChunks(e) {
		return err
	}
	return s.announce(e)
}

// connected connects if necessary. If it returns an error, it has set the outcome of e.
func (s *session) connected(e *Envelope) error {
	if s.wire != nil {
		return nil
	}
	c, fault := s.connect()
	if fault != nil {
		fault.Delivered = s.finished
		s.done(e, Outcome{})
		return fault
	}
	s.wire = c
	return nil
}

// announce writes MAIL, RCPT and DATA for e. If it returns an error, it has set the outcome of e.
func (s *session) announce(e *Envelope) error {
	if !s.wire.pipelining {
		return nil // finish sends one command at a time
	}
	if s.wire.needsReset {
		s.wire.command("RSET")
	}
	s.envelope(e)
	if _, err := s.wire.flush(s.timeouts.Block); err != nil {
		if s.wire.idled { // the server closed the connection meanwhile
			s.drop()
			return s.begin(e)
		}
		return s.lost(e, "MAIL", err)
	}
	return nil
}

// again connects again and starts over with e after the server has closed the idle connection.
func (s *session) again(e *Envelope) error {
	s.drop()
	if err := s.connected(e); err != nil {
		return err
	}
	return s.announce(e)
}

// envelope adds the commands of e to the output buffer.
func (s *session) envelope(e *Envelope) {
	s.wire.command("MAIL FROM:<", e.From, ">")
	s.wire.command("RCPT TO:<", e.To, ">")
	s.wire.command("DATA")
}

// fault returns a RelayError that is caused by the latest reply.
func (s *session) fault(f Fault, stage string) *RelayError {
	r := &s.wire.reply
	if authDemand(r.code, r.enhanced) {
		f = FaultAuth
	}
	return &RelayError{
		Fault: f, Stage: stage, Code: r.code, Enhanced: r.enhanced, Text: r.string(),
		Delivered: s.finished,
	}
}

// lost reports the outcome of e after the connection broke before the final dot, and returns the fault.
func (s *session) lost(e *Envelope, stage string, err error) error {
	delivered := s.finished
	s.cut()
	s.done(e, Outcome{Lost: true})
	f := FaultConnect
	if errors.Is(err, errReply) || errors.Is(err, errTooMuch) {
		f = FaultProtocol
	}
	return &RelayError{Fault: f, Stage: stage, Delivered: delivered, Err: err}
}

// blame sets the outcome of e to Untouched after a reply about the relay, and returns the fault.
func (s *session) blame(e *Envelope, f Fault, stage string) error {
	err := s.fault(f, stage)
	s.drop()
	s.done(e, err.untouched())
	return err
}

// finish reads the replies to e's commands. If the server accepted them, it sends the content and, unless the next
// envelope is sent in chunks, that envelope's commands. It returns the next envelope, or nil. If it returns an error,
// the outcomes of both envelopes are set.
func (s *session) finish(e *Envelope) (*Envelope, error) {
	accepted, err := s.accepted(e)
	if err != nil || !accepted {
		return nil, err
	}
	if !s.src.Commit(e, true) {
		s.drop() // the server waits for content, and only this ends the wait
		s.done(e, Outcome{})
		return nil, nil
	}
	if err := s.wire.content(e.Data, e.Tail, e.Dotless, s.timeouts.Block); err != nil {
		return nil, s.lost(e, "content", err)
	}
	s.wire.mails++
	var next *Envelope
	if s.wire.pipelining && !s.aged() {
		if next = s.next(s.ctx, false); next != nil && !s.inChunks(next) {
			s.envelope(next)
		}
	}
	return next, s.dot(e, next)
}

// dot writes the content and reads the reply to the final dot. next is the envelope whose commands follow the dot, or
// nil.
func (s *session) dot(e, next *Envelope) error {
	sent, err := s.wire.flush(s.timeouts.Block)
	if err != nil && !sent {
		err = s.lost(e, "content", err)
		s.release(next)
		return err
	}
	if err == nil {
		if s.src.Ahead != nil {
			s.src.Ahead(s.ctx)
		}
		err = s.wire.read(s.timeouts.Dot)
	}
	if err != nil {
		delivered := s.finished
		s.cut()
		s.done(e, Outcome{Result: Ambiguous})
		s.release(next)
		return &RelayError{Fault: FaultConnect, Stage: "dot", Delivered: delivered, Err: err}
	}
	s.wire.idled = false
	r := &s.wire.reply
	o, blame := classify(stageDot, r.code, r.enhanced, r.string())
	if blame {
		err := s.blame(e, FaultRefused, "dot")
		s.release(next)
		return err
	}
	s.done(e, o)
	return nil
}

// release sets the outcome of e to Untouched. e may be nil.
func (s *session) release(e *Envelope) {
	if e != nil {
		s.done(e, Outcome{})
	}
}

// accepted reads the replies to RSET, MAIL, RCPT and DATA, and reports whether the server waits for the content. If it
// returns false without an error, the recipient was refused. Unless it returns true, it has set the outcome of e.
func (s *session) accepted(e *Envelope) (bool, error) {
	var err error
	if s.wire.needsReset {
		s.wire.needsReset = false
		err = s.step(s.timeouts.Greeting, "RSET")
	}
	if err == nil {
		err = s.step(s.timeouts.Mail, "MAIL FROM:<", e.From, ">")
	}
	if s.wire.idled && (err != nil || s.wire.reply.code == 421) {
		if err := s.again(e); err != nil {
			return false, err
		}
		return s.accepted(e)
	}
	if err != nil {
		return false, s.lost(e, "MAIL", err)
	}
	s.wire.idled = false
	if s.wire.reply.code/100 != 2 {
		return false, s.blame(e, FaultRefused, "MAIL")
	}
	if err := s.step(s.timeouts.Rcpt, "RCPT TO:<", e.To, ">"); err != nil {
		return false, s.lost(e, "RCPT", err)
	}
	r := &s.wire.reply
	if r.code/100 != 2 {
		return false, s.refusedRcpt(e)
	}
	if err := s.step(s.timeouts.Data, "DATA"); err != nil {
		return false, s.lost(e, "DATA", err)
	}
	if r.code == 354 {
		return true, nil
	}
	return false, s.refusedData(e)
}

// step reads the reply to the command in parts. Without pipelining, it sends the command first.
func (s *session) step(timeout time.Duration, parts ...string) error {
	if s.wire.pipelining {
		return s.wire.read(timeout)
	}
	return s.wire.ask(timeout, parts...)
}

// refusedRcpt reports the outcome of e after a refusal at RCPT, and resynchronizes the connection.
func (s *session) refusedRcpt(e *Envelope) error {
	r := &s.wire.reply
	o, blame := classify(stageRcpt, r.code, r.enhanced, r.string())
	if blame {
		return s.blame(e, FaultRefused, "RCPT")
	}
	s.wire.needsReset = true
	if s.wire.pipelining {
		if err := s.afterRefusal(); err != nil {
			s.cut()
			s.done(e, o)
			return &RelayError{Fault: FaultConnect, Stage: "DATA", Delivered: s.finished, Err: err}
		}
	}
	s.done(e, o)
	return nil
}

// afterRefusal reads the reply to the DATA sent with the refused RCPT. If the reply is 354, a single dot must follow
// (RFC 2920 section 3.1).
func (s *session) afterRefusal() error {
	if err := s.wire.read(s.timeouts.Data); err != nil || s.wire.reply.code != 354 {
		return err
	}
	s.wire.needsReset = false // the dot ends the transaction, whatever its reply
	return s.wire.ask(s.timeouts.Dot, ".")
}

// refusedData reports the outcome of e after a reply to DATA other than 354.
func (s *session) refusedData(e *Envelope) error {
	r := &s.wire.reply
	o, blame := classify(stageData, r.code, r.enhanced, r.string())
	if o.Result == Sent { // 2xx, but only 354 or a refusal is valid
		return s.blame(e, FaultProtocol, "DATA")
	}
	if blame {
		return s.blame(e, FaultRefused, "DATA")
	}
	s.wire.needsReset = true
	s.done(e, o)
	return nil
}
