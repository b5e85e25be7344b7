package console

import (
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

func TestTimesInFindings(t *testing.T) {
	now := core.At(time.Date(2026, 12, 1, 14, 53, 24, 0, time.UTC))
	f := core.Finding{Check: "clock", Level: core.LevelOK, Text: "synchronized, 2026-12-01T14:53:24Z"}
	p := &Page{Call: &web.Call{Now: now}, Lang: "en", Zone: time.FixedZone("", 3600)}
	if got := p.findingRow(&f).Text; !strings.HasSuffix(got, ", today, 15:53") {
		t.Error(got)
	}
}

func TestStateOfTheReplica(t *testing.T) {
	for _, c := range []struct {
		name, figure, state string
		replica             replicaState
	}{
		{"whole", "Up to date", "tenants", replicaState{Fresh: true}},
		{"cut off", "Unreachable", "missing the latest changes", replicaState{Broken: "a file is missing"}},
		{"late", "7 seconds behind", "missing the latest changes", replicaState{Fresh: true, LagMS: 7000}},
		{"damaged", "Damaged", "can't be restored", replicaState{Fresh: true, Broken: "a file is missing"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &Page{Lang: "en"}
			if got := p.ReplicaFigure(&c.replica); got != c.figure {
				t.Errorf("figure %q, not %q", got, c.figure)
			}
			if got := p.systemState(&systemStatus{Replica: &c.replica}); !strings.Contains(got, c.state) {
				t.Errorf("state %q, not %q", got, c.state)
			}
		})
	}
}
