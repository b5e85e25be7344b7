package worker

import (
	"os"
	"runtime"
	"sync"
)

// extraThread counts those who send.
var extraThread struct {
	mu      sync.Mutex
	senders int
}

// useExtraThread lets one more thread run Go code than there are CPUs, until release. Mails keep all CPUs busy, and
// the writer syncs the disk for every few of them: its thread's place stays taken for as long as that takes, since the
// scheduler notices late, and a CPU would idle meanwhile. Requests gain nothing from it. An operator's own GOMAXPROCS
// stays.
func useExtraThread() (release func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	extraThread.mu.Lock()
	defer extraThread.mu.Unlock()
	if extraThread.senders++; extraThread.senders == 1 {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
	return func() {
		extraThread.mu.Lock()
		defer extraThread.mu.Unlock()
		if extraThread.senders--; extraThread.senders == 0 {
			runtime.SetDefaultGOMAXPROCS()
		}
	}
}
