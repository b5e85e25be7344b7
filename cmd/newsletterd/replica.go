package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/handlers"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/replica"
)

func (p *program) replicaCommand() *cli.Command {
	status := &cli.Command{
		Name: "status", Usage: "show which machine holds the lease, and what can be restored",
		Description: `Reads the bucket alone, so that it works on any machine. Exit code 1 if the log misses a part, or the bucket
is empty in which the database of this machine was kept.

   newsletterd replica status`,
		Action: p.replicaStatus,
	}
	restore := &cli.Command{
		Name: "restore", Usage: "write the database of the replica, of now or of a time, to a file",
		Description: `Needs no lease, so that it works on any machine, also while a daemon serves the database; it changes
nothing in the replica. The file is checked before it gets its name. Its jobs are held, as those of any copy. To have a
machine go on with the replica, no restore is needed: ` + "`newsletterd serve`" + ` does it.

   newsletterd replica restore --to yesterday.db --at 2026-11-23T18:00:00Z`,
		Flags: []cli.Flag{
			stringFlag("to", "the `FILE` to write, which must not exist"),
			stringFlag("at", "the last state before this `TIME` that was kept, as 2026-12-24T08:00:00Z (else the newest)"),
			boolFlag("to-last-contiguous", "where the log misses a part, or it is damaged, restore what comes before"),
		},
		Action: p.replicaRestore,
	}
	drill := &cli.Command{
		Name: "drill", Usage: "restore the replica to a temporary file, check it, and compare it with the database",
		Description: `The file stands in a folder of its own beside the database for so long, and needs as much room as that.
On the machine whose daemon serves it the result is kept, for ` + "`newsletterd status`" + ` and ` + "`doctor`" + `; the daemon
does the same once a week. Exit code 1 if anything is found.

   newsletterd replica drill`,
		Action: p.replicaDrill,
	}
	begin := &cli.Command{
		Name: "begin", Usage: "begin the replica anew, with the database of this machine, where it was lost",
		Description: `A daemon refuses to start where the bucket is empty in which its database was kept before: its disk may not be
mounted. Where what it had is lost for good, this copies the database of this machine there; also where a part of the log
is missing, so that it can't be restored. A replica that can be restored is left alone, and no daemon may run. Where
another machine has served last the database of this one is older: run it there, or say that this is wanted.

   newsletterd replica begin`,
		Flags:  []cli.Flag{boolFlag("although-older", "begin it with this database, though another machine has served last")},
		Action: p.replicaBegin,
	}
	return &cli.Command{
		Name: "replica", Usage: "look at the replica of the database, restore it, try whether it can be restored",
		Subcommands: []*cli.Command{status, restore, drill, begin},
	}
}

// replicaConfig reads the configuration, which must have a replica.
func (p *program) replicaConfig(c *cli.Context) (*config.Config, error) {
	cfg, err := p.config(c)
	if err == nil && cfg.Replica.URL == "" {
		err = errors.New("there is no replica: [replica] url is not set")
	}
	return cfg, err
}

// replicaRow is the state of a replica as `replica status` prints it.
type replicaRow struct {
	URL        string       `json:"url"`
	State      string       `json:"state"` // held, lapsed, released, unused
	Host       string       `json:"host,omitempty"`
	Node       string       `json:"node,omitempty"`
	Generation uint64       `json:"generation,omitempty"`
	RenewedAt  core.Instant `json:"renewed_at,omitzero"`
	LapsesAt   core.Instant `json:"lapses_at,omitzero"`
	TXID       uint64       `json:"txid"`
	NewestAt   core.Instant `json:"newest_at,omitzero"`
	OldestAt   core.Instant `json:"oldest_at,omitzero"` // the earliest time that can be restored
	Files      int          `json:"files"`
	Snapshots  int          `json:"snapshots"`
	Bytes      int64        `json:"bytes"`
	Gap        string       `json:"gap,omitempty"`
	Holes      []holeRow    `json:"holes,omitempty"` // times since then that can't be restored
}

// holeRow is a part of the time that can't be restored.
type holeRow struct {
	From core.Instant `json:"from"`
	To   core.Instant `json:"to"`
}

