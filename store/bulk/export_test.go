package bulk

import "time"

// HoldFor sets how long a commit takes people in.
func HoldFor(d time.Duration) { holdFor = d }
