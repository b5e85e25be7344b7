package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/terminal"
	"newsletterd/store"
)

// finding is one thing that doctor has looked at.
type finding struct {
	Check  string `json:"check"`
	Level  string `json:"level"` // ok, warning, fault
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"`
}

// Levels of a finding.
const (
	levelOK      = "ok"
	levelWarning = "warning"
	levelFault   = "fault"
)

// doctor gathers findings.
type doctor struct {
	p        *program
	ctx      context.Context
	cfg      *config.Config
	store    *store.Store
	resolver *net.Resolver // nil: no look at DNS
	runs     bool          // a daemon serves the database
	all      []finding
}

func (p *program) doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "look for what is wrong or rarely meant, and say what to do",
		Description: `Looks at the configuration, clock, disk, ports, the relay (signs in, mails nothing), certificate, file permissions,
snapshot and lists; with --dns also at the DNS records that receivers of mail look for. Changes nothing; the daemon may run. Exit
code 1 if anything is a fault; warnings alone are no failure.

   newsletterd doctor --dns`,
		Flags: []cli.Flag{
			boolFlag("dns", "also look at SPF, DKIM, DMARC, MX, PTR and sender domains in DNS"),
			stringFlag("dns-server", "ask this server: `HOST:PORT` (else mail.dns_server, or the machine's own)"),
		},
		Action: func(c *cli.Context) error {
			d := &doctor{p: p, ctx: c.Context}
			if err := d.examine(c); err != nil {
				return err
			}
			return d.print(c)
		},
	}
}

// resolverOf asks one server, or those that the machine is set to.
func resolverOf(server string) *net.Resolver {
	r := &net.Resolver{PreferGo: true}
	if server != "" {
		r.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server)
		}
	}
	return r
}

func (d *doctor) add(check, level, advice, format string, args ...any) {
	d.all = append(d.all, finding{check, level, fmt.Sprintf(format, args...), advice})
}

func (d *doctor) ok(check, format string, args ...any) { d.add(check, levelOK, "", format, args...) }

func (d *doctor) warn(check, advice, format string, args ...any) {
	d.add(check, levelWarning, advice, format, args...)
}

func (d *doctor) fault(check, advice, format string, args ...any) {
	d.add(check, levelFault, advice, format, args...)
}

// examine looks at everything that can be looked at: without a usable configuration that is the configuration alone.
func (d *doctor) examine(c *cli.Context) (err error) {
	if d.cfg, err = d.p.config(c); err != nil {
		faults, ok := errors.AsType[config.Faults](err)
		if !ok {
			return err
		}
		for _, f := range faults {
			d.fault("configuration", "mend it; `newsletterd config` checks again", "%s", f)
		}
		return nil
	}
	file := d.cfg.File
	if file == "" {
		file = "no file: defaults and environment"
	}
	d.ok("configuration", "%s", file)
	d.permissions()
	d.clock()
	o, err := storeOptions(d.cfg, newLog(config.Log{Level: "error", Format: "text"}, d.p.err))
	if err == nil {
		o.Mode = store.Command
		d.store, err = store.Open(d.ctx, o)
	}
	if err != nil {
		d.fault("database", databaseAdvice(err), "%s", terminal.Message(err))
	} else {
		defer func() { err = errors.Join(err, d.store.Close()) }()
		d.database()
	}
	d.ports()
	d.certificate()
	d.relay()
	d.postal()
	if c.Bool("dns") || c.IsSet("dns-server") {
		d.resolver = resolverOf(cmp.Or(c.String("dns-server"), d.cfg.Mail.DNSServer))
		d.dns()
	}
	d.senderDomains()
	return nil
}

func databaseAdvice(err error) string {
	switch {
	case strings.Contains(err.Error(), "there is no database"):
		return "`newsletterd init` or `newsletterd serve` makes one"
	case errors.Is(err, store.ErrOldCopy):
		return "`newsletterd restore --from` a whole backup"
	default:
		return ""
	}
}

func (d *doctor) print(c *cli.Context) error {
	if out := d.p.printer(c); out.json {
		if err := out.value(d.all); err != nil {
			return err
		}
	} else if err := printFindings(d.p.out, d.all); err != nil {
		return err
	}
	faults := slices.DeleteFunc(slices.Clone(d.all), func(f finding) bool { return f.Level != levelFault })
	if len(faults) > 0 {
		return errors.New(counted(len(faults), "fault"))
	}
	return nil
}

func printFindings(w io.Writer, all []finding) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, f := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.Level, f.Check, printable(f.Text))
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

// timeLimit bounds each question to another machine.
const timeLimit = 10 * time.Second
