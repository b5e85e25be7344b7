package identity

import (
	"encoding/json"
	"slices"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/identity"
)

// users serves /api/admin/users: people with an account, for server administrators.
type users struct{ store *store.Store }

// userFilter filters the list of users.
type userFilter struct {
	Email core.Email `query:"email"`
}

// teamRoutes adds the routes for the members of a tenant.
func (r *Room) teamRoutes(t *web.Table) {
	m := team{r.Store}
	const all, one = "/api/admin/team", "/api/admin/team/:id"
	t.Add("GET", all, web.Admin(core.ActionTeamRead), web.Member,
		web.List(m.list, func(m core.Teammate) string { return m.ID }), "List the members of a tenant").
		Named("listTeam").
		Refuses(web.TenantNamed)
	t.Add("PUT", one, web.Admin(core.ActionTeamManage), web.Member,
		web.JSON(m.update).Find(m.find).Missing(web.ErrNotFound).Fails(core.Conflict),
		"Update a member's role in a tenant").Named("updateTeammate").
		Example(web.Object{"tenant_id": web.ExampleID, "role": "publisher"}).
		Refuses(web.TenantNamed, web.Clash("The member is the caller, or has no role in a tenant"))
	t.Add("DELETE", one, web.Admin(core.ActionTeamManage), web.Member,
		web.Query(m.remove).Find(m.find).Missing(web.ErrNotFound).Fails(core.Conflict),
		"Remove a member from a tenant").Named("removeTeammate").
		Refuses(web.TenantNamed, web.Clash("The member is the caller, or has no role in a tenant"))
}

// userRoutes adds the routes for accounts, for server administrators.
func (r *Room) userRoutes(t *web.Table) {
	u := users{r.Store}
	const all, item = "/api/admin/users", "/api/admin/users/:id"
	may := web.Admin(core.ActionUserManage)
	one := func(e web.Endpoint) web.Endpoint { return e.Find(u.find).Missing(web.ErrNotFound) }
	rows := web.Crud(t, all, "User", "a user", "users", web.Resource{
		Find: u.find, Missing: web.ErrNotFound, List: web.List(u.list, func(u core.User) string { return u.ID }),
		Create: web.JSON(u.create).Fails(core.NotFound, core.Conflict), Show: web.Path(u.show),
		Update: web.JSON(u.update).Fails(core.Conflict),
		Remove: web.Query(u.remove).Fails(core.Conflict),
		May: web.Rights{
			Read: core.ActionUserManage, Create: core.ActionUserManage, Change: core.ActionUserManage,
			Remove: core.ActionUserManage,
		},
	})
	rows.Create.
		Limits(web.Never(append(roleInTenant(),
			web.Without(web.Where(web.Object{"tenant_id": web.Filled}), web.Object{"role": web.Object{}}))...)).
		Example(web.Object{
			"email": "max@acme.example", "name": "Max", "role": "publisher",
			"tenant_id": web.ExampleID,
		}).
		Refuses(web.BadEmail, web.Clashing("already_exists", "email", "Another user has this address"))
	rows.Update.Example(web.Object{"name": "Maximilian"}).
		Refuses(
			web.BadEmail,
			web.Clashing("already_exists", "email", "Another user has this address"),
			web.Clash("The user is the caller or the last server administrator"),
		)
	rows.Remove.Refuses(web.Clash("The user is the caller or the last server administrator"))
	t.Add("POST", item+"/roles", may, web.Member, one(web.JSON(u.grant)), "Grant a role to a user").Named("grantRole").
		Limits(web.Never(roleInTenant()...)).
		Example(web.Object{"role": "editor", "tenant_id": web.ExampleID})
	t.Add("POST", item+"/roles/revoke", may, web.Member,
		one(web.JSON(u.revoke).Fails(core.Conflict)), "Revoke a role from a user").Named("revokeRole").
		Limits(web.Never(roleInTenant()...)).
		Example(web.Object{"role": "editor", "tenant_id": web.ExampleID}).
		Refuses(web.Clash("The user is the caller or the last server administrator"))
	t.Add("GET", item+"/sessions", may, web.Member, one(web.Path(u.sessions)), "List a user's sessions").
		Named("getUserSessions")
	t.Add("POST", item+"/logout-everywhere", may, web.Member,
		one(web.JSON(u.logout).BodyOptional()),
		"End all sessions and tokens of a user; the response lists the clients that stay").
		Named("logoutUserEverywhere").
		Example(web.Object{"disable_clients": true})
	t.Add("POST", item+"/reset-second-factor", may, web.Member,
		one(web.Path(u.resetFactor).Fails(core.Conflict)), "Turn off two-factor authentication for a user").
		Named("resetSecondFactor").
		Refuses(web.Clash("The user has no two-factor authentication, or is the caller"))
	t.Add("GET", item+"/passkeys", may, web.Member, one(web.Path(u.passkeys)), "List the passkeys of a user").
		Named("listUserPasskeys")
	t.Add("DELETE", item+"/passkeys/:passkey_id", may, web.Member, one(web.Query(u.removePasskey)),
		"Remove a passkey of a user; they get an email and stay signed in").Named("removeUserPasskey")
	k := tokens{r.Store}
	t.Add("DELETE", "/api/admin/tokens/:id", may, web.Member, web.Path(k.remove).Find(k.find).Missing(web.ErrNotFound),
		"Revoke an access token and all other tokens of the same sign-in").Named("endToken")
	t.Add("GET", item+"/export", may.Exports(), web.Member,
		one(web.Path(u.export)), "Show all data about a person").Named("exportUser")
	t.Add("POST", item+"/erase", may, web.Member,
		one(web.JSON(u.erase).BodyOptional().Fails(core.Conflict)), "Erase all data about a person").
		Named("eraseUser").
		Example(web.Object{"disable_clients": true}).
		Refuses(web.Clash("The user is the caller or the last server administrator"))
}

