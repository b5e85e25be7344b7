package auth

import (
	"context"
	"errors"
	"net/url"

	"newsletterd/core"
)

// LogoutRequest is a request by a relying party to sign its user out (OpenID Connect RP-Initiated Logout 1.0 section
// 2).
type LogoutRequest struct {
	Query     url.Values
	BrowserID string
	Confirmed bool // the user has confirmed the logout
}

// LogoutReply is the result of a LogoutRequest.
type LogoutReply struct {
	Done     bool         // the browser is signed out; otherwise the user must confirm
	Location string       // redirect target after the logout; empty: a page of this server
	Client   *core.Client // the requesting client; nil: unknown
	User     core.User    // the signed-in user, if confirmation is needed
}

// LogoutError is the error for a faulty logout request. It is shown on a page, because the redirect URI in the request
// can't be trusted.
type LogoutError struct{ Parameter, Description string }

func (e *LogoutError) Error() string { return e.Parameter + ": " + e.Description }

// RPLogout signs a browser out for a relying party. With an id_token_hint of the signed-in user, no confirmation is
// needed. Otherwise the user must confirm, since anyone could sign people out with a link.
func (p *Provider) RPLogout(ctx context.Context, r LogoutRequest, now core.Instant) (LogoutReply, error) {
	hint, reply, err := p.logoutRequest(ctx, r, now)
	if err != nil {
		return LogoutReply{}, err
	}
	var who core.Visitor
	if r.BrowserID != "" {
		if who, err = p.store.Visitor(ctx, r.BrowserID, "", now); ignoreMissing(err) != nil {
			return LogoutReply{}, err
		}
	}
	signedIn := who.User.ID != ""
	if signedIn && !r.Confirmed && hint.Subject != who.User.ID {
		reply.User = who.User
		return reply, nil
	}
	reply.Done = true
	if signedIn {
		if err := p.store.SignOutBrowser(ctx, who.Browser.ID, who.User.ID, now); ignoreMissing(err) != nil {
			return LogoutReply{}, err
		}
	}
	return reply, p.endHinted(ctx, hint, now)
}

// endHinted ends the sign-in that the id token in the hint belongs to, even if the browser has been signed out since.
// It doesn't end a sign-in with offline_access, which is meant to outlive the session.
func (p *Provider) endHinted(ctx context.Context, hint IDClaims, now core.Instant) error {
	if hint.SessionID == "" {
		return nil
	}
	st, err := p.store.TokenState(ctx, hint.SessionID, now)
	if err != nil || !st.Live || st.UserID != hint.Subject || hasScope(st.Scope, core.ScopeOffline) {
		return ignoreMissing(err)
	}
	return ignoreMissing(p.store.EndFamily(ctx, st.ID, st.UserID, now))
}

func ignoreMissing(err error) error {
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	return err
}

// logoutRequest checks the parameters of a logout request (section 2; section 3 for the redirect URI).
func (p *Provider) logoutRequest(
	ctx context.Context, r LogoutRequest, now core.Instant,
) (hint IDClaims, reply LogoutReply, err error) {
	for _, name := range []string{"id_token_hint", "client_id", "post_logout_redirect_uri", "state"} {
		if _, ok := once(r.Query, name); !ok {
			return hint, reply, &LogoutError{name, "The parameter " + name + " is sent more than once. Send it only " +
				"once."}
		}
	}
	id := r.Query.Get("client_id")
	if text := r.Query.Get("id_token_hint"); text != "" {
		if hint, err = p.readHint(ctx, text, now); err != nil {
			return hint, reply, err
		}
		switch {
		case hint.Subject == "":
			return hint, reply, &LogoutError{"id_token_hint", "id_token_hint was not issued by this server. Leave it " +
				"out, or send an ID token of this server."}
		case id != "" && id != hint.Audience:
			return hint, reply, &LogoutError{"client_id", "client_id and id_token_hint belong to different clients. " +
				"Leave one of them out."}
		}
		id = hint.Audience
	}
	if id != "" {
		c, err := p.store.Client(ctx, id)
		switch {
		case err == nil && c.DisabledAt != 0:
			return hint, reply, &LogoutError{
				"client_id",
				"This client is disabled. Contact the server administrator.",
			}
		case err == nil:
			reply.Client = &c
		case !errors.Is(err, core.ErrNotFound):
			return hint, reply, err
		case hint.Audience != core.BuiltInClientID:
			return hint, reply, &LogoutError{"client_id", "Unknown client_id. Check it in the settings of the app."}
		}
	}
	uri := r.Query.Get("post_logout_redirect_uri")
	if uri == "" {
		return hint, reply, nil
	}
	if reply.Client == nil {
		return hint, reply, &LogoutError{
			"post_logout_redirect_uri",
			"post_logout_redirect_uri needs id_token_hint or client_id. Send one of them.",
		}
	}
	if !Registered(reply.Client.PostLogoutRedirectURIs, uri, reply.Client.ClientType == core.ClientPublic) {
		return hint, reply, &LogoutError{
			"post_logout_redirect_uri",
			"This post_logout_redirect_uri is not registered for the client. Register exactly this URL, " +
				"character by character.",
		}
	}
	_, reply.Location = (&Authorization{RedirectURI: uri}).Answer([2]string{"state", r.Query.Get("state")})
	return hint, reply, nil
}
