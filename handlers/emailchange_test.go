package handlers

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/store/identity"
	"newsletterd/store/storetest"
)

// mails returns the kinds and recipients of the queued emails, and the token of the last link to a new address.
func (e *pageEnv) mails() (words []string, token string) {
	e.Helper()
	mails, err := e.store.DueMails(e.Context(), core.At(time.Now()), 100)
	if err != nil {
		e.Fatal(err)
	}
	for _, m := range mails {
		words = append(words, m.Kind+" "+string(m.Email))
		if m.Kind == core.MailChange {
			token = e.handler.options.Auth.MailToken(m.Kind, m.TokenID)
		}
	}
	return words, token
}

func (e *pageEnv) askChange(email, password string) (status int, text string) {
	e.Helper()
	res := e.ask("POST", "/account", url.Values{"action": {"email"}, "email": {email}, "password": {password}})
	b, err := io.ReadAll(res.Body)
	if err != nil {
		e.Fatal(err)
	}
	return res.StatusCode, strings.ReplaceAll(textOf(string(b)), email, "EMAIL")
}

var unverified = func(u *core.User) { u.EmailVerified = false }

const annsPassword = "correct horse battery"

// A new address takes effect when the link in the email to it is used, unless something else has changed the account in
// between.
func TestEmailChange(t *testing.T) {
	for _, tt := range []struct {
		name    string
		between func(e *pageEnv, ann core.User)
		want    int
	}{
		{"nothing", func(*pageEnv, core.User) {}, http.StatusOK},
		{"a day", func(*pageEnv, core.User) { time.Sleep(identity.ChangeTTL) }, http.StatusBadRequest},
		{
			"another wish", func(e *pageEnv, _ core.User) { e.askChange("third@user.example", annsPassword) },
			http.StatusBadRequest,
		},
		{"a new password", func(e *pageEnv, u core.User) {
			if err := e.store.SetPassword(e.Context(), u.ID, "", core.At(time.Now())); err != nil {
				e.Fatal(err)
			}
		}, http.StatusBadRequest},
		{"an operator's change", func(e *pageEnv, u core.User) {
			if _, err := e.store.UpdateUser(e.Context(), u.ID, identity.UserInput{Email: new(core.Email("other@user.example"))},
				core.At(time.Now())); err != nil {
				e.Fatal(err)
			}
		}, http.StatusBadRequest},
		{"the user switched off", func(e *pageEnv, u core.User) {
			if _, err := e.store.UpdateUser(e.Context(), u.ID, identity.UserInput{Disabled: new(true)},
				core.At(time.Now())); err != nil {
				e.Fatal(err)
			}
		}, http.StatusBadRequest},
		{
			"an account of that address",
			func(e *pageEnv, _ core.User) { storetest.Seed(e, e.store).NewUser("NEW@user.example", "", unverified) },
			http.StatusBadRequest,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)))
				e := newPageEnv(t, "http://news.test")
				e.login()
				ann, err := e.store.UserByEmail(t.Context(), "ann@user.example")
				if err != nil {
					t.Fatal(err)
				}
				if status, text := e.askChange("New@user.example", annsPassword); status != 200 {
					t.Fatal(status, text)
				}
				words, token := e.mails()
				if got := strings.Join(words, ", "); got != "change New@user.example, change_asked ann@user.example" {
					t.Errorf("mails: %s", got)
				}
				tt.between(e, ann)
				follow := url.Values{"token": {token}, "email": {"new@user.example"}}
				if got := e.ask("POST", "/verify", follow).StatusCode; got != tt.want {
					t.Fatalf("the link answers %d", got)
				}
				u, err := e.store.User(t.Context(), ann.ID)
				changed := u.Email == "New@user.example"
				if err != nil || changed != (tt.want == 200) || changed && !u.EmailVerified {
					t.Errorf("%+v, %v", u, err)
				}
				if words, _ := e.mails(); changed && words[len(words)-1] != "changed ann@user.example" {
					t.Errorf("the old address is not told: %v", words)
				}
				if changed && !e.in() {
					t.Error("signed out")
				}
				if err := e.store.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Changing an address doesn't reveal whether the new address has an account: not through the page, the work, or what
