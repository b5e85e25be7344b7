package main

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"newsletterd/worker"
)

// sendCollector collects metrics about sending: by relay (label route; the label tenant is empty for the daemon's own
// relay), by message result, and for waiting recipients.
type sendCollector struct{ sender *worker.Sender }

var (
	routeLabels  = []string{"tenant", "route"}
	sendOutcomes = prometheus.NewDesc("newsletterd_send_outcomes_total",
		"Emails of send jobs by route, result, and class and subject of the enhanced status code.",
		append(routeLabels, "result", "class"), nil)
	sendFaults = prometheus.NewDesc("newsletterd_send_route_faults_total",
		"Connections that failed because of the route.", append(routeLabels, "fault"), nil)
	sendDown = prometheus.NewDesc("newsletterd_send_route_failures",
		"Consecutive failures; 0: the route works, or wasn't used.", routeLabels, nil)
	sendRetry = prometheus.NewDesc("newsletterd_send_route_retry_seconds",
		"Time until a failing route is tried again.", routeLabels, nil)
	sendSlowed = prometheus.NewDesc("newsletterd_send_slowed_domains",
		"Recipient domains that limit the rate, by the tenant whose relays are used (empty: the server's own "+
			"relay).", []string{"tenant"}, nil)
	sendQueued = prometheus.NewDesc("newsletterd_send_queued",
		"Recipients read from the database that wait for a connection or their turn.", nil, nil)
	sendInHand = prometheus.NewDesc("newsletterd_send_in_hand",
		"Recipients handed to a connection, without a recorded result.", nil, nil)
	sendUnwritten = prometheus.NewDesc("newsletterd_send_unrecorded",
		"Emails that the relay may have accepted, without a recorded result; at most max_unrecorded.",
		nil, nil)
)

// Describe implements prometheus.Collector.
func (c sendCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		sendOutcomes, sendFaults, sendDown, sendRetry, sendSlowed, sendQueued, sendInHand,
		sendUnwritten,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c sendCollector) Collect(ch chan<- prometheus.Metric) {
	f := c.sender.Figures()
	seen := map[[2]string]int{}
	for i := range f.Relays {
		r := &f.Relays[i]
		key := [2]string{r.Tenant, r.Name}
		if seen[key]++; seen[key] > 1 { // two relays of a tenant have the same name
			r.Name += "#" + strconv.Itoa(seen[key])
		}
		for k, n := range r.Outcomes {
			ch <- prometheus.MustNewConstMetric(sendOutcomes, prometheus.CounterValue, float64(n), r.Tenant, r.Name, k.Result,
				k.Class)
		}
		for fault, n := range r.Faults {
			ch <- prometheus.MustNewConstMetric(sendFaults, prometheus.CounterValue, float64(n), r.Tenant, r.Name, fault)
		}
		retry := 0.0
		if r.Fails > 0 {
			retry = max(0, time.Until(r.Until).Seconds())
		}
		ch <- prometheus.MustNewConstMetric(sendDown, prometheus.GaugeValue, float64(r.Fails), r.Tenant, r.Name)
		ch <- prometheus.MustNewConstMetric(sendRetry, prometheus.GaugeValue, retry, r.Tenant, r.Name)
	}
	f.Slowed[""] += 0 // always export this one
	for tenant, n := range f.Slowed {
		ch <- prometheus.MustNewConstMetric(sendSlowed, prometheus.GaugeValue, float64(n), tenant)
	}
	for d, n := range map[*prometheus.Desc]int{sendQueued: f.Queued, sendInHand: f.InHand, sendUnwritten: f.Unrecorded} {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n))
	}
}
