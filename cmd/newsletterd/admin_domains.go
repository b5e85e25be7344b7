package main

import (
	"github.com/urfave/cli/v2"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

const domainHelp = `A tenant can only send from verified domains. Propose a domain, publish the
TXT record that the command prints, then check it. Or verify the domain
without DNS. Domains set with "admin tenant create --domain" are verified.

   newsletterd admin domain propose --tenant Acme --domain news.example.org
   newsletterd admin domain check --id ID`

func (p *program) domainCommands() *cli.Command {
	id := []cli.Flag{idFlag(people.NounDomain)}
	propose := p.command("propose", "propose a sender domain and print its verification record", []cli.Flag{
		tenantFlag("tenant (`ID` or name)"), stringFlag("domain", "sender `DOMAIN`"),
	}, []string{"tenant", "domain"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		d, err := core.ProposeDomain(c.String("tenant"), c.String("domain"), now())
		if err != nil {
			return err
		}
		if err := s.ProposeSenderDomain(c.Context, d, actor()); err != nil {
			return missing(err, "tenant", d.TenantID)
		}
		return p.printDomain(c, s, d)
	})
	check := p.command("check", "check the DNS record now and verify the domain if it is found", id, []string{"id"},
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			d, err := s.SenderDomain(c.Context, c.String("id"))
			if err != nil {
				return missing(err, "domain", c.String("id"))
			}
			result, foundAt := auth.CheckDomain(c.Context, resolverOf(cfg.Mail.DNSServer).LookupTXT, d)
			if d, err = s.EndDomainCheck(c.Context, d.ID, result, foundAt, actor(), now()); err != nil {
				return err
			}
			return p.printDomain(c, s, d)
		})
	verify := p.command("verify", "verify a domain without checking DNS", id, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			d, err := s.VerifySenderDomain(c.Context, c.String("id"), actor(), now())
			if err != nil {
				return missing(err, "domain", c.String("id"))
			}
			return p.printDomain(c, s, d)
		})
	remove := p.command("delete", "delete a sender domain that isn't in use", id, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if err := s.DeleteSenderDomain(c.Context, c.String("id"), actor(), now()); err != nil {
				return missing(err, "domain", c.String("id"))
			}
			return p.done(c, "Domain %s deleted.", c.String("id"))
		})
	return &cli.Command{
		Name: "domain", Usage: "manage sender domains", Description: domainHelp,
		Subcommands: []*cli.Command{propose, p.domainListCommand(), p.domainShowCommand(), check, verify, remove},
	}
}

// printDomain prints a sender domain.
func (p *program) printDomain(c *cli.Context, s *store.Store, d core.SenderDomain) error {
	views, err := s.SenderDomainViews(c.Context, d)
	if err != nil {
		return err
	}
	return p.printer(c).record(views[0])
}

func (p *program) domainListCommand() *cli.Command {
	return p.command("list", "list sender domains", []cli.Flag{tenantFlag("filter by tenant (`ID` or name)")}, nil,
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			tenants, all, err := tenantOf(c, s)
			if err != nil {
				return err
			}
			rows, err := pages(func(d core.SenderDomainView) string { return d.ID },
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
			return list(p.printer(c), rows, "id", "tenant_id", "domain", "status", "verified_by", "check")
		})
}

func (p *program) domainShowCommand() *cli.Command {
	return p.command("show", "show a sender domain and its DNS "+
		"record", []cli.Flag{idFlag(people.NounDomain)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			d, err := s.SenderDomain(c.Context, c.String("id"))
			if err != nil {
				return missing(err, "domain", c.String("id"))
			}
			return p.printDomain(c, s, d)
		})
}
