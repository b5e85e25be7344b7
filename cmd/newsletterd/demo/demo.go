package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"newsletterd/auth"
	"newsletterd/mail/mailtest"
)

// Parameters of the demo.
const (
	imported   = 1000
	subscribed = 5
	timeout    = 2 * time.Minute // for the whole run, which takes seconds
)

// Options are the settings for a run.
type Options struct {
	Out  io.Writer
	Env  []string // environment of the demo's daemon; settings of newsletterd are removed
	Stay bool     // keep the daemon running until the context ends
}

// Run starts a daemon and a mail server in a temporary folder, acts like an administrator and subscribers, and
// describes each step on o.Out. It returns an error if a step fails or a figure differs from its expected value.
func Run(ctx context.Context, o Options) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	d, err := newRun(o)
	if err != nil {
		return err
	}
	err = d.steps(limited)
	if err == nil && o.Stay {
		d.checks.print(d.out)
		d.invite()
		<-ctx.Done()
	}
	return errors.Join(err, d.close(), d.verdict(err))
}

// run is one run of the demo: a folder, a mail server, a daemon process, and the counted figures.
type run struct {
	out     io.Writer
	env     []string
	dir     string
	started time.Time
	keeper  *mailtest.Keeper
	mailbox mailbox
	daemon  *daemon
	checks  checks
	step    int

	tenant, list, operator, password, token string
}

func newRun(o Options) (*run, error) {
	dir, err := os.MkdirTemp("", "newsletterd-demo-")
	if err != nil {
		return nil, err
	}
	d := &run{
		out: o.Out, env: o.Env, dir: dir, started: time.Now(),
		operator: "operator@acme.example", password: auth.NewNonce(),
	}
	d.mailbox.dir = filepath.Join(dir, "mails")
	if d.keeper, err = mailtest.NewKeeper("127.0.0.1:0", d.mailbox.dir); err != nil {
		return nil, err
	}
	d.say("All files are in %s", dir)
	return d, nil
}

// steps runs the steps in order and adds their figures to checks.
func (d *run) steps(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		d.startDaemon, d.setUp, d.importReaders, d.subscribeReaders, d.firstJob, d.leave, d.secondJob, d.inspect,
	} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("step %d: %w", d.step, err)
		}
	}
	return nil
}

func (d *run) head(text string) {
	d.step++
	fmt.Fprintf(d.out, "\n%d  %s\n", d.step, text)
}

func (d *run) say(format string, args ...any) { fmt.Fprintf(d.out, "   "+format+"\n", args...) }

func (d *run) startDaemon(ctx context.Context) (err error) {
	d.head("Start the daemon, and a mail server that saves every email as a file")
	if d.daemon, err = startDaemon(ctx, d.env, d.dir, d.keeper.Addr()); err != nil {
		return err
	}
	d.say("daemon  %s  (log: %s)", d.daemon.base, d.daemon.log)
	d.say("emails  smtp://%s → %s", d.keeper.Addr(), d.mailbox.dir)
	var health struct{ Status string }
	if err := d.daemon.get(ctx, "/healthz", &health); err != nil {
		return err
	}
	d.say("healthz: %s", health.Status)
	return nil
}

func (d *run) setUp(ctx context.Context) error {
	d.head("Create a tenant, a list, a user and a token with commands")
	var tenant, list, user struct{ ID string }
	err := d.daemon.command(ctx, &tenant, "", "admin", "tenant", "create", "--name", "Acme", "--domain", "acme.example",
		"--mail-from", "news@acme.example", "--postal-address", "Acme, 1 Main Street")
	if err != nil {
		return err
	}
	err = d.daemon.command(ctx, &list, "", "admin", "list", "create", "--tenant", tenant.ID, "--name", "Acme monthly")
	if err != nil {
		return err
	}
	err = d.daemon.command(ctx, &user, d.password+"\n", "admin", "user", "create", "--email", d.operator,
		"--role", "operator", "--password-stdin")
	if err != nil {
		return err
	}
	var token struct {
		AccessToken string `json:"access_token"`
		Scope       string
	}
	err = d.daemon.command(ctx, &token, "", "admin", "token", "create", "--user", d.operator,
		"--scope", "admin newsletter:send newsletter:list.read", "--ttl", "1d")
	if err != nil {
		return err
	}
	d.tenant, d.list, d.token = tenant.ID, list.ID, token.AccessToken
	d.daemon.token = d.token
	d.say("tenant  %s  Acme", d.tenant)
	d.say("list    %s  Acme monthly", d.list)
	d.say("user    %s, server administrator", d.operator)
	var lists []struct{ Name string }
	if err := d.daemon.get(ctx, "/api/admin/newsletter-lists", &lists); err != nil {
		return err
	}
	d.checks.equal("lists in the API for this token", len(lists), 1)
	return nil
}

