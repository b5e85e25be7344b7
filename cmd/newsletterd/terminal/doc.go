// Package terminal words errors and suggestions for a person at a terminal.
//
//	message.go  an error in words; suggest.go: the known word nearest to a mistyped one; prompt.go: questions
package terminal
