package identity

import (
	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/web"
)

// account serves the API for a user's own account: /api/auth/register, verify, forgot, reset, logout, and
// /api/user/profile.
type account struct {
	auth    *auth.Provider
	forgets *web.OriginLimits
}

// userProfile is the specification's UserProfile. A nil field means that the token has no scope for it.
type userProfile struct {
	ID            string        `json:"id"`
	Email         *core.Email   `json:"email,omitempty"`
	EmailVerified *bool         `json:"email_verified,omitempty"`
	CreatedAt     *core.Instant `json:"created_at,omitempty"`
}

// accountRoutes adds the routes for people with an account and for the API clients that act for them.
func (r *Room) accountRoutes(t *web.Table) {
	account := account{r.Auth, r.Forgets}
	t.Add("POST", "/api/auth/register", web.Public(), web.Member,
		web.JSON(account.register).NeedsRoom(web.MaxWrite).Rated(r.registers).Fails(core.Forbidden, core.Conflict),
		"Create an account and email a verification link").Named("register").
		Example(web.Object{"email": "new@example.org", "password": "a long password"}).
		Refuses(weak, web.BadEmail, web.Clashing("already_exists", "email", "Another user has this address"))
	t.Add("POST", "/api/auth/logout", web.AnyToken(), web.Member,
		web.JSON(account.logout), "Revoke a refresh token and all other tokens of its sign-in").Named("logout").
		Example(web.Object{"refresh_token": "Zc3o…"})
	t.Add("POST", "/api/auth/password/forgot", web.Public(), web.Member,
		web.JSON(account.forgot).NeedsRoom(web.MaxWrite).Fails(core.TooMany),
		"Request a password reset email").Named("forgotPassword").
		Example(web.Object{"email": "reader@example.org"})
	t.Add("POST", "/api/auth/password/reset", web.Public(), web.Member,
		web.JSON(account.reset), "Set a new password with the emailed token").Named("resetPassword").
		Example(web.Object{"email": "reader@example.org", "token": "q7Xk…", "new_password": "a longer password"}).
		Refuses(web.UnusedToken, web.PastToken, weakNew)
	t.Add("GET", "/api/auth/email/verify", web.Public(), web.Member,
		web.Query(account.verify).Changes(), "Verify an address with the emailed token").Named("verifyEmail").
		Refuses(web.UnusedToken, web.PastToken)
	t.Add("GET", "/api/user/profile", web.ProfileToken(), web.Member,
		web.Get(account.profile), "Show the token's user").Named("getUserProfile")
}

func profileOf(u core.User) userProfile {
	return userProfile{ID: u.ID, Email: &u.Email, EmailVerified: &u.EmailVerified, CreatedAt: &u.CreatedAt}
}

type registerRequest struct {
	Email    core.Email `json:"email" is:"required"`
	Password string     `json:"password" is:"required" min:"8" max:"256"`
}

// register creates an account. The response for an existing address looks the same as for a new one. It then contains
// an id that no user has.
func (a account) register(c *web.Call, in registerRequest) (userProfile, error) {
	u, err := a.auth.Register(c, in.Email, in.Password, core.MailStyle{Language: c.Language()}, c.Remote, c.Now)
	return profileOf(u), err
}

// profile returns the data of the token's user that the token's scopes allow. The address requires the scope email, and
// the time of registration requires the scope profile.
func (a account) profile(c *web.Call) (userProfile, error) {
	u, err := a.auth.Profile(c, c.Caller)
	out := profileOf(u)
	if !c.Caller.Has(core.ScopeEmail) {
		out.Email, out.EmailVerified = nil, nil
	}
	if !c.Caller.Has(core.ScopeProfile) {
		out.CreatedAt = nil
	}
	return out, err
}

type verifyRequest struct {
	Token string     `query:"token,required"`
	Email core.Email `query:"email,required"`
}

type verifyReply struct {
	Email         core.Email `json:"email"`
	EmailVerified bool       `json:"email_verified"`
}

func (a account) verify(c *web.Call, in verifyRequest) (verifyReply, error) {
	email, err := a.auth.VerifyEmail(c, in.Email, in.Token, c.Now)
	return verifyReply{Email: email, EmailVerified: true}, err
}

type forgotRequest struct {
	Email core.Email `json:"email" is:"required"`
}

func (a account) forgot(c *web.Call, in forgotRequest) (web.None, error) {
	if err := a.forgets.Check(c, false); err != nil {
		return web.None{}, err
	}
	return web.None{}, a.auth.Forgot(c, in.Email, core.MailStyle{Language: c.Language()}, c.Now)
}

type resetRequest struct {
	Email          core.Email `json:"email" is:"required"`
	Token          string     `json:"token" is:"required"`
	NewPassword    string     `json:"new_password" is:"required" min:"8" max:"256"`
	DisableClients bool       `json:"disable_clients"`
}

func (a account) reset(c *web.Call, in resetRequest) (web.None, error) {
	err := a.auth.ResetPassword(c, in.Email, in.Token, in.NewPassword, "new_password", c.Now)
	if err != nil || !in.DisableClients {
		return web.None{}, err
	}
	u, err := c.Store().UserByEmail(c, in.Email)
	if err == nil {
		err = endOwnClients(c, u, "1")
	}
	return web.None{}, err
}

type logoutRequest struct {
	RefreshToken string `json:"refresh_token" about:"Refresh token of the sign-in to end; without it, nothing is revoked"`
}

// logout succeeds whether or not there was a session to end.
func (a account) logout(c *web.Call, in logoutRequest) (web.None, error) {
	return web.None{}, a.auth.Logout(c, c.Caller, in.RefreshToken, c.Now)
}

var weak = web.Coded("weak_password", "password", "Too short, too long or too common")

var weakNew = web.Coded("weak_password", "new_password", "Too short, too long or too common")
