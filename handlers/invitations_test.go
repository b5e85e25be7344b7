package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/mail/notice"
	"newsletterd/store/identity"
	"newsletterd/store/storetest"
)

// invite invites an editor and returns the invitation and its token.
func (e *pageEnv) invite(tenantID string, to core.Email, by string) (core.Invitation, string) {
	e.Helper()
	p := e.handler.options.Auth
	i, err := p.Invite(e.Context(), core.InvitationInput{Email: to, Role: core.RoleEditor, TenantID: tenantID}, "en",
		by, core.At(time.Now()))
	if err != nil {
		e.Fatal(err)
	}
	return i, p.MailToken(core.MailInvitation, i.ID)
}

// join sends the form on the page of an invitation.
func (e *pageEnv) join(token string) int {
	e.Helper()
	return e.ask("POST", "/invitation", url.Values{
		"token": {token}, "name": {"Eve"}, "new_password": {"a long password of hers"},
	}).StatusCode
}

// signedIn signs Ann in.
func (e *pageEnv) signedIn() {
	e.Helper()
	if e.login(); !e.in() {
		e.Fatal("not signed in")
	}
}

// roles returns the roles of an address, or nil if it has no account.
func (e *pageEnv) roles(email core.Email) []core.Role {
	e.Helper()
	u, err := e.store.UserByEmail(e.Context(), email)
	if core.KindOf(err) == core.NotFound {
		return nil
	}
	if err != nil {
		e.Fatal(err)
	}
	return u.Roles
}

// An invitation gives its role to the owner of its address, once, and only while it is valid.
func TestInvitation(t *testing.T) {
	const eve = "eve@user.example"
	for _, tt := range []struct {
		name    string
		between func(e *pageEnv, i core.Invitation, token string)
		want    int
		role    bool
	}{
		{"a new person", func(*pageEnv, core.Invitation, string) {}, http.StatusSeeOther, true},
		{
			"in a browser where another user is signed in",
			func(e *pageEnv, _ core.Invitation, _ string) { e.signedIn() }, http.StatusSeeOther, true,
		},
		{"twice", func(e *pageEnv, _ core.Invitation, token string) {
			if status := e.join(token); status != http.StatusSeeOther {
				e.Error(status)
			}
		}, http.StatusBadRequest, true},
		{
			"after 7 days", func(*pageEnv, core.Invitation, string) { time.Sleep(identity.InvitationTTL) },
			http.StatusBadRequest, false,
		},
		{"its tenant is gone", func(e *pageEnv, i core.Invitation, _ string) {
			e.must(e.store.DeleteTenant(e.Context(), i.TenantID, "test", core.At(time.Now())))
		}, http.StatusBadRequest, false},
		{"Undone", func(e *pageEnv, i core.Invitation, _ string) {
			e.must(e.store.DeleteInvitation(e.Context(), i.ID, "test", core.At(time.Now())))
		}, http.StatusBadRequest, false},
		{"who invited has no role any more", func(e *pageEnv, i core.Invitation, _ string) {
			e.must(e.store.RevokeRole(e.Context(), i.InvitedBy[len("user:"):],
				core.Role{Role: core.RoleTenantAdmin, TenantID: i.TenantID}))
		}, http.StatusBadRequest, false},
		{"the role of who invited came back", func(e *pageEnv, i core.Invitation, _ string) {
			boss, role := i.InvitedBy[len("user:"):], core.Role{Role: core.RoleTenantAdmin, TenantID: i.TenantID}
			e.must(e.store.RevokeRole(e.Context(), boss, role))
			e.must(e.store.GrantRole(e.Context(), boss, role, true, core.At(time.Now())))
		}, http.StatusBadRequest, false},
		{"the role of who invited was a lesser one for a while", func(e *pageEnv, i core.Invitation, _ string) {
			for _, role := range []string{core.RolePublisher, core.RoleTenantAdmin} {
				_, err := e.store.SetTeamRole(e.Context(), i.TenantID, i.InvitedBy[len("user:"):], role, "test",
					core.At(time.Now()))
				e.must(err)
			}
		}, http.StatusBadRequest, false},
		{"invited again, in another case", func(e *pageEnv, i core.Invitation, _ string) {
			e.invite(i.TenantID, "Eve@User.example", i.InvitedBy)
			open, err := e.store.Invitations(e.Context(), []string{i.TenantID}, false, core.Page{Limit: 10})
			if e.must(err); len(open) != 1 || open[0].ID == i.ID {
				e.Errorf("open: %+v", open)
			}
		}, http.StatusBadRequest, false},
		{"a stranger has registered the address", func(e *pageEnv, _ core.Invitation, _ string) {
			u := core.NewUser(eve, core.At(time.Now()))
			_, err := e.store.Register(e.Context(), identity.Registration{
				User: u, PasswordHash: "the stranger's", Token: identity.UserToken{
					ID: core.NewID(), Hashes: map[string][]byte{
						identity.TokenVerify: []byte("v"),
						identity.TokenClaim:  []byte("c"),
					},
				},
			}, core.At(time.Now()))
			e.must(err)
		}, http.StatusSeeOther, true},
		{"the address has an account that must sign in", func(e *pageEnv, _ core.Invitation, _ string) {
			u := core.NewUser(eve, core.At(time.Now()))
			u.EmailVerified = true
			e.must(e.store.AddUser(e.Context(), u, "hers", core.At(time.Now())))
			e.signedIn() // as another user
		}, http.StatusOK, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := pageEnvLater(t)
				tenant := storetest.Seed(t, e.store).NewTenant()
				boss := storetest.Seed(e, e.store).NewUser("boss@user.example", "")
				e.must(e.store.GrantRole(t.Context(), boss.ID, core.Role{Role: core.RoleTenantAdmin, TenantID: tenant.ID},
					true, core.At(time.Now())))
				i, token := e.invite(tenant.ID, eve, core.UserActor(boss.ID))
				tt.between(e, i, token)
				session := e.cookies["__Host-"+web.SessionCookie]
				if status := e.join(token); status != tt.want {
					t.Errorf("the page answers %d", status)
				}
				if tt.want == http.StatusSeeOther {
					if _, page := e.page("GET", "/account", nil); !strings.Contains(page, eve) {
						t.Errorf("not signed in: %s", textOf(page))
					}
					if session == e.cookies["__Host-"+web.SessionCookie] {
						t.Error("the session is the one from before")
					}
				}
				roles := e.roles(eve)
				if got := len(roles) == 1 && roles[0] == i.Offers(); got != tt.role {
					t.Errorf("roles %v", roles)
				}
				if u, err := e.store.UserByEmail(t.Context(), eve); tt.role && (err != nil || !u.EmailVerified || u.Name != "Eve") {
					t.Errorf("%+v, %v", u, err)
				}
			})
		})
	}
}

