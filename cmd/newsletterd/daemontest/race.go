//go:build race

package daemontest

// RaceEnabled reports whether the race detector is on. It needs several times the memory.
const RaceEnabled = true
