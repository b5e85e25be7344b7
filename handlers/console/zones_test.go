package console

import (
	"testing"

	"newsletterd/core"
)

// The time zones that are offered are taken.
func TestZonesAreTaken(t *testing.T) {
	if len(zones()) < 400 {
		t.Fatalf("%d zones", len(zones()))
	}
	for _, name := range zones() {
		if _, err := core.ParseZone(name); err != nil {
			t.Error(err)
		}
	}
}
