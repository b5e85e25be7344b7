package core

import (
	"testing"
	"time"
)

// TestBestTime checks that five campaigns with enough opens result in a best time, and that fewer don't.
func TestBestTime(t *testing.T) {
	now := At(time.Date(2026, 11, 28, 12, 30, 0, 0, time.UTC)) // a Saturday
	saturday := int64(2*24 + 8)                                // 08:00; the week starts on Thursday
	hours := []OpeningHour{{3, 90, 5}, {saturday, 110, 5}}
	for _, c := range []struct {
		name  string
		hours []OpeningHour
		now   Instant
		want  Instant
	}{
		{"next week", hours, now, At(time.Date(2026, 12, 5, 8, 0, 0, 0, time.UTC))},
		{
			"the next hour", hours, At(time.Date(2026, 11, 28, 7, 59, 0, 0, time.UTC)),
			At(time.Date(2026, 11, 28, 8, 0, 0, 0, time.UTC)),
		},
		{
			"not this hour", hours, At(time.Date(2026, 11, 28, 8, 0, 0, 0, time.UTC)),
			At(time.Date(2026, 12, 5, 8, 0, 0, 0, time.UTC)),
		},
		{"few campaigns", []OpeningHour{{3, 90, 4}, {saturday, 110, 4}}, now, 0},
		{"few openings", []OpeningHour{{3, 90, 5}, {saturday, 109, 5}}, now, 0},
		{"nothing", nil, now, 0},
	} {
		var a Audience
		a.SetBestHour(c.hours)
		if got := a.BestTime(c.now); got != c.want {
			t.Errorf("%s: %v", c.name, got.Time())
		}
	}
}
