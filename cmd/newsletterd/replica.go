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

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/handlers"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/replica"
)

func (p *program) replicaCommand() *cli.Command {
	status := &cli.Command{
		Name: "status", Usage: "show who holds the lease and what can be restored",
		Description: `Reads only the bucket, so it works on any machine. Exits with 1 if the log
has a gap, or if the bucket is empty although this machine's database was
replicated to it.

   newsletterd replica status`,
		Action: p.replicaStatus,
	}
	restore := &cli.Command{
		Name: "restore", Usage: "restore the latest or an earlier state of the replica to a file",
		Description: `Works on any machine, even while a daemon serves the database, and changes
nothing in the replica. The file only appears after it is verified. Its
send jobs are paused, as in any copy. You don't need this command to
continue on another machine: newsletterd serve does that.

   newsletterd replica restore --to yesterday.db --at 2026-11-23T18:00:00Z`,
		Flags: []cli.Flag{
			cli.String("to", "new `FILE` to write"),
			cli.String("at", "restore the last state before `TIME`, for example 2026-12-24T08:00:00Z (default: the "+
				"newest)"),
			cli.Bool("to-last-contiguous", "if the log has a gap or is damaged, restore the state before that"),
		},
		Action: p.replicaRestore,
	}
	drill := &cli.Command{
		Name: "drill", Usage: "test the replica: restore it, verify it, compare it with the database",
		Description: `Restores to a temporary folder next to the database and needs as much space
as the database. On the machine that serves the database, the result is saved
for newsletterd status and doctor; the daemon runs the same test once a week.
Exits with 1 if it finds a problem.

   newsletterd replica drill`,
		Action: p.replicaDrill,
	}
	begin := &cli.Command{
		Name: "begin", Usage: "recreate a lost replica from this machine's database",
		Description: `If the bucket of a replicated database is empty, the daemon doesn't start:
the disk with the bucket might just not be mounted. If the replica is really
lost, or part of its log is missing, this command copies this machine's
database to the bucket. Stop all daemons first. The command doesn't change a
replica that can be restored. If another machine served last, its database is
newer: run the command there, or pass --although-older.

   newsletterd replica begin`,
		Flags:  []cli.Flag{cli.Bool("although-older", "use this database even though another machine served last")},
		Action: p.replicaBegin,
	}
	return &cli.Command{
		Name: "replica", Usage: "check, restore and test the replica of the database",
		Subcommands: []*cli.Command{status, restore, drill, begin},
	}
}

