//go:build !race

package mail

const raceFactor = 1
