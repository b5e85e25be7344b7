package core

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

func fault(t *testing.T, name string, err error, kind Kind, field string) {
	t.Helper()
	var e *Error
	switch {
	case kind == Internal && err != nil:
		t.Errorf("%s: %v", name, err)
	case kind != Internal && (!errors.As(err, &e) || e.Kind != kind || e.Field != field):
		t.Errorf("%s: %v, want %v on %q", name, err, kind, field)
	}
}

// ok means no error in the tables below.
const ok = Internal

func TestTenantInput(t *testing.T) {
	for _, tt := range []struct {
		in    string
		kind  Kind
		field string
	}{
		{`{"name":"A"}`, ok, ""},
		{`{"name":" A "}`, ok, ""},
		{`{"id":"7","name":"A"}`, ok, ""},
		{`{}`, Invalid, "name"},
		{`{"name":" \t"}`, Invalid, "name"},
		{`{"name":"A\u0007"}`, Invalid, "name"},
		{`{"name":"A\u0085B"}`, Invalid, "name"},
		{`{"name":"` + strings.Repeat("ä", 200) + `"}`, ok, ""},
		{`{"name":"` + strings.Repeat("ä", 201) + `"}`, Invalid, "name"},
		{`{"name":"A","status":"suspended"}`, ok, ""},
		{`{"name":"A","status":""}`, Invalid, "status"},
		{`{"name":"A","status":"inactive"}`, Invalid, "status"},
		{`{"name":"A","domains":["a.co","B.CO"]}`, ok, ""},
		{`{"name":"A","domains":["a.co","localhost"]}`, Invalid, "domains[1]"},
		{`{"name":"A","domains":["10.0.0.1"]}`, Invalid, "domains[0]"},
		{`{"name":"A","domains":["a.co"],"mail_from":"x@A.co"}`, ok, ""},
		{`{"name":"A","domains":["a.co"],"mail_from":"x@b.a.co"}`, Invalid, "mail_from"},
		{`{"name":"A","mail_from":"x@a.co"}`, Invalid, "mail_from"},
		{`{"name":"A","mail_from":"x"}`, Invalid, "mail_from"},
		{`{"name":"A","reply_to":"x@b.co"}`, ok, ""},
		{`{"name":"A","reply_to":"X <x@b.co>"}`, Invalid, "reply_to"},
		{`{"name":"A","mail_from_name":"Jane\r\nBcc: all@b.co"}`, Invalid, "mail_from_name"},
		{`{"name":"A","postal_address":"Street 1\r\nTown"}`, ok, ""},
		{`{"name":"A","postal_address":"Street 1\tTown"}`, Invalid, "postal_address"},
		{`{"name":"A","public_url":"https://a.co"}`, ok, ""},
		{`{"name":"A","public_url":"https://a.co:8443/"}`, ok, ""},
		{`{"name":"A","public_url":"https://a.co/x"}`, Invalid, "public_url"},
		{`{"name":"A","public_url":"https://u@a.co"}`, Invalid, "public_url"},
		{`{"name":"A","public_url":"javascript:alert(1)"}`, Invalid, "public_url"},
		{`{"name":"A","public_url":"https://a.co?"}`, Invalid, "public_url"},
		{`{"name":"A","public_url":"https://a.co#"}`, Invalid, "public_url"},
		{`{"name":"A","brand_color":"#00fF88","brand_logo_url":"https://a.co/logo.png?v=1"}`, ok, ""},
		{`{"name":"A","brand_logo_url":"HTTPS://a.co/logo.png"}`, ok, ""},
		{`{"name":"A","brand_logo_url":"http://a.co/logo.png"}`, Invalid, "brand_logo_url"},
		{`{"name":"A","brand_logo_url":"http://127.0.0.1:8080/m/logo.png"}`, ok, ""},
		{`{"name":"A","brand_logo_url":"https://a.co;sandbox/logo.png"}`, Invalid, "brand_logo_url"},
		{`{"name":"A","privacy_url":"http://a.co/privacy"}`, ok, ""},
		{`{"name":"A","privacy_url":"https://a,b.co/"}`, Invalid, "privacy_url"},
		{`{"name":"A","privacy_url":"https://datenschutz"}`, Invalid, "privacy_url"},
		{`{"name":"A","privacy_url":"http://localhost:8080/privacy"}`, ok, ""},
		{`{"name":"A","public_url":"http://localhost:8080"}`, ok, ""},
		{`{"name":"A","public_url":"https://[::1]:8080"}`, ok, ""},
		{`{"name":"A","brand_color":"red"}`, Invalid, "brand_color"},
		{`{"name":"A","brand_color":"#+00000"}`, Invalid, "brand_color"},
		{`{"name":"A","brand_dark_logo_url":"https://a.co/dark.png"}`, ok, ""},
		{`{"name":"A","brand_dark_logo_url":"http://a.co/dark.png"}`, Invalid, "brand_dark_logo_url"},
		{`{"name":"A","brand_logo_url":"data:image/png;base64,AA"}`, Invalid, "brand_logo_url"},
	} {
		var in TenantInput
		if err := json.Unmarshal([]byte(tt.in), &in); err != nil {
			t.Fatal(err)
		}
		_, err := NewTenant(in, 1)
		fault(t, tt.in, err, tt.kind, tt.field)
	}
}

