package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/identity"
	"newsletterd/store/people"
)

// authConfig is what [auth] says, for the daemon and for commands.
func authConfig(cfg *config.Config) auth.Config {
	return auth.Config{
		Issuer: cfg.Origin() + "/api", AccessTTL: cfg.Auth.AccessTTL.Std(), RefreshIdle: cfg.Auth.RefreshIdle.Std(),
		RefreshTotal: cfg.Auth.RefreshTotal.Std(), RefreshGrace: cfg.Auth.RefreshGrace.Std(),
		ClosedRegistration: cfg.Auth.Registration == "closed",
		RegisterConflict:   cfg.Auth.RegisterExisting == "conflict",
		CommonPasswords:    cfg.Auth.CommonPasswords, SecondFactor: cfg.Auth.SecondFactor,
		SmallHeap: smallHeap,
	}
}

// userFlag names a user by address or id.
func userFlag() cli.Flag {
	return referenceFlag("id", people.NounUser, "the `USER`: an e-mail address, an id, the beginning of one, or a name",
		"user")
}

// userOf reads the user that a flag names.
func userOf(c *cli.Context, s *store.Store, flag string) (u core.User, err error) {
	word := c.String(flag)
	if !strings.Contains(word, "@") {
		u, err = s.User(c.Context, word)
		return u, missing(err, "user", word)
	}
	email, err := core.ParseEmail(word)
	if err != nil {
		return u, err
	}
	u, err = s.UserByEmail(c.Context, email)
	return u, missing(err, "user", word)
}

// passwordOf reads a password from standard input and hashes it; empty where --password-stdin was not given.
func (p *program) passwordOf(c *cli.Context, cfg *config.Config, s *store.Store) (string, error) {
	if !c.Bool("password-stdin") {
		return "", nil
	}
	provider, err := auth.New(c.Context, s, authConfig(cfg), now())
	if err != nil {
		return "", err
	}
	password, err := passwordLine(c.Context, p, "Password")
	if err != nil {
		return "", err
	}
	return provider.NewPassword(c.Context, "password", password)
}

// userCommand makes a command about one user.
func (p *program) userCommand(name, usage string, flags []cli.Flag,
	do func(*cli.Context, *config.Config, *store.Store, core.User) error,
) *cli.Command {
	return p.command(name, usage, append([]cli.Flag{userFlag()}, flags...), []string{"id"},
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			u, err := userOf(c, s, "id")
			if err != nil {
				return err
			}
			return do(c, cfg, s, u)
		})
}

// roleOf is the role that --role and --tenant describe.
func roleOf(c *cli.Context) core.Role {
	return core.Role{Role: c.String("role"), TenantID: c.String("tenant")}
}

func roleFlags() []cli.Flag {
	tenant := tenantFlag("the `ID` or name of the tenant of the role (else the only one)")
	tenant.whole = func(c *cli.Context) bool { return c.IsSet("role") && c.String("role") != core.RoleOperator }
	return []cli.Flag{
		oneOfFlag("role",
			"`ROLE`: operator (everything); or of the tenant given: tenant_admin, publisher (writes and sends), "+
				"editor (writes), viewer (figures)", core.Roles...),
		tenant,
	}
}

