package parts

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
)

// What the Go runtime knows once for the whole process is set in this file alone. Packages that know when a setting
// pays get it as a function.

// smallHeapUse counts the work that leaves large garbage, and holds what the garbage collector was told before.
var smallHeapUse struct {
	sync.Mutex
	n       int
	percent int
}

// smallHeapPercent is by how much the heap may grow beyond what is in use meanwhile. Each hash of a password leaves its
// 19 MiB behind as garbage: with Go's 100 % the heap of a daemon that does little else would be twice as large.
const smallHeapPercent = 25

// SmallHeap makes the garbage collector run more often until release is called: for work that leaves MiB behind, as
// hashes and large request bodies do. It stops the world for a moment when the first begins and the last ends. An
// operator's own GOGC stays where it is lower.
func SmallHeap() (release func()) {
	smallHeapUse.Lock()
	defer smallHeapUse.Unlock()
	if smallHeapUse.n++; smallHeapUse.n == 1 {
		smallHeapUse.percent = debug.SetGCPercent(smallHeapPercent)
		if smallHeapUse.percent >= 0 && smallHeapUse.percent < smallHeapPercent {
			debug.SetGCPercent(smallHeapUse.percent)
		}
	}
	return func() {
		smallHeapUse.Lock()
		defer smallHeapUse.Unlock()
		if smallHeapUse.n--; smallHeapUse.n == 0 {
			debug.SetGCPercent(smallHeapUse.percent)
		}
	}
}

// extraThreadUse counts those who send.
var extraThreadUse struct {
	sync.Mutex
	n int
}

// ExtraThread lets one more thread run Go code than there are CPUs, until release is called. Mails keep all CPUs busy,
// and the writer syncs the disk for every few of them: its thread's place stays taken for as long as that takes, since
// the scheduler notices late, and a CPU would idle meanwhile. Requests gain nothing from it. An operator's own
// GOMAXPROCS stays.
func ExtraThread() (release func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	extraThreadUse.Lock()
	defer extraThreadUse.Unlock()
	if extraThreadUse.n++; extraThreadUse.n == 1 {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
	return func() {
		extraThreadUse.Lock()
		defer extraThreadUse.Unlock()
		if extraThreadUse.n--; extraThreadUse.n == 0 {
			runtime.SetDefaultGOMAXPROCS()
		}
	}
}

// FreeMemory gives what only the start needed back to the system: an idle daemon is small. It doesn't wait.
func FreeMemory() { go debug.FreeOSMemory() }
