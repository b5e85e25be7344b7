package console

import (
	"testing"

	"newsletterd/core"
)

// The API accepts all time zones that the console offers.
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
