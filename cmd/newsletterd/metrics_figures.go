package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
)

// batchCollector collects metrics about the size and duration of the writer's transactions.
type batchCollector struct{ store *store.Store }

var (
	batchSize = prometheus.NewDesc("newsletterd_db_batch_operations", "Operations per transaction of the writer.",
		nil, nil)
	batchTime = prometheus.NewDesc("newsletterd_db_batch_seconds",
		"Duration of writer transactions, including the commit.",
		nil, nil)
)

// Describe implements prometheus.Collector.
func (b batchCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- batchSize
	ch <- batchTime
}

// Collect builds histograms from the store's counts.
func (b batchCollector) Collect(ch chan<- prometheus.Metric) {
	s := b.store.Stats()
	ch <- histogramOf(batchSize, db.BatchSizes, s.Sizes, float64(s.Ops))
	ch <- histogramOf(batchTime, db.BatchTimes, s.Times, s.Busy.Seconds())
}

func histogramOf(desc *prometheus.Desc, bounds []float64, counts []int64, sum float64) prometheus.Metric {
	below, all := map[float64]uint64{}, uint64(0)
	for i, n := range counts {
		all += uint64(n)
		if i < len(bounds) {
			below[bounds[i]] = all
		}
	}
	return prometheus.MustNewConstHistogram(desc, all, sum, below)
}

// figuresCollector collects metrics by reading the database once for each scrape. It leaves out figures that it can't
// read.
type figuresCollector struct {
	store *store.Store
	cfg   *config.Config
}

// figureDescs holds the descriptions of the metrics by name. Recipient counts are sums over the stored jobs.
var figureDescs = map[string]*prometheus.Desc{}

func figure(name, help string, labels ...string) string {
	figureDescs[name] = prometheus.NewDesc(name, help, labels, nil)
	return name
}

var (
	outboxWaiting = figure("newsletterd_outbox_waiting", "Events queued for the send service.")
	outboxDead    = figure("newsletterd_outbox_dead", "Events that could not be delivered to the send service (dead "+
		"letters).")
	outboxAge    = figure("newsletterd_outbox_oldest_seconds", "Age of the oldest queued event.")
	hooksWaiting = figure("newsletterd_webhook_endpoints_waiting",
		"Events queued for webhook endpoints.")
	hooksBytes = figure("newsletterd_webhook_endpoints_waiting_bytes",
		"Bytes of the events queued for webhook endpoints; at most 64 MiB per endpoint.")
	hooksDead = figure("newsletterd_webhook_endpoints_dead", "Events that could not be delivered to a webhook "+
		"endpoint.")
	hooksAge = figure("newsletterd_webhook_endpoints_oldest_seconds",
		"Age of the oldest event queued for a webhook endpoint.")
	hooksDropping = figure("newsletterd_webhook_endpoints_dropping",
		"Webhook endpoints that lost events and haven't been notified.")
	hooksDisabled = figure("newsletterd_webhook_endpoints_disabled", "Disabled webhook endpoints.")
	mailWaiting   = figure("newsletterd_mail_waiting", "Queued transactional emails.")
	mailAge       = figure("newsletterd_mail_oldest_seconds", "Age of the oldest queued transactional email.")
	jobsByStatus  = figure("newsletterd_jobs", "Send jobs by status.", "status")
	recipients    = figure("newsletterd_recipients_total", "Recipients of send jobs by status.", "outcome")
	diskFree      = figure("newsletterd_disk_free_bytes", "Free disk space for the database.")
	dbBytes       = figure("newsletterd_db_bytes", "Size of the database file.")
	snapshotAt    = figure("newsletterd_snapshot_timestamp_seconds",
		"Latest time at which the snapshot had all changes, in Unix time; 0: none.")
)

// Describe implements prometheus.Collector.
func (f figuresCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range figureDescs {
		ch <- d
	}
}

// Collect reads the metrics with a timeout of a second.
func (f figuresCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	gauge := func(name string, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(figureDescs[name], prometheus.GaugeValue, v, labels...)
	}
	if o, err := f.store.OutboxState(ctx); err == nil {
		gauge(outboxWaiting, float64(o.Waiting))
		gauge(outboxDead, float64(o.Dead))
		gauge(outboxAge, secondsSince(o.OldestAt))
	}
	if o, err := f.store.EndpointState(ctx); err == nil {
		gauge(hooksWaiting, float64(o.Waiting))
		gauge(hooksDead, float64(o.Dead))
		gauge(hooksAge, secondsSince(o.OldestAt))
	}
	if n, err := f.store.DisabledEndpoints(ctx); err == nil {
		gauge(hooksDisabled, float64(n))
	}
	if n, err := f.store.EndpointBytes(ctx); err == nil {
		gauge(hooksBytes, float64(n))
	}
	if n, err := f.store.DroppingEndpoints(ctx); err == nil {
		gauge(hooksDropping, float64(n))
	}
	if q, err := f.store.MailQueue(ctx); err == nil {
		gauge(mailWaiting, float64(q.Waiting))
		gauge(mailAge, secondsSince(q.OldestAt))
	}
	if counts, err := f.store.JobCounts(ctx); err == nil {
		byStatus := map[string]int64{}
		for _, c := range counts {
			byStatus[c.Status] = c.Count
		}
		for _, s := range []core.JobStatus{
			core.JobPending, core.JobRunning, core.JobCompleted, core.JobFailed,
			core.JobCancelled,
		} {
			gauge(jobsByStatus, float64(byStatus[string(s)]), string(s))
		}
	}
	if n, err := f.store.RecipientCounts(ctx); err == nil {
		for outcome, v := range map[string]int64{
			"sent": n.Sent, "failed": n.Failed, "skipped": n.Skipped, "ambiguous": n.Ambiguous,
			"delivered":  n.Delivered,
			"bounced":    n.Bounced,
			"complained": n.Complained, "opened": n.Opened, "clicked": n.Clicked, "unsubscribed": n.Left,
		} {
			ch <- prometheus.MustNewConstMetric(figureDescs[recipients], prometheus.CounterValue, float64(v), outcome)
		}
	}
	if d, err := f.store.DiskState(); err == nil {
		gauge(diskFree, float64(d.Free))
		gauge(dbBytes, float64(d.Database))
	}
	if f.cfg.Backup.Every > 0 {
		gauge(snapshotAt, float64(currentSnapshot(f.cfg, core.At(time.Now())))/1000)
	}
}

// currentSnapshot returns the latest time at which the snapshot contained all changes, or 0 if there is no snapshot. If
// it is up to date, that is now.
func currentSnapshot(cfg *config.Config, now core.Instant) core.Instant {
	s := snapshotOf(cfg)
	if s.At > 0 && !changedSince(cfg.Database.Path, s.At) {
		return now
	}
	return s.At
}

// secondsSince returns the time since an instant in seconds, or 0 for the zero instant.
func secondsSince(at core.Instant) float64 {
	if at == 0 {
		return 0
	}
	return max(0, now().Sub(at).Seconds())
}

// registerHashes adds metrics about passwords that are being hashed, or are waiting to be hashed.
func registerHashes(reg *prometheus.Registry, p *auth.Provider) {
	reg.MustRegister(
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "newsletterd_password_hashes_total", Help: "Passwords hashed.",
		}, func() float64 { return float64(p.Hashes()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "newsletterd_password_hashes_running", Help: "Passwords being hashed now.",
		}, func() float64 { running, _ := p.HashLoad(); return float64(running) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "newsletterd_password_hashes_waiting", Help: "Passwords waiting to be hashed.",
		}, func() float64 { _, waiting := p.HashLoad(); return float64(waiting) }),
	)
}
