// Package terminal words errors and suggestions for a person at a terminal.
//
//	message.go  an error in words; remedy.go: what to do about it; suggest.go: the known word nearest to a mistyped one
//	prompt.go   questions; listen*.go: listen on a port, or say which program has it
package terminal
