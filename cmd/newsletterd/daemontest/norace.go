//go:build !race

package daemontest

// RaceEnabled reports whether the race detector is on.
const RaceEnabled = false
