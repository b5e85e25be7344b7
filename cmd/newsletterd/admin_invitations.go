package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

func (p *program) invitationCommands() *cli.Command {
	create := p.command("create", "invite a person by mail to have a role", append(roleFlags(),
		stringFlag("email", "`ADDRESS` that the invitation is mailed to, and good for"),
		oneOfFlag("language", "`LANGUAGE` of the mail, where the tenant has none: "+strings.Join(core.Languages, ", "),
			core.Languages...)), []string{"email", "role"}, p.createInvitation)
	create.Description = `The link works for 7 days, once, and for this address alone. A new person sets a name and a password with it, one who
has an account accepts signed in. The mail goes out by the daemon.

   newsletterd admin invitation create --email eve@acme.example --role editor --tenant acme`
	all := p.command("list", "list the invitations that are open", []cli.Flag{
		tenantFlag("only those of the tenant `ID` or name"),
	}, nil, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		tenants, every, err := tenantOf(c, s)
		if err != nil {
			return err
		}
		rows, err := pages(func(i core.Invitation) string { return i.ID }, func(page core.Page) ([]core.Invitation, error) {
			return s.Invitations(c.Context, tenants, every, page)
		})
		if err != nil {
			return err
		}
		return list(p.printer(c), rows, "id", "tenant_id", "role", "email", "invited_by", "expires_at")
	})
	revoke := p.command("revoke", "take an invitation back: its link works no more",
		[]cli.Flag{idFlag(people.NounInvitation)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if err := s.DeleteInvitation(c.Context, c.String("id"), actor(), now()); err != nil {
				return missing(err, "invitation", c.String("id"))
			}
			return p.done(c, "Invitation %s is taken back.", c.String("id"))
		})
	return &cli.Command{
		Name: "invitation", Usage: "people invited to have a role", Subcommands: []*cli.Command{create, all, revoke},
	}
}

func (p *program) createInvitation(c *cli.Context, cfg *config.Config, s *store.Store) error {
	role := roleOf(c)
	if err := role.Validate(); err != nil {
		return err
	}
	email, err := core.ParseEmail(c.String("email"))
	if err != nil {
		return err
	}
	provider, err := auth.New(c.Context, s, authConfig(cfg), now())
	if err != nil {
		return err
	}
	i, err := provider.Invite(c.Context, core.InvitationInput{Email: email, Role: role.Role, TenantID: role.TenantID},
		c.String("language"), actor(), now())
	if err != nil {
		return missing(err, "tenant", role.TenantID)
	}
	return p.printer(c).record(i)
}