// the page shows afterwards. The owner of that account gets an email without a link that changes anything.
func TestEmailChangeTellsNothing(t *testing.T) {
	e := newPageEnv(t, "http://news.test")
	storetest.Seed(e, e.store).NewUser("bob-known@user.example", "", unverified)
	e.login()
	e.askChange("warm-up-one@user.example", annsPassword)
	cost := func(email string) (string, int64, int64) {
		before := e.store.Stats()
		status, text := e.askChange(email, annsPassword)
		if status != 200 {
			t.Errorf("%s: %d %s", email, status, text)
		}
		after := e.store.Stats()
		return text, after.Ops - before.Ops, after.Statements - before.Statements
	}
	text1, ops1, statements1 := cost("bob-unknow@user.example")
	text2, ops2, statements2 := cost("bob-known@user.example")
	if text1 != text2 || ops1 != ops2 || statements1 != statements2 {
		t.Errorf("%d %d\n%s\n%d %d\n%s", ops1, statements1, text1, ops2, statements2, text2)
	}
	words, token := e.mails()
	if !strings.Contains(strings.Join(words, ","), "change_taken bob-known@user.example") {
		t.Errorf("mails: %v", words)
	}
	follow := url.Values{"token": {token}, "email": {"bob-unknow@user.example"}}
	if got := e.ask("POST", "/verify", follow).StatusCode; got != http.StatusBadRequest {
		t.Errorf("the wish before answers %d", got)
	}
}

// The form can't be used to guess the password or to flood a mailbox.
func TestEmailChangeIsThrottled(t *testing.T) {
	e := newPageEnv(t, "http://news.test")
	e.login()
	for range 8 {
		if status, text := e.askChange("flood@user.example", annsPassword); status != 200 {
			t.Fatal(status, text)
		}
	}
	words, _ := e.mails()
	if n := strings.Count(strings.Join(words, ","), "change flood@user.example"); n != 3 {
		t.Errorf("%d mails to one address", n)
	}
	var last int
	for range 12 {
		last, _ = e.askChange("new@user.example", "guessed")
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the twelfth guess answers %d", last)
	}
}

// If an operator changes the address of an account, the new address is not verified. All sessions end, and roles are
// suspended until the owner has verified the address, unless the operator vouches for it. The old address is notified.
func TestOperatorChangesAnAddress(t *testing.T) {
	for _, vouched := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			e := pageEnvLater(t)
			now := core.At(time.Now())
			e.verifyAnn()
			u, err := e.store.UserByEmail(t.Context(), "ann@user.example")
			if err == nil {
				err = e.store.GrantRole(t.Context(), u.ID, core.Role{Role: core.RoleOperator}, false, now)
			}
			if err != nil {
				t.Fatal(err)
			}
			p := e.handler.options.Auth
			tokens, err := p.PasswordGrant(t.Context(), auth.GrantRequest{
				Username: "ann@user.example", Password: "correct horse battery",
			}, now)
			if err != nil {
				t.Fatal(err)
			}
			e.login()
			in := identity.UserInput{Email: new(core.Email("eve@user.example"))}
			if vouched {
				in.Verified = new(true)
			}
			if u, err = e.store.UpdateUser(t.Context(), u.ID, in, now); err != nil || u.Roles[0].Pending == vouched {
				t.Fatal(u, err)
			}
			if e.in() != vouched {
				t.Error("the browser is signed in:", !vouched)
			}
			if _, err := p.RefreshGrant(t.Context(), auth.GrantRequest{RefreshToken: tokens.RefreshToken}, now); (err == nil) !=
				vouched {
				t.Error("refresh:", err)
			}
			e.mailed(core.MailChanged)
			if read, err := e.store.User(t.Context(), u.ID); err != nil || read.Operator() != vouched {
				t.Error(read, err)
			}
		})
	}
}

// If a form on the account page is refused, the page marks the wrong field.
func TestAccountPageMarksTheWrongField(t *testing.T) {
	e := newPageEnv(t, "http://news.test")
	e.login()
	marked := regexp.MustCompile(`<input[^>]* id="(\w+)"[^>]* aria-invalid="true"[^>]*>`)
	for _, tt := range []struct {
		form url.Values
		want string
	}{
		{url.Values{"action": {"name"}, "name": {strings.Repeat("x", 101)}}, "name"},
		{url.Values{"action": {"email"}, "email": {"nobody"}, "password": {"correct horse battery"}}, "email"},
		{url.Values{"action": {"email"}, "email": {"eve@user.example"}, "password": {"wrong"}}, "email_password"},
		{url.Values{"action": {"password"}, "new_password": {"x"}, "password": {"wrong"}}, "new_password"},
		{url.Values{"action": {"password"}, "new_password": {"a long new one"}, "password": {"wrong"}}, "password"},
	} {
		code, page := e.page("POST", accountPath, tt.form)
		found := marked.FindAllStringSubmatch(page, -1)
		if code != 400 || len(found) != 1 || found[0][1] != tt.want || !strings.Contains(found[0][0], "fault") {
			t.Errorf("%v: %d %v, want %s", tt.form, code, found, tt.want)
		}
	}
}
