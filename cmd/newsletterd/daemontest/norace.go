//go:build !race

package daemontest

// RaceEnabled is whether the race detector is on.
const RaceEnabled = false
