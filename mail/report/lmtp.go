package report

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/emersion/go-smtp"
	"golang.org/x/net/netutil"
)

// BounceServer takes mails that come back by LMTP (RFC 2033), from a mail server on this machine or near it. It takes
// every recipient and every mail: what is in a mail decides whether it says anything.
type BounceServer struct {
	// Take is called with each mail, once for each recipient. After an error the sender is told to try again.
	Take func(ctx context.Context, rcpt string, data []byte) error
	Log  *slog.Logger

	server *smtp.Server
}

const (
	lmtpTimeout     = time.Minute
	lmtpConnections = 32 // at once, each with a mail in memory; more wait in the kernel's queue
	lmtpRecipients  = 50
	lmtpBytes       = 64 << 20 // of which MaxBounce are read: a refusal would bounce the bounce
)

// NewBounceServer returns a server that greets with name.
func NewBounceServer(
	name string, take func(ctx context.Context, rcpt string, data []byte) error, log *slog.Logger,
) *BounceServer {
	b := &BounceServer{Take: take, Log: log}
	s := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &bounceSession{server: b}, nil }))
	s.LMTP, s.Domain = true, name
	s.MaxRecipients, s.MaxMessageBytes = lmtpRecipients, lmtpBytes
	s.ReadTimeout, s.WriteTimeout = lmtpTimeout, lmtpTimeout
	s.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	b.server = s
	return b
}

// Serve takes mails from l until Shutdown, and then returns nil. It serves 32 connections at a time.
func (b *BounceServer) Serve(l net.Listener) error {
	err := b.server.Serve(netutil.LimitListener(l, lmtpConnections))
	if err != nil && !errors.Is(err, smtp.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown waits for the mails in flight until ctx ends, then closes their connections: the senders try again.
func (b *BounceServer) Shutdown(ctx context.Context) error {
	if err := b.server.Shutdown(ctx); err != nil && !errors.Is(err, smtp.ErrServerClosed) {
		return b.server.Close()
	}
	return nil
}

// nullReturnPath is the header field of a mail with an empty sender.
const nullReturnPath = "Return-Path: <>\r\n"

// bounceSession is one connection (smtp.LMTPSession).
type bounceSession struct {
	server *BounceServer
	rcpts  []string
	null   bool // the sender is empty
}

// Mail implements smtp.Session. It takes any sender: bounces have none (RFC 5321 section 4.5.5).
func (s *bounceSession) Mail(from string, _ *smtp.MailOptions) error {
	s.null = from == ""
	return nil
}

// Rcpt implements smtp.Session. It takes any recipient.
func (s *bounceSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.rcpts = append(s.rcpts, to)
	return nil
}

// Data implements smtp.Session; LMTP does not use it.
func (s *bounceSession) Data(r io.Reader) error { return s.LMTPData(r, noStatus{}) }

// LMTPData implements smtp.LMTPSession. It takes the mail once for each recipient.
func (s *bounceSession) LMTPData(r io.Reader, status smtp.StatusCollector) error {
	from := ""
	if s.null {
		from = nullReturnPath // who delivers a mail notes its sender (RFC 5321 section 4.4)
	}
	data, err := io.ReadAll(io.MultiReader(strings.NewReader(from), io.LimitReader(r, int64(MaxBounce-len(from)))))
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

// Reset implements smtp.Session.
func (s *bounceSession) Reset() { s.rcpts, s.null = nil, false }

// Logout implements smtp.Session.
func (s *bounceSession) Logout() error { return nil }

// noStatus ignores the statuses of recipients.
type noStatus struct{}

func (noStatus) SetStatus(string, error) {}
