// Package terminal contains error messages, suggestions and prompts for a person at a terminal.
//
//	message.go  the text of an error; remedy.go: how to fix it; suggest.go: the known word nearest to a mistyped one
//	prompt.go   questions; listen*.go: listen on a port, or say which program has it
package terminal
