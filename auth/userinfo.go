package auth

import (
	"context"
	"errors"
	"slices"

	"newsletterd/core"
)

// UserInfo holds claims about a user (OpenID Connect Core section 5.1): those of the token's scopes, and those that the
// claims parameter of the authorization request names.
type UserInfo struct {
	Subject       string      `json:"sub" about:"ID of the user"`
	Name          string      `json:"name,omitempty"`
	Username      string      `json:"preferred_username,omitempty" about:"The user's email address; absent unless verified"`
	Email         *core.Email `json:"email,omitempty"`
	EmailVerified *bool       `json:"email_verified,omitempty"`
	UpdatedAt     int64       `json:"updated_at,omitempty" about:"Time of the last change, in Unix seconds"`
}

// UserInfo returns the claims about the user of an access token, which needs the scope openid (OpenID Connect Core
// section 5.3).
func (p *Provider) UserInfo(ctx context.Context, caller core.Caller) (UserInfo, error) {
	if !caller.Has(core.ScopeOpenID) {
		return UserInfo{}, core.ErrScope
	}
	if caller.UserID == "" {
		return UserInfo{}, ErrBadToken
	}
	u, claims, err := p.store.UserOfFamily(ctx, caller.UserID, caller.SessionID)
	if errors.Is(err, core.ErrNotFound) {
		return UserInfo{}, ErrBadToken
	}
	if err != nil {
		return UserInfo{}, err
	}
	info := UserInfo{Subject: u.ID}
	info.ofScopes(&u, caller.Scopes)
	info.fill(&u, claims, claimsUserInfo)
	return info, nil
}

// ofScopes sets the claims that belong to scopes (OpenID Connect Core section 5.4). preferred_username, which belongs
// to profile, is the address, because people sign in with it. It is left out without the scope email, which grants
// access to the address. It is also left out until the address is verified, because anyone can sign up with another
// person's address.
func (i *UserInfo) ofScopes(u *core.User, scopes []string) {
	profile, email := slices.Contains(scopes, core.ScopeProfile), slices.Contains(scopes, core.ScopeEmail)
	if profile {
		i.Name, i.UpdatedAt = u.Name, seconds(u.UpdatedAt)
	}
	if email {
		i.Email, i.EmailVerified = &u.Email, &u.EmailVerified
	}
	if profile && email && u.EmailVerified {
		i.Username = string(u.Email)
	}
}
