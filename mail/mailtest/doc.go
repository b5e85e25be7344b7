// Package mailtest provides SMTP servers for tests, benchmarks and the demo.
//
//	sink.go     Sink: a fast server that counts messages and keeps their ids, for benchmarks and crash tests
//	server.go   Server: follows a script and misbehaves on demand, for client tests
//	auth.go     the server side of AUTH
//	start.go    servers and sinks that stop with their test
//	words.go    similarity of two texts
//	keeper.go   Keeper: a complete server that writes each message to a file, for the demo
//
// Keeper uses emersion/go-smtp, so that a third-party server accepts the demo's emails. Sink is our own, because a
// general server would be the bottleneck of a benchmark.
package mailtest