func (a users) find(c *web.Call) error {
	if !c.Caller.May(core.ActionUserManage, core.TenantNone) {
		return web.ErrNotFound
	}
	_, err := a.store.UserWithoutRoles(c, c.ID())
	return err
}

// another returns an error if id is the caller's own account.
func another(c *web.Call, id string) error {
	if c.Caller.UserID == id {
		return core.Conflictf("conflict", "You can't do this to your own account. Ask another server administrator.")
	}
	return nil
}

// behalf makes the audit log name the caller for a change to another user's account. It returns c.
func behalf(c *web.Call) *web.Call {
	c.Context = db.By(c.Context, web.Actor(c), c.Now)
	return c
}

func (a users) list(c *web.Call, in userFilter, page core.Page) ([]core.User, error) {
	if in.Email == "" {
		found, err := a.store.Users(c, page)
		for i := range found {
			rolesShown(&found[i])
		}
		return found, err
	}
	u, err := a.store.UserByEmail(c, in.Email)
	switch {
	case core.KindOf(err) == core.NotFound || page.After != "":
		return nil, nil
	case err != nil:
		return nil, err
	}
	rolesShown(&u)
	return []core.User{u}, nil
}

// rolesShown replaces a user's nil roles with an empty list.
func rolesShown(u *core.User) {
	if u.Roles == nil {
		u.Roles = []core.Role{}
	}
}

// newUser is the body of POST /api/admin/users.
type newUser struct {
	Email         core.Email `json:"email" is:"required"`
	Name          string     `json:"name" like:"line" max:"100"`
	EmailVerified bool       `json:"email_verified" about:"Whether the address counts as verified"`
	Role          string     `json:"role" enum:"operator|tenant_admin|publisher|editor|viewer" about:"Role to grant; absent: none"`
	TenantID      string     `json:"tenant_id" about:"Tenant of the role; left out for operator"`
}

