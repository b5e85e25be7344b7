package main

import (
	"slices"

	"newsletterd/cmd/newsletterd/admin"
	"newsletterd/cmd/newsletterd/cli"
)

const appHelp = `Sends newsletters with double opt-in, signs people in to your apps (OAuth
2.0, OpenID Connect), and stores everything in one SQLite file. Commands work
on the database directly, even while the daemon runs.

   Try it:       newsletterd demo
   Set it up:    newsletterd init
   Run it:       newsletterd serve
   Check it:     newsletterd status, newsletterd doctor`

// app returns the command tree.
func (p *program) app() *cli.App {
	return p.Tree(&cli.App{
		Name:        "newsletterd",
		Usage:       "send newsletters and sign people in, with one SQLite file",
		UsageText:   "newsletterd COMMAND [flags]",
		Description: appHelp,
		Version:     version(),
		Commands: slices.Concat(
			cli.InGroup(cli.GroupStart, p.demoCommand(), p.initCommand(), p.serveCommand(), p.statusCommand(),
				p.doctorCommand()),
			cli.InGroup(cli.GroupLetters, admin.Publish(p.Program), admin.Render(p.Program), admin.Why(p.Program),
				admin.Commands(p.Program)),
			cli.InGroup(cli.GroupBackup, p.backupCommand(), p.restoreCommand(), p.replicaCommand(), p.checkCommand(),
				p.migrateCommand()),
			cli.InGroup(cli.GroupServer, p.configCommand(), p.keysCommand(), p.healthyCommand(), p.bounceCommand(),
				p.systemdUnitCommand(), p.routesCommand(), p.openapiCommand(), p.CompletionCommand(p.app),
				p.ManCommand(p.app), p.versionCommand()),
		),
	}, p.printVersion)
}
