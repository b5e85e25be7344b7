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
	create := p.command("create", "invite a person to a role by email", append(roleFlags(),
		stringFlag("email", "invite this email `ADDRESS`"),
		oneOfFlag("language", "`LANGUAGE` of the email if the tenant has none: "+strings.Join(core.Languages, ", "),
			core.Languages...)), []string{"email", "role"}, p.createInvitation)
	create.Description = `The link works once, within 7 days, and only for this address. New people
set a name and a password; people with an account sign in and accept. The
daemon sends the email.

   newsletterd admin invitation create --email eve@acme.example --role editor --tenant acme`
	all := p.command("list", "list open invitations", []cli.Flag{
		tenantFlag("filter by tenant (`ID` or name)"),
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
	revoke := p.command("revoke", "revoke an invitation; its link stops working",
		[]cli.Flag{idFlag(people.NounInvitation)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if err := s.DeleteInvitation(c.Context, c.String("id"), actor(), now()); err != nil {
				return missing(err, "invitation", c.String("id"))
			}
			return p.done(c, "Invitation %s revoked.", c.String("id"))
		})
	return &cli.Command{
		Name: "invitation", Usage: "manage invitations to a role", Subcommands: []*cli.Command{create, all, revoke},
	}
}

func (p *program) createInvitation(c *cli.Context, cfg *config.Config, s *store.Store) error {
	role := roleOf(c)
	if err := role.Validate(); err != nil {
		return err
	}
	email, err := givenEmail(c)
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
