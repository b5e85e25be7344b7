//go:build !linux

package terminal

// PortHolder returns a general description, because the program that uses a port can't be identified on this system.
func PortHolder(string) string { return "another program" }
