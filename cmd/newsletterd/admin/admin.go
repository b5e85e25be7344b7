package admin

import (
	"slices"
	"time"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/core"
)

// commands creates and runs the commands. Two areas have types of their own: accounts and belongings.
type commands struct{ *cli.Program }

const adminHelp = `Works on the database with the same operations as the HTTP API, even while
the daemon runs. Anyone who can write the database file has full access.

Name a record by its ID, the first 4 or more characters of its ID, or its
name. If several records match, the command lists them and changes nothing.
If there is only one tenant, you can leave out --tenant.`

// Commands returns the admin command with all its subcommands.
func Commands(program *cli.Program) *cli.Command {
	p := commands{program}
	a, b := accounts{p}, belongings{p}
	return &cli.Command{
		Name: "admin", Usage: "manage tenants, lists, campaigns, users, clients and devices", Description: adminHelp,
		Subcommands: slices.Concat(
			cli.InGroup(cli.GroupLetters, p.tenantCommands(), p.campaignCommands(), p.templateCommands(),
				p.themeCommands(), p.mediaCommands(), p.jobCommands()),
			cli.InGroup(cli.GroupPeople, p.listCommands(), p.subscriberCommands(), segmentCommands(p), tagCommands(p),
				bulkCommands(p), p.importCommands(), p.suppressionCommands()),
			cli.InGroup(cli.GroupSending, p.domainCommands(), p.dkimCommands(), mailServerCommands(p),
				p.providerCommands(), p.mailCommands()),
			cli.InGroup(cli.GroupSignIn, a.userCommands(), p.invitationCommands(), p.setupLinkCommand(),
				p.clientCommands(), p.tokenCommands(), p.auditCommands()),
			cli.InGroup(cli.GroupEvents, p.endpointCommands(), p.webhookClientCommands(), p.outboxCommands()),
			cli.InGroup(cli.GroupDevices, b.deviceCommands(), b.agentCommands(), b.modelCommands()),
		),
	}
}

func now() core.Instant { return core.At(time.Now()) }
