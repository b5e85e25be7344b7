//go:build !linux || !(amd64 || arm64)

package db

// useArena does nothing, because the size of a page with its header was measured only on other systems.
func useArena() error { return nil }