// create creates a user without a password. The user sets one with "forgot password".
func (a users) create(c *web.Call, in newUser) (core.User, error) {
	u := core.NewUser(in.Email, c.Now)
	if in.Name != "" {
		u.Name = in.Name
	}
	u.EmailVerified = in.EmailVerified
	if in.Role != "" || in.TenantID != "" {
		role := core.Role{Role: in.Role, TenantID: in.TenantID}
		if err := role.Validate(); err != nil {
			return u, err
		}
		u.Roles = []core.Role{role}
	}
	if err := u.Validate(); err != nil {
		return u, err
	}
	if err := web.UnknownTenant(a.store.AddUser(behalf(c), u, "", c.Now)); err != nil {
		return u, err
	}
	return a.show(c, u.ID)
}

func (a users) show(c *web.Call, id string) (core.User, error) {
	u, err := a.store.User(c, id)
	rolesShown(&u)
	return u, err
}

// userChange is the body of PUT /api/admin/users/:id. Absent fields stay unchanged.
type userChange struct {
	Email          *core.Email `json:"email"`
	Name           *string     `json:"name" like:"line" max:"100"`
	Language       *string     `json:"language" like:"language" about:"Language of pages and account emails; empty: the browser's"`
	EmailVerified  *bool       `json:"email_verified" about:"Whether the address counts as verified"`
	Disabled       *bool       `json:"disabled"`
	DisableClients bool        `json:"disable_clients" about:"Together with disabled: also disable API clients and webhook endpoints of the user"`
}

func (a users) update(c *web.Call, in userChange) (core.User, error) {
	off := in.Disabled != nil && *in.Disabled
	if off {
		if err := another(c, c.ID()); err != nil {
			return core.User{}, err
		}
	}
	if in.DisableClients && !off {
		return core.User{}, core.Invalidf("disable_clients",
			"disable_clients is only allowed together with disabled: true. Leave it out.")
	}
	if in.Email != nil && (in.EmailVerified == nil || !*in.EmailVerified) && c.Caller.UserID == c.ID() &&
		in.Email.Key() != c.Caller.Email.Key() {
		if err := another(c, c.ID()); err != nil {
			return core.User{}, err
		}
	}
	_, err := a.store.UpdateUser(behalf(c), c.ID(), identity.UserInput{
		Email: in.Email, Name: in.Name, Language: in.Language, Verified: in.EmailVerified, Disabled: in.Disabled,
	}, c.Now)
	if err == nil && in.DisableClients {
		_, err = endClients(c, a.store, c.ID(), "", true)
	}
	if err != nil {
		return core.User{}, err
	}
	return a.show(c, c.ID())
}

// deletedUser is the query of DELETE /api/admin/users/:id.
type deletedUser struct {
	DisableClients bool `query:"disable_clients"` // also disable the OAuth clients and webhook endpoints that the user created or changed
}

func (a users) remove(c *web.Call, in deletedUser) (madeClients, error) {
	err := another(c, c.ID())
	if err == nil {
		err = a.store.DeleteUser(behalf(c), c.ID())
	}
	if err != nil {
		return madeClients{}, err
	}
	return endClients(c, a.store, c.ID(), "", in.DisableClients)
}

// roleInTenant describes rejected roles: a tenant's role without a tenant, and a server administrator's role with one.
func roleInTenant() []web.Object {
	inTenant := slices.DeleteFunc(slices.Clone(core.Roles), func(role string) bool { return role == core.RoleOperator })
	return []web.Object{
		web.Where(web.Object{"role": web.Word(core.RoleOperator), "tenant_id": web.Filled}),
		web.Without(web.Where(web.Object{"role": web.Word(inTenant...)}), web.Object{"tenant_id": web.Filled}),
	}
}

// roleInput is a user's role.
type roleInput struct {
	Role     string `json:"role" is:"required" enum:"operator|tenant_admin|publisher|editor|viewer"`
	TenantID string `json:"tenant_id" about:"Tenant of the role; left out for operator"`
}

