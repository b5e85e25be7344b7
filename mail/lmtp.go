package mail

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/emersion/go-smtp"
	"golang.org/x/net/netutil"
)

// BounceServer takes mails that come back by LMTP (RFC 2033), from a mail server on this machine or beside it. It takes every
// recipient: what is in a mail decides whether it says anything.
type BounceServer struct {
	// Take gets one mail for one recipient; an error has the sender try again.
	Take func(ctx context.Context, rcpt string, data []byte) error
	Log  *slog.Logger

	server *smtp.Server
}

const (
	lmtpTimeout     = time.Minute
	lmtpConnections = 32 // at once, each with a mail in memory; more wait in the queue of the kernel
	lmtpRecipients  = 50
	lmtpBytes       = 64 << 20 // taken, of which MaxBounce is looked at: a refusal would bounce the bounce
)

// NewBounceServer makes a server; name is what it greets with.
func NewBounceServer(name string, take func(ctx context.Context, rcpt string, data []byte) error, log *slog.Logger) *BounceServer {
	b := &BounceServer{Take: take, Log: log}
	s := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &bounceSession{server: b}, nil }))
	s.LMTP, s.Domain = true, name
	s.MaxRecipients, s.MaxMessageBytes = lmtpRecipients, lmtpBytes
	s.ReadTimeout, s.WriteTimeout = lmtpTimeout, lmtpTimeout
	s.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	b.server = s
	return b
}

// Serve takes mails from a listener until Shutdown.
func (b *BounceServer) Serve(l net.Listener) error {
	if err := b.server.Serve(netutil.LimitListener(l, lmtpConnections)); err != nil && !errors.Is(err, smtp.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown lets the mails in flight finish until ctx ends, then cuts them: their senders try again.
func (b *BounceServer) Shutdown(ctx context.Context) error {
	if err := b.server.Shutdown(ctx); err != nil && !errors.Is(err, smtp.ErrServerClosed) {
		return b.server.Close()
	}
	return nil
}

type bounceSession struct {
	server *BounceServer
	rcpts  []string
}

// Mail takes any sender: bounces have none (RFC 5321 section 4.5.5).
func (s *bounceSession) Mail(string, *smtp.MailOptions) error { return nil }

// Rcpt takes any recipient.
func (s *bounceSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.rcpts = append(s.rcpts, to)
	return nil
}

// Data is not used in LMTP.
func (s *bounceSession) Data(r io.Reader) error { return s.LMTPData(r, noStatus{}) }

// LMTPData takes the mail, once for each recipient.
func (s *bounceSession) LMTPData(r io.Reader, status smtp.StatusCollector) error {
	data, err := io.ReadAll(io.LimitReader(r, MaxBounce))
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	if err != nil {
		return err
	}
	for _, to := range s.rcpts {
		err := s.server.Take(context.Background(), to, data)
		if err != nil {
			s.server.Log.Warn("bounce", slog.Any("error", err))
			err = &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "Try again later"}
		}
		status.SetStatus(to, err)
	}
	return nil
}

// Reset forgets the mail.
func (s *bounceSession) Reset() { s.rcpts = nil }

// Logout has nothing to free.
func (s *bounceSession) Logout() error { return nil }

type noStatus struct{}

func (noStatus) SetStatus(string, error) {}