func TestTenantChange(t *testing.T) {
	for _, tt := range []struct {
		in       string
		operator bool
		kind     Kind
		field    string
	}{
		{`{}`, false, ok, ""},
		{`{"name":"B","reply_to":"x@y.co"}`, false, ok, ""},
		{`{"id":"7"}`, true, Invalid, "id"},
		{`{"status":"active","domains":["a.co"],"mail_from":"x@a.co"}`, false, ok, ""}, // unchanged values
		{`{"status":"suspended"}`, true, ok, ""},
		{`{"status":"suspended"}`, false, Forbidden, ""},
		{`{"domains":["a.co","b.co"]}`, false, Forbidden, ""},
		{`{"mail_from":""}`, false, Forbidden, ""},
		{`{"mail_from":""}`, true, ok, ""},
		{`{"mail_from":"y@a.co"}`, false, ok, ""},
		{`{"mail_from":"y@b.co"}`, false, Invalid, "mail_from"},
		{`{"domains":[]}`, true, Invalid, "mail_from"}, // mail_from uses the removed domain
		{`{"status":"gone"}`, false, Invalid, "status"},
	} {
		tenant, err := NewTenant(TenantInput{Name: new("A"), Domains: &[]string{"a.co"}, MailFrom: new("x@a.co")}, 1)
		if err != nil {
			t.Fatal(err)
		}
		var in TenantInput
		if err := json.Unmarshal([]byte(tt.in), &in); err != nil {
			t.Fatal(err)
		}
		fault(t, tt.in, tenant.Change(in, tt.operator, 2), tt.kind, tt.field)
	}
}

func TestListInput(t *testing.T) {
	for _, tt := range []struct {
		in    string
		kind  Kind
		field string
	}{
		{`{"tenant_id":"t","name":"L"}`, ok, ""},
		{`{"name":"L"}`, Invalid, "tenant_id"},
		{`{"tenant_id":"","name":"L"}`, Invalid, "tenant_id"},
		{`{"tenant_id":"t"}`, Invalid, "name"},
		{`{"tenant_id":"t","name":"L","status":"inactive","confirm_token":"trusted","require_mailed_proof":true,"sync_removes_absent":false}`, ok, ""},
		{`{"tenant_id":"t","name":"L","status":"suspended"}`, Invalid, "status"},
		{`{"tenant_id":"t","name":"L","confirm_token":"no"}`, Invalid, "confirm_token"},
		{`{"tenant_id":"t","name":"L","confirm_token":""}`, ok, ""},
	} {
		var in ListInput
		if err := json.Unmarshal([]byte(tt.in), &in); err != nil {
			t.Fatal(err)
		}
		l, err := NewList(in, 1)
		fault(t, tt.in, err, tt.kind, tt.field)
		if err == nil && (l.ID == "" || l.TenantID != "t" || l.CreatedAt != 1 || l.UpdatedAt != 1) {
			t.Errorf("%s: %+v", tt.in, l)
		}
	}
	l, _ := NewList(ListInput{TenantID: new("t"), Name: new("L")}, 1)
	fault(t, "other tenant", l.Change(ListInput{TenantID: new("u")}, 2), Invalid, "tenant_id")
	fault(t, "other id", l.Change(ListInput{ID: new("u")}, 2), Invalid, "id")
	fault(t, "the same", l.Change(ListInput{ID: &l.ID, TenantID: new("t")}, 2), ok, "")
	if l.Name != "L" || !l.Active() || !l.SyncRemovesAbsent || l.UpdatedAt != 2 {
		t.Errorf("%+v", l)
	}
}