// grantInput is the body of POST /api/admin/users/:id/roles.
type grantInput struct {
	roleInput
	EmailVerified bool `json:"email_verified" about:"You confirm that the address belongs to the user; also marks it as verified"`
}

func (a users) grant(c *web.Call, in grantInput) (core.User, error) {
	role := core.Role{Role: in.Role, TenantID: in.TenantID}
	if err := web.UnknownTenant(a.store.GrantRole(behalf(c), c.ID(), role, in.EmailVerified, c.Now)); err != nil {
		return core.User{}, err
	}
	return a.show(c, c.ID())
}

func (a users) revoke(c *web.Call, in roleInput) (core.User, error) {
	err := another(c, c.ID())
	if err == nil {
		err = a.store.RevokeRole(behalf(c), c.ID(), core.Role{Role: in.Role, TenantID: in.TenantID})
	}
	if err != nil {
		return core.User{}, err
	}
	return a.show(c, c.ID())
}

// userSessions lists a user's sessions.
type userSessions struct {
	Browsers []core.Browser      `json:"browsers" about:"Browsers in which the user is signed in"`
	Clients  []core.ClientSignIn `json:"clients" about:"Apps in which the user is signed in"`
	Created  []clientName        `json:"created_clients" about:"API clients that the user created or changed; they outlive the sessions"`

	CreatedEndpoints []endpointName `json:"created_endpoints" about:"Webhook endpoints that the user or their clients created or changed; they outlive the sessions"`
}

func (a users) sessions(c *web.Call, id string) (s userSessions, err error) {
	if s.Browsers, err = a.store.Browsers(c, id, c.Now); err != nil {
		return s, err
	}
	if s.Clients, err = a.store.SignIns(c, id, c.Now); err != nil {
		return s, err
	}
	created, err := a.store.KeptBy(c, id)
	if err != nil {
		return s, err
	}
	s.Created, s.CreatedEndpoints = clientNames(created.Clients), endpointNames(created.Endpoints)
	if s.Browsers == nil {
		s.Browsers = []core.Browser{}
	}
	if s.Clients == nil {
		s.Clients = []core.ClientSignIn{}
	}
	return s, nil
}

func (a users) logout(c *web.Call, in endingSessions) (madeClients, error) {
	if err := a.store.LogoutEverywhere(behalf(c), c.ID(), c.Now); err != nil {
		return madeClients{}, err
	}
	return endClients(c, a.store, c.ID(), "", in.DisableClients)
}

func (a users) resetFactor(c *web.Call, id string) (web.None, error) {
	err := a.store.RemoveSecondFactor(behalf(c), id, core.MailStyle{}, c.Now)
	if core.KindOf(err) == core.NotFound {
		err = core.Conflictf("conflict", "The user has no two-factor authentication. There is nothing to remove.")
	}
	return web.None{}, err
}

func (a users) passkeys(c *web.Call, id string) ([]core.Passkey, error) {
	found, err := a.store.Passkeys(c, id)
	if found == nil {
		found = []core.Passkey{}
	}
	return found, err
}

// userPasskey holds the id of a user's passkey in the path.
type userPasskey struct {
	PasskeyID string `path:"passkey_id"`
}

func (a users) removePasskey(c *web.Call, in userPasskey) (web.None, error) {
	return web.None{}, a.store.RemovePasskey(behalf(c), c.ID(), in.PasskeyID, core.MailStyle{}, c.Now)
}

// tokens serves /api/admin/tokens: sign-ins and scripts' tokens. Their id is the sid in the tokens.
type tokens struct{ store *store.Store }

func (a tokens) find(c *web.Call) error {
	if !c.Caller.May(core.ActionUserManage, core.TenantNone) {
		return web.ErrNotFound
	}
	return nil
}

func (a tokens) remove(c *web.Call, id string) (web.None, error) {
	return web.None{}, a.store.RevokeFamily(behalf(c), id, c.Now)
}

