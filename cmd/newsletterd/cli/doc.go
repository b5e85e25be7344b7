// Package cli is the frame of the command line: the parts that all commands share.
//
//	program.go      Program: the streams, the configuration and the database of a run
//	run.go          from arguments to an exit code; usage errors; flags in any place
//	tree.go         common flags and refusals of all commands
//	flags.go        flags and their values
//	references.go   flags that name a record, and flags with a choice of words
//	ask.go          questions to a person at the terminal, and passwords
//	print.go        records as tables or JSON
//	help.go         help texts and their groups; man.go: the man page; completion.go: scripts for shells
//	library.go      the library of commands, which only this package imports
package cli
