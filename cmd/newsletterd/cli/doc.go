// Package cli is the framework for the command line: the parts that all commands share.
//
//	program.go      Program: a run's streams, configuration and database
//	run.go          from arguments to an exit code; usage errors; flags in any position
//	tree.go         flags and usage errors that all commands share
//	flags.go        flags and their values
//	references.go   flags that name a record, and flags with a choice of words
//	ask.go          questions to a person at the terminal, and passwords
//	print.go        records as tables or JSON
//	help.go         help texts and their groups; man.go: the man page; completion.go: scripts for shells
//	library.go      the command-line library, which only this package imports
package cli
