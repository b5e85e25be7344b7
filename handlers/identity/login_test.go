package identity

import (
	"strings"
	"testing"

	"newsletterd/handlers/page"
)

// TestLoginLeadsNowhereElse checks that a sign-in leads only to pages and authorization requests of this server.
func TestLoginLeadsNowhereElse(t *testing.T) {
	for _, to := range []string{
		"https://evil.example/", "//evil.example/", "/\\evil.example", "/account/../x", "javascript:alert(1)",
		"/api/oauth/authorize/../../x?a=b",
		"/api/oauth/authorizex?a=b", "\n/account", "/login", "/verify", "//verify?token=x", "/verifyx?token=x",
		"https://evil.example/verify?token=x", "/console/../x", "/console//evil.example", "/consolex",
		"/console/x\r\ny", "/console\\evil.example", "/console/x#y",
	} {
		if p := purposeOf(to); p.path != page.ConsolePath {
			t.Errorf("%q leads to %q", to, p.path)
		}
	}
	for _, to := range []string{
		page.AccountPath, "/console/x/campaigns?state=draft", page.OperatorPath + "/users", "/verify?token=x",
		"/verify?email=a%40b.example&token=x", "/invitation?token=x&ui_locales=de", "/review?campaign=x",
		"/review?campaign=x&mend=1", "/review?campaign=x&open=1",
	} {
		if p := purposeOf(to); p.path != to {
			t.Errorf("%q leads to %q", to, p.path)
		}
	}
	if p := purposeOf("/review?campaign=x&to=//evil.example#c"); p.path != "/review?campaign=x" {
		t.Errorf("leads to %q", p.path)
	}
	p := purposeOf("/api/oauth/authorize?client_id=a&x=%0d%0aLocation:%20b#c")
	if strings.ContainsAny(p.path, "\r\n#") {
		t.Errorf("leads to %q", p.path)
	}
}
