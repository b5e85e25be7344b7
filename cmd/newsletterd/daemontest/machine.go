package daemontest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TortureEnv makes tests run at full length. `make torture` sets it.
const TortureEnv = "NEWSLETTERD_TORTURE"

// AtLength reports whether tests run at full length.
func AtLength() bool { return os.Getenv(TortureEnv) != "" }

// Count returns how often a test repeats an action: the value of the environment variable name if it is set, otherwise
// long at full length, and short in other runs.
func Count(name string, short, long int) int {
	if n, err := strconv.Atoi(os.Getenv(TortureEnv + "_" + name)); err == nil {
		return n
	}
	if AtLength() {
		return long
	}
	return short
}

// Parallel runs a test in parallel with others. Use it for tests that mostly wait for their own processes. At full
// length, it does nothing, so that each test has the machine to itself.
func Parallel(t *testing.T) {
	t.Helper()
	if !AtLength() {
		t.Parallel()
	}
}

// lastPort is the last port that FreeAddr tried. These ports are below those for outgoing connections (from 32768), so
// that no connection can take one before the daemon listens on it.
var lastPort = func() *atomic.Int64 {
	var port atomic.Int64
	port.Store(20_000 + int64(os.Getpid()%100)*100)
	return &port
}()

// FreeAddr returns a free loopback address, and never the same one twice.
func FreeAddr(t testing.TB) string {
	t.Helper()
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", lastPort.Add(1))
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
	t.Fatal("no port is free")
	return ""
}

// Await calls done repeatedly until it returns true. It fails the test after half a minute.
func Await(t testing.TB, what string, done func() bool) {
	t.Helper()
	AwaitWithin(t, 30*time.Second, what, done)
}

// AwaitWithin is like Await, with another limit.
func AwaitWithin(t testing.TB, limit time.Duration, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); !done(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// Usage returns the CPU time of a process, and its peak memory in bytes since the last call.
func Usage(pid int) (cpu time.Duration, peak int64) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	peak = inStatus(pid, "VmHWM:")
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
	return time.Duration(user+system) * 10 * time.Millisecond, peak
}

// CPU returns the CPU time of a process. It also resets the peak memory that the next Usage call returns.
func CPU(pid int) time.Duration {
	cpu, _ := Usage(pid)
	return cpu
}

// Resident returns the current memory of a process in bytes, or 0 if there is no /proc.
func Resident(pid int) int64 { return inStatus(pid, "VmRSS:") }

func inStatus(pid int, name string) int64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(b), name)
	var kib int64
	_, _ = fmt.Sscan(rest, &kib)
	return kib << 10
}
