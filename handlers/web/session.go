package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"time"

	"github.com/alexedwards/scs/v2"

	"newsletterd/core"
	"newsletterd/store"
)

// Lifetimes of browser data. A user stays signed in for at most auth.BrowserTTL, which is stored in the session's data
// and in the browser's row.
const (
	SessionIdle  = 12 * time.Hour  // without requests, the session ends
	sessionTouch = 5 * time.Minute // minimum time between extensions of a session
)

// Keys in the session's data.
const (
	keyBrowser = "browser" // id of the row with the signed-in user
	keyUntil   = "until"   // latest end of the sign-in, in Unix milliseconds
	keyFresh   = "fresh"   // hash of the authorization request that started the sign-in
	keyPending = "pending" // sign-in that waits for a second factor
)

// ErrSession is returned if the session store can't be read or written. Its status is 503.
var ErrSession = &core.Error{
	Kind: core.Unavailable, Code: "session_unavailable",
	Message: "Sign-in is temporarily unavailable. Try again in a few minutes.",
}

// newSessions returns the session manager. Tokens have 256 bits and are hashed in the database. It doesn't use
// scs.New because that starts a goroutine and an in-memory store.
func newSessions(s *store.Store) *scs.SessionManager {
	return &scs.SessionManager{Lifetime: SessionIdle, Store: s.Sessions(), Codec: scs.GobCodec{}, HashTokenInStore: true}
}

// cookieName adds the prefix that prevents other hosts and plain connections from setting the cookie (RFC 6265bis
// section 4.1.3.2).
func (h *Handler) cookieName(name string) string {
	if h.secure() {
		return "__Host-" + name
	}
	return name
}

// SessionCookie is the name of the session cookie without its prefix.
const SessionCookie = "newsletterd"

// SetCookie sets a cookie for the whole origin that scripts can't read. An empty value deletes it.
func (c *Call) SetCookie(name, value string, expires time.Time) {
	k := &http.Cookie{
		Name: c.frame.cookieName(name), Value: value, Path: "/", Expires: expires.UTC(), HttpOnly: true,
		Secure: c.frame.secure(), SameSite: http.SameSiteLaxMode,
	}
	if value == "" {
		k.Expires, k.MaxAge = time.Unix(1, 0), -1
	}
	http.SetCookie(c.w, k)
}

// Cookie returns the value of a cookie. It returns an empty string if there is none, or one that SetCookie would not
// have set.
func (c *Call) Cookie(name string) string {
	k, err := c.Request.Cookie(c.frame.cookieName(name))
	if err != nil || len(k.Value) > 100 {
		return ""
	}
	return k.Value
}

// CrossSite returns an error if another site caused the request. The configured origin counts as this site, whichever
// Host header a proxy passes on.
func (c *Call) CrossSite() error {
	if err := c.frame.crossOrigin.Check(c.Request); err != nil {
		return core.Forbiddenf("This form was submitted from another site. Open it on this site and try again.")
	}
	return nil
}

func newCrossOrigin(publicURL string) *http.CrossOriginProtection {
	p := http.NewCrossOriginProtection()
	if u, err := url.Parse(publicURL); err == nil && u.Host != "" {
		_ = p.AddTrustedOrigin(u.Scheme + "://" + u.Host) // never fails for an origin of scheme and host only
	}
	return p
}

// loadSession reads the session that the cookie identifies. If the store fails, it returns ErrSession rather than
// treating the user as signed out.
func (c *Call) loadSession() error {
	ctx, err := c.frame.sessions.Load(c.Context, c.Cookie(SessionCookie))
	if err != nil {
		return ErrSession.With(err)
	}
	c.Context = ctx
	if !c.frame.sessions.Exists(c, keyUntil) {
		return nil
	}
	until := core.Instant(c.frame.sessions.GetInt64(c, keyUntil)).Time()
	if at := c.Now.Time(); !at.Before(until) || !at.Before(c.frame.sessions.Deadline(c)) {
		return c.EndSession()
	}
	if end := c.Now.Time().Add(SessionIdle); c.frame.sessions.Deadline(c).Before(end.Add(-sessionTouch)) &&
		!end.After(until) {
		c.frame.sessions.SetDeadline(c, end)
		if err := c.frame.options.Store.TouchBrowser(c, c.BrowserID(), c.Now); err != nil {
			return err
		}
		return c.saveSession()
	}
	return nil
}