func (p *program) userCommands() *cli.Command {
	password := boolFlag("password-stdin", "read the password from the first line of standard input")
	create := p.command("create", "add a user", append([]cli.Flag{
		stringFlag("email", "`ADDRESS` that the user signs in with"), stringFlag("name", "`NAME` that others see"),
		boolFlag("verified", "the address is known to be the user's"), password,
	}, roleFlags()...), []string{"email"}, p.createUser)
	create.Description = `Without --password-stdin the user has no password and sets one by "forgot password". A role makes the address count
as verified.

   printf '%s\n' "$PASSWORD" | newsletterd admin user create --email you@example.org --role operator --password-stdin`
	all := p.command("list", "list the users", nil, nil, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		rows, err := pages(func(u core.User) string { return u.ID }, func(page core.Page) ([]core.User, error) {
			return s.Users(c.Context, page)
		})
		if err != nil {
			return err
		}
		return list(p.printer(c), userRows(rows), "id", "email", "email_verified", "name", "role", "last_login_at")
	})
	show := p.userCommand("show", "show one user", nil,
		func(c *cli.Context, _ *config.Config, _ *store.Store, u core.User) error {
			return p.printUser(c, u)
		})
	update := p.userCommand("update", "change a user", []cli.Flag{
		stringFlag("email", "another `ADDRESS`; without --verified every session ends, and roles wait until it is verified"),
		stringFlag("name", "another `NAME`"),
		boolFlag("verified",
			"whether the address is known to be the user's: an account that registered itself loses its password and sessions"),
		boolFlag("disabled", "switch the user off (=false: on); ends every session"), disableClients(),
	}, p.updateUser)
	del := p.userCommand("delete", "delete a user; asks first, can't be undone", []cli.Flag{disableClients(), yesFlag()},
		func(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
			err := confirmDelete(p, c, s, people.NounUser, u.ID, string(u.Email),
				"You can't undo this: a deleted user can't come back.")
			if err != nil {
				return err
			}
			if err := s.DeleteUser(c.Context, u.ID); err != nil {
				return err
			}
			if err := p.endClients(c, s, u, ""); err != nil {
				return err
			}
			return p.done(c, "User %s is deleted.", u.Email)
		})
	setPassword := p.userCommand("set-password", "set a password, read from standard input; ends every session",
		[]cli.Flag{password, disableClients()}, func(c *cli.Context, cfg *config.Config, s *store.Store, u core.User) error {
			if !c.Bool("password-stdin") {
				return usageError{c.Command.HelpName, "--password-stdin is needed"}
			}
			hash, err := p.passwordOf(c, cfg, s)
			if err == nil {
				err = s.SetPassword(c.Context, u.ID, hash, now())
			}
			if err == nil {
				err = p.endClients(c, s, u, "")
			}
			if err != nil {
				return err
			}
			return p.done(c, "The password of %s is set, and every session ended.", u.Email)
		})
	return &cli.Command{
		Name: "user", Usage: "people with a login, and their roles",
		Subcommands: slices.Concat([]*cli.Command{create, all, show, update, del, setPassword}, p.personCommands(),
			p.roleCommands()),
	}
}

func (p *program) roleCommands() []*cli.Command {
	vouch := boolFlag("verified",
		"the address is known to be the user's: an account that registered itself loses its password and sessions")
	grant := p.userCommand("grant",
		"give a user a role; takes effect at once, for an account that registered itself when its address is verified",
		append(roleFlags(), vouch), p.grantRole)
	grant.Description = `An account that registered itself may not be of the owner of its address. The role is pending until the address is verified by
mail (the mail of the registration, or "forgot password"), which ends the password and the sessions of before. With --verified
you say that the address is the user's: the same happens at once, and the user sets a password by "forgot password". Where the address is
verified already, but not by its owner with the password (by an API call of a mailed link, say), the role ends them too.

   newsletterd admin user grant --user ann@acme.example --role tenant_admin --tenant ID`
	revoke := p.userCommand("revoke", "take a role away; takes effect at once", append(roleFlags(), disableClients()),
		func(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
			if err := s.RevokeRole(c.Context, u.ID, roleOf(c)); err != nil {
				return missing(err, "such role of", string(u.Email))
			}
			if err := p.endClients(c, s, u, roleOf(c).TenantID); err != nil {
				return err
			}
			return p.reprintUser(c, s, u.ID)
		})
	logout := p.userCommand("logout-everywhere", "end every session and token of a user", []cli.Flag{disableClients()},
		func(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
			if err := s.LogoutEverywhere(c.Context, u.ID, now()); err != nil {
				return err
			}
			if err := p.endClients(c, s, u, ""); err != nil {
				return err
			}
			return p.done(c, "Every session and token of %s has ended.", u.Email)
		})
	reset := p.userCommand("reset-second-factor",
		"remove a user's authenticator app and recovery codes, with a mail to the user; sessions and passkeys stay",
		nil, func(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
			if err := s.RemoveSecondFactor(c.Context, u.ID, core.MailStyle{}, now()); err != nil {
				return missing(err, "second factor of", string(u.Email))
			}
			return p.done(c, "%s signs in by the password alone (or a passkey), and can set up a second factor again.",
				u.Email)
		})
	return append([]*cli.Command{grant, revoke, logout, reset}, p.passkeyCommands()...)
}

func (p *program) passkeyCommands() []*cli.Command {
	all := p.userCommand("passkeys", "list the passkeys by which a user signs in", nil,
		func(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
			keys, err := s.Passkeys(c.Context, u.ID)
			if err != nil {
				return err
			}
			return list(p.printer(c), keys, "id", "name", "rp_id", "synced", "created_at", "used_at")
		})
	remove := p.userCommand("remove-passkey", "remove a passkey of a user, who is told by mail; sessions stay",
		[]cli.Flag{stringFlag("passkey", "the `ID` of the passkey, as passkeys lists it")},
		func(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
			id := c.String("passkey")
			if id == "" {
				return usageError{c.Command.HelpName, "--passkey is needed"}
			}
			ctx := db.By(c.Context, actor(), now())
			if err := s.RemovePasskey(ctx, u.ID, id, core.MailStyle{}, now()); err != nil {
				return missing(err, "passkey", id)
			}
			return p.done(c, "The passkey is removed. It signs no one in any more; sessions stay.")
		})
	remove.Description = `For a device that was lost. Who signed in by the passkey stays signed in until logout-everywhere.

   newsletterd admin user remove-passkey --user ann@acme.example --passkey ID`
	return []*cli.Command{all, remove}
}

