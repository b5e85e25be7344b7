package bulk

import "time"

// HoldFor sets how long a commit may block other writers.
func HoldFor(d time.Duration) { holdFor = d }
