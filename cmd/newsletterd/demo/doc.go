// Package demo does the whole job once through the public interfaces: commands, HTTP, and the links in mails.
//
// It runs the program that it is part of as a daemon in a temporary folder, with a mail server that keeps every mail as
// a file, and compares what it counts with what must come out.
//
//	demo.go     the steps; checks.go: the figures and what they must be
//	daemon.go   the daemon as a process; mailbox.go: the folder of the mail server
//	readers.go  visitors who subscribe, confirm and unsubscribe, and the two newsletters
package demo
