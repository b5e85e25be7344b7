package main

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

// TestTokensAreForTheDaemonsIssuer checks that a command whose configuration has a different address than the daemon's
// creates a token that the daemon accepts, and reports the difference.
func TestTokensAreForTheDaemonsIssuer(t *testing.T) {
	d := start(t, func(c *config.Config) { c.Server.PublicURL = "https://news.example.org" })
	run := func(stdin string, args ...string) (string, string) {
		var out, errs bytes.Buffer
		p := newProgram(strings.NewReader(stdin), &out, &errs, []string{
			"NEWSLETTERD_DATABASE_PATH=" + d.cfg.Database.Path,
			"NEWSLETTERD_SERVER_PUBLIC_URL=http://127.0.0.1:8080",
		})
		if code := p.run(t.Context(), append([]string{"newsletterd"}, args...)); code != 0 {
			t.Fatalf("%v: %d %s", args, code, &errs)
		}
		return strings.TrimSpace(out.String()), errs.String()
	}
	run("correct horse battery\n", "admin", "user", "create", "--email", "op@example.org", "--role", "operator",
		"--password-stdin")
	token, told := run("", "admin", "token", "create", "--user", "op@example.org", "--scope", "admin")
	if !strings.Contains(told, "https://news.example.org/api") || !strings.Contains(told, "http://127.0.0.1:8080/api") {
		t.Errorf("it says %q", told)
	}
	d.As(token).Get("/api/admin/tenants").Wants(http.StatusOK)
}

// TestTokensOfAnotherAddressAreRefused checks that a token for a former address of the daemon is refused with the
// reason.
func TestTokensOfAnotherAddressAreRefused(t *testing.T) {
	d := start(t, func(c *config.Config) { c.Server.PublicURL = "https://news.example.org" })
	opened, err := store.Open(t.Context(), db.Options{Path: d.cfg.Database.Path, Mode: db.Command})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	s := storetest.Seed(t, opened)
	u := s.NewUser("op@example.org", "", func(u *core.User) { u.Roles = []core.Role{{Role: core.RoleOperator}} })
	for issuer, want := range map[string]string{
		"http://127.0.0.1:8080/api":    "The token was created for http://127.0.0.1:8080/api, but this server is now https://news.example.org/api.",
		"https://news.example.org/api": "",
	} {
		p, err := auth.New(t.Context(), s.Store, auth.Config{Issuer: issuer}, s.Time())
		s.Must(err)
		token, _, err := p.AdminToken(t.Context(), u, core.ScopeAdmin, time.Hour, s.Time())
		s.Must(err)
		r := d.As(token.AccessToken).Get("/api/admin/tenants")
		if (r.StatusCode == http.StatusUnauthorized) != (want != "") || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %d %s", issuer, r.StatusCode, r.Text)
		}
	}
}
