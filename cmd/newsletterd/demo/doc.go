// Package demo runs newsletterd once from setup to report through its public interfaces: commands, HTTP and the links
// in emails.
//
// It runs its own program as a daemon in a temporary folder, with a mail server that saves every email as a file, and
// compares its counts with the expected results.
//
//	demo.go     the steps; checks.go: the counts and their expected values
//	daemon.go   the daemon as a process; mailbox.go: the mail server's folder
//	readers.go  visitors who subscribe, confirm and unsubscribe, and the two newsletters
package demo
