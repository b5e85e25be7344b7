package mail

import (
	"context"
	"errors"
	"os"
	"time"

	"newsletterd/mail/internal/octets"
)

// lane is one run of Deliver: a connection, made when there is work, and the envelope it works on.
type lane struct {
	smtp     *SMTP
	ctx      context.Context
	src      *Source
	timeouts Timeouts
	maxMails int
	maxAge   time.Duration
	c        *wire
	finished int // envelopes with an outcome
}

func (l *lane) run() error {
	var cur *Envelope // its commands are on the wire, their replies unread
	for {
		if cur == nil {
			if cur = l.wait(); cur == nil {
				return nil
			}
			if err := l.begin(cur); err != nil {
				return l.drained(err)
			}
		}
		next, err := l.finish(cur)
		if err != nil {
			return l.drained(err)
		}
		cur = next
	}
}

// drained hides a route's fault that our own cut at the end of a drain has made.
func (l *lane) drained(err error) error {
	if l.ctx.Err() != nil && (errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.Canceled)) {
		return nil
	}
	return err
}

func (l *lane) done(e *Envelope, o Outcome) {
	l.finished++
	l.src.Done(e, o)
}

// next asks the source, and settles at once what could not be put into a command.
func (l *lane) next(ctx context.Context, wait bool) *Envelope {
	for ctx.Err() == nil {
		e, ok := l.src.Next(ctx, wait)
		if !ok {
			return nil
		}
		if (e.From == "" || octets.Address(e.From)) && octets.Address(e.To) {
			return e
		}
		l.done(e, Outcome{Result: Never, Text: "the address can't be put into an SMTP command"})
	}
	return nil
}

// wait returns the next envelope, nil when the lane is over. A connection that is old is closed before, one
// that lies idle too long meanwhile.
func (l *lane) wait() *Envelope {
	if l.c != nil && l.aged() {
		l.hangUp()
	}
	if l.c == nil {
		return l.next(l.ctx, true)
	}
	if e := l.next(l.ctx, false); e != nil {
		return e
	}
	l.c.idled = true
	idle, cancel := context.WithTimeout(l.ctx, orDefault(l.smtp.IdleTimeout, 30*time.Second))
	defer cancel()
	e := l.next(idle, true)
	if e != nil || idle.Err() == nil || l.ctx.Err() != nil {
		return e
	}
	l.hangUp()
	return l.next(l.ctx, true)
}

func (l *lane) aged() bool {
	return l.c.mails >= l.maxMails || time.Since(l.c.openedAt) >= l.maxAge
}

// hangUp ends the connection politely, if there is one.
func (l *lane) hangUp() {
	if l.c != nil {
		l.c.quit(l.timeouts.Quit, l.timeouts.Closed)
		l.c = nil
	}
}

// drop ends it without a word: what is said now could be taken for content.
func (l *lane) drop() {
	if l.c != nil {
		l.c.end(l.timeouts.Closed)
		l.c = nil
	}
}

// cut closes a connection that has failed. The route rests after that, so nothing waits for the server's close.
func (l *lane) cut() {
	if l.c != nil {
		l.c.close()
		l.c = nil
	}
}

// begin puts MAIL, RCPT and DATA of e on the wire, connecting first if need be. On an error e has its outcome.
func (l *lane) begin(e *Envelope) error {
	if l.c == nil {
		c, fault := l.connect()
		if fault != nil {
			fault.Delivered = l.finished
			l.done(e, Outcome{})
			return fault
		}
		l.c = c
	}
	if !l.c.deep {
		return nil // finish asks one command at a time
	}
	if l.c.needsReset {
		l.c.command("RSET")
	}
	l.envelope(e)
	if _, err := l.c.flush(l.timeouts.Block); err != nil {
		if l.c.idled {
			return l.again(e)
		}
		return l.lost(e, "MAIL", err)
	}
	return nil
}

// again starts over on a new connection: the server hung up while the old one lay idle, as it may.
func (l *lane) again(e *Envelope) error {
	l.drop()
	return l.begin(e)
}

func (l *lane) envelope(e *Envelope) {
	l.c.command("MAIL FROM:<", e.From, ">")
	l.c.command("RCPT TO:<", e.To, ">")
	l.c.command("DATA")
}

// fault is a RouteError made of the latest reply.
func (l *lane) fault(f Fault, stage string) *RouteError {
	r := &l.c.reply
	if authDemand(r.code, r.enhanced) {
		f = FaultAuth
	}
	return &RouteError{Fault: f, Stage: stage, Code: r.code, Enhanced: r.enhanced, Text: r.string(), Delivered: l.finished}
}

// lost settles e when the connection broke before its final dot.
func (l *lane) lost(e *Envelope, stage string, err error) error {
	delivered := l.finished
	l.cut()
	l.done(e, Outcome{Lost: true})
	f := FaultConnect
	if errors.Is(err, errReply) || errors.Is(err, errTooMuch) {
		f = FaultProtocol
	}
	return &RouteError{Fault: f, Stage: stage, Delivered: delivered, Err: err}
}

