package campaigns

import (
	"testing"

	"newsletterd/core"
)

func TestTimesOfASendingAreReadInItsZone(t *testing.T) {
	of := core.Tenant{TimeZone: "Europe/Berlin"}
	for zone, hour := range map[string]string{"": "07", "Asia/Tokyo": "23"} {
		in := campaignSending{
			ScheduledAt: "2099-12-02T08:00", WindowStart: "2099-12-02T08:01", WindowEnd: "2099-12-02T08:02:00Z", TimeZone: zone,
		}
		n, err := in.times(&of)
		if err != nil {
			t.Fatal(err)
		}
		day := "2099-12-02T"
		if zone != "" {
			day = "2099-12-01T"
		}
		for want, at := range map[string]core.Instant{
			day + hour + ":00:00.000Z": n.ScheduledAt, day + hour + ":01:00.000Z": n.WindowStart,
			"2099-12-02T08:02:00.000Z": n.WindowEnd,
		} {
			if at.String() != want {
				t.Errorf("in %q: %v, want %s", zone, at, want)
			}
		}
	}
}