func (p *program) grantRole(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
	role := roleOf(c)
	if err := s.GrantRole(c.Context, u.ID, role, c.Bool("verified"), now()); err != nil {
		return missing(err, "tenant", c.String("tenant"))
	}
	before := u.Epoch
	u, err := s.User(c.Context, u.ID)
	if err != nil {
		return err
	}
	p.tellUnproved(before, u)
	for _, r := range u.Roles {
		if r.Pending && r.Role == role.Role && r.TenantID == role.TenantID {
			fmt.Fprintf(p.err,
				"The role is pending: %s registered itself, and its address is not verified. It takes effect when the user "+
					"verifies it by mail.\n", u.Email)
		}
	}
	return p.printUser(c, u)
}

func (p *program) createUser(c *cli.Context, cfg *config.Config, s *store.Store) error {
	u := core.NewUser(core.Email(c.String("email")), now())
	if name := given(c, "name"); name != nil {
		u.Name = *name
	}
	u.EmailVerified = c.Bool("verified")
	if c.IsSet("role") || c.IsSet("tenant") {
		role := roleOf(c)
		if err := role.Validate(); err != nil {
			return err
		}
		u.Roles = []core.Role{role}
	}
	if err := u.Validate(); err != nil {
		return err
	}
	hash, err := p.passwordOf(c, cfg, s)
	if err != nil {
		return err
	}
	if err := s.AddUser(c.Context, u, hash, now()); err != nil {
		return missing(err, "tenant", c.String("tenant"))
	}
	return p.reprintUser(c, s, u.ID)
}

func (p *program) updateUser(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
	in := identity.UserInput{
		Name: given(c, "name"), Verified: givenBool(c, "verified"),
		Disabled: givenBool(c, "disabled"),
	}
	if word := given(c, "email"); word != nil {
		email, err := core.ParseEmail(*word)
		if err != nil {
			return err
		}
		in.Email = &email
	}
	before, old := u.Epoch, u.Email
	if _, err := s.UpdateUser(c.Context, u.ID, in, now()); err != nil {
		return err
	}
	u, err := s.User(c.Context, u.ID)
	if err == nil && c.Bool("disabled") {
		err = p.endClients(c, s, u, "")
	}
	if err != nil {
		return err
	}
	switch {
	case u.Disabled():
	case u.Email.Key() != old.Key() && !u.EmailVerified:
		fmt.Fprintf(p.err, "%s is not verified: every session has ended, and roles wait until it is verified by mail; "+
			"--verified vouches for it.\n", u.Email)
	default:
		p.tellUnproved(before, u)
	}
	return p.printUser(c, u)
}

// tellUnproved says that a change has ended the password of a user, whose epoch was another before.
func (p *program) tellUnproved(epoch int64, u core.User) {
	if u.Epoch != epoch {
		fmt.Fprintf(p.err,
			"%s registered itself, and its password was not proved to be of the owner of the address: password and sessions "+
				"are ended. "+
				"The user sets a password by \"forgot password\".\n", u.Email)
	}
}

func (p *program) reprintUser(c *cli.Context, s *store.Store, id string) error {
	u, err := s.User(c.Context, id)
	if err != nil {
		return err
	}
	return p.printUser(c, u)
}

// userRow is a user with the roles as words, for tables.
type userRow struct {
	core.User
	Words string `json:"role"`
}

func userRows(users []core.User) []userRow {
	rows := make([]userRow, len(users))
	for i, u := range users {
		rows[i] = userRow{u, roleWords(u.Roles)}
	}
	return rows
}

func roleWords(roles []core.Role) string {
	words := make([]string, len(roles))
	for i, r := range roles {
		words[i] = strings.TrimSuffix(r.Role+" "+r.TenantID, " ")
		if r.Pending {
			words[i] += " (pending)"
		}
	}
	return strings.Join(words, ",")
}

func (p *program) printUser(c *cli.Context, u core.User) error {
	if u.Roles == nil {
		u.Roles = []core.Role{}
	}
	out := p.printer(c)
	if out.json {
		return out.value(u)
	}
	row := userRow{u, roleWords(u.Roles)}
	row.Roles = nil // shown as words
	return out.record(row)
}
