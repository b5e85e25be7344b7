package mail

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// TLSMode says how a relay is spoken to.
type TLSMode string

// The modes. TLSAuto demands STARTTLS of every relay but one on a loopback address, which gets plain text.
const (
	TLSAuto     TLSMode = ""
	TLSNone     TLSMode = "none"
	TLSStart    TLSMode = "starttls"
	TLSImplicit TLSMode = "implicit"
)

// Timeouts of a connection; a zero field takes the default (RFC 5321 section 4.5.3.2).
type Timeouts struct {
	Dial     time.Duration // 30 s, TLS handshake included
	Greeting time.Duration // 5 min; also EHLO, STARTTLS, AUTH and RSET
	Mail     time.Duration // 5 min
	Rcpt     time.Duration // 5 min
	Data     time.Duration // 2 min
	Block    time.Duration // 3 min for each write
	Dot      time.Duration // 10 min
	Quit     time.Duration // 5 s
	Closed   time.Duration // 2 s, from the end of a connection until the server has closed it
}

// SMTP delivers to one relay. Set the fields before the first Deliver and leave them alone then.
type SMTP struct {
	// Addr is host:port. The host is also what the certificate must name.
	Addr string
	// Username, where not empty, demands AUTH.
	Username, Password string
	TLS                TLSMode
	// TLSConfig is the base of the TLS configuration (roots); nil for the system's.
	TLSConfig *tls.Config
	// LocalName is what EHLO says; "localhost" where empty.
	LocalName string
	// NoPipelining switches to one command at a time even where the server announces PIPELINING (RFC 2920).
	NoPipelining bool
	// MaxMails and MaxAge end a connection: 1,000 mails and 10 min where 0. The lane goes on with a new one.
	MaxMails int
	MaxAge   time.Duration
	// IdleTimeout closes a connection without work; 30 s where 0.
	IdleTimeout time.Duration
	// DrainTimeout is how long what is in flight may take after ctx was cancelled; 30 s where 0.
	DrainTimeout time.Duration
	Timeouts     Timeouts
	// Dial makes the connection; a plain net.Dialer where nil.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

var _ Sender = (*SMTP)(nil)

func orDefault(d, by time.Duration) time.Duration {
	if d == 0 {
		return by
	}
	return d
}

func (t Timeouts) filled() Timeouts {
	return Timeouts{
		Dial:     orDefault(t.Dial, 30*time.Second),
		Greeting: orDefault(t.Greeting, 5*time.Minute),
		Mail:     orDefault(t.Mail, 5*time.Minute),
		Rcpt:     orDefault(t.Rcpt, 5*time.Minute),
		Data:     orDefault(t.Data, 2*time.Minute),
		Block:    orDefault(t.Block, 3*time.Minute),
		Dot:      orDefault(t.Dot, 10*time.Minute),
		Quit:     orDefault(t.Quit, 5*time.Second),
		Closed:   orDefault(t.Closed, 2*time.Second),
	}
}

// Deliver runs one connection at a time, as Sender says. With PIPELINING the end of one message and the
// commands of the next go out in one write, so a mail costs one round trip; at most one final dot is
// unanswered at any time.
func (s *SMTP) Deliver(ctx context.Context, src *Source) error {
	l := &lane{smtp: s, ctx: ctx, src: src, timeouts: s.Timeouts.filled()}
	l.maxMails, l.maxAge = s.MaxMails, orDefault(s.MaxAge, 10*time.Minute)
	if l.maxMails == 0 {
		l.maxMails = 1000
	}
	defer l.hangUp()
	return l.run()
}
