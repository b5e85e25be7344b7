package smtp

import (
	"errors"
	"os"
	"sync/atomic"
	"time"
)

// maxBurst is how many messages are written before their replies are read: one on a new connection, and twice as many
// after each time that all went well, for where the connection breaks so many may have been taken without a reply.
const maxBurst = 8

// chunk is a message that was written whole, its commands in front of it: one BDAT command (RFC 3030 section 2).
type chunk struct {
	e     *Envelope
	reset bool  // RSET is in front of it
	end   int64 // of the octets that the connection writes, where its last one stands
}

// chunkSupport is what a Client knows of a server that announces CHUNKING. All is atomic.
type chunkSupport struct {
	worked  uint32 // 1: a chunk was answered
	avoided int64  // Unix nanoseconds until which DATA is used
}

// avoidChunks is for how long a server gets none that seems not to know them.
const avoidChunks = time.Hour

func (k *chunkSupport) usable() bool { return time.Now().UnixNano() >= atomic.LoadInt64(&k.avoided) }

func (k *chunkSupport) avoid() {
	atomic.StoreInt64(&k.avoided, time.Now().Add(avoidChunks).UnixNano())
}

// answered notes that the server has answered a chunk.
func (k *chunkSupport) answered() {
	if atomic.LoadUint32(&k.worked) == 0 {
		atomic.StoreUint32(&k.worked, 1)
	}
}

// broke notes that a connection broke over a chunk: where none was ever answered, that may be why.
func (k *chunkSupport) broke() {
	if atomic.LoadUint32(&k.worked) == 0 {
		k.avoid()
	}
}

// inChunks reports whether e goes in a chunk. What was idle may be closed by now: with DATA this is seen before any
// content is written, so that nothing is uncertain.
func (s *session) inChunks(e *Envelope) bool { return s.wire.chunking && !s.wire.idled && !e.Alone }

// stream writes e and, with it, others that are ready, and reads all their replies then. It returns an envelope that has
// to wait for that (nil: none), and begins with it where it goes by DATA. On an error all have their outcomes.
func (s *session) stream(e *Envelope) (held *Envelope, err error) {
	if !s.src.Commit(e, true) {
		s.done(e, Outcome{})
		return nil, nil
	}
	s.burst = s.burst[:0]
	from := s.wire.written()
	err = s.write(e)
	for err == nil && len(s.burst) < s.wire.burst && s.wire.written()-from < flushAt && !s.aged() {
		next := s.next(s.ctx, false)
		if next == nil {
			break
		}
		if next.Alone || !s.src.Commit(next, false) {
			held = next
			break
		}
		err = s.write(next)
	}
	if err == nil {
		_, err = s.wire.flush(s.timeouts.Block)
	}
	if err != nil {
		err = s.broken(s.burst, nil, err)
	} else {
		if s.src.Ahead != nil {
			s.src.Ahead(s.ctx)
		}
		err = s.replies()
	}
	switch {
	case held == nil:
	case s.wire == nil: // it is over, with a fault or because BDAT is unknown
		s.release(held)
		held = nil
	case !s.inChunks(held):
		err = s.announce(held)
	}
	return held, err
}

// write adds e to what will be written, and writes full buffers of it. RSET comes before each message that follows
// another one, so that a refusal of that has no consequence.
func (s *session) write(e *Envelope) error {
	w := s.wire
	c := chunk{e: e, reset: w.needsReset || len(s.burst) > 0}
	w.needsReset = false
	if c.reset {
		w.command("RSET")
	}
	w.command("MAIL FROM:<", e.From, ">")
	w.command("RCPT TO:<", e.To, ">")
	w.mails++
	err := w.chunk(e.Data, e.Tail, s.timeouts.Block)
	c.end = w.written()
	if err != nil {
		c.end++ // not whole
	}
	s.burst = append(s.burst, c)
	return err
}

// replies reads those to all that was written, and gives the envelopes their outcomes. After a reply that is about the
// relay the others are still read, for their messages may have been taken.
func (s *session) replies() error {
	var fault *RelayError
	for i := range s.burst {
		o, f, err := s.verdict(&s.burst[i])
		if fault == nil {
			fault = f
		}
		switch {
		case err == nil:
			s.client.chunks.answered()
			s.done(s.burst[i].e, o)
		case errors.Is(err, errNoChunks): // what it takes for commands is the content
			s.client.chunks.avoid()
			s.cut()
			for _, c := range s.burst[i:] {
				s.done(c.e, Outcome{})
			}
			return nil
		default:
			rest := s.burst[i:]
			if o.Code != 0 { // it was refused before the connection broke
				s.done(rest[0].e, o)
				rest = rest[1:]
			}
			return s.broken(rest, fault, err)
		}
	}
	if fault != nil {
		s.drop()
		return fault
	}
	s.wire.burst = min(2*s.wire.burst, maxBurst)
	return nil
}

// errNoChunks says that the server knows no BDAT, which it has announced.
var errNoChunks = errors.New("the server knows no BDAT")

// verdict reads the replies to one message: what becomes of it, and the fault where it is the relay's. With an error,
// an outcome with a code is one that was clear before.
func (s *session) verdict(c *chunk) (o Outcome, fault *RelayError, err error) {
	steps := [...]struct {
		at      stage
		name    string
		timeout time.Duration
	}{
		{stageMail, "RSET", s.timeouts.Greeting},
		{stageMail, "MAIL", s.timeouts.Mail},
		{stageRcpt, "RCPT", s.timeouts.Rcpt},
		{stageDot, "BDAT", s.timeouts.Dot},
	}
	from := 0
	if !c.reset {
		from = 1
	}
	for _, step := range steps[from:] {
		if err := s.wire.read(step.timeout); err != nil {
			return o, fault, err
		}
		r := &s.wire.reply
		switch {
		case o.Code != 0: // a command was refused, and this follows from that
			s.wire.needsReset = true
			continue
		case step.at != stageDot && r.code/100 == 2:
			continue
		case step.name == "RSET": // what comes of it, the next replies say
			if r.code == 421 {
				fault = s.fault(FaultRefused, step.name)
			}
			continue
		case step.at == stageDot && (r.code == 500 || r.code == 502):
			return o, nil, errNoChunks
		}
		var blame bool
		o, blame = classify(step.at, r.code, r.enhanced, r.string())
		if blame || step.at == stageMail {
			fault = s.fault(FaultRefused, step.name)
			o = Outcome{Code: fault.Code, Enhanced: fault.Enhanced, Text: fault.Text}
		}
	}
	return o, fault, nil
}

// broken gives their outcomes to messages without a reply after the connection broke: those that were written whole may
// have been taken, unless the server said before that it closes the connection.
func (s *session) broken(rest []chunk, fault *RelayError, err error) error {
	delivered, flushed := s.finished, s.wire.flushed
	closing := s.wire.closing && !errors.Is(err, os.ErrDeadlineExceeded)
	s.cut()
	if !closing {
		s.client.chunks.broke()
	}
	lost := true
	for _, c := range rest {
		switch {
		case closing:
			s.done(c.e, Outcome{})
		case c.end <= flushed:
			s.done(c.e, Outcome{Result: Ambiguous})
		default:
			s.done(c.e, Outcome{Lost: lost})
			lost = false
		}
	}
	if fault != nil {
		return fault
	}
	f := FaultConnect
	if errors.Is(err, errReply) || errors.Is(err, errTooMuch) {
		f = FaultProtocol
	}
	return &RelayError{Fault: f, Stage: "BDAT", Delivered: delivered, Err: err}
}
