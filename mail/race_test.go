//go:build race

package mail

// raceFactor is the factor by which the race detector increases memory use.
const raceFactor = 4
