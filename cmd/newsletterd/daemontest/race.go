//go:build race

package daemontest

// RaceEnabled reports whether the race detector is on, which takes several times the memory.
const RaceEnabled = true
