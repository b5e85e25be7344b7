package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/cmd/newsletterd/terminal"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
)

// doctor runs the checks of the command doctor and collects their findings.
type doctor struct {
	p        *program
	ctx      context.Context
	cfg      *config.Config
	store    *store.Store
	resolver *net.Resolver // nil: DNS is not checked
	runs     bool          // a daemon serves the database
	daemon   bool          // this process is the daemon
	waits    bool          // the daemon is a standby, or starting
	env      func(string) string
	all      []core.Finding
}

func (p *program) doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "diagnose configuration and deliverability problems",
		Description: `Checks the configuration, clock, disk, replica, ports, mail server (signs in,
sends nothing), certificate, file permissions, backup and lists. With --dns
it also checks the DNS records that receiving servers need. It changes
nothing, and you can run it while the daemon runs. Exits with 1 if there is
a fault, and with 0 if there are only warnings.

   newsletterd doctor --dns`,
		Flags: []cli.Flag{
			cli.Bool("dns", "also check SPF, DKIM, DMARC, MX, PTR and sender domains in DNS"),
			cli.String("dns-server", "DNS server `HOST:PORT` (default: mail.dns_server, then the system's)"),
		},
		Action: func(c *cli.Context) error {
			d := &doctor{p: p, ctx: c.Context, env: p.Lookup}
			if err := d.examine(c); err != nil {
				return err
			}
			return d.print(c)
		},
	}
}

func (d *doctor) add(check, level, advice, format string, args ...any) {
	d.all = append(d.all, core.NewFinding(check, level, core.Say(format, args...), core.Sentence{Text: advice}))
}

// advise sets the advice of the last finding. Unlike the functions that add findings, it accepts values.
func (d *doctor) advise(format string, args ...any) {
	last := &d.all[len(d.all)-1]
	text, _ := last.Sentences()
	*last = core.NewFinding(last.Check, last.Level, text, core.Say(format, args...))
}

// aged is like age, but returns days, as a translatable sentence.
func aged(at core.Instant) core.Sentence {
	text := age(at, time.Now())
	if n, ok := strings.CutSuffix(text, " days"); ok {
		return core.Say("%s days", n)
	}
	return core.Sentence{Text: text}
}

// counted is like cli.Counted, but returns a translatable sentence.
func counted[N int | int64](n N, thing string) core.Sentence {
	if n == 1 {
		return core.Sentence{Text: "1 " + thing}
	}
	return core.Say("%d "+thing+"s", n)
}

func (d *doctor) ok(check, format string, args ...any) {
	d.add(check, core.LevelOK, "", format, args...)
}

func (d *doctor) warn(check, advice, format string, args ...any) {
	d.add(check, core.LevelWarning, advice, format, args...)
}

func (d *doctor) fault(check, advice, format string, args ...any) {
	d.add(check, core.LevelFault, advice, format, args...)
}

// examine runs all checks. If the configuration is unusable, it checks only that.
func (d *doctor) examine(c *cli.Context) (err error) {
	if d.cfg, err = d.p.Config(c); err != nil {
		faults, ok := errors.AsType[config.Faults](err)
		if !ok {
			return err
		}
		for _, f := range faults {
			d.fault("configuration", "fix it, then check it with newsletterd config", "%s", f)
		}
		return nil
	}
	file := d.cfg.File
	if file == "" {
		file = "no file: using defaults and environment variables"
	}
	d.ok("configuration", "%s", file)
	o, err := storeOptions(d.cfg, newLog(config.Log{Level: "error", Format: "text"}, d.p.Err))
	if err == nil {
		o.Mode = db.Command
		if d.cfg.Replica.URL != "" && (!db.DaemonRuns(o.Path) || db.DaemonWaits(o.Path)) {
			o.ReadOnly = errLooks // otherwise the replica would not recognize the file after a kill
		}
		d.waits = d.cfg.Replica.URL != "" && db.DaemonWaits(o.Path)
		d.store, err = store.Open(d.ctx, o)
	}
	if errors.Is(err, os.ErrNotExist) && d.waits {
		d.runs = true
		d.ok("database", "the daemon on this machine is a standby or starting; it has no database until it takes over")
	} else if err != nil {
		d.fault("database", databaseAdvice(err), "%s", terminal.Message(err))
	} else {
		defer func() { err = errors.Join(err, d.store.Close()) }()
	}
	if c.Bool("dns") || c.IsSet("dns-server") {
		d.resolver = parts.Resolver(cmp.Or(c.String("dns-server"), d.cfg.Mail.DNSServer))
	}
	d.look()
	return nil
}

// look runs the checks that need a usable configuration.
func (d *doctor) look() {
	d.permissions()
	d.clock()
	if d.store != nil {
		d.database()
	}
	d.replica()
	d.setAside()
	d.ports()
	d.certificate()
	d.ownServer()
	d.relay()
	d.postal()
	if d.resolver != nil {
		d.dns()
	}
	d.senderDomains()
}

// findings runs doctor's checks in the running daemon and returns the findings.
func (d *daemon) findings(ctx context.Context, dns bool) []core.Finding {
	look := &doctor{ctx: ctx, cfg: d.cfg, store: d.store, daemon: true, env: os.Getenv}
	if dns {
		look.resolver = parts.Resolver(d.cfg.Mail.DNSServer)
	}
	look.look()
	return look.all
}

func databaseAdvice(err error) string {
	switch {
	case strings.Contains(err.Error(), "no database"):
		return "create it with newsletterd init or newsletterd serve"
	case errors.Is(err, db.ErrOldCopy):
		return "restore an intact backup with newsletterd restore --from FILE"
	default:
		return ""
	}
}

func (d *doctor) print(c *cli.Context) error {
	if out := d.p.Printer(c); out.JSON {
		if err := out.Value(d.all); err != nil {
			return err
		}
	} else if err := printFindings(d.p.Out, d.all); err != nil {
		return err
	}
	faults := slices.DeleteFunc(slices.Clone(d.all), func(f core.Finding) bool { return f.Level != core.LevelFault })
	if len(faults) > 0 {
		return errors.New(cli.Counted(len(faults), "fault"))
	}
	return nil
}

func printFindings(w io.Writer, all []core.Finding) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, f := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.Level, f.Check, cli.Printable(f.Text))
		if f.Advice != "" {
			fmt.Fprintf(t, "\t\t→ %s\n", f.Advice)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// timeLimit is the timeout for each request to another machine.
const timeLimit = 10 * time.Second
