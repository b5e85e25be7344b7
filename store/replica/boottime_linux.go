package replica

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootTime returns the time since boot by CLOCK_BOOTTIME, which no one can set and which also advances while the
// machine is suspended.
func bootTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Since(started)
	}
	return time.Duration(t.Nano())
}

var started = time.Now()
