//go:build race

package daemontest

// RaceEnabled is whether the race detector is on: it takes several times the memory.
const RaceEnabled = true
