//go:build !linux

package db

// homeMark knows no way here to tell a file from a copy of it.
func homeMark(string) (string, error) { return "", nil }
