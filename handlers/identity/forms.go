package identity

import "reflect"

// Forms for the documents only: the specification declares them, but the token endpoint reads all of them as one form.
type (
	authorizationCodeTokenRequest struct {
		GrantType    string `form:"grant_type,required" enum:"authorization_code"`
		Code         string `form:"code,required" about:"Authorization code; valid once, for 60 seconds"`
		RedirectURI  string `form:"redirect_uri,required"`
		CodeVerifier string `form:"code_verifier,required"`
		clientForm
	}
	clientCredentialsTokenRequest struct {
		GrantType string `form:"grant_type,required" enum:"client_credentials"`
		Scope     string `form:"scope"`
		clientForm
	}
	authorizeQuery struct {
		ClientID            string `query:"client_id,required"`
		RedirectURI         string `query:"redirect_uri,required"`
		ResponseType        string `query:"response_type,required" enum:"code"`
		Scope               string `query:"scope,required"`
		CodeChallenge       string `query:"code_challenge,required"`
		CodeChallengeMethod string `query:"code_challenge_method,required" enum:"S256"`
		State               string `query:"state" about:"Returned unchanged"`
		Nonce               string `query:"nonce"`
		Prompt              string `query:"prompt"`
		MaxAge              string `query:"max_age"`
		LoginHint           string `query:"login_hint"`
		IDTokenHint         string `query:"id_token_hint"`
		Claims              string `query:"claims"`
		ACRValues           string `query:"acr_values"`
		ResponseMode        string `query:"response_mode" enum:"query|form_post"`
	}
	logoutQuery struct {
		IDTokenHint           string `query:"id_token_hint"`
		ClientID              string `query:"client_id"`
		PostLogoutRedirectURI string `query:"post_logout_redirect_uri"`
		State                 string `query:"state" about:"Returned unchanged"`
	}
)

// tokenForms lists the forms of the token endpoint, one for each grant.
var tokenForms = []reflect.Type{
	reflect.TypeFor[authorizationCodeTokenRequest](), reflect.TypeFor[refreshTokenRequest](),
	reflect.TypeFor[clientCredentialsTokenRequest](),
}

// RefreshRequest is the specification's body for refreshing a token. No endpoint reads it.
type RefreshRequest struct {
	RefreshToken string `json:"refresh_token" is:"required"`
	ClientID     string `json:"client_id" is:"required"`
}
