package main

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/config"
)

// TestTokensAreForTheDaemonsIssuer: a command whose configuration names another address than the daemon's makes a token
// that the daemon takes, and says that they differ.
func TestTokensAreForTheDaemonsIssuer(t *testing.T) {
	d := start(t, func(c *config.Config) { c.Server.PublicURL = "https://news.example.org" })
	run := func(stdin string, args ...string) (string, string) {
		var out, errs bytes.Buffer
		p := &program{in: strings.NewReader(stdin), out: &out, err: &errs}
		p.env = []string{
			"NEWSLETTERD_DATABASE_PATH=" + d.cfg.Database.Path,
			"NEWSLETTERD_SERVER_PUBLIC_URL=http://127.0.0.1:8080",
		}
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
