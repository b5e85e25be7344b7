package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"time"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/cmd/newsletterd/terminal"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/report"
	"newsletterd/store"
	"newsletterd/worker"
)

// bounced is the output of the command bounce.
type bounced struct {
	Reports int `json:"reports"` // about an email that we sent
}

func (p *program) bounceCommand() *cli.Command {
	c := p.Command("bounce", "process a bounce message from standard input", []cli.Flag{
		cli.String("to", "envelope recipient `ADDRESS` (default: from the headers)"),
	}, nil, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		data, err := io.ReadAll(io.LimitReader(p.In, report.MaxBounce))
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, p.In) // otherwise the mail server treats the closed pipe as a failure
		keys, err := parts.NewMailKeys(c.Context, s)
		if err != nil {
			return err
		}
		n, err := worker.TakeBounce(c.Context, s, keys.Ident, c.String("to"), data, now())
		if err != nil {
			return err
		}
		return p.Printer(c).Record(bounced{n})
	})
	c.Description = `Reads delivery status notifications (RFC 3464), spam reports (RFC 5965) and
free-form bounces, and unsubscribes the addresses where needed. An email to
a List-Unsubscribe address ends that subscription. Messages only count if
they identify an email from newsletterd by its Message-ID, return address or
unsubscribe address. All other messages are ignored.

In Postfix, for the domain of mail.bounce_domain:

   master.cf:  newsletterd unix - n n - - pipe flags=R user=newsletterd argv=/usr/local/bin/newsletterd bounce --to ${recipient} --config FILE
   transport:  bounce.example.org  newsletterd:`
	return c
}

// bounceListener receives bounce messages over LMTP. It is nil if [bounce] listen is empty.
type bounceListener struct {
	listener net.Listener
	server   *report.BounceServer
	log      *slog.Logger
}

func newBounceListener(cfg *config.Config, s *store.Store, ident *mail.Ident, log *slog.Logger) (*bounceListener,
	error,
) {
	if cfg.Bounce.Listen == "" {
		return nil, nil
	}
	l, err := terminal.Listen("bounce.listen", cfg.Bounce.Listen)
	if err != nil {
		return nil, err
	}
	take := func(ctx context.Context, rcpt string, data []byte) error {
		if _, err := worker.TakeBounce(ctx, s, ident, rcpt, data, core.At(time.Now())); err != nil {
			return err
		}
		return s.Acknowledged(ctx)
	}
	return &bounceListener{l, report.NewBounceServer(parts.LocalName(cfg), take, log), log}, nil
}

func (b *bounceListener) start() {
	if b == nil {
		return
	}
	b.log.Info("bounces", slog.String("listen", b.listener.Addr().String()))
	go func() {
		if err := b.server.Serve(b.listener); err != nil {
			b.log.Error("bounces", slog.Any("error", err))
		}
	}()
}

// stop ends the listener before the database is closed.
func (b *bounceListener) stop() error {
	if b == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), keepersDrain)
	defer cancel()
	return b.server.Shutdown(ctx)
}