func TestClientInput(t *testing.T) {
	for _, tt := range []struct {
		in       string
		operator bool
		kind     Kind
		field    string
	}{
		{`{"name":"C"}`, false, ok, ""},
		{`{}`, false, Invalid, "name"},
		{`{"name":"C","client_type":"native"}`, false, Invalid, "client_type"},
		{`{"name":"C","client_type":"confidential","token_endpoint_auth_method":"client_secret_post"}`, false, ok, ""},
		{
			`{"name":"C","client_type":"confidential","token_endpoint_auth_method":"none"}`, false, Invalid,
			"token_endpoint_auth_method",
		},
		{`{"name":"C","token_endpoint_auth_method":"none"}`, false, ok, ""},
		{
			`{"name":"C","token_endpoint_auth_method":"client_secret_basic"}`, false, Invalid,
			"token_endpoint_auth_method",
		},
		{`{"name":"C","grant_types":["authorization_code"]}`, false, ok, ""},
		{`{"name":"C","grant_types":["client_credentials"]}`, false, Invalid, "grant_types"},
		{`{"name":"C","grant_types":["implicit"]}`, false, Invalid, "grant_types[0]"},
		{`{"name":"C","scopes":["openid","newsletter:send"]}`, false, ok, ""},
		{`{"name":"C","scopes":["openid","x"]}`, false, Invalid, "scopes[1]"},
		{`{"name":"C","scopes":["admin"]}`, false, Forbidden, ""},
		{`{"name":"C","scopes":["admin"]}`, true, ok, ""},
		{`{"name":"C","first_party":true}`, false, Forbidden, ""},
		{`{"name":"C","first_party":true}`, true, ok, ""},
		{`{"name":"C","require_pkce":false}`, true, Invalid, "require_pkce"},
		{`{"name":"C","client_type":"confidential","require_pkce":false}`, true, ok, ""},
		{`{"name":"C","client_type":"confidential","require_pkce":false}`, false, Forbidden, ""},
		{`{"name":"C","id_token_signed_response_alg":"none"}`, true, Invalid, "id_token_signed_response_alg"},
		{`{"name":"C","redirect_uris":["https://a.co/cb","http://a.co/cb"]}`, false, Invalid, "redirect_uris[1]"},
		{`{"name":"C","post_logout_redirect_uris":["ftp://a.co"]}`, false, Invalid, "post_logout_redirect_uris[0]"},
		{
			`{"name":"C","redirect_uris":[` + strings.TrimSuffix(strings.Repeat(`"https://a.co/cb",`, 21), ",") + `]}`,
			false, Invalid, "redirect_uris",
		},
	} {
		var in ClientInput
		if err := json.Unmarshal([]byte(tt.in), &in); err != nil {
			t.Fatal(err)
		}
		c, secret, err := NewClient(in, tt.operator, 1)
		fault(t, tt.in, err, tt.kind, tt.field)
		if err == nil && ((secret != "") != (c.ClientType == ClientConfidential) || secret != "" &&
			!slices.Equal(c.SecretHash, HashToken(secret))) {
			t.Errorf("%s: secret %q", tt.in, secret)
		}
	}
}

