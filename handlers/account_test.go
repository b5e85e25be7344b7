package handlers

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/store/identity"
)

// Steps that change accounts which scenarios have created.
func init() {
	// user-of ACCOUNT: a token for the user of an account; its name is the account's name followed by s
	steps["user-of"] = func(e *env, name string, _ map[string]string) {
		u, err := e.store.User(e.t.Context(), e.value(name))
		e.must(err)
		e.name(name+"s", "token-of-"+name)
		e.callers["token-of-"+name] = core.Caller{
			UserID: u.ID, Email: u.Email, EmailVerified: true, Roles: u.Roles, ClientID: core.BuiltInClientID,
			Scopes: core.AllScopes, FirstParty: true,
		}
	}
	// second-factor ACCOUNT: sets up a second factor
	steps["second-factor"] = func(e *env, name string, _ map[string]string) {
		e.must(e.store.SetTOTP(e.t.Context(), e.value(name), []byte("12345678901234567890"), 1))
		u, err := e.store.User(e.t.Context(), e.value(name))
		e.must(err)
		e.must(e.store.ConfirmTOTP(e.t.Context(), identity.NewTOTP{UserID: u.ID, Epoch: u.Epoch, Step: 1}, 1))
	}
}

// Steps for real users and tokens. Tokens that no "user" step has created are verified as in production.
func init() {
	setups = append(setups, func(e *env, o *Options) {
		p, err := auth.New(e.t.Context(), e.store, auth.Config{
			Issuer: o.PublicURL + "/api", RefreshGrace: 10 * time.Second, CommonPasswords: "refuse",
			PasswordCost: auth.Argon2{Memory: 64, Passes: 1, Threads: 1},
		}, core.At(time.Now()))
		e.must(err)
		o.Auth = p
		made := o.Bearer
		o.Bearer = func(ctx context.Context, token string, now core.Instant) (core.Caller, error) {
			if c, err := made(ctx, token, now); err == nil {
				return c, nil
			}
			return p.Bearer(ctx, token, now)
		}
	})
	// account NAME email=E name=N password=P operator tenant_admin=T[,T] verified disabled: {NAME} is the user's id
	steps["account"] = func(e *env, name string, args map[string]string) {
		now := core.At(time.Now())
		u := core.NewUser(core.Email(argOr(args, "email", name+"@user.example")), now)
		if _, ok := args["operator"]; ok {
			u.Roles = []core.Role{{Role: core.RoleOperator}}
		}
		for _, t := range strings.FieldsFunc(args["tenant_admin"], func(r rune) bool { return r == ',' }) {
			u.Roles = append(u.Roles, core.Role{Role: core.RoleTenantAdmin, TenantID: e.value(t)})
		}
		u.Name = argOr(args, "name", u.Name)
		_, u.EmailVerified = args["verified"]
		phc, err := e.handler.options.Auth.NewPassword(e.t.Context(), "password",
			argOr(args, "password", "correct horse battery"))
		e.must(err)
		e.must(e.store.AddUser(e.t.Context(), u, phc, now))
		if _, off := args["disabled"]; off {
			_, err := e.store.UpdateUser(e.t.Context(), u.ID, identity.UserInput{Disabled: new(true)}, now)
			e.must(err)
		}
		e.name(name, u.ID)
	}
	// oauth-client NAME confidential scopes="a b" redirect=URI bye=URI tenant=T first-party no-pkce: {NAME} is the
	// client's id, {NAME-secret} its secret
	steps["oauth-client"] = func(e *env, name string, args map[string]string) {
		in := core.ClientInput{Name: &name}
		if _, ok := args["confidential"]; ok {
			in.ClientType = new(core.ClientConfidential)
		}
		if s := args["scopes"]; s != "" {
			in.Scopes = new(strings.Fields(s))
		}
		if u := args["redirect"]; u != "" {
			in.RedirectURIs = &[]string{u}
		}
		if u := args["bye"]; u != "" {
			in.PostLogoutRedirectURIs = &[]string{u}
		}
		if t := args["tenant"]; t != "" {
			in.TenantID = new(e.value(t))
		}
		_, first := args["first-party"]
		_, noPKCE := args["no-pkce"]
		in.FirstParty, in.RequirePKCE = &first, new(!noPKCE)
		c, secret, err := core.NewClient(in, true, core.At(time.Now()))
		e.must(err)
		e.must(e.store.AddClient(e.t.Context(), c, "command"))
		e.name(name, c.ID)
		if secret != "" {
			e.name(name+"-secret", secret)
		}
	}
	// registration closed | conflict | open: the settings registration and register_existing in [auth]
	steps["registration"] = func(e *env, name string, _ map[string]string) {
		p := e.handler.options.Auth
		p.ClosedRegistration, p.RegisterConflict = name == "closed", name == "conflict"
	}
	// call NAME value=V: {NAME} is replaced by the value V
	steps["call"] = func(e *env, name string, args map[string]string) { e.name(name, args["value"]) }
	// mailed NAME kind=K: {NAME} is the token in the last email of that kind, which must exist
	steps["mailed"] = func(e *env, name string, args map[string]string) {
		mails, err := e.store.DueMails(e.t.Context(), core.At(time.Now()), 100)
		e.must(err)
		for _, m := range mails {
			if m.Kind == args["kind"] {
				e.name(name, e.handler.options.Auth.MailToken(m.Kind, m.TokenID))
			}
		}
		if e.names[name] == "" {
			e.t.Fatalf("no mail of the kind %s", args["kind"])
		}
	}
	// repeat METHOD path=P n=N from=ADDRESS type=T body=B: sends N requests whose responses are ignored
	steps["repeat"] = func(e *env, method string, args map[string]string) {
		n, err := strconv.Atoi(args["n"])
		e.must(err)
		for i := range n {
			body := strings.ReplaceAll(strings.ReplaceAll(args["body"], "'", `"`), "%d", fmt.Sprint(i))
			req, err := http.NewRequestWithContext(e.t.Context(), method, e.url+args["path"], strings.NewReader(body))
			e.must(err)
			req.Header.Set("X-Forwarded-For", args["from"])
			req.Header.Set("Content-Type", "application/"+args["type"])
			if as := args["as"]; as != "" {
				req.Header.Set("Authorization", "Bearer "+e.value(as))
			}
			res, err := http.DefaultClient.Do(req)
			e.must(err)
			res.Body.Close()
		}
	}
}

