package replica

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootTime is a clock that no one sets and that goes on while the machine is suspended (CLOCK_BOOTTIME).
func bootTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Since(started)
	}
	return time.Duration(t.Nano())
}

var started = time.Now()