// TestClientsKeepTheirSecret checks when a client gets a new secret, and which values administrators can send back
// unchanged.
func TestClientsKeepTheirSecret(t *testing.T) {
	c, first, err := NewClient(ClientInput{Name: new("C"), ClientType: new("confidential"), Scopes: &[]string{"admin"}},
		true, 1)
	if err != nil || !slices.Equal(c.GrantTypes,
		[]string{"authorization_code", "refresh_token", "client_credentials"}) {
		t.Fatal(c, err)
	}
	secret, err := c.Change(ClientInput{Name: new("D"), Scopes: &[]string{"admin", "openid"}}, false, 2)
	if err != nil || secret != "" || !slices.Equal(c.SecretHash, HashToken(first)) {
		t.Errorf("%q %v", secret, err)
	}
	if _, err := c.Change(ClientInput{ClientType: new("public")}, false, 3); err == nil {
		t.Error("becomes public with client_credentials")
	}
	c.ClientType = ClientConfidential
	if _, err = c.Change(ClientInput{ClientType: new("public"), GrantTypes: &[]string{"authorization_code"}}, false,
		3); err != nil || c.SecretHash != nil || c.AuthMethod != "none" {
		t.Errorf("%+v %v", c, err)
	}
	if secret, err = c.Change(ClientInput{ClientType: new("confidential")}, false,
		4); err != nil || secret == "" || secret == first || c.AuthMethod != "" {
		t.Errorf("%+v %v", c, err)
	}
	b, _ := json.Marshal(c)
	if strings.Contains(string(b), "ecret_hash") || strings.Contains(string(b), secret) {
		t.Errorf("%s", b)
	}
}

func TestRedirectURIs(t *testing.T) {
	for uri, want := range map[string]bool{
		"https://a.co/cb":                           true,
		"https://a.co":                              true,
		"https://a.co:8443/cb?x=1&y=%20":            true,
		"https://intranet/cb":                       true,
		"https://127.0.0.1/cb":                      true,
		"http://127.0.0.1/cb":                       true,
		"http://127.0.0.1:8000/cb":                  true,
		"http://[::1]:8000/cb":                      true,
		"http://localhost/cb":                       true,
		"com.example.app:/cb":                       true,
		"com.example.app://cb":                      true,
		"https://a.co/" + strings.Repeat("x", 1987): true,

		"https://a.co/" + strings.Repeat("x", 1988): false,
		"":                       false,
		"/cb":                    false,
		"//a.co/cb":              false,
		"http://a.co/cb":         false,
		"http://127.0.0.1.a.co/": false,
		"http://localhost.a.co/": false,
		"https://a.co/cb#":       false,
		"https://a.co/cb#x":      false,
		"https://u:p@a.co/cb":    false,
		"https://@a.co/cb":       false,
		"https://*.a.co/cb":      false,
		"https://a.co/*":         false,
		"https://a.co/../cb":     false,
		"https://a.co/%2e%2e/cb": false,
		"https://a.co/./cb":      false,
		"https://a.co\\@b.co/":   false,
		"https:///cb":            false,
		"https:a.co":             false,
		"https://a.co:/cb":       false,
		"https://a.co:0/cb":      false,
		"https://a.co:99999/cb":  false,
		"https://a..co/cb":       false,
		"https://-a.co/cb":       false,
		"https://a_b.co/cb":      false,
		"https://a.co/c b":       false,
		"https://a.co/\x00":      false,
		"https://bücher.co/":     false,
		"javascript:alert(1)":    false,
		"data:text/html,x":       false,
		"myapp:/cb":              false,
		"com.example.app:":       false,
	} {
		if got := ValidRedirectURI(uri); got != want {
			t.Errorf("%.60q: %v", uri, got)
		}
	}
}

// FuzzRedirectURI checks that a valid redirect URI is absolute and has no fragment, user or white space.
func FuzzRedirectURI(f *testing.F) {
	f.Add("https://a.co/cb?x=1")
	f.Add("com.example.app:/cb")
	f.Fuzz(func(t *testing.T, s string) {
		if ValidRedirectURI(s) && (strings.ContainsAny(s, "#* \t\r\n\\") || !strings.Contains(s,
			":") || len(s) > maxURL) {
			t.Fatalf("%q is allowed", s)
		}
	})
}

func TestStringsColumn(t *testing.T) {
	for _, s := range []Strings{nil, {}, {"a"}, {"a", `b"`, "ü"}} {
		var got Strings
		if err := got.Scan(s.Column()); err != nil || !slices.Equal(got, s) {
			t.Errorf("%q: %q %v", s, got, err)
		}
		if b, err := json.Marshal(s); err != nil || b[0] != '[' {
			t.Errorf("%s %v", b, err)
		}
	}
	var got Strings
	if err := got.Scan(7); err == nil {
		t.Error("takes a number")
	}
}

