package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store/replica"
	"newsletterd/store/replica/objects"
)

// drillEvery is the interval between the daemon's restore tests of the replica.
const drillEvery = 7 * 24 * time.Hour

// replica checks the bucket of the replica, its contents, and the access to it.
func (d *doctor) replica() {
	address := d.cfg.Replica.URL
	if address == "" {
		return
	}
	ctx, cancel := context.WithTimeout(d.ctx, 3*timeLimit)
	defer cancel()
	bucket, err := objects.Open(address, d.env)
	if err == nil {
		knows, _ := keptHere(ctx, d.cfg) // the check database has reported the error
		err = replica.Missing(ctx, address, d.env, d.cfg.Database.Path, knows)
	}
	if err == nil {
		err = objects.Probe(ctx, bucket)
	}
	if err != nil {
		d.fault("replica", "until the daemon can write there, it confirms no changes and sends no email", "%s",
			cause(err))
		return
	}
	d.ok("replica", "%s is writable and supports conditional writes", address)
	if sharesFolder(d.cfg) {
		d.warn("replica", sameDiskAdvice, sameDiskText)
	}
	d.replicaSpeed(ctx, bucket)
	state, err := replica.Look(ctx, address, d.env)
	if err != nil {
		d.fault("replica", "", "%s", cause(err))
		return
	}
	if err := replica.Fits(ctx, address, d.cfg.Database.Path, madeAt(d.cfg.Database.Path), state); err != nil {
		d.fault("replica", "the daemon doesn't start with this address", "%s", cause(err))
		return
	}
	d.replicaState(state)
	d.replicaLag(ctx)
	d.lastDrill()
}

const (
	sameDiskText   = "the replica is in the database's folder and is lost with the same disk"
	sameDiskAdvice = "use a folder on another disk, or a bucket"
)

// sharesFolder reports whether the replica is a folder inside the database's folder.
func sharesFolder(cfg *config.Config) bool {
	u, err := url.Parse(cfg.Replica.URL)
	if err != nil || u.Scheme != "file" {
		return false
	}
	database, err := filepath.Abs(filepath.Dir(cfg.Database.Path))
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(database, filepath.Clean(u.Path))
	return err == nil && filepath.IsLocal(rel)
}

// setAside checks for old database files that a replica's contents have replaced. They stay until a person removes
// them.
func (d *doctor) setAside() {
	files, bytes := filesSetAside(d.cfg.Database.Path)
	if len(files) == 0 {
		return
	}
	d.warn("set aside", "check whether they contain anything you miss, then delete them",
		"%s that the replica replaced on this machine: %s; %s", counted(len(files), "file"),
		strings.Join(files, ", "), bytesText(bytes))
}

// filesSetAside returns the database files that the replica replaced, and their total size in bytes including their
// -wal and -journal files.
func filesSetAside(path string) (files []string, bytes int64) {
	all, err := filepath.Glob(path + ".superseded-*")
	if err != nil {
		return nil, 0
	}
	for _, f := range all {
		if fi, err := os.Stat(f); err == nil {
			bytes += fi.Size()
		}
		main := strings.TrimSuffix(strings.TrimSuffix(f, "-wal"), "-journal")
		if main == f || !slices.Contains(all, main) {
			files = append(files, f)
		}
	}
	return files, bytes
}

// replicaState adds findings about who holds the lease and what can be restored.
func (d *doctor) replicaState(s replica.State) {
	now := time.Now()
	row := replicaRowOf(d.cfg.Replica.URL, s, now)
	lease := leaseText(row, now)
	if row.State == "lapsed" || row.State == "unused" && d.runs {
		d.warn("lease", "start a daemon with this configuration", "%s", lease)
	} else {
		d.ok("lease", "%s", lease)
	}
	switch {
	case s.Gap != nil:
		advice := "the daemon repairs it with a full copy within an hour, or at its next start; its log has the result"
		if !d.runs {
			advice = "start the daemon on the machine that served last; it repairs the replica. If its disk is lost, " +
				"run newsletterd replica restore --to-last-contiguous, and read newsletterd replica begin --help"
		}
		d.fault("replica", advice, "%s", s.Gap)
	case s.TXID == 0:
		d.warn("replica", "start a daemon with this configuration", "it is empty; nothing can be restored")
	default:
		bytes, files, since := bytesText(s.Bytes), counted(s.Files, "file"), s.Oldest.UTC().Format(time.RFC3339)
		if len(s.Holes) > 0 {
			d.ok("replica", "%s in %s; restorable since %s, except %s listed by newsletterd replica status", bytes,
				files, since, counted(len(s.Holes), "time"))
		} else {
			d.ok("replica", "%s in %s; restorable since %s", bytes, files, since)
		}
	}
}

const (
	// probedWrites is the number of objects of probedSize bytes that are written to measure the speed of the bucket.
	probedWrites = 9
	probedSize   = 4096
)

