package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/parts"
)

// Timeouts for the steps of a shutdown. Their sum is below 45 s, after which a supervisor may kill the daemon.
const (
	workersDrain = 30 * time.Second
	httpDrain    = 10 * time.Second
	keepersDrain = 3 * time.Second
)

func (p *program) serveCommand() *cli.Command {
	return &cli.Command{
		Name: "serve", Usage: "run the daemon",
		Description: `Creates or upgrades the database, starts the workers and listens. On SIGTERM
or SIGINT it finishes work in progress within 45 seconds and stops; a second
signal stops it immediately. While there is no server administrator, it
prints a link to create the first account.

   newsletterd serve
   newsletterd serve --config /var/lib/newsletterd/newsletterd.toml --log-level debug`,
		Flags: []cli.Flag{
			cli.String("listen", "listen on `HOST:PORT`"),
			cli.String("public-url", "public URL of the server (`ORIGIN`), for example "+
				"https://news.example.org"),
			cli.String("log-level", "log `LEVEL`: debug, info, warn or error"),
			cli.String("log-format", "log `FORMAT`: auto, text or json"),
			cli.Bool("take-over", "resume send jobs paused because the database was restored or copied"),
		},
		Action: func(c *cli.Context) error {
			cfg, err := p.Config(c)
			if err != nil {
				return err
			}
			cfg.TakeOver = c.Bool("take-over")
			log := newLog(cfg.Log, p.Err)
			signals := make(chan os.Signal, 2)
			signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
			defer signal.Stop(signals)
			// The first signal also cancels c.Context. That must abort startup, but not interrupt a running daemon.
			d, err := build(c.Context, cfg, log)
			if cfg.Replica.URL != "" && errors.Is(err, context.Canceled) && c.Context.Err() != nil {
				log.Info("stopped before this machine started serving")
				return nil
			}
			if err != nil {
				return err
			}
			switch text := firstSteps(c.Context, cfg, d.store); {
			case text == "":
			case cli.IsTerminal(p.Out): // never in a log: anyone who reads the link can become the administrator
				_, _ = io.WriteString(p.Out, text)
			default:
				log.Info("no server administrator: newsletterd admin setup-link prints a link to create one")
			}
			hangup := make(chan os.Signal, 1)
			signal.Notify(hangup, syscall.SIGHUP)
			defer signal.Stop(hangup)
			go d.reload(hangup)
			stop := make(chan struct{})
			go func() {
				got := <-signals
				log.Info("stopping", slog.String("signal", got.String()))
				close(stop)
				for at := time.Now(); time.Since(at) < sameSignal; {
					got = <-signals
				}
				log.Warn("stopped immediately", slog.String("signal", got.String()))
				os.Exit(cli.ExitFailed)
			}()
			return d.run(stop)
		},
	}
}

// sameSignal is the time within which a second signal counts as part of the first one, because timeout(1) and some
// supervisors signal both the process and its group.
const sameSignal = 500 * time.Millisecond

// run starts a daemon that build has created. It serves until stop is closed, and then stops the parts in the
// documented order.
func (d *daemon) run(stop <-chan struct{}) error {
	d.workers.Start()
	d.keepers.Start()
	d.metrics.start(d.log)
	d.bounces.start()
	d.redirect.start(d.log)
	served := make(chan error, 1)
	go func() { served <- d.server.Serve(d.listener) }()
	d.log.Info("ready", slog.String("listen", d.listener.Addr().String()), slog.String("public_url", d.cfg.Origin()),
		slog.String("database", d.store.Path()), slog.String("version", version()))
	_, _ = sd.SdNotify(false, sd.SdNotifyReady)
	parts.FreeMemory()
	select {
	case <-stop:
	case err := <-served:
		d.log.Error("listener", slog.Any("error", err))
		return errors.Join(err, d.stop())
	}
	return d.stop()
}

// reload rereads the certificate on each SIGHUP. The rest of the configuration can't change while the daemon runs.
func (d *daemon) reload(hangup <-chan os.Signal) {
	for range hangup {
		if d.certWatch == nil || d.certs.manager != nil {
			d.log.Info("nothing to reload: the configuration is only read at startup")
			continue
		}
		d.certs.again.Store(true)
		d.certWatch.Kick()
	}
}

// stop shuts down in the documented order: it refuses new requests, finishes claimed work, sends the responses, and
// leaves the database as one complete file.
func (d *daemon) stop() error {
	_, _ = sd.SdNotify(false, sd.SdNotifyStopping)
	begin := time.Now()
	var failed error
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"listener", d.closeListener},
		{"workers", func() error { d.workers.Drain(workersDrain); return nil }},
		{"http", d.drainClients},
		{"housekeeping", func() error { d.keepers.Drain(keepersDrain); return nil }},
		{"tracking", func() error { return d.tracker.Flush(context.Background()) }},
		{"database", d.store.Close},
	} {
		at := time.Now()
		err := step.do()
		took := slog.Float64("ms", float64(time.Since(at).Microseconds())/1000)
		if err != nil {
			d.log.Error("stop: "+step.name, took, slog.Any("error", err))
			failed = errors.Join(failed, err)
			continue
		}
		d.log.Info("stop: "+step.name, took)
	}
	d.metrics.stop()
	d.redirect.stop()
	d.log.Info("stopped", slog.Float64("ms", float64(time.Since(begin).Microseconds())/1000))
	return failed
}

// closeListener refuses new connections. Open ones stay, and their health checks show that the daemon is stopping.
func (d *daemon) closeListener() error {
	d.handler.Drain()
	if err := d.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// drainClients waits for requests and bounce messages in flight at the same time, so that both have their full time
// limit.
func (d *daemon) drainClients() error {
	bounces := make(chan error, 1)
	go func() { bounces <- d.bounces.stop() }()
	return errors.Join(d.drainHTTP(), <-bounces)
}

// drainHTTP waits for requests in flight. If some take too long, it closes their connections and logs that, but returns
// no error.
func (d *daemon) drainHTTP() error {
	ctx, cancel := context.WithTimeout(context.Background(), httpDrain)
	defer cancel()
	err := d.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		d.log.Warn("requests were interrupted", slog.Duration("after", httpDrain))
		return d.server.Close()
	}
	if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
