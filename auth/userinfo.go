package auth

import (
	"context"
	"errors"

	"newsletterd/core"
)

// UserInfo are the claims about a user (OpenID Connect Core section 5.1), as far as the scopes of the token or the
// parameter claims of its authorization request ask for them.
type UserInfo struct {
	Subject       string      `json:"sub"`
	Name          string      `json:"name,omitempty"`
	Email         *core.Email `json:"email,omitempty"`
	EmailVerified *bool       `json:"email_verified,omitempty"`
	UpdatedAt     int64       `json:"updated_at,omitempty"` // seconds
}

// UserInfo answers for the user of an access token that carries openid (OpenID Connect Core section 5.3).
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
	if caller.Has(core.ScopeProfile) {
		info.Name, info.UpdatedAt = u.Name, seconds(u.UpdatedAt)
	}
	if caller.Has(core.ScopeEmail) {
		info.Email, info.EmailVerified = &u.Email, &u.EmailVerified
	}
	info.fill(&u, claims, claimsUserInfo)
	return info, nil
}
