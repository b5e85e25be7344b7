package main

import (
	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/mail/dkim"
	"newsletterd/store"
	"newsletterd/store/people"
)

// dkimRow is a key as it is printed, with the record that the DNS must hold.
type dkimRow struct {
	core.DKIMKey
	RecordName  string `json:"record_name"`
	RecordValue string `json:"record_value"`
	Zone        string `json:"zone"` // the record as a line of a zone file
}

func newDKIMRow(k core.DKIMKey) dkimRow {
	return dkimRow{DKIMKey: k, RecordName: k.RecordName(), RecordValue: k.RecordValue(), Zone: k.ZoneLine()}
}

func (p *program) dkimCommands() *cli.Command {
	return &cli.Command{Name: "dkim", Usage: "manage DKIM keys, which sign emails", Subcommands: []*cli.Command{
		p.dkimCreateCommand(), p.dkimListCommand(), p.dkimShowCommand(), p.dkimUpdateCommand(), p.dkimDeleteCommand(),
	}}
}

const dkimCreateHelp = `The newest active key signs emails from its domain and subdomains, starting
with the next send job. To be safe, create the key as inactive, publish the
TXT record that the command prints, then activate the key:

   newsletterd admin dkim create --tenant ID --domain example.org --status inactive
   newsletterd admin dkim update --id KEY --status active

An ed25519 key signs in addition to an RSA key, never alone.`

func (p *program) dkimCreateCommand() *cli.Command {
	c := p.command("create", "create a DKIM key and print its DNS record", []cli.Flag{
		stringFlag("domain", "sender `DOMAIN` that belongs to the tenant"),
		tenantFlag("tenant (`ID`; default: the server's own emails)"),
		stringFlag("selector", "selector `NAME` in DNS (default: newsletterd, or newsletterd-ed for ed25519)"),
		oneOfFlag("algorithm", "rsa (2048 bits) or ed25519", core.DKIMRSA, core.DKIMEd25519).byDefault(core.DKIMRSA),
		oneOfFlag("status", "active or inactive", core.DKIMActive, core.DKIMInactive).byDefault(core.DKIMActive),
	}, []string{"domain"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		k, err := core.NewDKIMKey(core.DKIMKey{
			TenantID: c.String("tenant"), Domain: c.String("domain"), Selector: c.String("selector"),
			Algorithm: c.String("algorithm"), Status: c.String("status"),
		}, now())
		if err != nil {
			return err
		}
		private, public, err := dkim.NewKey(k.Algorithm)
		if err != nil {
			return err
		}
		k.Public = public
		if err := s.AddDKIMKey(c.Context, k, private, actor()); err != nil {
			return missing(err, "tenant", k.TenantID)
		}
		return p.printer(c).record(newDKIMRow(k))
	})
	c.Description = dkimCreateHelp
	return c
}

func (p *program) dkimListCommand() *cli.Command {
	return p.command("list", "list DKIM keys", []cli.Flag{tenantFlag("filter by tenant (`ID` or name)")}, nil,
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			ids, all, err := tenantOf(c, s)
			if err != nil {
				return err
			}
			keys, err := pages(func(k core.DKIMKey) string { return k.ID }, func(page core.Page) ([]core.DKIMKey, error) {
				return s.DKIMKeys(c.Context, ids, all, page)
			})
			if err != nil {
				return err
			}
			rows := make([]dkimRow, len(keys))
			for i := range keys {
				rows[i] = newDKIMRow(keys[i])
			}
			return list(p.printer(c), rows, "id", "tenant_id", "domain", "selector", "algorithm", "status")
		})
}

func (p *program) dkimShowCommand() *cli.Command {
	return p.command("show", "show a DKIM key and its DNS "+
		"record", []cli.Flag{idFlag(people.NounDKIMKey)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			k, err := s.DKIMKey(c.Context, c.String("id"))
			if err != nil {
				return missing(err, "DKIM key", c.String("id"))
			}
			return p.printer(c).record(newDKIMRow(k))
		})
}

func (p *program) dkimUpdateCommand() *cli.Command {
	return p.command("update", "activate or deactivate a DKIM key",
		[]cli.Flag{idFlag(people.NounDKIMKey), oneOfFlag("status", "active or inactive", core.DKIMActive,
			core.DKIMInactive)}, []string{"id", "status"}, func(c *cli.Context, _ *config.Config,
			s *store.Store,
		) error {
			k, err := s.SetDKIMStatus(c.Context, c.String("id"), c.String("status"), actor(), now())
			if err != nil {
				return missing(err, "DKIM key", c.String("id"))
			}
			return p.printer(c).record(newDKIMRow(k))
		})
}

func (p *program) dkimDeleteCommand() *cli.Command {
	return p.command("delete", "delete a DKIM key", []cli.Flag{idFlag(people.NounDKIMKey)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if err := s.DeleteDKIMKey(c.Context, c.String("id"), actor(), now()); err != nil {
				return missing(err, "DKIM key", c.String("id"))
			}
			return p.done(c, "DKIM key %s deleted.", c.String("id"))
		})
}
