package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"newsletterd/core"
	"newsletterd/store/replica/objectstest"
)

// replicaFindings returns doctor's findings about the replica, from the daemon or from a command.
func (k *drilled) replicaFindings(t *testing.T, daemon bool) []core.Finding {
	t.Helper()
	d := &doctor{ctx: t.Context(), cfg: k.drill.cfg, store: k.store, runs: true, daemon: daemon, env: k.drill.env}
	d.replica()
	return d.all
}

// wantFinding fails the test if there is no such finding. An empty level matches any, because it depends on the speed
// of the computer.
func wantFinding(t *testing.T, all []core.Finding, check, level, text string) {
	t.Helper()
	if !slices.ContainsFunc(all, func(f core.Finding) bool {
		return f.Check == check && (level == "" || f.Level == level) && strings.Contains(f.Text, text)
	}) {
		t.Errorf("no %s of %s that says %q: %+v", level, check, text, all)
	}
}

func TestDoctorLooksAtTheReplica(t *testing.T) {
	t.Parallel()
	k := newDrilled(t)
	k.drill.cfg.Send.MaxUnrecorded = 64
	for _, daemon := range []bool{true, false} {
		all := k.replicaFindings(t, daemon)
		wantFinding(t, all, "replica", core.LevelOK, "supports conditional writes")
		wantFinding(t, all, "replica speed", "", "and responses wait for it: at most")
		wantFinding(t, all, "replica", core.LevelOK, "restorable since 20")
		wantFinding(t, all, "lease", core.LevelOK, "held by")
		wantFinding(t, all, "lease", core.LevelOK, "with ttl = 10s an idle daemon writes 777,600 times a month: at $5 "+
			"per million, $3.89")
		wantFinding(t, all, "replica lag", core.LevelOK, "s")
		wantFinding(t, all, "restore test", core.LevelOK, "none yet")
	}
	for _, key := range k.bucket.Keys() {
		if strings.Contains(key, "probe-") {
			t.Errorf("%s is left in the bucket", key)
		}
	}
	k.try(t)
	wantFinding(t, k.replicaFindings(t, true), "restore test", core.LevelOK, "ago: restored and intact")
	bad := core.Drill{At: now(), Findings: []string{"a part is missing"}}
	for _, d := range []struct {
		drill       core.Drill
		level, text string
	}{
		{bad, core.LevelFault, "a part is missing"},
		{core.Drill{At: core.At(time.Now().Add(-15 * 24 * time.Hour)), Whole: true}, core.LevelWarning, "15 days ago"},
	} {
		if err := k.store.KeepDrill(t.Context(), d.drill); err != nil {
			t.Fatal(err)
		}
		wantFinding(t, k.replicaFindings(t, true), "restore test", d.level, d.text)
	}
	k.drill.cfg.Replica.Acknowledge = false
	wantFinding(t, k.replicaFindings(t, true), "replica speed", core.LevelOK, "nothing waits for it")
	k.bucket.Set(objectstest.Faults{IgnoresMatch: true})
	wantFinding(t, k.replicaFindings(t, true), "replica", core.LevelFault, "conditional writes (If-Match)")
	k.bucket.Set(objectstest.Faults{})
	k.drill.cfg.Replica.URL = ""
	if all := k.replicaFindings(t, true); len(all) > 0 {
		t.Errorf("without a replica: %+v", all)
	}
}

func TestCeilingsOfAReplica(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, c := range []struct {
		window     int
		fsync, put time.Duration
		want       int
	}{
		{64, 0, 0, 58800}, {64, ms, 5 * ms, 7700}, {256, ms, 30 * ms, 7000}, {1024, ms, 30 * ms, 20600}, {1, ms, 100 * ms, 0},
	} {
		if got := campaignCeiling(c.window, c.fsync, c.put); got != c.want {
			t.Errorf("mails with %d, %s, %s: %d, not %d", c.window, c.fsync, c.put, got, c.want)
		}
	}
	if got := callersCeiling(64, ms, 30*ms); got != 1700 {
		t.Errorf("64 callers: %d", got)
	}
	if got := idleRequests(30 * time.Second); got != 259200 {
		t.Errorf("%d requests", got)
	}
}

func TestStatusOfTheReplica(t *testing.T) {
	t.Parallel()
	k := newDrilled(t)
	seen := func(want string) {
		t.Helper()
		r, err := replicaSeen(t.Context(), k.drill.cfg, k.drill.env, k.store)
		if err != nil {
			t.Fatal(err)
		}
		if text := replicaText(r, time.Now()); !strings.Contains(text, want) {
			t.Errorf("%q, and not %q", text, want)
		}
	}
	seen("generation 1, up to transaction ")
	seen("not tested")
	k.try(t)
	seen("; restore test passed ")
	if err := k.store.KeepDrill(t.Context(), core.Drill{At: now(), Findings: []string{"a part is missing"}}); err != nil {
		t.Fatal(err)
	}
	seen("; restore test FAILED ")
	k.drill.cfg.Replica.URL += "-elsewhere"
	seen("not reachable")
}

// TestMetricsOfTheReplica checks that each metric in the guide exists with its value.
func TestMetricsOfTheReplica(t *testing.T) {
	t.Parallel()
	k := newDrilled(t)
	k.try(t)
	reg := prometheus.NewRegistry()
	reg.MustRegister(replicaCollector{k.store})
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		values[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
	}
	const prefix = "newsletterd_replica_"
	for name, want := range map[string]float64{"lease_fresh": 1, "generation": 1, "drill_whole": 1} {
		if got := values[prefix+name]; got != want {
			t.Errorf("%s is %v, not %v", name, got, want)
		}
	}
	if at := values[prefix+"drill_timestamp_seconds"]; at < float64(now())/1000-60 {
		t.Errorf("the drill was at %v", at)
	}
	text, err := os.ReadFile("../../docs/availability.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(prefix+"[a-z_]+[a-z]").FindAllString(string(text), -1)
	if len(named) < 3 {
		t.Errorf("the guide names %q", named)
	}
	for _, name := range named {
		if _, ok := values[name]; !ok {
			t.Errorf("there is no metric %s", name)
		}
	}
}
