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

// Lifetimes of what a browser keeps. How long a user stays signed in at the most is auth.BrowserTTL; that end stands
// in the session's data and in the row of the browser.
const (
	SessionIdle  = 12 * time.Hour
	sessionTouch = 5 * time.Minute // an idle session's end is moved no more often
)

// Keys of the session's data.
const (
	keyBrowser = "browser" // id of the row that says who is signed in
	keyUntil   = "until"   // unix milliseconds: signed in no longer than this
	keyFresh   = "fresh"   // hash of the authorization request that the sign-in was for
	keyPending = "pending" // sign-in that waits for a second factor
)

// ErrSession is returned when the session store can't be read or written: 503.
var ErrSession = &core.Error{
	Kind: core.Unavailable, Code: "session_unavailable",
	Message: "Sign-in is unavailable. Try again soon.",
}

// newSessions makes the session manager: tokens of 256 bits, hashed in the database. Its own goroutine and its
// in-memory store, which scs.New begins with, are not wanted.
func newSessions(s *store.Store) *scs.SessionManager {
	return &scs.SessionManager{Lifetime: SessionIdle, Store: s.Sessions(), Codec: scs.GobCodec{}, HashTokenInStore: true}
}

// cookieName has the prefix that lets no other host and no plain connection set it (RFC 6265bis section 4.1.3.2).
func (h *Handler) cookieName(name string) string {
	if h.secure() {
		return "__Host-" + name
	}
	return name
}

// SessionCookie is the name of the cookie of a session, without its prefix.
const SessionCookie = "newsletterd"

// SetCookie sets a cookie for the whole origin that no script can read; an empty value deletes it.
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

// Cookie returns the value of a cookie; empty where there is none, or one that SetCookie would not have set.
func (c *Call) Cookie(name string) string {
	k, err := c.Request.Cookie(c.frame.cookieName(name))
	if err != nil || len(k.Value) > 100 {
		return ""
	}
	return k.Value
}

// CrossSite refuses what another site's page makes a browser send. The configured origin is ours,
// whatever Host a proxy lets through.
func (c *Call) CrossSite() error {
	if err := c.frame.crossOrigin.Check(c.Request); err != nil {
		return core.Forbiddenf("This form was sent from another site. Open it on this site and try again.")
	}
	return nil
}

func newCrossOrigin(publicURL string) *http.CrossOriginProtection {
	p := http.NewCrossOriginProtection()
	if u, err := url.Parse(publicURL); err == nil && u.Host != "" {
		_ = p.AddTrustedOrigin(u.Scheme + "://" + u.Host) // fails for no origin that has scheme and host alone
	}
	return p
}

// loadSession reads the session of the cookie. A store that doesn't answer is a 503, and
// not a user who is signed out.
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

// saveSession writes the session if it has changed, and gives the browser its cookie.
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

// EndSession forgets the session.
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

// BrowserID returns the id of the browser if a user may be signed in in it, else the empty string.
func (c *Call) BrowserID() string { return c.frame.sessions.GetString(c, keyBrowser) }

// SignedIn returns who is signed in; core.ErrNotFound where no user is.
func (c *Call) SignedIn() (core.Visitor, error) {
	id := c.BrowserID()
	if id == "" {
		return core.Visitor{}, core.ErrNotFound
	}
	return c.frame.options.Store.Visitor(c, id, "", c.Now)
}

// SignIn signs a browser in: a new session token, so that one that another person has set before is worth nothing.
// request is the authorization request that asked for the login.
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

// SetPending keeps a sign-in that waits for a second factor, under a new session token. An empty text forgets it. Who
// was signed in before stays so until then.
func (c *Call) SetPending(text string) error {
	if err := c.frame.sessions.RenewToken(c); err != nil {
		return ErrSession.With(err)
	}
	c.frame.sessions.Put(c, keyPending, text)
	return c.saveSession()
}

// Pending returns what SetPending has kept; empty where there is nothing.
func (c *Call) Pending() string { return c.frame.sessions.GetString(c, keyPending) }

// IsFresh reports whether the last login was for this very authorization request.
func (c *Call) IsFresh(request url.Values) bool {
	return subtle.ConstantTimeCompare(c.frame.sessions.GetBytes(c, keyFresh), requestHash(request)) == 1
}

// AnswerLogin notes that the request the login was for has its answer: asked again, it needs another login.
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

// Visited makes the function of a page: the session is there, and a form comes from our own pages.
func Visited[In any](fn func(*Call, In) (HTML, error)) func(*Call, In) (HTML, error) {
	return func(c *Call, in In) (HTML, error) {
		if err := c.Visit(); err != nil {
			return HTML{}, err
		}
		return fn(c, in)
	}
}

// Visit reads the session of the browser, and refuses a form that doesn't come from our own pages.
func (c *Call) Visit() error {
	if err := c.CrossSite(); err != nil {
		return err
	}
	return c.loadSession()
}
