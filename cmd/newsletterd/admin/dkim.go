package admin

import (
	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/mail/dkim"
	"newsletterd/store"
	"newsletterd/store/people"
)

// dkimRow is a DKIM key as commands print it, with the DNS record that it needs.
type dkimRow struct {
	core.DKIMKey
	RecordName  string `json:"record_name"`
	RecordValue string `json:"record_value"`
	Zone        string `json:"zone"` // the record in zone file format
}

func newDKIMRow(k core.DKIMKey) dkimRow {
	return dkimRow{DKIMKey: k, RecordName: k.RecordName(), RecordValue: k.RecordValue(), Zone: k.ZoneLine()}
}

func (p commands) dkimCommands() *cli.Command {
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

func (p commands) dkimCreateCommand() *cli.Command {
	c := p.Command("create", "create a DKIM key and print its DNS record", []cli.Flag{
		cli.String("domain", "sender `DOMAIN` that belongs to the tenant"),
		cli.Tenant("tenant (`ID`; default: the server's own emails)"),
		cli.String("selector", "selector `NAME` in DNS (default: newsletterd, or newsletterd-ed for ed25519)"),
		cli.OneOf("algorithm", "rsa (2048 bits) or ed25519", core.DKIMRSA, core.DKIMEd25519).ByDefault(core.DKIMRSA),
		cli.OneOf("status", "active or inactive", core.DKIMActive, core.DKIMInactive).ByDefault(core.DKIMActive),
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
		if err := s.AddDKIMKey(c.Context, k, private, cli.Actor()); err != nil {
			return cli.Missing(err, "tenant", k.TenantID)
		}
		return p.Printer(c).Record(newDKIMRow(k))
	})
	c.Description = dkimCreateHelp
	return c
}

func (p commands) dkimListCommand() *cli.Command {
	return p.Command("list", "list DKIM keys", []cli.Flag{cli.Tenant("filter by tenant (`ID` or name)")}, nil,
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			keys, err := cli.PagesOfTenant(c, s, func(k core.DKIMKey) string { return k.ID }, s.DKIMKeys)
			if err != nil {
				return err
			}
			rows := make([]dkimRow, len(keys))
			for i := range keys {
				rows[i] = newDKIMRow(keys[i])
			}
			return cli.List(p.Printer(c), rows, "id", "tenant_id", "domain", "selector", "algorithm", "status")
		})
}

func (p commands) dkimShowCommand() *cli.Command {
	return p.Command("show", "show a DKIM key and its DNS "+
		"record", []cli.Flag{cli.ID(people.NounDKIMKey)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			k, err := s.DKIMKey(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "DKIM key", c.String("id"))
			}
			return p.Printer(c).Record(newDKIMRow(k))
		})
}

func (p commands) dkimUpdateCommand() *cli.Command {
	return p.Command("update", "activate or deactivate a DKIM key",
		[]cli.Flag{cli.ID(people.NounDKIMKey), cli.OneOf("status", "active or inactive", core.DKIMActive,
			core.DKIMInactive)}, []string{"id", "status"}, func(c *cli.Context, _ *config.Config,
			s *store.Store,
		) error {
			k, err := s.SetDKIMStatus(c.Context, c.String("id"), c.String("status"), cli.Actor(), now())
			if err != nil {
				return cli.Missing(err, "DKIM key", c.String("id"))
			}
			return p.Printer(c).Record(newDKIMRow(k))
		})
}

func (p commands) dkimDeleteCommand() *cli.Command {
	return p.deleteCommand("delete a DKIM key", people.NounDKIMKey, "DKIM key", (*store.Store).DeleteDKIMKey)
}