// blame settles e untouched when the server's word is about the route.
func (l *lane) blame(e *Envelope, f Fault, stage string) error {
	err := l.fault(f, stage)
	l.drop()
	l.done(e, Outcome{Code: err.Code, Enhanced: err.Enhanced, Text: err.Text})
	return err
}

// finish reads the replies to e's commands and, when they are good, sends the content, together with the
// commands of the envelope that it returns. On an error both have their outcomes.
func (l *lane) finish(e *Envelope) (*Envelope, error) {
	accepted, err := l.accepted(e)
	if err != nil || !accepted {
		return nil, err
	}
	if !l.src.Commit(e) {
		l.drop() // the server waits for content: there is no other way out
		l.done(e, Outcome{})
		return nil, nil
	}
	if err := l.c.content(e.Data, e.Dotless, l.timeouts.Block); err != nil {
		return nil, l.lost(e, "content", err)
	}
	l.c.mails++
	var next *Envelope
	if l.c.deep && !l.aged() {
		if next = l.next(l.ctx, false); next != nil {
			l.envelope(next)
		}
	}
	return next, l.dot(e, next)
}

// dot writes the content and reads the reply to its end. next, if not nil, has its commands behind the dot.
func (l *lane) dot(e, next *Envelope) error {
	sent, err := l.c.flush(l.timeouts.Block)
	if err != nil && !sent {
		err = l.lost(e, "content", err)
		l.release(next)
		return err
	}
	if err == nil {
		if l.src.Ahead != nil {
			l.src.Ahead(l.ctx)
		}
		err = l.c.read(l.timeouts.Dot)
	}
	if err != nil {
		delivered := l.finished
		l.cut()
		l.done(e, Outcome{Result: Ambiguous})
		l.release(next)
		return &RouteError{Fault: FaultConnect, Stage: "dot", Delivered: delivered, Err: err}
	}
	l.c.idled = false
	r := &l.c.reply
	o, blame := classify(stageDot, r.code, r.enhanced, r.string())
	if blame {
		err := l.blame(e, FaultRefused, "dot")
		l.release(next)
		return err
	}
	l.done(e, o)
	return nil
}

func (l *lane) release(e *Envelope) {
	if e != nil {
		l.done(e, Outcome{})
	}
}

// accepted reads the replies to RSET, MAIL, RCPT and DATA. true: the server waits for the content. false
// without an error: the recipient was refused, and e has its outcome.
func (l *lane) accepted(e *Envelope) (bool, error) {
	var err error
	if l.c.needsReset {
		l.c.needsReset = false
		err = l.step(l.timeouts.Greeting, "RSET")
	}
	if err == nil {
		err = l.step(l.timeouts.Mail, "MAIL FROM:<", e.From, ">")
	}
	if l.c.idled && (err != nil || l.c.reply.code == 421) {
		if err := l.again(e); err != nil {
			return false, err
		}
		return l.accepted(e)
	}
	if err != nil {
		return false, l.lost(e, "MAIL", err)
	}
	l.c.idled = false
	if l.c.reply.code/100 != 2 {
		return false, l.blame(e, FaultRefused, "MAIL")
	}
	if err := l.step(l.timeouts.Rcpt, "RCPT TO:<", e.To, ">"); err != nil {
		return false, l.lost(e, "RCPT", err)
	}
	r := &l.c.reply
	if r.code/100 != 2 {
		return false, l.refusedRcpt(e)
	}
	if err := l.step(l.timeouts.Data, "DATA"); err != nil {
		return false, l.lost(e, "DATA", err)
	}
	if r.code == 354 {
		return true, nil
	}
	return false, l.refusedData(e)
}

// step reads the reply to a command; without pipelining it sends the command first.
func (l *lane) step(timeout time.Duration, parts ...string) error {
	if l.c.deep {
		return l.c.read(timeout)
	}
	return l.c.ask(timeout, parts...)
}

// refusedRcpt settles e and brings the connection back in order: DATA may be on its way, and be answered 354,
// and then a lone dot must follow (RFC 2920 section 3.1).
func (l *lane) refusedRcpt(e *Envelope) error {
	r := &l.c.reply
	o, blame := classify(stageRcpt, r.code, r.enhanced, r.string())
	if blame {
		return l.blame(e, FaultRefused, "RCPT")
	}
	l.c.needsReset = true
	if l.c.deep {
		if err := l.afterRefusal(); err != nil {
			l.cut()
			l.done(e, o)
			return &RouteError{Fault: FaultConnect, Stage: "DATA", Delivered: l.finished, Err: err}
		}
	}
	l.done(e, o)
	return nil
}

func (l *lane) afterRefusal() error {
	if err := l.c.read(l.timeouts.Data); err != nil || l.c.reply.code != 354 {
		return err
	}
	l.c.needsReset = false // the dot ends the transaction, whatever its reply
	return l.c.ask(l.timeouts.Dot, ".")
}

func (l *lane) refusedData(e *Envelope) error {
	r := &l.c.reply
	o, blame := classify(stageData, r.code, r.enhanced, r.string())
	if o.Result == Sent { // 2xx where 354 or a refusal must come
		return l.blame(e, FaultProtocol, "DATA")
	}
	if blame {
		return l.blame(e, FaultRefused, "DATA")
	}
	l.c.needsReset = true
	l.done(e, o)
	return nil
}
