package auth

import (
	"strings"

	"newsletterd/core"
)

// Discovery is the provider's metadata (OpenID Connect Discovery section 3, RFC 8414 section 2).
type Discovery struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	UserinfoEndpoint      string   `json:"userinfo_endpoint"`
	JWKSURI               string   `json:"jwks_uri"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	IntrospectionEndpoint string   `json:"introspection_endpoint"`
	EndSessionEndpoint    string   `json:"end_session_endpoint"`
	Scopes                []string `json:"scopes_supported"`
	ResponseTypes         []string `json:"response_types_supported"`
	ResponseModes         []string `json:"response_modes_supported"`
	GrantTypes            []string `json:"grant_types_supported"`
	SubjectTypes          []string `json:"subject_types_supported"`
	IDTokenAlgs           []string `json:"id_token_signing_alg_values_supported"`
	TokenAuthMethods      []string `json:"token_endpoint_auth_methods_supported"`
	RevocationAuthMethods []string `json:"revocation_endpoint_auth_methods_supported"`
	IntrospectAuthMethods []string `json:"introspection_endpoint_auth_methods_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	Prompts               []string `json:"prompt_values_supported"`
	Claims                []string `json:"claims_supported"`
	ClaimTypes            []string `json:"claim_types_supported"`
	ACRValues             []string `json:"acr_values_supported"`
	UILocales             []string `json:"ui_locales_supported"`
	ClaimsParameter       bool     `json:"claims_parameter_supported"`
	RequestParameter      bool     `json:"request_parameter_supported"`
	RequestURIParameter   bool     `json:"request_uri_parameter_supported"`
	IssParameter          bool     `json:"authorization_response_iss_parameter_supported"` // RFC 9207 section 3
}

// Paths of the provider below its issuer.
const (
	PathAuthorize  = "/oauth/authorize"
	PathToken      = "/oauth/token"
	PathUserinfo   = "/oauth/userinfo"
	PathRevoke     = "/oauth/revoke"
	PathIntrospect = "/oauth/introspect"
	PathLogout     = "/oauth/logout"
	PathKeys       = "/.well-known/jwks.json"
)

// Discovery returns the provider's metadata. All URLs are derived from the configured issuer, not from the request's
// host.
func (p *Provider) Discovery() Discovery {
	at := strings.TrimSuffix(p.Issuer, "/")
	secret := []string{"client_secret_basic", "client_secret_post"}
	return Discovery{
		Issuer: p.Issuer, AuthorizationEndpoint: at + PathAuthorize, TokenEndpoint: at + PathToken,
		UserinfoEndpoint: at + PathUserinfo,
		JWKSURI:          at + PathKeys, RevocationEndpoint: at + PathRevoke, IntrospectionEndpoint: at + PathIntrospect,
		EndSessionEndpoint: at + PathLogout,
		Scopes:             core.AllScopes, ResponseTypes: []string{"code"},
		ResponseModes: []string{"query", "form_post"},
		GrantTypes:    []string{"authorization_code", "refresh_token", "client_credentials"},
		SubjectTypes:  []string{"public"}, IDTokenAlgs: []string{algRS256, algES256},
		TokenAuthMethods: append(secret, "none"), RevocationAuthMethods: append(secret, "none"),
		IntrospectAuthMethods: secret,
		ChallengeMethods:      []string{"S256"}, Prompts: []string{"none", "login", "consent", "select_account"},
		Claims: []string{
			"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "acr", "amr", "sid", "name",
			"preferred_username", "email", "email_verified", "updated_at",
		},
		ClaimTypes: []string{"normal"}, ACRValues: acrValues, ClaimsParameter: true, UILocales: core.Languages,
		IssParameter: true,
	}
}
