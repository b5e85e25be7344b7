// Package daemontest runs the program as a process of its own, for tests that stop it, kill it, measure it or use its
// command line. The test binary is the program: TestMain of cmd/newsletterd makes it so.
//
//	process.go   Process: a folder with a configuration, the daemon in it, its command line, its HTTP and its database
//	records.go   what tests need in the database: a tenant, a list, users, subscribers
//	sink.go      Sink: a process that takes mails in and counts them
//	conn.go      Conn: an HTTP client that costs little, for figures
//	receiver.go  Receiver: takes events in
//	log.go       Log: what a daemon in the test's own process logs
//	certificate.go  certificates, written and shown
//	dns.go       a DNS server with a zone of the test's
//	campaign.go  Campaign: the daemon with one job, for tests that end it in the middle
//	campaigns.go Campaigns: people who write, approve, send and stop campaigns in any order
//	crowd.go     Crowd: the daemon among callers that mean no good, and what its health check takes meanwhile
//	ledger.go    Ledger: the daemon and what its clients were told has been done, for tests that kill it
//	visitors.go  Visitors: people who subscribe all the time
//	machine.go   addresses, memory and CPU of processes, waiting, how long a test runs
//	race.go norace.go   whether the race detector is on
package daemontest
