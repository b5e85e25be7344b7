package smtp

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// TLSMode is how a connection to a relay is encrypted.
type TLSMode string

// The modes. A certificate is always verified, against the host of Client.Addr.
const (
	TLSAuto     TLSMode = ""         // TLSStart, but TLSNone for a relay on a loopback address
	TLSNone     TLSMode = "none"     // plain text
	TLSStart    TLSMode = "starttls" // STARTTLS (RFC 3207); a relay without it is a fault
	TLSImplicit TLSMode = "implicit" // TLS from the first octet on (RFC 8314)
)

// Timeouts are those of a connection. A zero field means the default given next to it (RFC 5321 section 4.5.3.2).
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

// Client sends messages to one relay. Its fields must not change after the first Deliver or Probe. A Client is safe for
// concurrent use: each call has a connection of its own.
type Client struct {
	// Addr is host:port. The certificate must be for host.
	Addr string
	// Username, if not empty, makes the client authenticate (RFC 4954). Credentials are sent over TLS or to a loopback
	// address only.
	Username, Password string
	TLS                TLSMode
	// TLSConfig is the base of the TLS configuration, for roots of one's own; nil: the system's roots.
	TLSConfig *tls.Config
	// LocalName is the name in EHLO; "localhost" if empty.
	LocalName string
	// NoPipelining sends one command at a time even if the server announces PIPELINING (RFC 2920). Nothing goes in chunks
	// then.
	NoPipelining bool
	// NoChunking uses DATA even if the server announces PIPELINING and CHUNKING (RFC 3030).
	NoChunking bool
	// MaxMails and MaxAge end a connection, and Deliver goes on with a new one: 1,000 mails and 10 min if 0.
	MaxMails int
	MaxAge   time.Duration
	// IdleTimeout closes a connection without work; 30 s if 0.
	IdleTimeout time.Duration
	// DrainTimeout is how long a message in flight may take after ctx was cancelled; 30 s if 0.
	DrainTimeout time.Duration
	Timeouts     Timeouts
	// Dial makes the connection; a plain net.Dialer if nil.
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

// filled returns t with defaults in its zero fields.
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

// Deliver implements Sender, with one connection at a time. With PIPELINING the end of one message and the commands
// of the next go out in one write, so a mail costs one round trip. With CHUNKING up to eight messages share a write and
// a round trip.
func (c *Client) Deliver(ctx context.Context, src *Source) error {
	s := &session{client: c, ctx: ctx, src: src, timeouts: c.Timeouts.filled()}
	s.maxMails, s.maxAge = c.MaxMails, orDefault(c.MaxAge, 10*time.Minute)
	if s.maxMails == 0 {
		s.maxMails = 1000
	}
	defer s.hangUp()
	return s.run()
}