// replicaSpeed measures how long writing to the bucket takes, and adds a finding about the consequences.
func (d *doctor) replicaSpeed(ctx context.Context, bucket objects.Bucket) {
	put, err := writeTime(ctx, bucket)
	if err != nil {
		d.fault("replica speed", "", "%s", cause(err))
		return
	}
	ttl := d.cfg.Replica.TTL.Std()
	requests := idleRequests(ttl)
	d.ok("lease", "with ttl = %s an idle daemon writes %s times a month: at $5 per million, $%s", ttl,
		cli.Grouped(requests), fmt.Sprintf("%.2f", float64(requests)*5e-6))
	if !d.cfg.Replica.Acknowledge {
		d.ok("replica speed", "a write takes %s; nothing waits for it (acknowledge = false), so a crash loses the "+
			"most recent changes", put.Round(10*time.Microsecond))
		return
	}
	fsync := time.Duration(0)
	if d.store != nil {
		fsync, _ = fsyncTime(filepath.Dir(d.store.Path())) // the check disk has reported the error
	}
	windows := []int{64, 256, 1024}
	if own := d.cfg.Send.MaxUnrecorded; !slices.Contains(windows, own) {
		windows = append(windows, own)
		slices.Sort(windows)
	}
	texts := make([]string, len(windows))
	for i, w := range windows {
		texts[i] = fmt.Sprintf("%s with %d", cli.Grouped(int64(campaignCeiling(w, fsync, put))), w)
	}
	level, advice := core.LevelOK, ""
	if put > 100*time.Millisecond {
		level, advice = core.LevelWarning, "use a bucket closer to this machine"
	}
	d.add("replica speed", level, advice, "a write takes %s, and responses wait for it: at most %s signups/s with 64 "+
		"callers and %s with 512; emails/s with max_unrecorded = %d: %s", put.Round(10*time.Microsecond),
		cli.Grouped(int64(callersCeiling(64, fsync, put))), cli.Grouped(int64(callersCeiling(512, fsync, put))),
		d.cfg.Send.MaxUnrecorded, strings.Join(texts, ", "))
}

// writeTime returns the median time of a few commit-sized writes.
func writeTime(ctx context.Context, bucket objects.Bucket) (time.Duration, error) {
	var keys []string
	defer func() { _ = bucket.Delete(context.WithoutCancel(ctx), keys...) }()
	body, took := make([]byte, probedSize), make([]time.Duration, 0, probedWrites)
	for range probedWrites {
		key := "probe-" + strings.ToLower(core.NewID())
		keys = append(keys, key)
		begin := time.Now()
		_, err := bucket.Put(ctx, key, body, objects.Condition{Absent: true})
		if err != nil && !errors.Is(err, objects.ErrAmbiguous) {
			return 0, err
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// campaignCeiling estimates the maximum number of emails per second with a replica, by Little's law: the size of the
// window, as in sendCeiling, divided by the time to send it once. That time also includes a write to the bucket.
func campaignCeiling(window int, fsync, put time.Duration) int {
	const perMail = 17 * time.Microsecond
	turn := time.Duration(2.2*float64(fsync)) + time.Duration(window)*perMail + put
	return hundreds(float64(window) / turn.Seconds())
}

// callersCeiling estimates the maximum number of operations per second, by Little's law, for a number of callers that
// each wait for the response before the next operation.
func callersCeiling(callers int, fsync, put time.Duration) int {
	const perOperation = 80 * time.Microsecond
	turn := fsync + time.Duration(callers)*perOperation + put
	return hundreds(float64(callers) / turn.Seconds())
}

// hundreds rounds a rate down to a multiple of 100, or of 10 if the rate is small.
func hundreds(rate float64) int {
	if rate < 1000 {
		return int(rate/10) * 10
	}
	return int(rate/100) * 100
}

// idleRequests returns how many writes to the bucket an idle daemon needs per month to keep its lease.
func idleRequests(ttl time.Duration) int64 {
	const month = 30 * 24 * time.Hour
	return int64(month / (ttl / 3))
}

// lagLimit is the maximum lag of the replica that doctor accepts.
const lagLimit = 5 * time.Second

// replicaLag checks the lag between this daemon's database and its replica.
func (d *doctor) replicaLag(ctx context.Context) {
	if d.store == nil || !d.runs {
		return
	}
	here, err := servedHere(ctx, d.cfg, d.env)
	if err != nil {
		d.fault("replica lag", "", "%s", cause(err))
		return
	}
	if !here && !d.daemon {
		d.ok("replica lag", "this machine doesn't serve")
		return
	}
	limited, cancel := context.WithTimeout(ctx, lagLimit)
	defer cancel()
	lag, err := replica.Lag(limited, d.cfg.Replica.URL, d.env, d.store.Path())
	switch {
	case err != nil && limited.Err() != nil:
		d.fault("replica lag", "the daemon's log has the reason", "the replica is more than %s behind", lagLimit)
	case err != nil:
		d.fault("replica lag", "", "%s", cause(err))
	default:
		d.ok("replica lag", "%s", lag.Round(time.Millisecond))
	}
}

// lastDrill adds a finding about the last restore test.
func (d *doctor) lastDrill() {
	const check = "restore test"
	if d.store == nil {
		return
	}
	last, err := d.store.LastDrill(d.ctx)
	switch {
	case err != nil:
		d.fault(check, "", "%s", cause(err))
	case last == nil:
		d.ok(check, "none yet; the first runs one hour after newsletterd starts")
	case !last.Whole:
		d.fault(check, "repair the replica, then run newsletterd replica drill", "%s ago: %s", aged(last.At),
			strings.Join(last.Findings, "; "))
	case d.runs && time.Since(last.At.Time()) > 2*drillEvery:
		d.warn(check, "find the reason in the daemon's log, then run newsletterd replica drill",
			"the last one was %s ago", aged(last.At))
	case len(last.Mended) > 0:
		d.warn(check, "find out what deletes or changes files there: an expiry rule, a person or another program",
			"%s ago: a full copy was needed: %s", aged(last.At), strings.Join(last.Mended, "; "))
	default:
		d.ok(check, "%s ago: restored and intact, in %s", aged(last.At), tookText(last))
	}
}

// tookText formats the duration of a restore test.
func tookText(d *core.Drill) string {
	return (time.Duration(d.TookMS) * time.Millisecond).Round(10 * time.Millisecond).String()
}
