package daemontest

import (
	"fmt"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

// Password is the password of all users in tests.
const Password = "correct horse battery"

// Person returns the i-th of many email addresses.
func Person(i int) string { return fmt.Sprintf("person%d@example.org", i) }

// Records creates a tenant, a list, a server administrator and a token on the command line.
func (p *Process) Records() {
	p.Helper()
	p.Tenant = p.Field("id", "admin", "tenant", "create", "--name", "Acme")
	p.List = p.Field("id", "admin", "list", "create", "--tenant", p.Tenant, "--name", "Weekly")
	p.Operator(core.ScopeSend + " " + core.ScopeDevices)
}

// Operator creates a server administrator on the command line, and a token with scopes for the client.
func (p *Process) Operator(scopes string) {
	p.Helper()
	p.Run("admin", "user", "create", "--email", "op@acme.example", "--role", "operator")
	p.TokenOf("op@acme.example", scopes)
}

// TokenOf creates a token for a user, and sets it as the client's token.
func (p *Process) TokenOf(user, scopes string) {
	p.Helper()
	p.Token = p.Field("access_token", "admin", "token", "create", "--user", user, "--scope", scopes)
}

// StartImport uploads a CSV file of subscribers for the list from Records, and starts the import.
func (p *Process) StartImport(file string) (j core.ImportJob) {
	p.Helper()
	const imports = "/api/admin/imports"
	p.Send("POST", imports+"?list_id="+p.List, file, "Content-Type", "text/csv").OK().JSON(&j)
	p.Send("POST", imports+"/"+j.ID+"/run", nil).OK()
	return j
}

// Prepare opens the database like a daemon, creating it if necessary, and fills it. No daemon may be running.
func (p *Process) Prepare(fill func(s *storetest.Seeder)) {
	p.Helper()
	s, err := store.Open(p.Context(), db.Options{Path: p.Database(), Migrate: true})
	p.Must(err)
	defer func() { p.Must(s.Close()) }()
	fill(storetest.Seed(p, s))
}

// People adds n users with Password whose addresses are not verified. It also adds clients and returns their ids and
// secrets. No daemon may be running.
func (p *Process) People(n int, clients ...core.ClientInput) (secrets [][2]string) {
	p.Helper()
	p.Prepare(func(s *storetest.Seeder) {
		provider, err := auth.New(p.Context(), s.Store, auth.Config{Issuer: p.URL + "/api"}, s.Time())
		p.Must(err)
		hash, err := provider.NewPassword(p.Context(), "password", Password)
		p.Must(err)
		for i := range n {
			s.NewUser(core.Email(Person(i)), hash, func(u *core.User) { u.EmailVerified = false })
		}
		for _, in := range clients {
			c, secret := s.NewClient(in)
			secrets = append(secrets, [2]string{c.ID, secret})
		}
	})
	return secrets
}
