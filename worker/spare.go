package worker

import (
	"os"
	"runtime"
	"sync"
)

// spare counts those who send.
var spare struct {
	mu      sync.Mutex
	senders int
}

// spareProcessor lets one more thread run Go code than there are CPUs, until release. Mails keep all CPUs busy, and the writer
// syncs the disk for every few of them: its thread's place stays taken for as long as that takes, since the scheduler
// notices late, and a CPU would idle meanwhile. Requests gain nothing from it. An operator's own GOMAXPROCS stays.
func spareProcessor() (release func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	spare.mu.Lock()
	defer spare.mu.Unlock()
	if spare.senders++; spare.senders == 1 {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
	return func() {
		spare.mu.Lock()
		defer spare.mu.Unlock()
		if spare.senders--; spare.senders == 0 {
			runtime.SetDefaultGOMAXPROCS()
		}
	}
}
