// Command newsletterd is the program: it reads the configuration, wires the other packages and is the only one that
// knows them all.
//
// # Rooms
//
//	main.go         from arguments to an exit code
//	commands.go     the frame of the command line: groups, common flags, usage errors; terminal/: errors and suggestions for a person
//	config/         TOML, environment and flags → Config; checks; printing
//	log.go          slog: form, level, what is masked
//	build.go        open, migrate and wire: the same for production and tests; workers.go: what runs without a request
//	advice.go       what is said at the start about settings that are allowed and rarely meant
//	remote_services.go  member service and send service as two daemons
//	tls.go          certificates of the listener: files that are read again, or ACME
//	connections.go  how many clients are connected at once
//	serve.go        run the daemon, and stop it in the written order
//	metrics*.go     the second listener: metrics and profiles
//	ops.go          config, migrate, check, routes, openapi, version; version.go: which build this is
//	admin*.go       admin: the same store operations as HTTP, on the file itself
//	backup.go       backup, restore, and the check after an unclean stop; keys.go: keys list and rotate
//	bounce.go       mails that come back, by pipe and by LMTP
//	subscribercsv/  subscribers from and to files
//	print.go        records as tables or JSON
//	init*.go        a new installation: questions, files, first operator; dns.go: records of the sending domain
//	unit.go         the unit file for systemd
//	status.go       figures at a glance
//	doctor*.go      what is wrong or rarely meant: on the machine, at the relay, in DNS; clock_*.go: what keeps its time
//	completion.go   completion for shells, and man.go the manual page: both made of the tree of commands
//	demo/           the whole job, through the public interfaces
//
// # Decisions
//
//   - 2026-11-21 No positional arguments: the command line library stops reading flags at the first one, so a leftover
//     argument is refused with exit code 2 instead of being ignored together with the flags behind it.
//   - 2026-11-21 The environment is read by the configuration, not by the flags: the library lets an inherited variable
//     beat an explicit flag.
//   - 2026-11-21 A configuration file becomes a tree first and then, key by key, the struct: decoding straight into the
//     struct ends at the first wrong type, and an operator wants all faults of one start.
//   - 2026-11-21 A variable NEWSLETTERD_<word>… whose word is no section is ignored, since container platforms set such
//     (NEWSLETTERD_SERVICE_HOST); a mistyped key of a section stops the start.
//   - 2026-11-21 The listener is bound before the workers start, which need its port, and accepts after.
//   - 2026-11-21 The address of newsletterd's metrics has no login, so it is on loopback by default, and profiles are
//     answered to loopback only, whatever the address.
//   - 2026-11-21 init confirms only by the mailed link (confirm_token = "receipt"), unlike the default, which is the
//     specification's: a new public installation should not let strangers confirm other people's addresses.
//   - 2026-11-21 doctor asks DNS only when it is told to: the names of customers are nobody else's business.
package main