// Browsers don't store the response of a token endpoint (RFC 6749 section 5.1).
func TestTokenAnswersAreNotKept(t *testing.T) {
	e := newEnv(t)
	steps["account"](e, "ann", nil)
	for _, form := range []string{
		"grant_type=password&username=ann@user.example&password=correct+horse+battery",
		"grant_type=password&username=ann@user.example&password=wrong",
	} {
		res, err := http.Post(e.url+"/api/auth/login", "application/x-www-form-urlencoded", strings.NewReader(form))
		e.must(err)
		res.Body.Close()
		if res.Header.Get("Cache-Control") != "no-store" || res.Header.Get("Pragma") != "no-cache" {
			t.Errorf("%d: %v", res.StatusCode, res.Header)
		}
	}
}

// Registrations through the API and through the page share one limit.
func TestRegisteringSharesACount(t *testing.T) {
	e := newEnv(t)
	ask := func(path, media, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), "POST", e.url+path, strings.NewReader(body))
		e.must(err)
		req.Header.Set("X-Forwarded-For", "203.0.113.9")
		req.Header.Set("Content-Type", media)
		res, err := http.DefaultClient.Do(req)
		e.must(err)
		res.Body.Close()
		return res.StatusCode
	}
	for range 10 {
		ask("/api/auth/register", "application/json", `{"email": "new@user.example", "password": "short"}`)
		ask("/register", "application/x-www-form-urlencoded", "email=new%40user.example&password=short")
	}
	if got := ask("/register", "application/x-www-form-urlencoded",
		"email=new%40user.example&password=short"); got != http.StatusTooManyRequests {
		t.Errorf("by the page: %d", got)
	}
	if got := ask("/api/auth/register", "application/json",
		`{"email": "new@user.example", "password": "short"}`); got != http.StatusTooManyRequests {
		t.Errorf("by API: %d", got)
	}
}
