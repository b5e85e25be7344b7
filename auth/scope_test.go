package auth

import (
	"errors"
	"strings"
	"testing"

	"newsletterd/core"
)

// TestGrantScopes checks that the granted scopes are those requested, limited to what the client is registered for and
// the user's roles allow (RFC 6749 section 3.3).
func TestGrantScopes(t *testing.T) {
	operator := []core.Role{{Role: core.RoleOperator}}
	admin := []core.Role{{Role: core.RoleTenantAdmin, TenantID: "acme"}}
	publisher := []core.Role{{Role: core.RolePublisher, TenantID: "acme"}}
	editor := []core.Role{{Role: core.RoleEditor, TenantID: "acme"}}
	pending := []core.Role{{Role: core.RoleOperator, Pending: true}}
	both := append(admin, core.Role{Role: core.RoleViewer, TenantID: "beta"})
	var user []core.Role
	all := strings.Join(core.AllScopes, " ")
	for _, c := range []struct {
		name, requested, client, tenant string
		who                             []core.Role
		want                            string // empty: invalid_scope
	}{
		{"operator, nothing asked", "", all, "", operator, all},
		{"tenant admin, nothing asked", "", all, "", admin, all},
		{"user, nothing asked", "", all, "", user, "openid profile email offline_access devices models.read models.write"},
		{"user asks too much", "openid admin", all, "", user, "openid"},
		{"user asks only too much", "admin", all, "", user, ""},
		{
			"publisher, nothing asked", "", all, "", publisher,
			strings.Join(core.UserScopes, " ") + " newsletter:send admin",
		},
		{"editor, nothing asked", "", all, "", editor, strings.Join(core.UserScopes, " ") + " admin"},
		{"editor asks for addresses", "newsletter:list.read newsletter:events.write", all, "", editor, ""},
		{"a pending role", "admin openid", all, "", pending, "openid"},
		{"two roles, where the lesser one is", "newsletter:send admin", all, "beta", both, "admin"},
		{"operator at a small client", "openid admin", "openid", "", operator, "openid"},
		{"tenant admin at the own tenant's client", "newsletter:send", all, "acme", admin, "newsletter:send"},
		{"tenant admin at a foreign tenant's client", "newsletter:send openid", all, "beta", admin, "openid"},
		{"operator at a tenant's client", "newsletter:send", all, "beta", operator, "newsletter:send"},
		{"unknown words", "openid foo bar", all, "", user, "openid"},
		{"only unknown words", "foo", all, "", user, ""},
		{"twice", "email email", all, "", user, "email"},
		{"case matters", "OPENID", all, "", user, ""},
	} {
		got, err := grantScopes(c.requested, strings.Fields(c.client), core.AllowedScopes(c.who, c.tenant))
		if strings.Join(got, " ") != c.want || (c.want == "") != errors.Is(err, ErrInvalidScope) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}

func TestValidScopeText(t *testing.T) {
	for s, want := range map[string]bool{
		"openid": true, "a b": true, "newsletter:send": true, "": false, " ": false, "  ": false, " a": true, "a ": true,
		"a  b": true, "a   b  ": true,
		"a\tb": false, `a"b`: false, `a\b`: false, "ä": false, "a\nb": false,
	} {
		if got := validScopeText(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

// TestCheckScope checks the form of RFC 6749, and that additional spaces, which some clients send, are ignored.
func TestCheckScope(t *testing.T) {
	for s, want := range map[string]bool{
		"": true, " ": true, "openid  email": true, "openid ": true, " openid": true, "openid\temail": false,
		strings.Repeat("a ", 500): true, strings.Repeat("a ", 501): false,
	} {
		if err := checkScope(s); (err == nil) != want {
			t.Errorf("%q: %v", s, err)
		}
	}
}