// A signed-in user accepts an invitation to their own address with a button, and can't accept any other.
func TestInvitationOfUser(t *testing.T) {
	e := newPageEnv(t, "http://news.test")
	tenant := storetest.Seed(t, e.store).NewTenant()
	ann, err := e.store.UserByEmail(t.Context(), "ann@user.example")
	e.must(err)
	_, err = e.store.UpdateUser(t.Context(), ann.ID, identity.UserInput{Verified: new(true)}, core.At(time.Now()))
	e.must(err)
	e.login()
	other, err := core.ParseEmail("other@user.example")
	e.must(err)
	storetest.Seed(e, e.store).NewUser(other, "")
	_, theirs := e.invite(tenant.ID, other, "command:test")
	if err := e.store.AcceptInvitation(t.Context(), core.HashToken(theirs), ann.ID, core.At(time.Now())); err == nil {
		t.Error("an invitation of another address was accepted")
	}
	i, token := e.invite(tenant.ID, "ANN@user.example", "command:test")
	if status := e.ask("GET", "/invitation?token="+token, nil).StatusCode; status != http.StatusOK {
		t.Errorf("the page: %d", status)
	}
	if roles := e.roles("ann@user.example"); len(roles) != 0 {
		t.Errorf("opening the page gave %v", roles)
	}
	if status := e.ask("POST", "/invitation", url.Values{"token": {token}}).StatusCode; status != http.StatusSeeOther {
		t.Errorf("accepting: %d", status)
	}
	if roles := e.roles("ann@user.example"); len(roles) != 1 || roles[0] != i.Offers() {
		t.Errorf("roles %v", roles)
	}
	if !e.in() {
		t.Error("signed out")
	}
}

// Someone who joined through an invitation still needs a second factor if one is required. If sign-ins are throttled,
// the invitation still leads to the sign-in page.
func TestInvitationSignsInAsTheLoginDoes(t *testing.T) {
	e := newPageEnv(t, "http://news.test")
	tenant := storetest.Seed(t, e.store).NewTenant()
	_, token := e.invite(tenant.ID, "tried@user.example", "command:test")
	for range 20 {
		e.ask("POST", "/login", url.Values{"email": {"tried@user.example"}, "password": {"guessed"}})
	}
	if status := e.join(token); status != http.StatusOK || e.in() || len(e.roles("tried@user.example")) != 1 {
		t.Error("with all tries used up:", status, e.in(), e.roles("tried@user.example"))
	}
	e.handler.options.Auth.SecondFactor = auth.FactorAll
	_, token = e.invite(tenant.ID, "eve@user.example", "command:test")
	if status := e.join(token); status != http.StatusSeeOther || e.in() {
		t.Error("without the factor that is demanded:", status, e.in())
	}
	if code, page := e.page("GET", codePath, nil); code != http.StatusOK || !strings.Contains(page, "<svg") {
		t.Error("no app to set up:", code, textOf(page))
	}
}

