package smtp

import (
	"errors"
	"os"
	"sync/atomic"
	"time"
)

// MaxBurst is the maximum number of messages that are written before their replies are read. A new connection starts
// with one message. The number doubles each time the server accepts all messages. If the connection breaks, the server
// may have accepted that many messages without replying.
const MaxBurst = 8

// chunk is a message that was written in a single BDAT command (RFC 3030 section 2), together with the other commands
// of its transaction.
type chunk struct {
	e     *Envelope
	reset bool  // RSET precedes it
	end   int64 // position of its last byte among all bytes written on the connection
}

// chunkSupport records whether a server that announces CHUNKING has accepted chunks from a Client. All fields are
// accessed atomically.
type chunkSupport struct {
	took    uint32 // 1: a chunk was accepted before
	breaks  uint32 // consecutive connections that broke before a chunk was accepted
	avoided int64  // use DATA until then, in Unix nanoseconds
}

const (
	// avoidChunks is how long no chunks are sent to a server that seems not to support them.
	avoidChunks = time.Hour
	// maxChunkBreaks is the maximum number of consecutive connections that may break at their first chunk, if chunks
	// were accepted before.
	maxChunkBreaks = 3
	// staleAfter is the maximum time that a connection may wait for a slot and still count as open.
	staleAfter = 5 * time.Second
)

func (k *chunkSupport) usable() bool { return time.Now().UnixNano() >= atomic.LoadInt64(&k.avoided) }

func (k *chunkSupport) avoid() {
	atomic.StoreInt64(&k.avoided, time.Now().Add(avoidChunks).UnixNano())
}

// taken records that the server accepted the first chunk of a connection.
func (k *chunkSupport) taken() {
	atomic.StoreUint32(&k.took, 1)
	atomic.StoreUint32(&k.breaks, 0)
}

// broke records that a connection broke at its first chunk.
func (k *chunkSupport) broke() {
	if n := atomic.AddUint32(&k.breaks, 1); n >= maxChunkBreaks || atomic.LoadUint32(&k.took) == 0 {
		k.avoid()
	}
}

// inChunks reports whether e is sent in a chunk. On an idle connection it is sent with DATA, because the server may
// have closed the connection. With DATA, that is detected before any content is written, so the outcome is certain.
func (s *session) inChunks(e *Envelope) bool { return s.wire.chunking && !s.wire.idled && !e.Alone }

// stream writes e and other ready envelopes, and then reads all their replies. It returns an envelope that has to wait
// for these replies, or nil. If that envelope is sent with DATA, stream begins it. If stream returns an error, it has
// set the outcomes of all envelopes.
func (s *session) stream(e *Envelope) (held *Envelope, err error) {
	if s.wire.unread() {
		return nil, s.unasked(e)
	}
	began := time.Now()
	if !s.src.Commit(e, true) {
		s.done(e, Outcome{})
		return nil, nil
	}
	if time.Since(began) > staleAfter {
		s.wire.idled = true
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
	if err == nil && s.src.Ahead != nil {
		s.src.Ahead(s.ctx)
	}
	err = s.replies(err)
	switch {
	case held == nil:
	case s.wire == nil: // the connection ended with a fault
		s.release(held)
		held = nil
	case !s.inChunks(held):
		err = s.announce(held)
	}
	return held, err
}

// unasked handles an unsolicited reply, because of which later replies would be attributed to the wrong commands. It
// sets the outcome of e to Untouched and returns a fault.
func (s *session) unasked(e *Envelope) error {
	if err := s.wire.read(s.timeouts.Quit); err != nil {
		return s.lost(e, "MAIL", err)
	}
	f := FaultProtocol
	if s.wire.closing {
		f = FaultRefused
	}
	return s.blame(e, f, "MAIL")
}

// write adds e to the output buffer, and writes full buffers. RSET precedes each message after the first, so that a
// refusal of the previous one has no effect.
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
		c.end++ // incomplete
	}
	s.burst = append(s.burst, c)
	return err
}

