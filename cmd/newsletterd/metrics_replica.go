package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"newsletterd/store"
)

// replicaCollector collects metrics about the state of the replica and the last restore test.
type replicaCollector struct{ store *store.Store }

var (
	replicaLag = prometheus.NewDesc("newsletterd_replica_lag_seconds",
		"How long the oldest commit missing in the replica has waited; 0: none is missing.", nil, nil)
	replicaWrite = prometheus.NewDesc("newsletterd_replica_write_seconds",
		"Recent duration of writes to the replica.", nil, nil)
	replicaFresh = prometheus.NewDesc("newsletterd_replica_lease_fresh",
		"1 while this machine holds the lease; 0: it serves and sends nothing.", nil, nil)
	replicaGeneration = prometheus.NewDesc("newsletterd_replica_generation",
		"Increases each time a machine takes over.", nil, nil)
	replicaStandby = prometheus.NewDesc("newsletterd_replica_standby",
		"1 on a standby machine; otherwise 0.", nil, nil)
	replicaBroken = prometheus.NewDesc("newsletterd_replica_broken",
		"1 while the replica is known to be unrestorable; the daemon repairs it. Otherwise 0.", nil, nil)
	drillAt = prometheus.NewDesc("newsletterd_replica_drill_timestamp_seconds",
		"Time of the last restore test in Unix time; 0: none.", nil, nil)
	drillWhole = prometheus.NewDesc("newsletterd_replica_drill_whole",
		"1 if the last restore test succeeded; 0: it failed, or there was none.", nil, nil)
)

// Describe implements prometheus.Collector.
func (r replicaCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		replicaLag, replicaWrite, replicaFresh, replicaGeneration, replicaStandby, replicaBroken, drillAt, drillWhole,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. Reading the last restore test has a timeout of a second.
func (r replicaCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	state, ok := r.store.ReplicaState()
	if !ok {
		return
	}
	gauge(replicaLag, state.Lag.Seconds())
	gauge(replicaWrite, state.Latency.Seconds())
	gauge(replicaFresh, zeroOrOne(state.Fresh))
	gauge(replicaGeneration, float64(state.Generation))
	gauge(replicaStandby, 0)
	gauge(replicaBroken, zeroOrOne(state.Broken != nil))
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	switch last, err := r.store.LastDrill(ctx); {
	case err != nil:
	case last == nil:
		gauge(drillAt, 0)
		gauge(drillWhole, 0)
	default:
		gauge(drillAt, float64(last.At)/1000)
		gauge(drillWhole, zeroOrOne(last.Whole))
	}
}

func zeroOrOne(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
