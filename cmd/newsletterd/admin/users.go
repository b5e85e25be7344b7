package admin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/identity"
	"newsletterd/store/people"
)

// userFlag returns the flag that names a user by address or id.
func userFlag() cli.Flag {
	return cli.Reference("id", people.NounUser, "`USER`: email address, ID, start of the ID, or name",
		"user")
}

// userOf returns the user that a flag names.
func userOf(c *cli.Context, s *store.Store, flag string) (u core.User, err error) {
	word := c.String(flag)
	if !strings.Contains(word, "@") {
		u, err = s.User(c.Context, word)
		return u, cli.Missing(err, "user", word)
	}
	email, err := core.ParseEmail(word)
	if err != nil {
		return u, err
	}
	u, err = s.UserByEmail(c.Context, email)
	return u, cli.Missing(err, "user", word)
}

// accounts creates the commands for users.
type accounts struct{ commands }

// passwordOf reads a password from standard input and returns its hash. Without --password-stdin, it returns an empty
// string.
func (p accounts) passwordOf(c *cli.Context, cfg *config.Config, s *store.Store) (string, error) {
	if !c.Bool("password-stdin") {
		return "", nil
	}
	provider, err := auth.New(c.Context, s, parts.AuthConfig(cfg), now())
	if err != nil {
		return "", err
	}
	password, err := p.Password(c.Context, "Password")
	if err != nil {
		return "", err
	}
	return provider.NewPassword(c.Context, "password", password)
}

// userCommand returns a command about one user.
func (p accounts) userCommand(name, usage string, flags []cli.Flag,
	do func(*cli.Context, *config.Config, *store.Store, core.User) error,
) *cli.Command {
	return p.Command(name, usage, append([]cli.Flag{userFlag()}, flags...), []string{"id"},
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			u, err := userOf(c, s, "id")
			if err != nil {
				return err
			}
			return do(c, cfg, s, u)
		})
}

// roleOf returns the role that --role and --tenant describe.
func roleOf(c *cli.Context) core.Role {
	return core.Role{Role: c.String("role"), TenantID: c.String("tenant")}
}

func roleFlags() []cli.Flag {
	tenant := cli.Tenant("tenant of the role (`ID` or name; default: the only tenant)")
	tenant.Whole = func(c *cli.Context) bool { return c.IsSet("role") && c.String("role") != core.RoleOperator }
	return []cli.Flag{
		cli.OneOf("role",
			"`ROLE`: operator (server administrator), or in a tenant tenant_admin (everything), publisher (write and "+
				"send), editor (write) or viewer (statistics)", core.Roles...),
		tenant,
	}
}

func (p accounts) userCommands() *cli.Command {
	password := cli.Bool("password-stdin", "read the password from the first line of standard input")
	create := p.Command("create", "add a user", append([]cli.Flag{
		cli.String("email", "sign-in email `ADDRESS`"), cli.String("name", "display `NAME`"),
		cli.Bool("verified", "mark the address as verified"), password,
	}, roleFlags()...), []string{"email"}, p.createUser)
	create.Description = `Without --password-stdin the user has no password and sets one with "Forgot
password?". With --role the address counts as verified.

   printf '%s\n' "$PASSWORD" | newsletterd admin user create --email you@example.org \
     --role operator --password-stdin`
	all := p.Command("list", "list users", nil, nil, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		rows, err := cli.Pages(func(u core.User) string { return u.ID }, func(page core.Page) ([]core.User, error) {
			return s.Users(c.Context, page)
		})
		if err != nil {
			return err
		}
		return cli.List(p.Printer(c), userRows(rows), "id", "email", "email_verified", "name", "role", "last_login_at")
	})
	show := p.userCommand("show", "show a user", nil,
		func(c *cli.Context, _ *config.Config, _ *store.Store, u core.User) error {
			return p.printUser(c, u)
		})
	update := p.userCommand("update", "update a user", []cli.Flag{
		cli.String("email", "new email `ADDRESS`; without --verified all sessions end, and roles wait for "+
			"verification"),
		cli.String("name", "new display `NAME`"),
		cli.String("language", "`LANGUAGE` of pages and account emails: "+strings.Join(core.Languages, ", ")+
			" (empty: the browser's)"),
		cli.Bool("verified",
			"mark the address as verified; a self-registered account loses its password and sessions"),
		cli.Bool("disabled", "disable the user and end all sessions (=false: enable the user)"), disableClients(),
	}, p.updateUser)
	del := p.userCommand("delete", "delete a user (asks for confirmation); can't be undone",
		[]cli.Flag{disableClients(), cli.Yes()},
		func(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
			err := confirmDelete(p.commands, c, s, people.NounUser, u.ID, string(u.Email),
				"You can't undo this.")
			if err != nil {
				return err
			}
			if err := s.DeleteUser(c.Context, u.ID); err != nil {
				return err
			}
			if err := p.endClients(c, s, u, ""); err != nil {
				return err
			}
			return p.Done(c, "User %s deleted.", u.Email)
		})
	setPassword := p.userCommand("set-password", "set a user's password from standard input and end all sessions",
		[]cli.Flag{password, disableClients()}, func(c *cli.Context, cfg *config.Config, s *store.Store, u core.User) error {
			if !c.Bool("password-stdin") {
				return cli.UsageError(c, "--password-stdin is missing. Pass it, and the password on "+
					"standard input")
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
			return p.Done(c, "Password of %s set. All sessions ended.", u.Email)
		})
	return &cli.Command{
		Name: "user", Usage: "manage users (accounts) and their roles",
		Subcommands: slices.Concat([]*cli.Command{create, all, show, update, del, setPassword}, p.personCommands(),
			p.roleCommands()),
	}
}

