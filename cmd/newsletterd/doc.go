// Command newsletterd is the program. It reads the configuration and wires the other packages, and it is the only
// package that knows all of them.
//
//	main.go         the program and its streams
//	commands.go     the tree of commands
//	cli/            the frame of the command line: flags, questions, help, output; terminal/: words for a person at it
//	admin/          the commands on records: admin, publish, render, why
//	frontmatter/    front matter: the TOML or YAML at the start of a file that publish sends
//	config/         TOML, environment and flags → Config; checks; printing
//	parts/          what the daemon and the commands make from the configuration
//	log.go          slog: form, level, what is masked
//	build.go        open, migrate and wire: the same for production and tests; workers.go: what runs without a request
//	advice.go       warnings at the start about settings that are allowed and rarely meant
//	remote_services.go  a member service or send service that is another daemon
//	tls.go          certificates of the listener: files that are read again, or ACME
//	tls_answers.go  how much of an answer of a certificate authority is read
//	connections.go  how many clients are connected at once
//	serve.go        run the daemon, and stop it in the written order
//	metrics*.go     the second listener: metrics and profiles
//	ops.go          config, migrate, check, routes, openapi, version; version.go: which build this is
//	backup.go       backup, restore, and the check after an unclean stop; keys.go: keys list and rotate
//	replica*.go     the replica of the database: its state, restores, and restore tests
//	replicate.go standby.go   the replica of a running daemon, and what a standby answers
//	bounce.go       mails that come back, by pipe and by LMTP
//	init*.go        a new installation: questions, the test of the mail server, files, first operator; dns.go: records of the sending domain
//	unit.go         the unit file for systemd
//	status.go       figures at a glance
//	healthy.go      the question of containers and cron: /healthz of the running daemon
//	doctor*.go      what is wrong or rarely meant: on the machine, at the relay, in DNS; clock_*.go: what keeps its time
//	demo/           the whole job, through the public interfaces
//
// Why the command is as it is stands in docs/decisions, pages 0170 to 0175.
package main
