//go:build race

package mail

// raceFactor is how many times more memory the race detector takes.
const raceFactor = 4
