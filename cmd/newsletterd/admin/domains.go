package admin

import (
	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

const domainHelp = `A tenant can only send from verified domains. Propose a domain, publish the
TXT record that the command prints, then check it. Or verify the domain
without DNS. Domains set with "admin tenant create --domain" are verified.

   newsletterd admin domain propose --tenant Acme --domain news.example.org
   newsletterd admin domain check --id ID`

func (p commands) domainCommands() *cli.Command {
	id := []cli.Flag{cli.ID(people.NounDomain)}
	propose := p.Command("propose", "add a sender domain and print its verification record", []cli.Flag{
		cli.Tenant("tenant (`ID` or name)"), cli.String("domain", "sender `DOMAIN`"),
	}, []string{"tenant", "domain"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		d, err := core.ProposeDomain(c.String("tenant"), c.String("domain"), now())
		if err != nil {
			return err
		}
		if err := s.ProposeSenderDomain(c.Context, d, cli.Actor()); err != nil {
			return cli.Missing(err, "tenant", d.TenantID)
		}
		return p.printDomain(c, s, d)
	})
	check := p.Command("check", "check the DNS record now and verify the domain if the record is found", id,
		[]string{"id"},
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			d, err := s.SenderDomain(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "domain", c.String("id"))
			}
			result, foundAt := auth.CheckDomain(c.Context, parts.Resolver(cfg.Mail.DNSServer).LookupTXT, d)
			if d, err = s.EndDomainCheck(c.Context, d.ID, result, foundAt, cli.Actor(), now()); err != nil {
				return err
			}
			return p.printDomain(c, s, d)
		})
	verify := p.Command("verify", "verify a domain without checking DNS", id, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			d, err := s.VerifySenderDomain(c.Context, c.String("id"), cli.Actor(), now())
			if err != nil {
				return cli.Missing(err, "domain", c.String("id"))
			}
			return p.printDomain(c, s, d)
		})
	remove := p.deleteCommand("delete a sender domain that isn't in use", people.NounDomain, "Domain",
		(*store.Store).DeleteSenderDomain)
	return &cli.Command{
		Name: "domain", Usage: "manage sender domains", Description: domainHelp,
		Subcommands: []*cli.Command{propose, p.domainListCommand(), p.domainShowCommand(), check, verify, remove},
	}
}

// printDomain prints a sender domain.
func (p commands) printDomain(c *cli.Context, s *store.Store, d core.SenderDomain) error {
	views, err := s.SenderDomainViews(c.Context, d)
	if err != nil {
		return err
	}
	return p.Printer(c).Record(views[0])
}

func (p commands) domainListCommand() *cli.Command {
	return p.Command("list", "list sender domains", []cli.Flag{cli.Tenant("filter by tenant (`ID` or name)")}, nil,
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			tenants, all, err := cli.TenantOf(c, s)
			if err != nil {
				return err
			}
			rows, err := cli.Pages(func(d core.SenderDomainView) string { return d.ID },
				func(page core.Page) ([]core.SenderDomainView, error) {
					found, err := s.SenderDomains(c.Context, tenants, all, page)
					if err != nil {
						return nil, err
					}
					return s.SenderDomainViews(c.Context, found...)
				})
			if err != nil {
				return err
			}
			return cli.List(p.Printer(c), rows, "id", "tenant_id", "domain", "status", "verified_by", "check")
		})
}

func (p commands) domainShowCommand() *cli.Command {
	return p.Command("show", "show a sender domain and its DNS "+
		"record", []cli.Flag{cli.ID(people.NounDomain)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			d, err := s.SenderDomain(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "domain", c.String("id"))
			}
			return p.printDomain(c, s, d)
		})
}
