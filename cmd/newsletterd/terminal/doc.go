// Package terminal contains error messages, suggestions and prompts for a person at a terminal.
//
//	message.go  error messages; remedy.go: how to fix errors; suggest.go: the known word nearest to a mistyped one
//	prompt.go   questions; listen*.go: listen on a port, or name the program that uses it
package terminal
