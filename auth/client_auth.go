package auth

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"

	"newsletterd/core"
)

// ClientCredentials identifies the client of a request to the token endpoint (RFC 6749 section 2.3.1).
type ClientCredentials struct {
	ID            string // client_id in the form
	Secret        string // client_secret in the form
	Authorization string // the header with that name, if any
}

// Basic reports whether the client tried to authenticate with HTTP Basic. If so, a refusal must name that scheme (RFC
// 6749 section 5.2).
func (c ClientCredentials) Basic() bool {
	scheme, _, _ := strings.Cut(c.Authorization, " ")
	return strings.EqualFold(scheme, "Basic")
}

// builtInClient is the public client for grants without client_id. It is not in the database. Only the user's roles
// limit the scopes of its tokens.
var builtInClient = core.TokenClient{
	ID: core.BuiltInClientID, Scopes: core.AllScopes, GrantTypes: []string{"password", "refresh_token"},
	AuthMethod: "none", IDTokenAlg: algRS256,
}

// authenticate is like identify, but also returns ErrSuspended if the client's tenant is suspended.
func (p *Provider) authenticate(ctx context.Context, c ClientCredentials, now core.Instant) (core.TokenClient, error) {
	client, err := p.identify(ctx, c, now)
	if err == nil && client.Suspended {
		err = ErrSuspended
	}
	return client, err
}

// identify authenticates the client of a request and returns it. Without a client_id, it returns the built-in client.
// It returns ErrInvalidClient for an unknown or disabled client, a wrong or missing secret, or an authentication method
// that the client is not registered for. For a request that uses two methods, it returns an invalid_request error.
func (p *Provider) identify(ctx context.Context, c ClientCredentials, now core.Instant) (core.TokenClient, error) {
	id, secret, method := c.ID, c.Secret, "none"
	if c.Secret != "" {
		method = "client_secret_post"
	}
	if c.Authorization != "" {
		user, pass, ok := basicAuth(c.Authorization)
		if !ok {
			return core.TokenClient{}, ErrInvalidClient
		}
		if c.Secret != "" || (c.ID != "" && c.ID != user) {
			return core.TokenClient{}, core.Invalidf("client_id",
				"The client authenticates in two ways. Send either the Authorization header or client_secret.")
		}
		id, secret, method = user, pass, "client_secret_basic"
	}
	if id == "" || id == core.BuiltInClientID {
		if method != "none" {
			return core.TokenClient{}, ErrInvalidClient
		}
		return builtInClient, nil
	}
	client, err := p.tokenClient(ctx, id)
	if errors.Is(err, core.ErrNotFound) {
		return core.TokenClient{}, ErrInvalidClient
	}
	if err != nil {
		return core.TokenClient{}, err
	}
	if client.Disabled || !proves(client, method, secret, now) {
		return core.TokenClient{}, ErrInvalidClient
	}
	return client, nil
}

// proves reports whether a client may authenticate with a method, and whether the secret is correct. A public client
// must not send a secret.
func proves(c core.TokenClient, method, secret string, now core.Instant) bool {
	if !c.Confidential {
		return method == "none"
	}
	if method == "none" || (c.AuthMethod != "" && c.AuthMethod != method) || len(c.SecretHash) == 0 {
		return false
	}
	hash := core.HashToken(secret)
	newest := subtle.ConstantTimeCompare(hash, c.SecretHash)
	old := subtle.ConstantTimeCompare(hash, c.OldSecretHash)
	return newest == 1 || old == 1 && now < c.OldSecretUntil
}

// basicAuth parses an Authorization header with the Basic scheme. Name and secret are form-urlencoded (RFC 6749 section
// 2.3.1).
func basicAuth(header string) (user, pass string, ok bool) {
	scheme, text, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return "", "", false
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return "", "", false
	}
	u, s, ok := strings.Cut(string(raw), ":")
	user, err1 := url.QueryUnescape(u)
	pass, err2 := url.QueryUnescape(s)
	return user, pass, ok && err1 == nil && err2 == nil && user != ""
}

// mayUse reports whether the client is registered for a grant. Every public client may use the password grant.
func mayUse(c core.TokenClient, grant string) bool {
	if grant == "password" {
		return true // a confidential client is authenticated at this point
	}
	return slices.Contains(c.GrantTypes, grant)
}
