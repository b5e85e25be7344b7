package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"newsletterd/cmd/newsletterd/admin"
	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/handlers"
	"newsletterd/store"
	"newsletterd/store/db"
)

// statusReport is the output of `status`.
type statusReport handlers.SystemStatus

func (p *program) statusCommand() *cli.Command {
	c := p.Command("status", "show send jobs, queues, disk and backup", nil, nil,
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			r := statusReport{Database: s.Path()}
			var err error
			if r.Overview, err = s.Overview(c.Context); err != nil {
				return err
			}
			r.Snapshot = snapshotOf(cfg)
			if r.Replica, err = replicaSeen(c.Context, cfg, p.Lookup, s); err != nil {
				return err
			}
			if out := p.Printer(c); out.JSON {
				return out.Value(r)
			}
			return printStatus(p.Out, r, time.Now())
		})
	c.Description = "To find problems and fixes: newsletterd doctor"
	return c
}

func snapshotOf(cfg *config.Config) (s handlers.SnapshotState) {
	if cfg.Backup.Every == 0 {
		return s
	}
	s.Path = snapshotPath(cfg)
	if fi, err := os.Stat(s.Path); err == nil {
		s.At, s.Bytes = core.At(fi.ModTime()), fi.Size()
	}
	return s
}

// changedSince reports whether a database file was written after an instant, so that a new snapshot is needed.
func changedSince(path string, at core.Instant) bool {
	for _, end := range []string{"", "-wal"} {
		if fi, err := os.Stat(path + end); err == nil && fi.ModTime().Sub(at.Time()) > time.Minute {
			return true
		}
	}
	return false
}

func printStatus(w io.Writer, r statusReport, now time.Time) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	daemon := "not running"
	switch {
	case r.DaemonRuns && db.DaemonWaits(r.Database):
		daemon = "standby or starting; showing this machine's last state"
	case r.DaemonRuns:
		daemon = "running"
	}
	line("daemon", "%s", daemon)
	line("database", "%s, %s, -wal %s, schema %d", r.Database, bytesText(r.Disk.Database), bytesText(r.Disk.WAL),
		r.Schema)
	disk := fmt.Sprintf("%s free of %s", bytesText(r.Disk.Free), bytesText(r.Disk.Total))
	if r.Disk.ReadOnly {
		disk += ", read-only"
	}
	line("disk", "%s", disk)
	line("snapshot", "%s", snapshotText(r.Snapshot, now))
	if r.Replica != nil {
		line("replica", "%s", replicaText(r.Replica, now))
	}
	if aside, bytes := filesSetAside(r.Database); len(aside) > 0 {
		line("set aside", "%s in %s (%s), see newsletterd doctor", bytesText(bytes), cli.Counted(len(aside), "file"),
			filepath.Base(r.Database)+".superseded-…")
	}
	line("records", "%s, %s, %s", cli.Counted(r.Records.Tenants, "tenant"), cli.Counted(r.Records.Lists, "list"),
		cli.Counted(r.Records.Users, "user"))
	for _, l := range r.Lists {
		n := l.Counts
		line("  "+cli.Printable(l.Name), "%d active, %d pending, %d unsubscribed, %d bounced, "+
			"%d spam complaints, %d suppressed, %d mailable",
			n.Active, n.Pending, n.Unsubscribed, n.Bounced, n.Complaint, n.Suppressed, n.Mailable)
	}
	line("outbox", "%d waiting%s, %d dead", r.Outbox.Waiting, oldest(r.Outbox.OldestAt, now), r.Outbox.Dead)
	line("endpoints", "%d waiting%s, %d dead", r.Endpoints.Waiting, oldest(r.Endpoints.OldestAt, now), r.Endpoints.Dead)
	line("mails", "%d waiting%s, %d failed", r.Mails.Waiting, oldest(r.Mails.OldestAt, now), r.Mails.Failed)
	counts := make([]string, len(r.JobCounts))
	for i, c := range r.JobCounts {
		counts[i] = fmt.Sprintf("%d %s", c.Count, c.Status)
	}
	if len(counts) == 0 {
		counts = []string{"none"}
	}
	line("jobs", "%s", strings.Join(counts, ", "))
	if r.Restored > 0 {
		line("held", "%s paused because the database was restored or copied; check them, then run newsletterd admin "+
			"job resume",
			cli.Counted(r.Restored, "job"))
	}
	for _, j := range r.Jobs {
		name := cli.Printable(j.Name)
		if name == "" {
			name = j.ID
		}
		if j.Status == string(core.JobPending) {
			line("  "+name, "pending, due %s", j.DueAt.Time().UTC().Format(time.RFC3339))
			continue
		}
		text := fmt.Sprintf("%s, %d of %d sent, %d failed, %d skipped", j.Status, j.Sent, j.Recipients, j.Failed,
			j.Skipped)
		if j.Deferred > 0 {
			text += ", " + admin.Deferral(&core.Stats{
				Deferred: j.Deferred, NextAttemptAt: j.NextAttemptAt,
				GivesUpAt: j.GivesUpAt,
			})
		}
		line("  "+name, "%s", text)
	}
	if n := r.unlisted(); n > 0 {
		line("  … and "+cli.Grouped(n)+" more", "newsletterd admin job list")
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// unlisted returns the number of running or waiting jobs that the report counts but doesn't list.
func (r *statusReport) unlisted() int64 {
	n := -int64(len(r.Jobs))
	for _, c := range r.JobCounts {
		if s := core.JobStatus(c.Status); s == core.JobRunning || s == core.JobPending {
			n += c.Count
		}
	}
	return n
}

func snapshotText(s handlers.SnapshotState, now time.Time) string {
	switch {
	case s.Path == "":
		return "off"
	case s.At == 0:
		return s.Path + ", not yet written"
	default:
		return fmt.Sprintf("%s, %s, %s old", s.Path, bytesText(s.Bytes), age(s.At, now))
	}
}

func oldest(at core.Instant, now time.Time) string {
	if at == 0 {
		return ""
	}
	return fmt.Sprintf(" (the oldest for %s)", age(at, now))
}

// age formats the time that has passed since an instant, with at most two units.
func age(at core.Instant, now time.Time) string {
	d := max(0, now.Sub(at.Time()))
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return fmt.Sprintf("%d days", d/day)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm", d/time.Minute)
	default:
		return fmt.Sprintf("%ds", d/time.Second)
	}
}

// bytesText formats a size with three significant digits.
func bytesText(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	v, i := float64(n), 0
	for v >= 1000 && i < len(units)-1 {
		v, i = v/1000, i+1
	}
	if i == 0 || v >= 100 {
		return fmt.Sprintf("%.0f %s", v, units[i])
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}
