package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"newsletterd/store"
)

// replicaCollector tells how the replica is, and how the last drill has ended.
type replicaCollector struct{ store *store.Store }

var (
	replicaLag = prometheus.NewDesc("newsletterd_replica_lag_seconds",
		"For how long the oldest commit that the replica lacks has waited; 0: it lacks none.", nil, nil)
	replicaWrite = prometheus.NewDesc("newsletterd_replica_write_seconds",
		"What writing to the replica took lately.", nil, nil)
	replicaFresh = prometheus.NewDesc("newsletterd_replica_lease_fresh",
		"1 while no other machine can have taken over; else 0, and nothing is answered or sent.", nil, nil)
	replicaGeneration = prometheus.NewDesc("newsletterd_replica_generation",
		"Grows each time that a machine takes over.", nil, nil)
	replicaStandby = prometheus.NewDesc("newsletterd_replica_standby",
		"1 on a machine that waits while another one serves; else 0.", nil, nil)
	replicaBroken = prometheus.NewDesc("newsletterd_replica_broken",
		"1 while the replica can't be restored, as far as is known: the daemon mends it; else 0.", nil, nil)
	drillAt = prometheus.NewDesc("newsletterd_replica_drill_timestamp_seconds",
		"When restoring the replica was tried last, in Unix time; 0: not yet.", nil, nil)
	drillWhole = prometheus.NewDesc("newsletterd_replica_drill_whole",
		"1 where the last try restored all; 0: it did not, or there was none.", nil, nil)
)

// Describe names the figures.
func (r replicaCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		replicaLag, replicaWrite, replicaFresh, replicaGeneration, replicaStandby, replicaBroken, drillAt, drillWhole,
	} {
		ch <- d
	}
}

// Collect reads them, the drill within a second.
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
