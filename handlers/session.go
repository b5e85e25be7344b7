package handlers

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/alexedwards/scs/v2"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/store"
)

// Lifetimes of what a browser keeps. How long somebody stays signed in at the most is auth.BrowserTTL; that end stands
// in the session's data and in the row of the browser.
const (
	sessionIdle  = 12 * time.Hour
	sessionTouch = 5 * time.Minute // an idle session's end is moved no more often
	deviceTTL    = 90 * 24 * time.Hour
)

// Keys of the session's data.
const (
	keyBrowser = "browser" // id of the row that says who is signed in
	keyUntil   = "until"   // unix milliseconds: signed in no longer than this
	keyFresh   = "fresh"   // hash of the authorization request that the sign-in was for
)

var errSession = &core.Error{Kind: core.Unavailable, Code: "session_unavailable", Message: "Sessions are unavailable at the moment; try again soon."}

// newSessions makes the session manager: tokens of 256 bits, hashed in the database. Its own goroutine and its
// in-memory store, which scs.New begins with, are not wanted.
func newSessions(s *store.Store) *scs.SessionManager {
	return &scs.SessionManager{Lifetime: sessionIdle, Store: s.Sessions(), Codec: scs.GobCodec{}, HashTokenInStore: true}
}

// cookieName has the prefix that lets no other host and no plain connection set it (RFC 6265bis section 4.1.3.2).
func (h *Handler) cookieName(name string) string {
	if h.secure() {
		return "__Host-" + name
	}
	return name
}

const (
	sessionCookie = "newsletterd"
	deviceCookie  = "newsletterd-device"
)

func (c *Call) setCookie(name, value string, expires time.Time) {
	k := &http.Cookie{
		Name: c.api.cookieName(name), Value: value, Path: "/", Expires: expires.UTC(), HttpOnly: true,
		Secure: c.api.secure(), SameSite: http.SameSiteLaxMode,
	}
	if value == "" {
		k.Expires, k.MaxAge = time.Unix(1, 0), -1
	}
	http.SetCookie(c.w, k)
}

func (c *Call) cookie(name string) string {
	k, err := c.Request.Cookie(c.api.cookieName(name))
	if err != nil || len(k.Value) > 100 {
		return ""
	}
	return k.Value
}

// crossSite refuses what another site's page makes a browser send (contract: pages). The configured origin is ours,
// whatever Host a proxy lets through.
func (c *Call) crossSite() error {
	if err := c.api.crossOrigin.Check(c.Request); err != nil {
		return core.Forbiddenf("This form was sent from another site.")
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

// loadSession reads the session of the cookie. A store that doesn't answer is a 503: nobody becomes a
// stranger by it.
func (c *Call) loadSession() error {
	ctx, err := c.api.sessions.Load(c.Context, c.cookie(sessionCookie))
	if err != nil {
		return errSession.With(err)
	}
	c.Context = ctx
	if !c.api.sessions.Exists(c, keyUntil) {
		return nil
	}
	until := core.Instant(c.api.sessions.GetInt64(c, keyUntil)).Time()
	if at := c.Now.Time(); !at.Before(until) || !at.Before(c.api.sessions.Deadline(c)) {
		return c.endSession()
	}
	if end := c.Now.Time().Add(sessionIdle); c.api.sessions.Deadline(c).Before(end.Add(-sessionTouch)) && !end.After(until) {
		c.api.sessions.SetDeadline(c, end)
		if err := c.api.options.Store.TouchBrowser(c, c.browserID(), c.Now); err != nil {
			return err
		}
		return c.saveSession()
	}
	return nil
}

// saveSession writes the session if it has changed, and gives the browser its cookie.
func (c *Call) saveSession() error {
	if c.api.sessions.Status(c) != scs.Modified {
		return nil
	}
	token, expires, err := c.api.sessions.Commit(c)
	if err != nil {
		return errSession.With(err)
	}
	c.setCookie(sessionCookie, token, expires)
	return nil
}

// endSession forgets the session.
func (c *Call) endSession() error {
	if c.cookie(sessionCookie) == "" {
		return nil
	}
	if err := c.api.sessions.Destroy(c); err != nil {
		return errSession.With(err)
	}
	c.setCookie(sessionCookie, "", time.Time{})
	return nil
}

// browserID is that of the browser if somebody may be signed in in it.
func (c *Call) browserID() string { return c.api.sessions.GetString(c, keyBrowser) }

// signedIn reads who is signed in; core.ErrNotFound where nobody is.
func (c *Call) signedIn() (store.Visitor, error) {
	id := c.browserID()
	if id == "" {
		return store.Visitor{}, core.ErrNotFound
	}
	return c.api.options.Store.Visitor(c, id, "", c.Now)
}

// begin signs a browser in: a new session token, so that one set before by somebody else is worth nothing.
// request is the authorization request that asked for the login.
func (c *Call) begin(b store.Browser, request url.Values) error {
	s := c.api.sessions
	if err := s.RenewToken(c); err != nil {
		return errSession.With(err)
	}
	s.Put(c, keyBrowser, b.ID)
	s.Put(c, keyUntil, int64(b.ExpiresAt))
	s.Remove(c, keyFresh)
	if request != nil {
		s.Put(c, keyFresh, requestHash(request))
	}
	return c.saveSession()
}

// isFresh tells whether the last login was for this very authorization request.
func (c *Call) isFresh(request url.Values) bool {
	return subtle.ConstantTimeCompare(c.api.sessions.GetBytes(c, keyFresh), requestHash(request)) == 1
}

// answered says that the request the login was for has its answer: asked again, it needs another login.
func (c *Call) answered() error {
	if !c.api.sessions.Exists(c, keyFresh) {
		return nil
	}
	c.api.sessions.Remove(c, keyFresh)
	return c.saveSession()
}

func requestHash(q url.Values) []byte {
	sum := sha256.Sum256([]byte(q.Encode()))
	return sum[:]
}

// visited makes the function of a page: the session is there, and a form comes from our own pages.
func visited[In any](fn func(*Call, In) (HTML, error)) func(*Call, In) (HTML, error) {
	return func(c *Call, in In) (HTML, error) {
		if err := c.crossSite(); err != nil {
			return HTML{}, err
		}
		if err := c.loadSession(); err != nil {
			return HTML{}, err
		}
		return fn(c, in)
	}
}

// faultOf is what a form's page says of an error that the visitor can mend, and its status; ok is false for others.
func (c *Call) faultOf(err error) (text string, status int, ok bool) {
	e, is := errors.AsType[*core.Error](err)
	if !is {
		return "", 0, false
	}
	switch {
	case errors.Is(err, auth.ErrBadCredentials), e.Kind == core.Invalid, e.Kind == core.TooMany, e.Kind == core.Unavailable && e.Code == "busy":
		c.retryAfter(e)
		c.err = err
		return c.explain(e.Message), statusOf(page, e.Kind), true
	}
	return "", 0, false
}
