// Package parts makes what the daemon and the commands both need, from the configuration.
//
//	parts.go      sign-in, limits, checks of campaigns, DNS, webhooks
//	relay.go      mail servers, and the test email
//	mailkeys.go   keys of the links and names in emails
//	process.go    what the Go runtime knows once for the whole process
package parts
