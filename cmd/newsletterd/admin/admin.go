package admin

import (
	"context"
	"slices"
	"time"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

// commands creates and runs the admin commands. Those for accounts and belongings have their own types.
type commands struct{ *cli.Program }

const adminHelp = `These commands use the database directly, with the same operations as the
HTTP API, even while the daemon runs. Anyone who can write to the database
file has full access.

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

// deleteCommand returns a command that deletes a record by ID. subject is the start of the message that it prints.
func (p commands) deleteCommand(usage string, noun people.Noun, subject string,
	del func(s *store.Store, ctx context.Context, id, actor string, now core.Instant) error,
) *cli.Command {
	return p.Command("delete", usage, []cli.Flag{cli.ID(noun)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if err := del(s, c.Context, c.String("id"), cli.Actor(), now()); err != nil {
				return cli.Missing(err, string(noun), c.String("id"))
			}
			return p.Done(c, "%s %s deleted.", subject, c.String("id"))
		})
}

func now() core.Instant { return core.At(time.Now()) }
