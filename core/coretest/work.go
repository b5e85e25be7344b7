package coretest

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"testing"
	"time"
)

// WorkEnv is the environment variable that enables tests of the CPU time of decoders and parsers (`make work`).
const WorkEnv = "NEWSLETTERD_WORK"

// The limits of Work: CPU time for the largest input, and its growth for twice the bytes.
const (
	maxWork  = 2 * time.Second
	maxRatio = 2.2
	tooShort = 20 * time.Millisecond // shorter times give no useful ratio
)

// Work measures the CPU time of a decoder or parser for the worst known input of a kind, at the maximum size and at a
// quarter of it. The function input returns an input with the given fraction of the maximum size; do processes it. Work
// prints one row of a table. It fails the test if the largest input takes too long, or if the time grows faster than
// the size. The ratio in the table is how much the time grows if the size doubles.
func Work[T any](t *testing.T, kind string, input func(part float64) (in T, size int), do func(T)) {
	t.Helper()
	if os.Getenv(WorkEnv) == "" {
		t.Skip("make work")
	}
	quarter, _ := leastCPU(input, do, 0.25)
	whole, size := leastCPU(input, do, 1)
	ratio, told := math.Sqrt(float64(whole)/float64(quarter)), "–"
	if quarter >= tooShort {
		told = fmt.Sprintf("%.1f", ratio)
	}
	fmt.Printf("| %s | %s | %v | %s |\n", kind, sizeText(size), whole.Round(time.Millisecond), told)
	if whole > maxWork {
		t.Errorf("%s: %v of CPU", kind, whole)
	}
	if quarter >= tooShort && ratio > maxRatio {
		t.Errorf("%s: twice the bytes take %.1f times the CPU", kind, ratio)
	}
}

// leastCPU returns the size of the input and the least CPU time of a few runs, since other programs may slow some down.
func leastCPU[T any](input func(part float64) (T, int), do func(T), part float64) (least time.Duration, size int) {
	in, size := input(part)
	for range 3 {
		runtime.GC()
		before := CPU()
		do(in)
		took := CPU() - before
		if least == 0 || took < least {
			least = took
		}
		if least > 2*maxWork {
			break
		}
	}
	return least, size
}

func sizeText(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