// export returns a user's data as the same JSON object that the export command prints.
func (a users) export(c *web.Call, id string) (json.RawMessage, error) {
	u, err := a.store.UserWithoutRoles(c, id)
	if err != nil {
		return nil, err
	}
	data, err := a.store.ExportPerson(c, core.Person{Email: u.Email, Account: true})
	if err != nil {
		return nil, err
	}
	return json.Marshal(data)
}

// erase deletes a user's data. It reads the names of the user's clients first, because their creator is unknown
// afterwards.
func (a users) erase(c *web.Call, in endingSessions) (made madeClients, err error) {
	u, err := a.store.UserWithoutRoles(c, c.ID())
	if err == nil {
		err = another(c, c.ID())
	}
	if err == nil {
		made, err = endClients(c, a.store, c.ID(), "", in.DisableClients)
	}
	if err == nil {
		_, err = a.store.ErasePerson(c, core.Person{Email: u.Email, Account: true}, web.Actor(c), c.Now)
	}
	return made, err
}

// team serves /api/admin/team: the people with a role in a tenant.
type team struct{ store *store.Store }

func (a team) list(c *web.Call, in web.TenantFilter, page core.Page) ([]core.Teammate, error) {
	tenant, err := web.OneTenant(c, in.TenantID)
	if err != nil {
		return nil, err
	}
	return a.store.Team(c, tenant, page)
}

// teamQuery selects the tenant, for callers with a role in several tenants.
type teamQuery struct {
	TenantID string `query:"tenant_id" like:"tenant"`
	// also disable the OAuth clients of the tenant that the person created
	DisableClients bool `query:"disable_clients"`
}

// teamsKey is the context key under which find stores the teams of the user in the path.
type teamsKey struct{}

// find returns an error if the user in the path is in none of the teams that the caller may see. It stores the tenants
// of these teams in the request.
func (a team) find(c *web.Call) error {
	tenants, err := a.store.TeamsOf(c, c.ID())
	if err != nil {
		return err
	}
	c.Keep(teamsKey{}, tenants)
	err = web.ErrNotFound
	for _, t := range tenants {
		switch {
		case c.Caller.May(c.Action(), t):
			return nil
		case c.Caller.May(core.ActionTeamRead, t):
			err = core.Lacking(c.Action())
		}
	}
	return err
}

// teammate returns the tenant whose team is to change. If the user in the path is not on that team, it returns
// web.ErrNotFound.
func (a team) teammate(c *web.Call, named string) (string, error) {
	tenant, err := web.OneTenant(c, named)
	switch tenants, _ := c.Value(teamsKey{}).([]string); {
	case err != nil:
	case !slices.Contains(tenants, tenant):
		err = web.ErrNotFound
	case c.Caller.UserID == c.ID():
		err = core.Conflictf("conflict", "You can't change your own role. Ask another administrator.")
	}
	return tenant, err
}

// teamChange is the body of PUT /api/admin/team/:id.
type teamChange struct {
	TenantID string `json:"tenant_id" like:"tenant"`
	Role     string `json:"role" is:"required" enum:"tenant_admin|publisher|editor|viewer" about:"New role in the tenant"`
}

func (a team) update(c *web.Call, in teamChange) (core.Teammate, error) {
	tenant, err := a.teammate(c, in.TenantID)
	if err != nil {
		return core.Teammate{}, err
	}
	return a.store.SetTeamRole(c, tenant, c.ID(), in.Role, web.Actor(c), c.Now)
}

func (a team) remove(c *web.Call, in teamQuery) (madeClients, error) {
	tenant, err := a.teammate(c, in.TenantID)
	if err == nil {
		err = a.store.LeaveTeam(c, tenant, c.ID(), web.Actor(c), c.Now)
	}
	if err != nil {
		return madeClients{}, err
	}
	return endClients(c, a.store, c.ID(), tenant, in.DisableClients)
}
