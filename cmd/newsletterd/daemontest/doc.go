// Package daemontest runs the program as a separate process, for tests that stop it, kill it, measure it or use its
// command line. The test binary acts as the program: see TestMain in cmd/newsletterd.
//
//	process.go   Process: a folder with a configuration and the daemon, with its command line, HTTP and database
//	records.go   records that tests need: a tenant, a list, users, subscribers
//	sink.go      Sink: a process that receives and counts emails
//	conn.go      Conn: a cheap HTTP client, for benchmarks
//	receiver.go  Receiver: receives events
//	log.go       Log: the log of a daemon in the test's process
//	certificate.go  certificates: created, stored and served
//	dns.go       a DNS server with a zone that a test sets
//	campaign.go  Campaign: the daemon with one job, for tests that interrupt it
//	campaigns.go Campaigns: people who write, approve, send and stop campaigns in any order
//	crowd.go     Crowd: the daemon under hostile callers, and the latency of its health check
//	ledger.go    Ledger: the daemon and the results that its clients got, for tests that kill it
//	visitors.go  Visitors: people who keep subscribing
//	machine.go   addresses, processes' memory and CPU, waiting, test duration
//	race.go norace.go   whether the race detector is on
package daemontest