// replies reads the replies to all messages written, and reports their outcomes. After a reply about the relay or a
// failed write, it still reads the others, because their messages may have been accepted. written is the write error,
// if any.
func (s *session) replies(written error) error {
	var fault *RelayError
	flushed := s.wire.flushed
	for i := range s.burst {
		rest := s.burst[i:]
		if written != nil && rest[0].end > flushed {
			return s.broken(rest, fault, written)
		}
		o, f, err := s.verdict(&rest[0], written != nil)
		if f != nil && (fault == nil || fault.Stage == "MAIL" && (f.Code == 421 || f.Fault == FaultAuth)) {
			fault = f
		}
		switch {
		case err == nil:
			s.done(rest[0].e, o)
		case errors.Is(err, errNoChunks):
			s.client.chunks.avoid()
			s.drop()
			s.done(rest[0].e, o) // the only message: until a chunk is accepted, each is sent alone
			if fault != nil {
				return fault
			}
			return nil
		default:
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
	if s.wire.chunked {
		s.wire.burst = min(2*s.wire.burst, MaxBurst)
	}
	return nil
}

// errNoChunks means that the server announced BDAT without supporting it.
var errNoChunks = errors.New("the server doesn't support BDAT")

// unknownCommand reports whether a reply to BDAT may mean that the server does not support the command, rather than
// that it refuses the message. That is possible until the server has accepted a chunk on this connection. refused means
// that the server has refused the recipient, which makes 503 a correct reply.
func (s *session) unknownCommand(code int, refused bool) bool {
	switch code {
	case 500, 502:
		return !s.wire.chunked
	case 501, 503, 504, 555:
		return !s.wire.chunked && !refused
	}
	return false
}

// verdict reads the replies to one message. It returns the outcome and, if the relay is at fault, the fault. If it
// returns an error, an outcome that has a code is certain nevertheless. hurried shortens the wait for replies, for
// example after 421.
func (s *session) verdict(c *chunk, hurried bool) (o Outcome, fault *RelayError, err error) {
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
		if hurried || s.wire.closing {
			step.timeout = min(step.timeout, s.timeouts.Quit)
		}
		if err := s.wire.read(step.timeout); err != nil {
			return o, fault, err
		}
		r := &s.wire.reply
		if step.at == stageDot {
			if s.unknownCommand(r.code, o.Code != 0) {
				return o, fault, errNoChunks
			}
			s.wire.needsReset = r.code/100 != 2 // the transaction is still open (RFC 3030 section 2)
		}
		switch {
		case step.name == "RSET" && r.code/100 != 2 && r.code != 421: // RSET can't be refused: replies are out of step
			return o, fault, errReply
		case o.Code != 0 || step.name == "RSET": // other replies determine the outcome
			if r.code == 421 && fault == nil {
				fault = s.fault(FaultRefused, "MAIL")
			}
			continue
		case step.at != stageDot && r.code/100 == 2:
			continue
		}
		var blame bool
		o, blame = classify(step.at, r.code, r.enhanced, r.string())
		if blame || step.at == stageMail {
			fault = s.fault(FaultRefused, step.name)
			o = fault.untouched()
		}
	}
	if o.Result == Sent && !s.wire.chunked {
		s.wire.chunked = true
		s.client.chunks.taken()
	}
	return o, fault, nil
}

// broken reports the outcomes of messages without a reply after the connection broke. Completely written messages may
// have been accepted, unless the server's last reply announced that it closes the connection.
func (s *session) broken(rest []chunk, fault *RelayError, err error) error {
	delivered, flushed := s.finished, s.wire.flushed
	closing := s.wire.closing && !errors.Is(err, os.ErrDeadlineExceeded)
	if !closing && !s.wire.chunked {
		s.client.chunks.broke()
	}
	s.cut()
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
