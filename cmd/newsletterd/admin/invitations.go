package admin

import (
	"strings"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

func (p commands) invitationCommands() *cli.Command {
	create := p.Command("create", "invite a person by email, with a role", append(roleFlags(),
		cli.String("email", "invite this email `ADDRESS`"),
		cli.OneOf("language", "`LANGUAGE` of the email if the tenant has none: "+strings.Join(core.Languages, ", "),
			core.Languages...)), []string{"email", "role"}, p.createInvitation)
	create.Description = `The link works once, within 7 days, and only for this address. New people
set a name and a password; people with an account sign in and accept. The
daemon sends the email.

   newsletterd admin invitation create --email eve@acme.example --role editor --tenant acme`
	all := p.Command("list", "list pending invitations", []cli.Flag{
		cli.Tenant("filter by tenant (`ID` or name)"),
	}, nil, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		rows, err := cli.PagesOfTenant(c, s, func(i core.Invitation) string { return i.ID }, s.Invitations)
		if err != nil {
			return err
		}
		return cli.List(p.Printer(c), rows, "id", "tenant_id", "role", "email", "invited_by", "expires_at")
	})
	revoke := p.Command("revoke", "withdraw an invitation and disable its link",
		[]cli.Flag{cli.ID(people.NounInvitation)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if err := s.DeleteInvitation(c.Context, c.String("id"), cli.Actor(), now()); err != nil {
				return cli.Missing(err, "invitation", c.String("id"))
			}
			return p.Done(c, "Invitation %s revoked.", c.String("id"))
		})
	return &cli.Command{
		Name: "invitation", Usage: "manage role invitations", Subcommands: []*cli.Command{create, all, revoke},
	}
}

func (p commands) createInvitation(c *cli.Context, cfg *config.Config, s *store.Store) error {
	role := roleOf(c)
	if err := role.Validate(); err != nil {
		return err
	}
	email, err := cli.GivenEmail(c)
	if err != nil {
		return err
	}
	provider, err := auth.New(c.Context, s, parts.AuthConfig(cfg), now())
	if err != nil {
		return err
	}
	i, err := provider.Invite(c.Context, core.InvitationInput{Email: email, Role: role.Role, TenantID: role.TenantID},
		c.String("language"), cli.Actor(), now())
	if err != nil {
		return cli.Missing(err, "tenant", role.TenantID)
	}
	return p.Printer(c).Record(i)
}