func (d *run) importReaders(ctx context.Context) error {
	d.head(fmt.Sprintf("Import %d subscribers from a CSV file", imported))
	file := filepath.Join(d.dir, "readers.csv")
	if err := writeReaders(file); err != nil {
		return err
	}
	var counts struct{ Rows, Added, Failed int }
	err := d.daemon.command(ctx, &counts, "", "admin", "subscriber", "import", "--list", d.list, "--file", file)
	if err != nil {
		return err
	}
	d.say("%d rows, %d added", counts.Rows, counts.Added)
	d.checks.equal("imported subscribers", counts.Added, imported)
	d.checks.equal("rows with errors", counts.Failed, 0)
	return d.settle(ctx)
}

// writeReaders writes subscribers to a file in the format of a shop's export.
func writeReaders(name string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	fmt.Fprintln(f, "email,first_name,city")
	for i := range imported {
		name, city := firstNames[i%len(firstNames)], cities[i%len(cities)]
		fmt.Fprintf(f, "%s,%s,%s\n", importedReader(i), name, city)
	}
	return f.Close()
}

var (
	firstNames = []string{"Ada", "Björn", "Chloé", "Dmitri", "Esi", "Fumiko", "Günter"}
	cities     = []string{"Aarhus", "Brno", "Cádiz", "Dakar", "Essen"}
)

func importedReader(i int) string   { return fmt.Sprintf("reader%04d@readers.example", i) }
func subscribedReader(i int) string { return fmt.Sprintf("visitor%d@visitors.example", i+1) }

// settle waits until the send service has received every event.
func (d *run) settle(ctx context.Context) error {
	var last outboxGauge
	err := until(ctx, func() (bool, error) {
		var err error
		last, err = d.daemon.outbox(ctx)
		return err == nil && last.waiting == 0, err
	})
	if err != nil {
		return fmt.Errorf("%v events are still queued: %w", last.waiting, err)
	}
	d.say("the send service received every change by signed webhook")
	d.checks.equal("events that could not be delivered", int(last.dead), 0)
	return nil
}

func (d *run) inspect(ctx context.Context) error {
	d.head("Check the database while the daemon runs")
	var report struct{ Findings []string }
	if err := d.daemon.command(ctx, &report, "", "check"); err != nil {
		return err
	}
	d.say("check: %d problems", len(report.Findings))
	d.checks.equal("problems in the database", len(report.Findings), 0)
	var stored []struct{ Status string }
	if err := d.daemon.get(ctx, "/api/newsletter/subscriptions?list_id="+d.list, &stored); err != nil {
		return err
	}
	active := 0
	for _, s := range stored {
		if s.Status == "active" {
			active++
		}
	}
	d.checks.equal("subscriptions", len(stored), imported+subscribed)
	d.checks.equal("of them active", active, imported+subscribed-1)
	return nil
}

// invite prints how to use the daemon, which keeps running.
func (d *run) invite() {
	fmt.Fprintf(d.out, `
The daemon keeps running. Press Ctrl-C to stop it.

   console    %s/console/%s   (sign in as below)
   daemon     %s          (API at /api, documents at /api/openapi.json)
   metrics    %s/metrics
   sign in    %s  %s
   tenant     %s
   list       %s          (its signup page: %s/l/%s)
   emails     %s
   commands   newsletterd admin tenant list --config %s
   token      %s
`, d.daemon.base, d.tenant, d.daemon.base, d.daemon.side, d.operator, d.password, d.tenant, d.list, d.daemon.base, d.list,
		d.mailbox.dir, d.daemon.config, d.token)
}

// close stops the daemon in the same way as systemd.
func (d *run) close() error {
	var err error
	if d.daemon != nil {
		d.head("Stop the daemon with SIGTERM")
		if err = d.daemon.stop(); err == nil {
			d.say("exit code 0; the database is a single file")
			left, _ := filepath.Glob(d.daemon.database + "-*")
			d.checks.equal("files next to the database", len(left), 0)
		}
	}
	return errors.Join(err, d.keeper.Close())
}

// verdict prints a table of the figures. It returns an error if a figure differs from its expected value.
func (d *run) verdict(failed error) error {
	d.checks.print(d.out)
	fmt.Fprintf(d.out, "\n   emails    %s\n", d.mailbox.dir)
	if d.daemon != nil {
		fmt.Fprintf(d.out, "   database  %s\n   log       %s\n", d.daemon.database, d.daemon.log)
	}
	if failed != nil {
		return nil // Run returns this error
	}
	if off := d.checks.off(); off > 0 {
		return fmt.Errorf("%d checks failed", off)
	}
	fmt.Fprintf(d.out, "\nAll checks passed in %.1f s.\n", time.Since(d.started).Seconds())
	return nil
}

// until calls try with short pauses until it returns true or an error, or until ctx is done.
func until(ctx context.Context, try func() (ok bool, err error)) error {
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for {
		if ok, err := try(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		}
	}
}

// without returns all except the address one.
func without(all []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == one })
}
