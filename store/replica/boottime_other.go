//go:build !linux

package replica

import "time"

// bootTime is a clock that no one sets. It may stand still while the machine is suspended.
func bootTime() time.Duration { return time.Since(started) }

var started = time.Now()
