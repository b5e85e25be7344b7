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

// BounceServer receives bounce messages through LMTP (RFC 2033) from a mail server on this machine or nearby. It
// accepts every recipient and message. Only a message's content decides whether it reports anything.
type BounceServer struct {
	// Take processes a message for one recipient. If it returns an error, the sender is asked to retry.
	Take func(ctx context.Context, rcpt string, data []byte) error
	Log  *slog.Logger

	server *smtp.Server
}

const (
	lmtpTimeout     = time.Minute
	lmtpConnections = 32 // concurrent connections, each with a message in memory; more wait in the kernel's queue
	lmtpRecipients  = 50
	lmtpBytes       = 64 << 20 // only MaxBounce are read, but a refusal would bounce the bounce
)

// NewBounceServer returns a server that calls take for each message. name appears in the greeting.
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

// Serve accepts messages from l until Shutdown, then returns nil. It serves up to 32 connections at a time.
func (b *BounceServer) Serve(l net.Listener) error {
	err := b.server.Serve(netutil.LimitListener(l, lmtpConnections))
	if err != nil && !errors.Is(err, smtp.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown waits for the messages in flight. If ctx ends before that, it closes their connections, and the senders
// retry.
func (b *BounceServer) Shutdown(ctx context.Context) error {
	if err := b.server.Shutdown(ctx); err != nil && !errors.Is(err, smtp.ErrServerClosed) {
		return b.server.Close()
	}
	return nil
}

// nullReturnPath is the header field for an empty sender.
const nullReturnPath = "Return-Path: <>\r\n"

// bounceSession handles one connection. It implements smtp.LMTPSession.
type bounceSession struct {
	server *BounceServer
	rcpts  []string
	null   bool // the sender is empty
}

// Mail implements smtp.Session. It accepts any sender: bounces have none (RFC 5321 section 4.5.5).
func (s *bounceSession) Mail(from string, _ *smtp.MailOptions) error {
	s.null = from == ""
	return nil
}

// Rcpt implements smtp.Session. It accepts any recipient.
func (s *bounceSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.rcpts = append(s.rcpts, to)
	return nil
}

// Data implements smtp.Session. LMTP does not use it.
func (s *bounceSession) Data(r io.Reader) error { return s.LMTPData(r, noStatus{}) }

// LMTPData implements smtp.LMTPSession. It calls Take for each recipient of the message.
func (s *bounceSession) LMTPData(r io.Reader, status smtp.StatusCollector) error {
	from := ""
	if s.null {
		from = nullReturnPath // the delivering server adds the sender (RFC 5321 section 4.4)
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

// noStatus is an smtp.StatusCollector that ignores the statuses.
type noStatus struct{}

func (noStatus) SetStatus(string, error) {}