// saveSession writes the session if it has changed, and sets the browser's cookie.
func (c *Call) saveSession() error {
	if c.frame.sessions.Status(c) != scs.Modified {
		return nil
	}
	token, expires, err := c.frame.sessions.Commit(c)
	if err != nil {
		return ErrSession.With(err)
	}
	c.SetCookie(SessionCookie, token, expires)
	return nil
}

// EndSession deletes the session.
func (c *Call) EndSession() error {
	if c.Cookie(SessionCookie) == "" {
		return nil
	}
	if err := c.frame.sessions.Destroy(c); err != nil {
		return ErrSession.With(err)
	}
	c.SetCookie(SessionCookie, "", time.Time{})
	return nil
}

// BrowserID returns the browser's id if a user may be signed in there, or an empty string.
func (c *Call) BrowserID() string { return c.frame.sessions.GetString(c, keyBrowser) }

// SignedIn returns the signed-in user. If no user is signed in, it returns core.ErrNotFound.
func (c *Call) SignedIn() (core.Visitor, error) {
	id := c.BrowserID()
	if id == "" {
		return core.Visitor{}, core.ErrNotFound
	}
	who, err := c.frame.options.Store.Visitor(c, id, "", c.Now)
	c.chosen = who.User.Language
	return who, err
}

// SignIn signs a browser in under a new session token, so that a token that an attacker planted in the browser is
// worthless. request is the authorization request that led to the sign-in.
func (c *Call) SignIn(b core.Browser, request url.Values) error {
	s := c.frame.sessions
	if err := s.RenewToken(c); err != nil {
		return ErrSession.With(err)
	}
	s.Put(c, keyBrowser, b.ID)
	s.Put(c, keyUntil, int64(b.ExpiresAt))
	s.Remove(c, keyFresh)
	s.Remove(c, keyPending)
	if request != nil {
		s.Put(c, keyFresh, requestHash(request))
	}
	return c.saveSession()
}

// SetPending stores a sign-in that is waiting for a second factor, under a new session token. An empty string deletes
// it. Until the sign-in is complete, the previous user stays signed in.
func (c *Call) SetPending(text string) error {
	if err := c.frame.sessions.RenewToken(c); err != nil {
		return ErrSession.With(err)
	}
	c.frame.sessions.Put(c, keyPending, text)
	return c.saveSession()
}

// Pending returns the string stored by SetPending, or an empty string.
func (c *Call) Pending() string { return c.frame.sessions.GetString(c, keyPending) }

// IsFresh reports whether the last sign-in was for this authorization request.
func (c *Call) IsFresh(request url.Values) bool {
	return subtle.ConstantTimeCompare(c.frame.sessions.GetBytes(c, keyFresh), requestHash(request)) == 1
}

// AnswerLogin records that the authorization request that started the sign-in got its response. The same request then
// needs another sign-in.
func (c *Call) AnswerLogin() error {
	if !c.frame.sessions.Exists(c, keyFresh) {
		return nil
	}
	c.frame.sessions.Remove(c, keyFresh)
	return c.saveSession()
}

func requestHash(q url.Values) []byte {
	sum := sha256.Sum256([]byte(q.Encode()))
	return sum[:]
}

// Visited returns a function that calls Visit before fn, the function of a page.
func Visited[In any](fn func(*Call, In) (HTML, error)) func(*Call, In) (HTML, error) {
	return func(c *Call, in In) (HTML, error) {
		if err := c.Visit(); err != nil {
			return HTML{}, err
		}
		return fn(c, in)
	}
}

// Visit loads the browser's session and returns an error for a form from another site.
func (c *Call) Visit() error {
	if err := c.CrossSite(); err != nil {
		return err
	}
	return c.loadSession()
}
