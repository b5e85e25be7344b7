// Package mailtest holds SMTP servers for tests, benchmarks and the demo.
//
//	sink.go     Sink: as fast as can be; counts messages and keeps their ids, for benchmarks and crash tests
//	server.go   Server: follows a script and misbehaves as told, for tests of the client
//	auth.go     the server's side of AUTH
//	start.go    servers and sinks that end with their test
//	words.go    how alike two texts are
//	keeper.go   Keeper: a complete server that writes each message to a file, for the demo
//
// Keeper uses emersion/go-smtp, so that the demo's mails pass a server that is not of this project. Sink is our own: a
// general server would be the slower side of a benchmark.
package mailtest