// replicaRowOf is what was found at an instant.
func replicaRowOf(url string, s replica.State, now time.Time) replicaRow {
	r := replicaRow{
		URL: url, State: "unused", TXID: s.TXID, NewestAt: instantOf(s.Newest), OldestAt: instantOf(s.Oldest),
		Files: s.Files, Snapshots: s.Snapshots, Bytes: s.Bytes,
	}
	if h := s.Holder; h != nil {
		r.Host, r.Node, r.Generation = h.Host, h.Node, h.Generation
		r.RenewedAt, r.LapsesAt = instantOf(h.Renewed), instantOf(h.Lapses())
		switch {
		case h.Released:
			r.State = "released"
		case now.After(h.Lapses()):
			r.State = "lapsed"
		default:
			r.State = "held"
		}
	}
	if s.Gap != nil {
		r.Gap = s.Gap.Error()
	}
	for _, h := range s.Holes {
		r.Holes = append(r.Holes, holeRow{instantOf(h.From), instantOf(h.To)})
	}
	return r
}

// instantOf is 0 for the zero time.
func instantOf(t time.Time) core.Instant {
	if t.IsZero() {
		return 0
	}
	return core.At(t)
}

func (p *program) replicaStatus(c *cli.Context) error {
	cfg, err := p.replicaConfig(c)
	if err != nil {
		return err
	}
	s, err := replica.Look(c.Context, cfg.Replica.URL, p.lookup)
	if err != nil {
		return err
	}
	r := replicaRowOf(cfg.Replica.URL, s, time.Now())
	if out := p.printer(c); out.json {
		err = out.value(r)
	} else {
		err = printReplica(p.out, r, time.Now())
	}
	if err == nil && s.Holder == nil && s.Files == 0 {
		var kept bool
		if kept, err = keptHere(c.Context, cfg); err == nil {
			err = replica.Missing(c.Context, cfg.Replica.URL, p.lookup, cfg.Database.Path, kept)
		}
		if err != nil {
			err = fmt.Errorf("the replica: %w", err)
		}
	}
	return errors.Join(err, s.Gap)
}

// lookup returns a variable of the environment.
func (p *program) lookup(name string) string {
	for i := len(p.env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(p.env[i], name+"="); ok {
			return value
		}
	}
	return ""
}

