//go:build race

package main

// raceEnabled tells that the race detector is on: it takes several times the memory.
const raceEnabled = true
