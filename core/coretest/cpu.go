package coretest

import (
	"syscall"
	"time"
)

// CPU returns the CPU time of this process. Unlike wall time, it is reliable on a busy machine.
func CPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