// TestFirstPartyClientsAreOperators checks that only operators can change the tokens' destinations and permissions of a
// first-party client.
func TestFirstPartyClientsAreOperators(t *testing.T) {
	for name, in := range map[string]ClientInput{
		"redirect URIs":      {RedirectURIs: &[]string{"https://evil.example/cb"}},
		"post-logout URIs":   {PostLogoutRedirectURIs: &[]string{"https://evil.example/bye"}},
		"type and secret":    {ClientType: new("public"), GrantTypes: &[]string{"authorization_code"}},
		"grant types":        {GrantTypes: &[]string{"authorization_code"}},
		"scopes":             {Scopes: &[]string{"openid", "newsletter:send"}},
		"authentication":     {AuthMethod: new("client_secret_post")},
		"signature":          {IDTokenAlg: new("ES256")},
		"being first-party":  {FirstParty: new(false)},
		"not even the order": {RedirectURIs: &[]string{"https://b.example/cb", "https://a.example/cb"}},
	} {
		for _, operator := range []bool{false, true} {
			c, _, err := NewClient(ClientInput{
				Name: new("C"), ClientType: new("confidential"), FirstParty: new(true),
				RedirectURIs: &[]string{"https://a.example/cb", "https://b.example/cb"},
			}, true, 1)
			if err != nil {
				t.Fatal(err)
			}
			kind := Forbidden
			if operator {
				kind = ok
			}
			_, err = c.Change(in, operator, 2)
			fault(t, name, err, kind, "")
		}
	}
}

// TestClientWarnings checks that a grant without a suitable scope causes a warning.
func TestClientWarnings(t *testing.T) {
	for name, tt := range map[string]struct {
		in   ClientInput
		want int
	}{
		"confidential, without scopes": {ClientInput{ClientType: new("confidential")}, 1},
		"a scope for itself": {ClientInput{
			ClientType: new("confidential"),
			Scopes:     &[]string{"openid", "newsletter:send"},
		}, 0},
		"without the grant": {ClientInput{
			ClientType: new("confidential"),
			GrantTypes: &[]string{"authorization_code"},
		}, 0},
		"public": {ClientInput{}, 0},
		"devices are nothing of its own": {
			ClientInput{ClientType: new("confidential"), Scopes: &[]string{"devices"}},
			1,
		},
	} {
		tt.in.Name = new("C")
		c, _, err := NewClient(tt.in, true, 1)
		if err != nil || len(c.Warnings()) != tt.want {
			t.Errorf("%s: %q %v", name, c.Warnings(), err)
		}
	}
}

// TestConfirmTokenIsHeldToTheOperators checks that other callers can tighten confirm_token, but can loosen it only to
// the operator's setting.
func TestConfirmTokenIsHeldToTheOperators(t *testing.T) {
	for _, tt := range []struct {
		configured, operator, had, wish string // operator: set by the operator for the list; had: set by others since
		kind                            Kind
		mode                            string // resulting mode
	}{
		{"live", "", "", "receipt", ok, "receipt"},
		{"live", "", "receipt", "live", ok, "live"},
		{"receipt", "", "", "live", Forbidden, ""},
		{"receipt", "", "", "trusted", Forbidden, ""},
		{"trusted", "", "", "live", Forbidden, ""},
		{"trusted", "", "", "receipt", ok, "receipt"},
		{"receipt", "live", "live", "trusted", ok, "trusted"},
		{"receipt", "live", "receipt", "live", ok, "live"},
		{"live", "receipt", "receipt", "live", Forbidden, ""},
		{"live", "receipt", "receipt", "", Forbidden, ""},
		{"live", "receipt", "receipt", "receipt", ok, "receipt"},
		{"receipt", "", "live", "live", ok, "receipt"}, // set before the operator tightened the default: no effect
	} {
		l, err := NewList(ListInput{TenantID: new("t"), Name: new("L"), ConfirmToken: &tt.operator}, 1)
		if err != nil {
			t.Fatal(err)
		}
		l.ConfirmToken = tt.had
		was := l
		if err := l.Change(ListInput{ConfirmToken: &tt.wish}, 2); err != nil {
			t.Fatal(err)
		}
		err = l.HoldConfirmToken(was, tt.configured)
		fault(t, tt.wish, err, tt.kind, "")
		if err == nil && (l.ConfirmMode(tt.configured) != tt.mode || l.ConfirmFloor != tt.operator) {
			t.Errorf("%+v: %s, floor %s", tt, l.ConfirmMode(tt.configured), l.ConfirmFloor)
		}
	}
}