func (p accounts) roleCommands() []*cli.Command {
	vouch := cli.Bool("verified",
		"mark the address as verified; a self-registered account loses its password and sessions")
	grant := p.userCommand("grant",
		"grant a role to a user",
		append(roleFlags(), vouch), p.grantRole)
	grant.Description = `The role takes effect immediately, unless the user registered the account and
hasn't verified the address: someone else may have registered it. In that case,
the role is pending until the user verifies the address by email, which also
resets the password and ends all sessions. With --verified, you confirm that
the address belongs to the user: the role takes effect now, the password is
reset and all sessions end. The user then sets a new password with "Forgot
password?". An address that was verified by other means, such as an API call,
is treated the same way.

   newsletterd admin user grant --user ann@acme.example --role tenant_admin --tenant ID`
	revoke := p.userCommand("revoke", "revoke a role from a user", append(roleFlags(), disableClients()),
		func(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
			if err := s.RevokeRole(c.Context, u.ID, roleOf(c)); err != nil {
				return cli.Missing(err, "this role of", string(u.Email))
			}
			if err := p.endClients(c, s, u, roleOf(c).TenantID); err != nil {
				return err
			}
			return p.reprintUser(c, s, u.ID)
		})
	logout := p.userCommand("logout-everywhere", "end all sessions and tokens of a user", []cli.Flag{disableClients()},
		func(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
			if err := s.LogoutEverywhere(c.Context, u.ID, now()); err != nil {
				return err
			}
			if err := p.endClients(c, s, u, ""); err != nil {
				return err
			}
			return p.Done(c, "All sessions and tokens of %s ended.", u.Email)
		})
	reset := p.userCommand("reset-second-factor",
		"turn off two-factor authentication for a user; sessions and passkeys stay",
		nil, func(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
			if err := s.RemoveSecondFactor(c.Context, u.ID, core.MailStyle{}, now()); err != nil {
				return cli.Missing(err, "two-factor authentication of", string(u.Email))
			}
			return p.Done(c, "Two-factor authentication turned off. %s now signs in with the password alone (or a "+
				"passkey) and gets an email about it.",
				u.Email)
		})
	return append([]*cli.Command{grant, revoke, logout, reset}, p.passkeyCommands()...)
}

func (p accounts) passkeyCommands() []*cli.Command {
	all := p.userCommand("passkeys", "list a user's passkeys", nil,
		func(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
			keys, err := s.Passkeys(c.Context, u.ID)
			if err != nil {
				return err
			}
			return cli.List(p.Printer(c), keys, "id", "name", "rp_id", "synced", "created_at", "used_at")
		})
	remove := p.userCommand("remove-passkey", "remove a user's passkey; sessions stay",
		[]cli.Flag{cli.String("passkey", "`ID` of the passkey, as listed by \"passkeys\"")},
		func(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
			id := c.String("passkey")
			if id == "" {
				return cli.UsageError(c, "--passkey is missing. Pass an ID from newsletterd admin user "+
					"passkeys")
			}
			ctx := db.By(c.Context, cli.Actor(), now())
			if err := s.RemovePasskey(ctx, u.ID, id, core.MailStyle{}, now()); err != nil {
				return cli.Missing(err, "passkey", id)
			}
			return p.Done(c, "Passkey removed. Existing sessions stay signed in.")
		})
	remove.Description = `Use this for a lost device. The user gets an email. Sessions started with
the passkey stay signed in; to end them: newsletterd admin user
logout-everywhere

   newsletterd admin user remove-passkey --user ann@acme.example --passkey ID`
	return []*cli.Command{all, remove}
}

