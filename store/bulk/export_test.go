package bulk

import "time"

// HoldFor sets how long a commit may keep other writers waiting.
func HoldFor(d time.Duration) { holdFor = d }