// The page of an invitation shows who invites, to which tenant and with which role, in the language of the email, and
// is shown again after a sign-in.
func TestInvitationPage(t *testing.T) {
	e := newPageEnv(t, "http://news.test")
	tenant := storetest.Seed(t, e.store).NewTenant()
	boss := storetest.Seed(t, e.store).NewUser("boss@user.example", "")
	e.must(e.store.GrantRole(t.Context(), boss.ID, core.Role{Role: core.RoleTenantAdmin, TenantID: tenant.ID}, true, 1))
	_, token := e.invite(tenant.ID, "eve@user.example", core.UserActor(boss.ID))
	e.lang = "en"
	path := "/invitation?token=" + token + "&ui_locales=de"
	_, page := e.page("GET", path, nil)
	for _, want := range []string{`lang="de"`, "boss@user.example", tenant.Name, notice.RoleName("de", core.RoleEditor)} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in %s", want, textOf(page))
		}
	}
	form := formOf(t, page)
	form.Set("new_password", "short")
	if _, page = e.page("POST", "/invitation", form); !strings.Contains(page, `lang="de"`) {
		t.Errorf("another language after a fault: %s", textOf(page))
	}
	form.Set("new_password", "correct horse battery")
	if status := e.ask("POST", "/invitation", form).StatusCode; status != http.StatusSeeOther {
		t.Fatal(status)
	}
	if _, page = e.page("GET", "/account", nil); !strings.Contains(page, `lang="de"`) {
		t.Errorf("another language after joining: %s", textOf(page))
	}
}

// The pages of an invitation show the brand of the tenant, as its other pages do, and keep the language of the email.
// The page of an expired invitation, or of one for server administrators, shows the server's brand.
func TestInvitationPageIsOfTheTenant(t *testing.T) {
	e := newPageEnv(t, "http://news.test")
	seed := storetest.Seed(t, e.store)
	tenant := seed.NewTenant()
	headed := func(header, method, path string, form url.Values) {
		t.Helper()
		_, page := e.page(method, path, form)
		if !strings.Contains(page, "<header>"+header+"</header>") || !strings.Contains(page, `lang="en"`) {
			t.Errorf("%s: no %q in %s", path, header, page)
		}
	}
	_, token := e.invite(tenant.ID, "eve@user.example", "command:test")
	path := "/invitation?ui_locales=en&token="
	headed(tenant.Name, "GET", path+token, nil)
	seed.ChangeTenant(tenant.ID, core.TenantInput{
		BrandName: new("Blumen & Müller"), BrandLogoURL: new("https://pictures.example/rose.png"), Language: new("de"),
	})
	const logo = `<img src="https://pictures.example/rose.png" alt="Blumen &amp; Müller">`
	headed(logo, "GET", path+token, nil)
	form := url.Values{"token": {token}, "ui_locales": {"en"}, "new_password": {"short"}}
	headed(logo, "POST", "/invitation", form)
	if got := e.ask("GET", path+token, nil).Header.Get("Content-Security-Policy"); !strings.Contains(got,
		"pictures.example") {
		t.Errorf("the logo is not let in: %s", got)
	}
	headed(page.OwnName, "GET", path+"none", nil)
	i, err := e.handler.options.Auth.Invite(t.Context(), core.InvitationInput{
		Email: "op@user.example",
		Role:  core.RoleOperator,
	},
		"en", "command:test", core.At(time.Now()))
	e.must(err)
	headed(page.OwnName, "GET", path+e.handler.options.Auth.MailToken(core.MailInvitation, i.ID), nil)
}

// A tenant can invite 20 people a day.
func TestInvitationsOfADay(t *testing.T) {
	e := newPageEnv(t, "http://news.test")
	tenant := storetest.Seed(t, e.store).NewTenant()
	for n := range 21 {
		_, err := e.handler.options.Auth.Invite(t.Context(), core.InvitationInput{
			Email: core.Email(string(rune('a'+n)) + "@user.example"), Role: core.RoleViewer, TenantID: tenant.ID,
		}, "", "command:test", 1)
		if (err == nil) != (n < 20) || n == 20 && core.KindOf(err) != core.TooMany {
			t.Fatalf("invitation %d: %v", n+1, err)
		}
	}
}

func (e *pageEnv) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}