func printReplica(w io.Writer, r replicaRow, now time.Time) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	line("replica", "%s", printable(r.URL))
	line("lease", "%s", leaseText(r, now))
	switch {
	case r.TXID == 0 && r.Gap == "":
		line("log", "empty: nothing can be restored")
	case r.TXID == 0:
		line("log", "nothing of it can be restored; %s in %s", bytesText(r.Bytes), counted(r.Files, "file"))
	default:
		line("log", "up to transaction %d, written %s ago; %s in %s, %s", r.TXID, age(r.NewestAt, now), bytesText(r.Bytes),
			counted(r.Files, "file"), counted(r.Snapshots, "snapshot"))
	}
	if r.OldestAt > 0 {
		line("restorable", "from %s on", r.OldestAt.Time().UTC().Format(time.RFC3339))
	}
	for _, h := range r.Holes {
		line("but not", "between %s and %s: the log missed a part, and was mended by a copy of the whole",
			h.From.Time().UTC().Format(time.RFC3339), h.To.Time().UTC().Format(time.RFC3339))
	}
	if r.Gap != "" {
		line("damaged", "%s", printable(r.Gap))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// leaseText says who may write to the replica.
func leaseText(r replicaRow, now time.Time) string {
	who := fmt.Sprintf("%s (%s), generation %d", printable(r.Host), printable(nodeEnd(r.Node)), r.Generation)
	switch r.State {
	case "unused":
		if r.Files > 0 {
			return "not known: the lock object is missing"
		}
		return "no machine has taken it yet"
	case "released":
		return fmt.Sprintf("free; given up %s ago by %s", age(r.RenewedAt, now), who)
	case "lapsed":
		return fmt.Sprintf("lapsed %s ago; it was held by %s", age(r.LapsesAt, now), who)
	}
	return fmt.Sprintf("held by %s; renewed %s ago", who, age(r.RenewedAt, now))
}

func (p *program) replicaRestore(c *cli.Context) error {
	if err := need(c, "to"); err != nil {
		return err
	}
	at, err := instantFlag(c, "at")
	if err != nil {
		return err
	}
	cfg, err := p.replicaConfig(c)
	if err != nil {
		return err
	}
	o := replica.CopyOptions{URL: cfg.Replica.URL, Env: p.lookup, ToGap: c.Bool("to-last-contiguous")}
	if at > 0 {
		o.At = at.Time()
	}
	var got replica.Copied
	err = db.WriteCopy(c.Context, c.String("to"), func(path string) (err error) {
		o.To = path
		got, err = replica.Copy(c.Context, o)
		return err
	})
	if err != nil {
		return restoreAdvice(c.Context, o, err)
	}
	if got.Gap != nil {
		fmt.Fprintf(p.err, "newsletterd: %s; what comes after transaction %d is NOT in the file\n", got.Gap, got.TXID)
	}
	if got.Gap == nil && got.Damaged != nil {
		fmt.Fprintf(p.err, "newsletterd: %s; other files had what it should have: nothing is missing in the file\n",
			got.Damaged)
	}
	row := restoredRow{File: c.String("to"), TXID: got.TXID, At: core.At(got.At)}
	if got.Gap != nil {
		row.Gap = got.Gap.Error()
	}
	if out := p.printer(c); out.json {
		return out.value(row)
	}
	_, err = fmt.Fprintf(p.out, "%s is the database as it was at %s (transaction %d).\n", row.File,
		got.At.UTC().Format("2006-01-02T15:04:05.000Z07:00"), row.TXID)
	return err
}

// restoredRow is what `replica restore` has restored.
type restoredRow struct {
	File string       `json:"file"`
	TXID uint64       `json:"txid"`
	At   core.Instant `json:"at"`
	Gap  string       `json:"gap,omitempty"`
}

// restoreAdvice adds to an error of Copy what can be done.
func restoreAdvice(ctx context.Context, o replica.CopyOptions, err error) error {
	switch {
	case errors.Is(err, replica.ErrGap):
		return fmt.Errorf("%w; --to-last-contiguous restores what comes before it", err)
	case errors.Is(err, replica.ErrNothing) && !o.At.IsZero():
		s, lookErr := replica.Look(ctx, o.URL, o.Env)
		if lookErr == nil && !s.Oldest.IsZero() {
			return fmt.Errorf("%w of that time: it goes back to %s", err, s.Oldest.UTC().Format(time.RFC3339))
		}
	}
	return err
}

func (p *program) replicaDrill(c *cli.Context) error {
	cfg, err := p.replicaConfig(c)
	if err != nil {
		return err
	}
	d, err := p.drillHere(c, cfg)
	if err != nil {
		return err
	}
	if out := p.printer(c); out.json {
		if err := out.value(d); err != nil {
			return err
		}
	} else {
		for _, f := range d.Findings {
			fmt.Fprintln(p.out, printable(f))
		}
	}
	if !d.Whole {
		return fmt.Errorf("the replica: %s", counted(len(d.Findings), "finding"))
	}
	if !jsonWanted(c) {
		_, err = fmt.Fprintf(p.out, "The replica was restored in %s: %s, whole, up to transaction %d.\n",
			tookText(&d), bytesText(d.Bytes), d.TXID)
	}
	return err
}

func (p *program) replicaBegin(c *cli.Context) error {
	cfg, err := p.replicaConfig(c)
	if err != nil {
		return err
	}
	s, err := replica.Look(c.Context, cfg.Replica.URL, p.lookup)
	if err != nil {
		return err
	}
	if fi, err := os.Stat(cfg.Database.Path); errors.Is(err, os.ErrNotExist) || err == nil && fi.Size() == 0 {
		return fmt.Errorf("there is no database at %s to begin with: run it on the machine that has one. Where none has, remove "+
			"%[1]s.replica, and `newsletterd serve` makes a new one", cfg.Database.Path)
	} else if err != nil {
		return err
	}
	lacks, err := replica.Lacks(cfg.Replica.URL, cfg.Database.Path, s)
	if err != nil {
		return err
	}
	if s.TXID > 0 && s.Gap == nil && !lacks {
		return errors.New("the replica has a database already: `newsletterd serve` goes on with that")
	}
	last, err := replica.ServedLast(cfg.Database.Path, s)
	if err != nil {
		return err
	}
	if !last && !lacks && !c.Bool("although-older") {
		return errors.New("this machine is not known to have served last, so what another one has may be newer: run it there; " +
			"where that disk is lost, too, --although-older begins with the database of this machine")
	}
	err = giveReplica(c.Context, cfg, newLog(config.Log{Level: "warn", Format: "text", PII: cfg.Log.PII}, p.err),
		func(r *replica.Options) { r.Begin = true })
	if err != nil {
		return err
	}
	return p.done(c, "The replica has the database of this machine.")
}

// drillHere compares with the database and keeps the result where a daemon of this machine serves it. Elsewhere the
// replica alone is looked at: that needs no lease.
func (p *program) drillHere(c *cli.Context, cfg *config.Config) (d core.Drill, err error) {
	r := &drill{cfg: cfg, env: p.lookup}
	if r.serves, err = servedHere(c.Context, cfg, p.lookup); err != nil || !r.serves {
		if err == nil {
			d, err = r.run(c.Context)
		}
		return d, err
	}
	err = p.withStore(c, func(_ *config.Config, s *store.Store) (err error) {
		r.store = s
		d, err = r.run(c.Context)
		return err
	})
	return d, err
}

// seenLimit is how long `status` waits for the bucket.
const seenLimit = 5 * time.Second

// replicaSeen is how the replica is, seen by another process than its daemon; nil where there is none. One that can't
// be reached is not fresh.
func replicaSeen(
	ctx context.Context, cfg *config.Config, env func(string) string, s *store.Store,
) (*handlers.ReplicaState, error) {
	if cfg.Replica.URL == "" {
		return nil, nil
	}
	r := &handlers.ReplicaState{}
	var err error
	if r.Drill, err = s.LastDrill(ctx); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, seenLimit)
	defer cancel()
	state, err := replica.Look(limited, cfg.Replica.URL, env)
	if err != nil || state.Holder == nil {
		return r, nil
	}
	if state.Gap != nil {
		r.Broken = state.Gap.Error()
	}
	r.Generation, r.TXID, r.Fresh = state.Holder.Generation, state.TXID, time.Now().Before(state.Holder.Lapses())
	if here, err := servedHere(limited, cfg, env); err != nil || !here {
		return r, nil
	}
	lag, err := replica.Lag(limited, cfg.Replica.URL, env, s.Path())
	if err != nil {
		lag = seenLimit
	}
	r.LagMS = lag.Milliseconds()
	return r, nil
}

// replicaText is how the replica is, in a line.
func replicaText(r *handlers.ReplicaState, now time.Time) string {
	text := fmt.Sprintf("generation %d, up to transaction %d", r.Generation, r.TXID)
	switch {
	case r.Generation == 0:
		text = "can't be reached, or was never written"
	case !r.Fresh:
		text += ", and no machine holds it"
	case r.LagMS > lagLimit.Milliseconds()/2:
		text += fmt.Sprintf(", which lacks commits for %d ms", r.LagMS)
	}
	if r.Broken != "" {
		text += "; it CAN'T BE RESTORED: " + printable(r.Broken)
	}
	switch {
	case r.Drill == nil:
		return text + "; restoring it was not tried yet"
	case !r.Drill.Whole:
		return text + "; restoring it FAILED " + age(r.Drill.At, now) + " ago"
	}
	text += "; restored on trial " + age(r.Drill.At, now) + " ago"
	if len(r.Drill.Mended) > 0 {
		text += ", after it was mended"
	}
	return text
}

// nodeEnd is the part of a node's name that tells it from others: the beginning is when it was made.
func nodeEnd(node string) string { return node[max(0, len(node)-8):] }
