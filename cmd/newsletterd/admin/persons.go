package admin

import (
	"fmt"
	"strings"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

// personFlag returns the flag that names a person by address or user ID.
func personFlag() cli.Flag {
	return cli.Reference("id", people.NounUser, "`PERSON`: any email address, or the ID or name of a user",
		"user", "email")
}

// personOf returns the person whom personFlag names, including their account.
func personOf(c *cli.Context, s *store.Store) (core.Person, error) {
	if word := c.String("id"); strings.Contains(word, "@") {
		email, err := core.ParseEmail(word)
		return core.Person{Email: email, Account: true}, err
	}
	u, err := userOf(c, s, "id")
	return core.Person{Email: u.Email, Account: true}, err
}

// subscriberOf returns the person with the address in --email, limited to the data that tenants have.
func subscriberOf(c *cli.Context) (core.Person, error) {
	email, err := cli.GivenEmail(c)
	return core.Person{Email: email, TenantID: c.String("tenant")}, err
}

func tenantOrAll() cli.Flag {
	return cli.Tenant("only data in the lists of this tenant (`ID`; default: all tenants)")
}

// exportPerson prints everything about a person.
func (p commands) exportPerson(c *cli.Context, s *store.Store, who core.Person) error {
	data, err := s.ExportPerson(c.Context, who)
	if err != nil {
		return err
	}
	if data.Empty() {
		return nothingKnown(who)
	}
	return cli.Printer{Out: p.Out, JSON: true}.Value(data)
}

func (p commands) erasePerson(c *cli.Context, s *store.Store, who core.Person) error {
	rows, err := s.ErasePerson(c.Context, who, cli.Actor(), now())
	if err != nil {
		return err
	}
	if rows == 0 {
		return nothingKnown(who)
	}
	return p.Done(c, "%s erased.", who.Email)
}

func nothingKnown(who core.Person) error {
	return fmt.Errorf("no data found for %s. Check the address", who.Email)
}

// personCommands returns the subcommands of admin user about a person's data.
func (p commands) personCommands() []*cli.Command {
	export := p.Command("export", "export all data about a person, as JSON", []cli.Flag{personFlag()},
		[]string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			who, err := personOf(c, s)
			if err != nil {
				return err
			}
			return p.exportPerson(c, s, who)
		})
	export.Description = `Exports the account with sessions, consents, devices, agents and models, and
what all tenants' lists store about the address: subscriptions with consent
history, sent emails, and reports from mail providers.

   newsletterd admin user export --email ann@acme.example > ann.json`
	erase := p.Command("erase", "erase all data about a person",
		[]cli.Flag{personFlag(), disableClients()},
		[]string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			who, err := personOf(c, s)
			if err != nil {
				return err
			}
			u, err := s.UserByEmail(c.Context, who.Email)
			if err == nil {
				err = p.endClients(c, s, u, "") // after the erasure, the creators of clients are unknown
			}
			if err != nil && core.KindOf(err) != core.NotFound {
				return err
			}
			return p.erasePerson(c, s, who)
		})
	erase.Description = `Immediately deletes everything that "export" prints. Suppression entries of
the address are kept as a hash that only this database can compute, so no
import can add the address again. The person can still sign up again. Older
backups and snapshots contain the data until they are replaced.

   newsletterd admin user erase --email ann@acme.example`
	return []*cli.Command{export, erase}
}

// eraseSubscriber returns the command admin subscriber erase.
func (p commands) eraseSubscriber() *cli.Command {
	cmd := p.Command("erase", "erase the data of an address on all lists, but not its user account",
		[]cli.Flag{cli.String("email", "`ADDRESS` of the subscriber to erase"), tenantOrAll()}, []string{"email"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			who, err := subscriberOf(c)
			if err != nil {
				return err
			}
			return p.erasePerson(c, s, who)
		})
	cmd.Description = `Suppression entries of the address are kept as a hash that only this database
can compute, so no import can add the address again. The tenant's webhook
endpoints get an event that the address unsubscribed.

   newsletterd admin subscriber erase --email ann@acme.example --tenant ID`
	return cmd
}
