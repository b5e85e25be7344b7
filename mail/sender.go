package mail

import (
	"context"
	"fmt"
	"time"
)

// Envelope is one message ready to go. The caller may use it and its Data again once Done was called.
type Envelope struct {
	// From is the address of MAIL FROM; empty is the null sender.
	From string
	// To is the address of RCPT TO.
	To string
	// Data is the message: lines end CRLF, not dot-stuffed, without the final dot.
	Data []byte
	// Dotless tells that no line of Data begins with a dot, as in what Bulk.Append makes: nobody need look for one.
	Dotless bool
	// Tag is the caller's own.
	Tag any
}

// Source feeds one connection. All its functions are called by the goroutine that runs Deliver.
type Source struct {
	// Next returns the next envelope. With wait false it answers at once, and false means "none ready
	// right now" (deep pipelining asks so); with wait true it blocks until there is one, the lane is done
	// or ctx ends, and must heed ctx: that one also ends when the connection has lain idle too long, and
	// Next is then called again. It is called just before MAIL is written: the last check of the recipient
	// belongs here. The pointer is the lane's until Done.
	Next func(ctx context.Context, wait bool) (*Envelope, bool)
	// Commit is called before the content and the final dot of e are written. It may block; false gives
	// the envelope up (outcome Untouched). Nothing unanswered is open on the connection while it blocks.
	Commit func(e *Envelope) bool
	// Ahead, if there is one, is called while a reply is on its way: time to make what Next will hand out. It must not block.
	Ahead func(ctx context.Context)
	// Done gets exactly one outcome for each envelope that Next handed out.
	Done func(e *Envelope, o Outcome)
}

// Sender takes messages away: over SMTP, or into a folder. It is the one interface of the program.
type Sender interface {
	// Deliver runs one lane (one connection, made when the first envelope is there, and made anew when
	// it is old) until the source is done (nil), ctx is cancelled (nil; what is in flight is finished
	// first), or the route fails (*RouteError). It may be called by any number of goroutines at once.
	Deliver(ctx context.Context, src *Source) error
}

// Result says what became of an envelope.
type Result uint8

// The results. Untouched is the zero value: nobody took the message, and no attempt counts.
const (
	Untouched Result = iota
	// Sent: the final dot was answered 2xx.
	Sent
	// Later: refused for now; try this recipient again after a while.
	Later
	// Never: refused for good, for this message. Only with HardBounce is the address itself to blame.
	Never
	// Ambiguous: the connection was cut after the final dot and before its reply. Resend once, with the
	// same Message-ID.
	Ambiguous
)

var resultNames = [...]string{"untouched", "sent", "later", "never", "ambiguous"}

func (r Result) String() string {
	if int(r) < len(resultNames) {
		return resultNames[r]
	}
	return fmt.Sprintf("result %d", uint8(r))
}

// Outcome is what became of one envelope, with the server's words.
type Outcome struct {
	Result Result
	// Code is the reply code (RFC 5321 section 4.2), 0 where no reply came.
	Code int
	// Enhanced is the enhanced status code (RFC 3463), "" where there was none or its class contradicts Code.
	Enhanced string
	// Text is the reply without its codes, at most 500 octets, lines joined by a space.
	Text string
	// HardBounce: the address does not exist or is switched off for ever; mark the subscriber.
	HardBounce bool
	// Lost, with Untouched: the connection broke in this envelope's own transaction. Three of them
	// running count as a temporary failure of the recipient.
	Lost bool
}

// MailboxFull tells whether the refusal says that the mailbox has no room: a soft bounce after the last try.
func (o Outcome) MailboxFull() bool { return o.Enhanced == "4.2.2" || o.Enhanced == "5.2.2" }

// Fault says which part of a route failed.
type Fault uint8

// The faults of a route.
const (
	// FaultConnect: no connection, or it broke.
	FaultConnect Fault = iota
	// FaultRefused: a refusal at greeting, EHLO or MAIL, or a 421 anywhere.
	FaultRefused
	// FaultTLS: TLS is missing or not to be trusted.
	FaultTLS
	// FaultAuth: the server refuses the credentials, or asks for some. Alarm; at least 60 s apart.
	FaultAuth
	// FaultProtocol: an answer that fits no question.
	FaultProtocol
	// FaultDisk: the directory transport cannot write.
	FaultDisk
)

var faultNames = [...]string{"connect", "refused", "tls", "auth", "protocol", "disk"}

func (f Fault) String() string {
	if int(f) < len(faultNames) {
		return faultNames[f]
	}
	return fmt.Sprintf("fault %d", uint8(f))
}

// RouteError ends a lane: the way is at fault, no recipient is.
type RouteError struct {
	Fault Fault
	// Stage is where it happened: "dial", "greeting", "EHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA", "content", "dot", "write".
	Stage string
	// Code, Enhanced and Text are the server's reply, if one came.
	Code     int
	Enhanced string
	Text     string
	// Delivered counts the envelopes that this lane had finished before: above 0, the route works in
	// principle and the back-off begins anew.
	Delivered int
	// Err is the cause beneath, if there is one.
	Err error
}

func (e *RouteError) Error() string {
	s := "mail route: " + e.Fault.String() + " at " + e.Stage
	if e.Code != 0 {
		s += fmt.Sprintf(": %d", e.Code)
		if e.Enhanced != "" {
			s += " " + e.Enhanced
		}
		s += " " + e.Text
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *RouteError) Unwrap() error { return e.Err }

var routeBackoff = [...]time.Duration{5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute}

// Backoff advises how long to leave the route alone after the n-th failure running (n from 1): 5 s, 15 s,
// 60 s, 5 min, 15 min; refused credentials and untrusted TLS at least 60 s.
func (e *RouteError) Backoff(n int) time.Duration {
	d := routeBackoff[min(max(n, 1), len(routeBackoff))-1]
	if e.Fault == FaultAuth || e.Fault == FaultTLS {
		d = max(d, time.Minute)
	}
	return d
}