func (p accounts) grantRole(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
	role := roleOf(c)
	if err := s.GrantRole(c.Context, u.ID, role, c.Bool("verified"), now()); err != nil {
		return cli.Missing(err, "tenant", c.String("tenant"))
	}
	before := u.Epoch
	u, err := s.User(c.Context, u.ID)
	if err != nil {
		return err
	}
	p.tellUnproved(before, u)
	for _, r := range u.Roles {
		if r.Pending && r.Role == role.Role && r.TenantID == role.TenantID {
			fmt.Fprintf(p.Err,
				"The role is pending: %s registered the account and hasn't verified the address. The role takes "+
					"effect after verification by email.\n", u.Email)
		}
	}
	return p.printUser(c, u)
}

func (p accounts) createUser(c *cli.Context, cfg *config.Config, s *store.Store) error {
	u := core.NewUser(core.Email(c.String("email")), now())
	if name := cli.Given(c, "name"); name != nil {
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
		return cli.Missing(err, "tenant", c.String("tenant"))
	}
	return p.reprintUser(c, s, u.ID)
}

func (p accounts) updateUser(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
	in := identity.UserInput{
		Name: cli.Given(c, "name"), Language: cli.Given(c, "language"), Verified: cli.GivenBool(c, "verified"),
		Disabled: cli.GivenBool(c, "disabled"),
	}
	if word := cli.Given(c, "email"); word != nil {
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
		fmt.Fprintf(p.Err, "%s is not verified. All sessions ended, and roles wait until the address is verified by "+
			"email. To verify it yourself, pass --verified.\n", u.Email)
	default:
		p.tellUnproved(before, u)
	}
	return p.printUser(c, u)
}

// tellUnproved prints a note if a change has removed the user's password. It has if the epoch before the change differs
// from the user's current one.
func (p accounts) tellUnproved(epoch int64, u core.User) {
	if u.Epoch != epoch {
		fmt.Fprintf(p.Err,
			"%s registered the account, so its password may not be the owner's. Password and sessions were reset. "+
				"The user sets a new password with \"Forgot password?\".\n", u.Email)
	}
}

func (p accounts) reprintUser(c *cli.Context, s *store.Store, id string) error {
	u, err := s.User(c.Context, id)
	if err != nil {
		return err
	}
	return p.printUser(c, u)
}

// userRow is a user with the roles as one string, for tables.
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

func (p accounts) printUser(c *cli.Context, u core.User) error {
	if u.Roles == nil {
		u.Roles = []core.Role{}
	}
	out := p.Printer(c)
	if out.JSON {
		return out.Value(u)
	}
	row := userRow{u, roleWords(u.Roles)}
	row.Roles = nil // shown as one string
	return out.Record(row)
}

// disableClients returns a flag for commands that end a user's sessions. With the flag, they also disable the user's
// clients and webhook endpoints, which otherwise stay active.
func disableClients() cli.Flag {
	return cli.Bool("disable-clients", "also disable OAuth clients and webhook endpoints that the user created or "+
		"changed")
}

// endClients disables the clients and endpoints that a user created or changed in a tenant. An empty tenantID means all
// tenants. Without the flag from disableClients, it only prints which ones stay active.
func (p commands) endClients(c *cli.Context, s *store.Store, u core.User, tenantID string) error {
	client := func(client *core.Client) bool { return tenantID == "" || client.TenantID == tenantID }
	endpoint := func(e *core.Endpoint) bool { return tenantID == "" || e.TenantID == tenantID }
	var disabled core.Made
	active, err := s.KeptBy(c.Context, u.ID)
	if c.Bool("disable-clients") {
		disabled, active, err = s.DisableKeptBy(c.Context, u.ID, cli.Actor(), now(), client, endpoint)
	}
	if err != nil {
		return err
	}
	p.nameMade("Disabled %s that %s created or changed: %s\n", u, disabled)
	p.nameMade("Still active: %s that %s created or changed: %s\nTo disable them, pass --disable-clients.\n", u,
		active)
	return nil
}

func (p commands) nameMade(format string, u core.User, made core.Made) {
	names := map[string][]string{}
	for _, c := range made.Clients {
		names[madeClients] = append(names[madeClients], c.Name+" ("+c.ID+")")
	}
	for _, e := range made.Endpoints {
		names[madeEndpoints] = append(names[madeEndpoints], cmp.Or(e.Name, e.URL)+" ("+e.ID+")")
	}
	for _, what := range []string{madeClients, madeEndpoints} {
		if len(names[what]) > 0 {
			fmt.Fprintf(p.Err, format, what, u.Email, strings.Join(names[what], ", "))
		}
	}
}

const (
	madeClients   = "manage OAuth clients (apps that people sign in to, and API clients)"
	madeEndpoints = "webhook endpoints"
)
