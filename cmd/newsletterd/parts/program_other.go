//go:build !linux

package parts

func freeProgram() {}
