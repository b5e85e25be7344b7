// Package parts creates the parts that the daemon and the commands share, from the configuration.
//
//	parts.go      sign-in, limits, campaign checks, DNS, webhooks
//	relay.go      mail servers, and the test email
//	mailkeys.go   keys for the links and names in emails
//	process.go    Go runtime settings for the whole process
//	program_*.go  memory that holds the program's own file
package parts
