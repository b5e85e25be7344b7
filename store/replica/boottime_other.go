//go:build !linux

package replica

import "time"

// bootTime returns the time since the process started, by a clock that no one can set. It can stand still while the
// machine is suspended.
func bootTime() time.Duration { return time.Since(started) }

var started = time.Now()
