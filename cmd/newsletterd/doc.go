// Command newsletterd is the program. It reads the configuration and wires all other packages.
//
//	main.go         the program and its streams
//	commands.go     the tree of commands
//	cli/            the frame of the command line: flags, questions, help, output; terminal/: its errors and prompts
//	admin/          the commands on records: admin, publish, render, why
//	frontmatter/    front matter: the TOML or YAML at the start of a file that publish sends
//	config/         TOML, environment and flags → Config; checks; printing
//	parts/          what the daemon and the commands create from the configuration
//	log.go          slog: format, level, masked values
//	build.go        open, migrate and wire: the same for production and tests; workers.go: background work
//	advice.go       startup warnings about settings that are allowed but rarely intended
//	remote_services.go  a member service or send service in another daemon
//	tls.go          the listener's certificates: reloaded files, or ACME
//	tls_answers.go  the maximum size of a certificate authority's responses
//	connections.go  the maximum number of connected clients
//	serve.go        run the daemon, and stop its parts in order
//	metrics*.go     the second listener: metrics and profiles
//	ops.go          config, migrate, check, routes, openapi, version; version.go: the build
//	backup.go       backup, restore, and the check after a crash; keys.go: keys list and rotate
//	replica*.go     the replica of the database: its state, restores, and restore tests
//	replicate.go standby.go   the replica of a running daemon, and how a standby responds
//	bounce.go       bounce messages, by pipe and by LMTP
//	init*.go        a new installation: questions, mail server test, files, first administrator; dns.go: records
//	                of the sending domain
//	unit.go         the unit file for systemd
//	status.go       the most important figures
//	healthy.go      the health check for containers and cron: the running daemon's /healthz
//	doctor*.go      problems and rarely intended settings: on the machine, at the relay, in DNS; clock_*.go: the clock
//	demo/           a complete run through the public interfaces
//
// The decisions about the command are in docs/decisions, pages 0170 to 0175.
package main
