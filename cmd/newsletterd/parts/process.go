package parts

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// Only this file changes Go runtime settings, because they apply to the whole process. Packages that need a setting get
// a function to change it.

// smallHeapUse counts the running tasks that leave a lot of garbage, and holds the garbage collector's previous
// setting.
var smallHeapUse struct {
	sync.Mutex
	n       int
	percent int
}

// smallHeapPercent is the GOGC value while SmallHeap is in effect. Each password hash leaves 19 MiB of garbage. With
// Go's default of 100, the heap of a daemon that does little else would be twice as large.
const smallHeapPercent = 25

// SmallHeap makes the garbage collector run more often until release is called. Use it for work that leaves MiB of
// garbage, such as password hashes and large request bodies. The world is briefly stopped when the first task starts
// and when the last one ends. If GOGC is lower in the environment, that value is kept.
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

// extraThreadUse counts the tasks for which ExtraThread is in effect.
var extraThreadUse struct {
	sync.Mutex
	n int
}

// ExtraThread lets one more thread than there are CPUs run Go code until release is called. Sending keeps all CPUs
// busy, and the writer syncs the disk once every few emails. The scheduler notices a blocked sync late, so a CPU would
// be idle meanwhile. HTTP requests gain nothing from the extra thread. If GOMAXPROCS is set in the environment, it
// stays unchanged.
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

// startTakes is the time after which all workers have finished their first steps.
const startTakes = 10 * time.Second

// FreeMemory returns memory to the system that was only needed for startup, so that an idle daemon stays small. It does
// so in the background, after startup.
func FreeMemory() {
	time.AfterFunc(startTakes, func() {
		debug.FreeOSMemory()
		freeProgram()
	})
}
