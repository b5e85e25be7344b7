package smtp

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// TLSMode selects how a connection to a relay is encrypted.
type TLSMode string

// The values of TLSMode. The certificate is always verified for the host of Client.Addr.
const (
	TLSAuto     TLSMode = ""         // TLSStart, or TLSNone for a relay on a loopback address
	TLSNone     TLSMode = "none"     // plain text
	TLSStart    TLSMode = "starttls" // STARTTLS (RFC 3207), which the relay must support
	TLSImplicit TLSMode = "implicit" // TLS from the first byte (RFC 8314)
)

// Timeouts holds the timeouts of a connection. A zero field means the default (RFC 5321 section 4.5.3.2).
type Timeouts struct {
	Dial     time.Duration // default 30 s, including the TLS handshake
	Greeting time.Duration // default 5 min; also for EHLO, STARTTLS, AUTH and RSET
	Mail     time.Duration // default 5 min
	Rcpt     time.Duration // default 5 min
	Data     time.Duration // default 2 min
	Block    time.Duration // default 3 min, for each write
	Dot      time.Duration // default 10 min
	Quit     time.Duration // default 5 s
	Closed   time.Duration // default 2 s, to wait for the server to close a connection that has ended
}

// Client sends messages to one relay. Its fields must not change after the first call to Deliver or Probe. A Client
// is safe for concurrent use: each call uses its own connection.
type Client struct {
	// Addr is host:port. The certificate must be valid for host.
	Addr string
	// Username and Password are the credentials for authentication (RFC 4954), which is disabled if Username is empty.
	// They are only sent over TLS or to a loopback address.
	Username, Password string
	TLS                TLSMode
	// TLSConfig is the base TLS configuration, for custom roots; nil: the system's roots.
	TLSConfig *tls.Config
	// LocalName is the name in EHLO; empty: "localhost".
	LocalName string
	// NoPipelining sends one command at a time, even if the server announces PIPELINING (RFC 2920). It also disables
	// chunks.
	NoPipelining bool
	// NoChunking uses DATA, even if the server announces PIPELINING and CHUNKING (RFC 3030).
	NoChunking bool
	// MaxMails and MaxAge limit how long a connection is used before Deliver opens a new one; 0: 1,000 emails and 10
	// min.
	MaxMails int
	MaxAge   time.Duration
	// IdleTimeout closes an idle connection; 0: 30 s.
	IdleTimeout time.Duration
	// DrainTimeout limits how long a message in flight may still take after ctx is canceled; 0: 30 s.
	DrainTimeout time.Duration
	Timeouts     Timeouts
	// Dial opens the connection; nil: a plain net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	chunks chunkSupport
}

var _ Sender = (*Client)(nil)

// orDefault returns d, or by if d is 0.
func orDefault(d, by time.Duration) time.Duration {
	if d == 0 {
		return by
	}
	return d
}

// filled returns t with defaults for its zero fields.
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

// Deliver implements Sender with one connection at a time. With PIPELINING, one write contains the end of a message and
// the commands of the next, so each email costs one round trip. With CHUNKING, one write contains up to eight messages.
func (c *Client) Deliver(ctx context.Context, src *Source) error {
	s := &session{client: c, ctx: ctx, src: src, timeouts: c.Timeouts.filled()}
	s.maxMails, s.maxAge = c.MaxMails, orDefault(c.MaxAge, 10*time.Minute)
	if s.maxMails == 0 {
		s.maxMails = 1000
	}
	defer s.hangUp()
	return s.run()
}