// replicaConfig reads the configuration. If it has no replica, it returns an error.
func (p *program) replicaConfig(c *cli.Context) (*config.Config, error) {
	cfg, err := p.Config(c)
	if err == nil && cfg.Replica.URL == "" {
		err = errors.New("there is no replica. Set [replica] url")
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

// holeRow is a period that can't be restored.
type holeRow struct {
	From core.Instant `json:"from"`
	To   core.Instant `json:"to"`
}

// replicaRowOf converts the state of a replica, as read at now, for output.
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

// instantOf converts t; the zero time becomes 0.
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
	s, err := replica.Look(c.Context, cfg.Replica.URL, p.Lookup)
	if err != nil {
		return err
	}
	r := replicaRowOf(cfg.Replica.URL, s, time.Now())
	if out := p.Printer(c); out.JSON {
		err = out.Value(r)
	} else {
		err = printReplica(p.Out, r, time.Now())
	}
	if err == nil && s.Holder == nil && s.Files == 0 {
		var kept bool
		if kept, err = keptHere(c.Context, cfg); err == nil {
			err = replica.Missing(c.Context, cfg.Replica.URL, p.Lookup, cfg.Database.Path, kept)
		}
		if err != nil {
			err = fmt.Errorf("replica: %w", err)
		}
	}
	return errors.Join(err, s.Gap)
}

func printReplica(w io.Writer, r replicaRow, now time.Time) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	line("replica", "%s", cli.Printable(r.URL))
	line("lease", "%s", leaseText(r, now))
	switch {
	case r.TXID == 0 && r.Gap == "":
		line("log", "empty; nothing can be restored")
	case r.TXID == 0:
		line("log", "nothing can be restored; %s in %s", bytesText(r.Bytes), cli.Counted(r.Files, "file"))
	default:
		line("log", "up to transaction %d, written %s ago; %s in %s, %s", r.TXID, age(r.NewestAt, now), bytesText(r.Bytes),
			cli.Counted(r.Files, "file"), cli.Counted(r.Snapshots, "snapshot"))
	}
	if r.OldestAt > 0 {
		line("restorable", "since %s", r.OldestAt.Time().UTC().Format(time.RFC3339))
	}
	for _, h := range r.Holes {
		line("except", "between %s and %s: the log had a gap, repaired by a full copy",
			h.From.Time().UTC().Format(time.RFC3339), h.To.Time().UTC().Format(time.RFC3339))
	}
	if r.Gap != "" {
		line("damaged", "%s", cli.Printable(r.Gap))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// leaseText describes who holds the lease, and so can write to the replica.
func leaseText(r replicaRow, now time.Time) string {
	who := fmt.Sprintf("%s (%s), generation %d", cli.Printable(r.Host), cli.Printable(nodeEnd(r.Node)), r.Generation)
	switch r.State {
	case "unused":
		if r.Files > 0 {
			return "unknown: the lock object is missing"
		}
		return "not held; no machine has taken it"
	case "released":
		return fmt.Sprintf("free; released %s ago by %s", age(r.RenewedAt, now), who)
	case "lapsed":
		return fmt.Sprintf("expired %s ago; last held by %s", age(r.LapsesAt, now), who)
	}
	return fmt.Sprintf("held by %s; renewed %s ago", who, age(r.RenewedAt, now))
}

func (p *program) replicaRestore(c *cli.Context) error {
	if err := cli.Need(c, "to"); err != nil {
		return err
	}
	at, err := cli.GivenInstant(c, "at")
	if err != nil {
		return err
	}
	cfg, err := p.replicaConfig(c)
	if err != nil {
		return err
	}
	o := replica.CopyOptions{URL: cfg.Replica.URL, Env: p.Lookup, ToGap: c.Bool("to-last-contiguous")}
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
		fmt.Fprintf(p.Err, "newsletterd: %s; changes after transaction %d are NOT in the file\n", got.Gap, got.TXID)
	}
	if got.Gap == nil && got.Damaged != nil {
		fmt.Fprintf(p.Err, "newsletterd: %s; other files had the data, so the file is complete\n",
			got.Damaged)
	}
	row := restoredRow{File: c.String("to"), TXID: got.TXID, At: core.At(got.At)}
	if got.Gap != nil {
		row.Gap = got.Gap.Error()
	}
	if out := p.Printer(c); out.JSON {
		return out.Value(row)
	}
	_, err = fmt.Fprintf(p.Out, "%s has the database as of %s (transaction %d).\n", row.File,
		got.At.UTC().Format("2006-01-02T15:04:05.000Z07:00"), row.TXID)
	return err
}

// restoredRow is the output of `replica restore`.
type restoredRow struct {
	File string       `json:"file"`
	TXID uint64       `json:"txid"`
	At   core.Instant `json:"at"`
	Gap  string       `json:"gap,omitempty"`
}

// restoreAdvice adds advice to an error from replica.Copy.
func restoreAdvice(ctx context.Context, o replica.CopyOptions, err error) error {
	switch {
	case errors.Is(err, replica.ErrGap):
		return fmt.Errorf("%w. To restore everything before the gap, pass --to-last-contiguous", err)
	case errors.Is(err, replica.ErrNothing) && !o.At.IsZero():
		s, lookErr := replica.Look(ctx, o.URL, o.Env)
		if lookErr == nil && !s.Oldest.IsZero() {
			return fmt.Errorf("%w for that time. The replica goes back to %s", err, s.Oldest.UTC().Format(time.RFC3339))
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
	if out := p.Printer(c); out.JSON {
		if err := out.Value(d); err != nil {
			return err
		}
	} else {
		for _, f := range d.Findings {
			fmt.Fprintln(p.Out, cli.Printable(f))
		}
	}
	if !d.Whole {
		return fmt.Errorf("the restore test found %s", cli.Counted(len(d.Findings), "problem"))
	}
	if !cli.JSONWanted(c) {
		_, err = fmt.Fprintf(p.Out, "Restored the replica in %s: %s, intact, up to transaction %d.\n",
			tookText(&d), bytesText(d.Bytes), d.TXID)
	}
	return err
}

func (p *program) replicaBegin(c *cli.Context) error {
	cfg, err := p.replicaConfig(c)
	if err != nil {
		return err
	}
	s, err := replica.Look(c.Context, cfg.Replica.URL, p.Lookup)
	if err != nil {
		return err
	}
	if fi, err := os.Stat(cfg.Database.Path); errors.Is(err, os.ErrNotExist) || err == nil && fi.Size() == 0 {
		return fmt.Errorf("there is no database at %s. Run the command on the machine that has it. If no machine has "+
			"it, delete %[1]s.replica, and newsletterd serve creates a new one", cfg.Database.Path)
	} else if err != nil {
		return err
	}
	lacks, err := replica.Lacks(cfg.Replica.URL, cfg.Database.Path, s)
	if err != nil {
		return err
	}
	if s.TXID > 0 && s.Gap == nil && !lacks {
		return errors.New("the replica already has a database. To continue with it, run newsletterd serve")
	}
	last, err := replica.ServedLast(cfg.Database.Path, s)
	if err != nil {
		return err
	}
	if !last && !lacks && !c.Bool("although-older") {
		return errors.New("another machine may have served last, and its database may be newer. Run the command " +
			"there. If that machine's disk is also lost, pass --although-older to start with this machine's database")
	}
	err = giveReplica(c.Context, cfg, newLog(config.Log{Level: "warn", Format: "text", PII: cfg.Log.PII}, p.Err),
		func(r *replica.Options) { r.Begin = true })
	if err != nil {
		return err
	}
	return p.Done(c, "The replica now has this machine's database.")
}

// drillHere runs a restore test for a command. If a daemon on this machine serves the database, the test compares the
// replica with the database and stores the result. Otherwise, the test only checks the replica, for which no lease is
// needed.
func (p *program) drillHere(c *cli.Context, cfg *config.Config) (d core.Drill, err error) {
	r := &drill{cfg: cfg, env: p.Lookup}
	if r.serves, err = servedHere(c.Context, cfg, p.Lookup); err != nil || !r.serves {
		if err == nil {
			d, err = r.run(c.Context)
		}
		return d, err
	}
	err = p.WithStore(c, func(_ *config.Config, s *store.Store) (err error) {
		r.store = s
		d, err = r.run(c.Context)
		return err
	})
	return d, err
}

// seenLimit is the timeout for reading the replica's state in `status`.
const seenLimit = 5 * time.Second

// replicaSeen returns the state of the replica as a process other than the daemon sees it. If there is no replica, it
// returns nil. If the replica can't be reached, the state is not fresh.
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

// replicaText describes the replica's state in one line.
func replicaText(r *handlers.ReplicaState, now time.Time) string {
	text := fmt.Sprintf("generation %d, up to transaction %d", r.Generation, r.TXID)
	switch {
	case r.Generation == 0:
		text = "not reachable, or never written"
	case !r.Fresh:
		text += ", and no machine holds it"
	case r.LagMS > lagLimit.Milliseconds()/2:
		text += fmt.Sprintf(", %d ms behind", r.LagMS)
	}
	if r.Broken != "" {
		text += "; CAN'T BE RESTORED: " + cli.Printable(r.Broken)
	}
	switch {
	case r.Drill == nil:
		return text + "; not tested"
	case !r.Drill.Whole:
		return text + "; restore test FAILED " + age(r.Drill.At, now) + " ago"
	}
	text += "; restore test passed " + age(r.Drill.At, now) + " ago"
	if len(r.Drill.Mended) > 0 {
		text += ", after a repair"
	}
	return text
}

// nodeEnd returns the last part of a node's name, which distinguishes the node from others. The name starts with the
// time at which the node was created.
func nodeEnd(node string) string { return node[max(0, len(node)-8):] }
